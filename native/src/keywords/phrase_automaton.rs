//! Finds the phrases of a vocabulary in a sequence of words, by the algorithm of Aho and Corasick.
//!
//! A phrase such as `storm surge` is a word of the vocabulary, written with a space between its words,
//! which are in the vocabulary, too. An element that has the words of a phrase next to each other
//! contains the phrase like any other word, so that the engines need not know about phrases.
//!
//! A state stands for the words that were read last, as far as a phrase begins with them. States are
//! numbered level by level, and within a level in the order of the words that lead to them; therefore
//! edge number `n` leads to state `n + 1`.

use std::ops::Range;

use bytemuck::{Pod, Zeroable};

use crate::keywords::token_sink::WordId;
use crate::subscription_store::flat_layout::{FlatArray, StringArray};
use crate::subscription_store::header_tests::is_header_word;

/// Maximum number of words in a phrase, and so of the phrases that end at one word.
pub const PHRASE_WORDS_MAX: usize = 64;

/// Separates the words of a phrase. No word contains it.
pub const PHRASE_SEPARATOR: &str = " ";

/// The state in which no phrase has begun.
pub const ROOT: StateId = 0;

/// Marks a state in which no phrase ends.
const NO_PHRASE: WordId = WordId::MAX;

/// Number of a state.
pub type StateId = u32;

/// A state of the automaton.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct PhraseState {
    /// Number of its first edge; the edges end where those of the next state begin.
    first_edge: u32,
    /// The longest proper suffix of its words that is a state.
    suffix: StateId,
    /// The phrase that these words are, or [`NO_PHRASE`].
    phrase: WordId,
    /// The longest proper suffix that is a phrase, or [`ROOT`].
    phrase_suffix: StateId,
}

/// Finds phrases in a sequence of words.
pub struct PhraseAutomaton {
    /// The states and an element that ends the edges of the last one; empty without phrases.
    pub states: FlatArray<PhraseState>,
    /// The word of each edge; those of a state are ascending.
    pub edges: FlatArray<WordId>,
    /// The state after each word of the vocabulary from [`ROOT`]; empty without phrases.
    pub first_states: FlatArray<StateId>,
}

/// Whether a word of the vocabulary is a phrase.
pub fn is_phrase(word: &str) -> bool {
    word.contains(PHRASE_SEPARATOR) && !is_header_word(word)
}

/// The words of a phrase.
pub fn words_of_phrase(phrase: &str) -> impl Iterator<Item = &str> {
    phrase.split(PHRASE_SEPARATOR)
}

impl PhraseAutomaton {
    /// Builds the automaton of the phrases among `words`, whose numbers `find` gives. Returns `None` if
    /// a phrase is too long or one of its words is missing.
    pub fn build(
        words: &StringArray,
        find: impl Fn(&[u8]) -> Option<WordId>,
    ) -> Option<PhraseAutomaton> {
        let mut phrases: Vec<(Vec<WordId>, WordId)> = Vec::new();
        for number in 0..words.count() as WordId {
            let text = words.get(number);
            if is_phrase(text) {
                let own = words_of_phrase(text).map(|word| find(word.as_bytes()));
                let own: Option<Vec<WordId>> = own.collect();
                phrases.push((own.filter(|own| own.len() <= PHRASE_WORDS_MAX)?, number));
            }
        }
        if phrases.is_empty() {
            return Some(PhraseAutomaton::empty());
        }
        phrases.sort_unstable();
        let mut automaton = Trie::of(&phrases, words.count());
        automaton.link_suffixes();
        Some(PhraseAutomaton {
            states: automaton.states.into(),
            edges: automaton.edges.into(),
            first_states: automaton.first_states.into(),
        })
    }

    /// The automaton without phrases.
    pub fn empty() -> PhraseAutomaton {
        PhraseAutomaton {
            states: Vec::new().into(),
            edges: Vec::new().into(),
            first_states: Vec::new().into(),
        }
    }

    /// Whether there are no phrases.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// Returns the state after a word, and calls `found` for each phrase that ends with it. There must be
    /// phrases.
    #[inline]
    pub fn advance(&self, state: StateId, word: WordId, mut found: impl FnMut(WordId)) -> StateId {
        let next = next_state(&self.states, &self.edges, &self.first_states, state, word);
        let mut ending = self.states[next as usize];
        if ending.phrase != NO_PHRASE {
            found(ending.phrase);
        }
        while ending.phrase_suffix != ROOT {
            ending = self.states[ending.phrase_suffix as usize];
            found(ending.phrase);
        }
        next
    }

