//! The words of names: each name is cut once.

use crate::events::{NameId, Names};
use crate::keywords::token_sink::WordId;
use crate::keywords::vocabulary::Vocabulary;
use crate::tokenizer::word_tokenizer::{TokenVisitor, Tokenizer};

/// The words of names, each name cut once.
#[derive(Default)]
pub struct NameWords {
    table: u64,
    /// By name: where its words begin and end.
    ranges: Vec<(u32, u32)>,
    words: Vec<WordId>,
}

const UNKNOWN: (u32, u32) = (u32::MAX, 0);

impl NameWords {
    /// Says which table of names the ids come from; another one than before starts anew.
    pub fn use_table(&mut self, table: u64) {
        if self.table != table {
            self.table = table;
            self.ranges.clear();
            self.words.clear();
        }
    }

    /// The words that the vocabulary has of a name that was learnt.
    #[inline]
    pub fn of(&self, name: NameId) -> &[WordId] {
        let (start, end) = self.ranges[name.0 as usize];
        &self.words[start as usize..end as usize]
    }

    /// Learns a name.
    #[inline]
    pub fn learn(&mut self, vocabulary: &Vocabulary, names: &Names, name: NameId) {
        match self.ranges.get(name.0 as usize) {
            Some(&range) if range != UNKNOWN => {}
            _ => self.cut(vocabulary, names, name),
        }
    }

    #[cold]
    fn cut(&mut self, vocabulary: &Vocabulary, names: &Names, name: NameId) {
        let (_, local) = names.get(name);
        let start = self.words.len() as u32;
        let mut known = Known {
            vocabulary,
            words: &mut self.words,
        };
        Tokenizer::default().tokenize(&local.to_ascii_lowercase(), &mut known);
        let range = (start, self.words.len() as u32);
        let at = name.0 as usize;
        if self.ranges.len() <= at {
            self.ranges.resize(at + 1, UNKNOWN);
        }
        self.ranges[at] = range;
    }
}

/// Collects the words that a vocabulary has.
struct Known<'a> {
    vocabulary: &'a Vocabulary,
    words: &'a mut Vec<WordId>,
}

impl TokenVisitor for Known<'_> {
    fn token(&mut self, _: usize, word: &[u8]) {
        self.words.extend(self.vocabulary.find(word));
    }
}
