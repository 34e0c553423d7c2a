//! A closed element of the window and its descendants: builds answers, and is summarized for the
//! enclosing elements when the window spills.

use std::sync::Arc;

use crate::keywords::answer_budget::AnswerBudget;
use crate::keywords::answers::{Answer, WordOccurrences};
use crate::keywords::conjunctive_answers::{ElementRange, STEPS_PER_PROBE};
use crate::keywords::element_metadata::{ElementMetadata, ElementRecord};
use crate::keywords::element_window::ElementWindow;
use crate::keywords::postings::{gallop, Postings};
use crate::keywords::subtree_summary::SubtreeWords;
use crate::keywords::token_sink::WordId;

/// A closed element of the window and its descendants, whose words are in the postings.
pub struct ClosedSubtree<'u> {
    window: &'u ElementWindow,
    postings: &'u Postings,
    metadata: &'u mut ElementMetadata,
    /// Document number of the window's first element.
    base: u32,
    /// The innermost open element outside of the window.
    enclosing: Option<&'u Arc<ElementRecord>>,
}

impl<'u> ClosedSubtree<'u> {
    /// The subtree whose words the postings contain.
    pub fn new(
        window: &'u ElementWindow,
        postings: &'u Postings,
        metadata: &'u mut ElementMetadata,
        base: u32,
        enclosing: Option<&'u Arc<ElementRecord>>,
    ) -> ClosedSubtree<'u> {
        ClosedSubtree {
            window,
            postings,
            metadata,
            base,
            enclosing,
        }
    }

    /// Builds the answer of an element to which these elements belong, with at most
    /// `witnesses_max` witnesses per word.
    pub fn answer(
        &mut self,
        words: &[WordId],
        element: u32,
        remaining: &[ElementRange],
        witnesses_max: usize,
        budget: &mut AnswerBudget,
    ) -> Answer {
        budget.spend(2 * STEPS_PER_PROBE * words.len() * remaining.len());
        let top = self.record(element);
        let found = words
            .iter()
            .map(|&word| (word, self.occurrences(word, remaining, witnesses_max)))
            .filter(|(_, found)| found.count > 0);
        Answer::new(&top, found, budget)
    }

    fn occurrences(
        &mut self,
        word: WordId,
        remaining: &[ElementRange],
        witnesses_max: usize,
    ) -> WordOccurrences {
        let elements = self.postings.get(word);
        let mut found = WordOccurrences::default();
        let mut at = 0;
        for &(start, last) in remaining {
            at = gallop(elements, at, start);
            let end = gallop(elements, at, last + 1);
            found.count += (end - at) as u64;
            let missing = witnesses_max - found.witnesses.len();
            let first = elements[at..end].iter().take(missing);
            found
                .witnesses
                .extend(first.map(|&element| self.record(element)));
            at = end;
        }
        found
    }

    fn record(&mut self, element: u32) -> Arc<ElementRecord> {
        self.metadata
            .record(self.window, self.base, self.enclosing, element)
    }
}

impl SubtreeWords for ClosedSubtree<'_> {
    fn for_each_word(&self, visit: &mut dyn FnMut(WordId, u64)) {
        for &word in self.postings.words() {
            visit(word, self.count(word));
        }
    }

    fn count(&self, word: WordId) -> u64 {
        self.postings.get(word).len() as u64
    }

    fn witnesses(&mut self, word: WordId, max: usize) -> Vec<Arc<ElementRecord>> {
        let first = self.postings.get(word).iter().take(max);
        first.map(|&element| self.record(element)).collect()
    }
}
