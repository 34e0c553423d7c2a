//! Records a document as it is read: elements and the words they directly contain.

use crate::keywords::buffers::ensure_len;
use crate::keywords::token_sink::WordId;

/// Marks the absence of an element.
pub const NO_ELEMENT: u32 = u32::MAX;

/// An element directly contains a word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Occurrence {
    /// The word.
    pub word: WordId,
    /// Number of the element in the window.
    pub element: u32,
}

/// The elements read since the window was last cleared, numbered from 0 in document order, and
/// their words.
///
/// The elements of a subtree have consecutive numbers, so that containment is a comparison with
/// the number of the subtree's last element.
#[derive(Debug, Default)]
pub struct ElementWindow {
    parents: Vec<u32>,
    /// Last element of each subtree; [`NO_ELEMENT`] while the element is open.
    lasts: Vec<u32>,
    /// The first `occurrence_count` elements are valid.
    occurrences: Vec<Occurrence>,
    occurrence_count: usize,
    /// The innermost open element.
    current: u32,
    /// For each vocabulary word, the element in which it was read last, or [`NO_ELEMENT`].
    latest: Vec<u32>,
    /// The words that occur, distinct; the first `word_count` elements are valid.
    words: Vec<WordId>,
    word_count: usize,
}

impl ElementWindow {
    /// Clears the window for a vocabulary of `word_count` words.
    pub fn clear(&mut self, word_count: usize) {
        for &word in &self.words[..self.word_count] {
            self.latest[word as usize] = NO_ELEMENT;
        }
        self.latest.resize(word_count, NO_ELEMENT);
        self.words.resize(word_count + 1, 0);
        self.word_count = 0;
        self.parents.clear();
        self.lasts.clear();
        self.occurrence_count = 0;
        self.current = NO_ELEMENT;
    }

    /// An element starts.
    #[inline]
    pub fn open(&mut self) {
        let element = self.parents.len() as u32;
        self.parents.push(self.current);
        self.lasts.push(NO_ELEMENT);
        self.current = element;
    }

    /// An element of the window directly contains these words.
    #[inline]
    pub fn add_words(&mut self, element: u32, added: &[WordId]) {
        ensure_len(&mut self.occurrences, self.occurrence_count + added.len());
        let occurrences = &mut self.occurrences[self.occurrence_count..];
        let (latest, words) = (&mut self.latest[..], &mut self.words[..]);
        let (mut recorded, mut word_count) = (0, self.word_count);
        for &word in added {
            // Branch-free, because whether a word is new is unpredictable.
            let last = &mut latest[word as usize];
            words[word_count] = word;
            word_count += usize::from(*last == NO_ELEMENT);
            occurrences[recorded] = Occurrence { word, element };
            recorded += usize::from(*last != element);
            *last = element;
        }
        self.word_count = word_count;
        self.occurrence_count += recorded;
    }

    /// The innermost open element, which must be in the window, ends.
    #[inline]
    pub fn close(&mut self) {
        let element = self.current as usize;
        self.lasts[element] = self.parents.len() as u32 - 1;
        self.current = self.parents[element];
    }

    /// The words that occur, distinct.
    #[inline]
    pub fn words(&self) -> &[WordId] {
        &self.words[..self.word_count]
    }

    /// Whether a word occurs.
    #[inline]
    pub fn contains(&self, word: WordId) -> bool {
        self.latest[word as usize] != NO_ELEMENT
    }

    /// The innermost open element, or [`NO_ELEMENT`] if all elements of the window are closed.
    #[inline]
    pub fn current(&self) -> u32 {
        self.current
    }

    /// Writes the open elements, outermost first.
    pub fn open_elements(&self, into: &mut Vec<u32>) {
        into.clear();
        let mut element = self.current;
        while element != NO_ELEMENT {
            into.push(element);
            element = self.parent(element);
        }
        into.reverse();
    }

    /// Number of elements.
    #[inline]
    pub fn elements(&self) -> u32 {
        self.parents.len() as u32
    }

    /// Number of elements and occurrences.
    #[inline]
    pub fn size(&self) -> usize {
        self.parents.len() + self.occurrence_count
    }

    /// The occurrences in any order. A word that an element contains both before and after a child
    /// with the same word is listed twice.
    pub fn occurrences(&self) -> &[Occurrence] {
        &self.occurrences[..self.occurrence_count]
    }

    /// Sorts the occurrences by element, so that those of a subtree are contiguous.
    pub fn sort_occurrences(&mut self) {
        self.occurrences[..self.occurrence_count].sort_by_key(|occurrence| occurrence.element);
    }

    /// The parent of an element, or [`NO_ELEMENT`].
    #[inline]
    pub fn parent(&self, element: u32) -> u32 {
        self.parents[element as usize]
    }

    /// Whether an element is open.
    #[inline]
    pub fn is_open(&self, element: u32) -> bool {
        self.lasts[element as usize] == NO_ELEMENT
    }

    /// The last element in the subtree of a closed element.
    #[inline]
    pub fn last(&self, element: u32) -> u32 {
        self.lasts[element as usize]
    }
}
