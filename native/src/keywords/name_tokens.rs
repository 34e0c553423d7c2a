//! Tokenizes each element and attribute name once.

use crate::events::{NameId, Names};
use crate::keywords::phrase_automaton::{StateId, ROOT};
use crate::keywords::token_sink::WordId;
use crate::keywords::vocabulary::Vocabulary;
use crate::tokenizer::word_tokenizer::{TokenVisitor, Tokenizer};

/// Vocabulary words of names, by name.
#[derive(Default)]
pub struct NameTokens {
    table: u64,
    /// Range of each name's words.
    ranges: Vec<(u32, u32)>,
    words: Vec<WordId>,
}

const NOT_TOKENIZED: (u32, u32) = (u32::MAX, 0);

impl NameTokens {
    /// Clears the cache if names now come from another table.
    pub fn reset_for_table(&mut self, table: u64) {
        if self.table != table {
            self.table = table;
            self.ranges.clear();
            self.words.clear();
        }
    }

    /// The vocabulary words of a name that was interned.
    #[inline]
    pub fn get(&self, name: NameId) -> &[WordId] {
        let (start, end) = self.ranges[name.0 as usize];
        &self.words[start as usize..end as usize]
    }

    /// Tokenizes a name unless that was done before.
    #[inline]
    pub fn intern(&mut self, vocabulary: &Vocabulary, names: &Names, name: NameId) {
        match self.ranges.get(name.0 as usize) {
            Some(&range) if range != NOT_TOKENIZED => {}
            _ => self.tokenize(vocabulary, names, name),
        }
    }

    #[cold]
    fn tokenize(&mut self, vocabulary: &Vocabulary, names: &Names, name: NameId) {
        let (_, local) = names.get(name);
        let start = self.words.len() as u32;
        let mut filter = VocabularyFilter {
            vocabulary,
            words: &mut self.words,
            phrase_state: ROOT,
        };
        Tokenizer::default().tokenize(&local.to_ascii_lowercase(), &mut filter);
        let range = (start, self.words.len() as u32);
        let at = name.0 as usize;
        if self.ranges.len() <= at {
            self.ranges.resize(at + 1, NOT_TOKENIZED);
        }
        self.ranges[at] = range;
    }
}

/// Collects the words and phrases that the vocabulary contains.
struct VocabularyFilter<'a> {
    vocabulary: &'a Vocabulary,
    words: &'a mut Vec<WordId>,
    phrase_state: StateId,
}

impl TokenVisitor for VocabularyFilter<'_> {
    fn token(&mut self, _: usize, word: &[u8]) {
        let phrases = &self.vocabulary.phrases;
        let found = self.vocabulary.find(word);
        self.words.extend(found);
        self.phrase_state = match found {
            Some(word) if !phrases.is_empty() => {
                phrases.advance(self.phrase_state, word, |phrase| self.words.push(phrase))
            }
            _ => ROOT,
        };
    }

    fn overlong(&mut self, _: usize) {
        self.phrase_state = ROOT;
    }
}