    /// Whether this is the automaton of the phrases among `words`.
    pub fn is_valid(&self, words: &StringArray, find: impl Fn(&[u8]) -> Option<WordId>) -> bool {
        PhraseAutomaton::build(words, find).is_some_and(|expected| {
            self.states[..] == expected.states[..]
                && self.edges[..] == expected.edges[..]
                && self.first_states[..] == expected.first_states[..]
        })
    }
}

/// The state after a word.
#[inline]
fn next_state(
    states: &[PhraseState],
    edges: &[WordId],
    first_states: &[StateId],
    mut state: StateId,
    word: WordId,
) -> StateId {
    // A suffix has fewer words than its state, so this ends.
    while state != ROOT {
        let own = edges_of(states, state);
        match edges[own.clone()].binary_search(&word) {
            Ok(at) => return (own.start + at + 1) as StateId,
            Err(_) => state = states[state as usize].suffix,
        }
    }
    first_states[word as usize]
}

/// The numbers of the edges of a state.
#[inline]
fn edges_of(states: &[PhraseState], state: StateId) -> Range<usize> {
    let [own, next] = [state as usize, state as usize + 1].map(|at| states[at].first_edge);
    own as usize..next as usize
}

/// An automaton that is being built.
struct Trie {
    states: Vec<PhraseState>,
    edges: Vec<WordId>,
    first_states: Vec<StateId>,
}

impl Trie {
    /// The tree of the words of these phrases, which are ascending and distinct.
    fn of(phrases: &[(Vec<WordId>, WordId)], word_count: usize) -> Trie {
        let mut trie = Trie {
            states: Vec::new(),
            edges: Vec::new(),
            first_states: vec![ROOT; word_count],
        };
        // For each state of a level, the phrases that begin with its words.
        let mut level = vec![phrases];
        for depth in 0.. {
            let mut next_level = Vec::new();
            for begun in level {
                let (phrase, longer) = match begun {
                    [(words, phrase), longer @ ..] if words.len() == depth => (*phrase, longer),
                    _ => (NO_PHRASE, begun),
                };
                trie.push_state(phrase);
                for group in longer.chunk_by(|a, b| a.0[depth] == b.0[depth]) {
                    trie.edges.push(group[0].0[depth]);
                    next_level.push(group);
                }
            }
            if next_level.is_empty() {
                break;
            }
            level = next_level;
        }
        trie.push_state(NO_PHRASE);
        for edge in edges_of(&trie.states, ROOT) {
            trie.first_states[trie.edges[edge] as usize] = edge as StateId + 1;
        }
        trie
    }

    fn push_state(&mut self, phrase: WordId) {
        self.states.push(PhraseState {
            first_edge: u32::try_from(self.edges.len()).expect("fewer than 2^32 words of phrases"),
            suffix: ROOT,
            phrase,
            phrase_suffix: ROOT,
        });
    }

