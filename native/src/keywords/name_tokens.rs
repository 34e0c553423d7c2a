//! Tokenizes each element and attribute name once.

use crate::events::{NameId, Names};
use crate::keywords::phrase_automaton::{StateId, ROOT};
use crate::keywords::token_sink::WordId;
use crate::keywords::vocabulary::Vocabulary;
use crate::tokenizer::word_tokenizer::{TokenVisitor, Tokenizer, WORD_BYTES_MAX};

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
        let options = vocabulary.options;
        let mut tokenizer = Tokenizer::new(options, WORD_BYTES_MAX);
        tokenizer.tokenize(&local.to_ascii_lowercase(), &mut filter);
        let parts = options.split_names.then(|| name_parts(local)).flatten();
        if let Some(parts) = parts {
            filter.phrase_state = ROOT;
            tokenizer.tokenize(&parts.to_ascii_lowercase(), &mut filter);
        }
        let range = (start, self.words.len() as u32);
        let at = name.0 as usize;
        if self.ranges.len() <= at {
            self.ranges.resize(at + 1, NOT_TOKENIZED);
        }
        self.ranges[at] = range;
    }
}

/// A name with spaces in place of its underscores and before each capital letter that begins a word:
/// `eventCode`, `event_code` and `XMLEvent` have two parts each. `None` if it has only one.
fn name_parts(name: &str) -> Option<String> {
    let mut parts = String::with_capacity(name.len() + 8);
    let mut characters = name.chars().peekable();
    let mut before = ' ';
    let mut is_cut = false;
    while let Some(character) = characters.next() {
        let begins_word = character.is_uppercase()
            && (before.is_lowercase()
                || before.is_numeric()
                || before.is_uppercase() && characters.peek().is_some_and(|c| c.is_lowercase()));
        is_cut |= begins_word || character == '_';
        if begins_word {
            parts.push(' ');
        }
        parts.push(if character == '_' { ' ' } else { character });
        before = character;
    }
    is_cut.then_some(parts)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_at_underscores_and_capital_letters() {
        for (name, parts) in [
            ("eventCode", Some("event Code")),
            ("event_code", Some("event code")),
            ("EventCode", Some("Event Code")),
            ("XMLEvent2Code", Some("XML Event2 Code")),
            (
                "\u{e9}t\u{e9}\u{c9}t\u{e9}",
                Some("\u{e9}t\u{e9} \u{c9}t\u{e9}"),
            ),
            ("event", None),
            ("Event", None),
            ("EVENT", None),
            ("event-code", None),
            ("\u{6771}\u{4eac}", None),
        ] {
            assert_eq!(name_parts(name).as_deref(), parts, "{name}");
        }
    }
}
