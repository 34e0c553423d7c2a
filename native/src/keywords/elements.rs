//! What is recorded of a document while it is heard: elements and the words in them.

use super::listen::WordId;

/// No element.
pub const NONE: u32 = u32::MAX;

/// That an element directly contains a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occurrence {
    /// The word.
    pub word: WordId,
    /// The element, by its number in the window.
    pub element: u32,
}

/// The elements heard since the window was last cleared, numbered from 0 in document order, and
/// their words.
///
/// The numbers of a subtree are consecutive, so that "inside" is a comparison with the number of
/// its last element.
#[derive(Debug, Default)]
pub struct Window {
    parents: Vec<u32>,
    /// [`NONE`] until an element closes.
    lasts: Vec<u32>,
    occurrences: Vec<Occurrence>,
    /// The innermost open element.
    current: u32,
    /// For each word of the vocabulary the element it was heard in last.
    latest: Vec<u32>,
}

impl Window {
    /// Empties the window, for a vocabulary of so many words.
    pub fn clear(&mut self, word_count: usize) {
        for occurrence in &self.occurrences {
            self.latest[occurrence.word as usize] = NONE;
        }
        self.latest.resize(word_count, NONE);
        self.parents.clear();
        self.lasts.clear();
        self.occurrences.clear();
        self.current = NONE;
    }

    /// An element begins.
    #[inline]
    pub fn open(&mut self) {
        let element = self.parents.len() as u32;
        self.parents.push(self.current);
        self.lasts.push(NONE);
        self.current = element;
    }

    /// The open element, of which there must be one in the window, contains a word.
    #[inline]
    pub fn word(&mut self, word: WordId) {
        let latest = &mut self.latest[word as usize];
        if *latest != self.current {
            *latest = self.current;
            self.occurrences.push(Occurrence {
                word,
                element: self.current,
            });
        }
    }

    /// The open element, of which there must be one in the window, ends.
    #[inline]
    pub fn close(&mut self) {
        let element = self.current as usize;
        self.lasts[element] = self.parents.len() as u32 - 1;
        self.current = self.parents[element];
    }

    /// The innermost open element, or [`NONE`] where all of the window's are closed.
    #[inline]
    pub fn current(&self) -> u32 {
        self.current
    }

    /// The open elements, outside in.
    pub fn open_elements(&self, into: &mut Vec<u32>) {
        into.clear();
        let mut element = self.current;
        while element != NONE {
            into.push(element);
            element = self.parent(element);
        }
        into.reverse();
    }

    /// How many elements there are.
    #[inline]
    pub fn elements(&self) -> u32 {
        self.parents.len() as u32
    }

    /// How much is recorded, elements and words.
    #[inline]
    pub fn held(&self) -> usize {
        self.parents.len() + self.occurrences.len()
    }

    /// The words in elements as they were heard: those of a subtree stand together. One that is
    /// heard in an element again after a child had it too stands there again.
    pub fn occurrences(&self) -> &[Occurrence] {
        &self.occurrences
    }

    /// The element that an element is in, or [`NONE`].
    #[inline]
    pub fn parent(&self, element: u32) -> u32 {
        self.parents[element as usize]
    }

    /// Whether an element has not ended.
    #[inline]
    pub fn is_open(&self, element: u32) -> bool {
        self.lasts[element as usize] == NONE
    }

    /// The last element inside a closed element, or itself.
    #[inline]
    pub fn last(&self, element: u32) -> u32 {
        self.lasts[element as usize]
    }
}