    /// Sets the suffixes of all states, those of shorter ones first.
    fn link_suffixes(&mut self) {
        // The suffixes of the states after one word remain the root.
        for parent in 1..self.states.len() - 1 {
            for edge in edges_of(&self.states, parent as StateId) {
                let suffix = next_state(
                    &self.states,
                    &self.edges,
                    &self.first_states,
                    self.states[parent].suffix,
                    self.edges[edge],
                );
                let at_suffix = self.states[suffix as usize];
                let child = &mut self.states[edge + 1];
                child.suffix = suffix;
                child.phrase_suffix = match at_suffix.phrase {
                    NO_PHRASE => at_suffix.phrase_suffix,
                    _ => suffix,
                };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keywords::vocabulary::Vocabulary;
    use crate::subscription_store::flat_layout::StringArrayBuilder;
    use crate::tokenizer::tokenizer_options::TokenizerOptions;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// The vocabulary of these words and phrases, and of the words of the phrases.
    fn vocabulary(keywords: &[&str]) -> Vocabulary {
        let words = keywords.iter().flat_map(|keyword| words_of_phrase(keyword));
        let all: BTreeSet<&str> = words.chain(keywords.iter().copied()).collect();
        let mut texts = StringArrayBuilder::default();
        for word in all {
            texts.push(word);
        }
        Vocabulary::new(TokenizerOptions::default(), texts.finish())
    }

    /// The phrases in a text, each as often as it occurs, with the number of words read by then.
    fn found(vocabulary: &Vocabulary, text: &str) -> BTreeSet<(usize, String)> {
        let mut found = BTreeSet::new();
        let mut state = ROOT;
        for (at, word) in text.split(' ').enumerate() {
            state = match vocabulary.find(word.as_bytes()) {
                None => ROOT,
                Some(word) => vocabulary.phrases.advance(state, word, |phrase| {
                    let phrase = vocabulary.words.get(phrase).to_owned();
                    assert!(found.insert((at + 1, phrase)), "reported twice");
                }),
            };
        }
        found
    }

    fn expected(phrases: &[&str], text: &str) -> BTreeSet<(usize, String)> {
        let words: Vec<&str> = text.split(' ').collect();
        let mut expected = BTreeSet::new();
        for phrase in phrases.iter().filter(|phrase| is_phrase(phrase)) {
            let own: Vec<&str> = words_of_phrase(phrase).collect();
            for (at, window) in words.windows(own.len()).enumerate() {
                if window == own {
                    expected.insert((at + own.len(), (*phrase).to_owned()));
                }
            }
        }
        expected
    }

    #[test]
    fn phrases_within_and_across_other_phrases_are_found() {
        let phrases = ["a b c d", "b c", "c d e", "a a", "d"];
        let vocabulary = vocabulary(&phrases);
        for text in ["a b c d e", "a a a b c x b c", "x", "a b c", "a b b c d e"] {
            assert_eq!(found(&vocabulary, text), expected(&phrases, text), "{text}");
        }
    }

    #[test]
    fn words_and_header_fields_are_no_phrases() {
        let vocabulary = vocabulary(&["storm", "surge"]);
        assert!(vocabulary.phrases.is_empty());
        assert!(!is_phrase("\u{1}subject\u{2}storm surge"));
    }

    #[test]
    fn a_phrase_without_its_words_or_of_too_many_is_invalid() {
        let valid = vocabulary(&["storm surge", "storm tide"]);
        assert!(valid.is_valid());
        let long = vec!["a"; PHRASE_WORDS_MAX].join(" ");
        assert!(vocabulary(&[&long]).is_valid());
        for (words, phrase) in [
            (vec!["storm"], "storm surge".to_owned()),
            (vec!["storm"], "storm  storm".to_owned()),
            (vec!["storm"], " storm".to_owned()),
            (vec!["a"], format!("{long} a")),
        ] {
            let mut texts = StringArrayBuilder::default();
            let all: BTreeSet<&str> = words.into_iter().chain([phrase.as_str()]).collect();
            for word in all {
                texts.push(word);
            }
            let words = texts.finish();
            let find = |word: &[u8]| {
                (0..words.count() as WordId).find(|&number| words.bytes_of(number) == word)
            };
            assert!(PhraseAutomaton::build(&words, find).is_none(), "{phrase}");
        }
    }

    #[test]
    fn every_change_of_the_automaton_is_detected() {
        let mut vocabulary = vocabulary(&["a b c", "b c a", "c a", "a"]);
        let is_valid = |vocabulary: &Vocabulary| vocabulary.is_valid();
        assert!(is_valid(&vocabulary));
        for at in 0..vocabulary.phrases.states.len() {
            for field in 0..4 {
                let mut states = vocabulary.phrases.states.to_vec();
                let state: &mut [u32; 4] = bytemuck::cast_mut(&mut states[at]);
                state[field] = state[field].wrapping_add(1);
                let before = std::mem::replace(&mut vocabulary.phrases.states, states.into());
                assert!(!is_valid(&vocabulary), "field {field} of state {at}");
                vocabulary.phrases.states = before;
            }
        }
        vocabulary.phrases.edges = vocabulary.phrases.edges[1..].to_vec().into();
        assert!(!is_valid(&vocabulary));
    }

    proptest! {
        #[test]
        fn exactly_the_phrases_in_a_text_are_found(
            keywords in prop::collection::vec("[abc]( [abc]){0,4}", 0..12),
            phrase in "[abc] [abc]",
            text in "[abcd]( [abcd]){0,30}",
        ) {
            let phrases: Vec<&str> = keywords.iter().chain([&phrase]).map(String::as_str).collect();
            let found = found(&vocabulary(&phrases), &text);
            prop_assert_eq!(found, expected(&phrases, &text));
        }
    }
}
