//! A closed element of the window with all that is in it: what is told of its answers, and what the
//! elements around it need of it.

use std::sync::Arc;

use crate::keywords::answers::{Answer, Found};
use crate::keywords::conjunctive_answers::Stretch;
use crate::keywords::element_metadata::{Kept, Notes};
use crate::keywords::element_window::Window;
use crate::keywords::postings::{gallop, Postings};
use crate::keywords::subtree_summary::Part;
use crate::keywords::token_sink::WordId;

/// A closed element of the window, its words in the postings.
pub struct Unit<'u> {
    window: &'u Window,
    postings: &'u Postings,
    notes: &'u mut Notes,
    /// The number of the window's first element.
    base: u32,
    /// The innermost open element before the window.
    outside: Option<&'u Arc<Kept>>,
}

impl<'u> Unit<'u> {
    /// The element whose words the postings hold.
    pub fn new(
        window: &'u Window,
        postings: &'u Postings,
        notes: &'u mut Notes,
        base: u32,
        outside: Option<&'u Arc<Kept>>,
    ) -> Unit<'u> {
        Unit {
            window,
            postings,
            notes,
            base,
            outside,
        }
    }

    /// The answer of an element to which these elements are left, `most` witnesses a word.
    pub fn answer(
        &mut self,
        words: &[WordId],
        element: u32,
        left: &[Stretch],
        most: usize,
    ) -> Answer {
        let top = self.keep(element);
        let found: Vec<(WordId, Found)> = words
            .iter()
            .map(|&word| (word, self.found(word, left, most)))
            .filter(|(_, found)| found.count > 0)
            .collect();
        Answer::new(&top, found)
    }

    fn found(&mut self, word: WordId, left: &[Stretch], most: usize) -> Found {
        let elements = self.postings.get(word);
        let mut found = Found::default();
        let mut at = 0;
        for &(start, last) in left {
            at = gallop(elements, at, start);
            let end = gallop(elements, at, last + 1);
            found.count += (end - at) as u64;
            let wanted = most - found.witnesses.len();
            let first = elements[at..end].iter().take(wanted);
            found
                .witnesses
                .extend(first.map(|&element| self.keep(element)));
            at = end;
        }
        found
    }

    fn keep(&mut self, element: u32) -> Arc<Kept> {
        self.notes
            .keep(self.window, self.base, self.outside, element)
    }
}

impl Part for Unit<'_> {
    fn words(&self, visit: &mut dyn FnMut(WordId, u64)) {
        for &word in self.postings.words() {
            visit(word, self.count(word));
        }
    }

    fn count(&self, word: WordId) -> u64 {
        self.postings.get(word).len() as u64
    }

    fn witnesses(&mut self, word: WordId, most: usize) -> Vec<Arc<Kept>> {
        let first = self.postings.get(word).iter().take(most);
        first.map(|&element| self.keep(element)).collect()
    }
}
