//! The vocabulary words found in the pending text of a dispatcher, and the phrases that they form.

use crate::keywords::phrase_automaton::{PhraseAutomaton, StateId, ROOT};
use crate::keywords::token_batch::Marker;
use crate::keywords::token_sink::WordId;

/// Vocabulary words found in the pending text, in order.
#[derive(Default)]
pub struct FoundTokens {
    /// Byte offset of each word in the pending text; empty if no sink needs them.
    pub offsets: Vec<u32>,
    pub words: Vec<WordId>,
    /// Number of tokens of the document before each word; only if the vocabulary has phrases.
    pub positions: Vec<u64>,
    /// Number of tokens of the document so far; only if the vocabulary has phrases.
    pub token_count: u64,
    open_phrases: OpenPhrases,
    /// Reused by [`FoundTokens::insert_phrases`].
    scratch: (Vec<u32>, Vec<WordId>),
}

/// Where phrases may continue: after the word before a position.
#[derive(Default)]
struct OpenPhrases {
    state: StateId,
    position: u64,
}

impl FoundTokens {
    /// Prepares for a document. One that was stopped may have left words.
    pub fn reset(&mut self) {
        self.clear();
        self.token_count = 0;
        self.open_phrases = OpenPhrases::default();
    }

    /// Removes the words that were forwarded.
    pub fn clear(&mut self) {
        self.offsets.clear();
        self.words.clear();
        self.positions.clear();
    }

    /// Inserts each phrase after its last word. The words of a phrase are next to each other, without
    /// a marker between them; the first of them may be in the text before this one.
    pub fn insert_phrases(&mut self, phrases: &PhraseAutomaton, markers: &[(u32, Marker)]) {
        let (mut state, mut next_position) = (self.open_phrases.state, self.open_phrases.position);
        let (offsets, words) = (&mut self.scratch.0, &mut self.scratch.1);
        offsets.clear();
        words.clear();
        let mut markers = markers.iter().map(|&(offset, _)| offset).peekable();
        let found = self.offsets.iter().zip(&self.words).zip(&self.positions);
        for ((&offset, &word), &position) in found {
            let mut is_adjacent = position == next_position;
            while markers.next_if(|&marker| marker <= offset).is_some() {
                is_adjacent = false;
            }
            if !is_adjacent {
                state = ROOT;
            }
            next_position = position + 1;
            words.push(word);
            state = phrases.advance(state, word, |phrase| words.push(phrase));
            offsets.resize(words.len(), offset);
        }
        if markers.next().is_some() {
            state = ROOT;
        }
        self.open_phrases = OpenPhrases {
            state,
            position: next_position,
        };
        std::mem::swap(&mut self.offsets, offsets);
        std::mem::swap(&mut self.words, words);
    }
}
