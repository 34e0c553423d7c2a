//! Posting lists of a document: for each requested word, its elements in document order.

use crate::keywords::buffers::ensure_len;
use crate::keywords::element_window::Occurrence;
use crate::keywords::token_sink::WordId;

/// Marks a word that was not requested.
const NO_LIST: u32 = u32::MAX;

/// The elements that directly contain each requested word.
#[derive(Debug, Default)]
pub struct Postings {
    /// Index of each vocabulary word's list, or [`NO_LIST`].
    lists: Vec<u32>,
    /// The requested words, by list.
    words: Vec<WordId>,
    /// Range of each list in `elements`.
    ranges: Vec<PostingRange>,
    elements: Vec<u32>,
    /// Scratch space: list and element of each requested occurrence.
    requested: Vec<(u32, u32)>,
}

/// Range of a word's elements in [`Postings::elements`].
#[derive(Clone, Copy, Debug)]
pub struct PostingRange {
    /// First index.
    pub start: u32,
    /// One past the last index.
    pub end: u32,
}

impl Postings {
    /// Removes all lists, for a vocabulary of `word_count` words.
    pub fn clear(&mut self, word_count: usize) {
        for &word in &self.words {
            self.lists[word as usize] = NO_LIST;
        }
        self.lists.resize(word_count, NO_LIST);
        self.words.clear();
        self.ranges.clear();
        self.elements.clear();
    }

    /// Requests the elements of a word that occurs.
    #[inline]
    pub fn request(&mut self, word: WordId) {
        let list = &mut self.lists[word as usize];
        if *list == NO_LIST {
            *list = self.words.len() as u32;
            self.words.push(word);
            self.ranges.push(PostingRange { start: 0, end: 0 });
        }
    }

    /// Builds the lists of the requested words.
    pub fn build(&mut self, occurrences: &[Occurrence]) {
        let count = self.filter_requested(occurrences);
        for &(list, _) in &self.requested[..count] {
            self.ranges[list as usize].end += 1;
        }
        let mut start = 0;
        for range in &mut self.ranges {
            let len = range.end;
            // The end advances as elements are added.
            *range = PostingRange { start, end: start };
            start += len;
        }
        self.elements.resize(count, 0);
        for &(list, element) in &self.requested[..count] {
            let end = &mut self.ranges[list as usize].end;
            self.elements[*end as usize] = element;
            *end += 1;
        }
        for range in &mut self.ranges {
            let elements = &mut self.elements[range.start as usize..range.end as usize];
            // Text after a child follows the child's words.
            if !elements.is_sorted_by(|a, b| a < b) {
                elements.sort_unstable();
                range.end = range.start + deduplicate(elements);
            }
        }
    }

    /// Writes list and element of each occurrence of a requested word to `requested`; returns
    /// their number.
    fn filter_requested(&mut self, occurrences: &[Occurrence]) -> usize {
        ensure_len(&mut self.requested, occurrences.len());
        let (lists, requested) = (&self.lists[..], &mut self.requested[..occurrences.len()]);
        let mut count = 0;
        for occurrence in occurrences {
            // Branch-free, because whether a word was requested is unpredictable.
            let list = lists[occurrence.word as usize];
            requested[count] = (list, occurrence.element);
            count += usize::from(list != NO_LIST);
        }
        count
    }

    /// The requested words, distinct, in order of request.
    #[inline]
    pub fn words(&self) -> &[WordId] {
        &self.words
    }

    /// Whether a word was requested.
    #[inline]
    pub fn contains(&self, word: WordId) -> bool {
        self.lists[word as usize] != NO_LIST
    }

    /// Range of a word's elements; empty if the word was not requested.
    #[inline]
    pub fn range(&self, word: WordId) -> PostingRange {
        match self.lists[word as usize] {
            NO_LIST => PostingRange { start: 0, end: 0 },
            list => self.ranges[list as usize],
        }
    }

    /// The elements of a word.
    #[inline]
    pub fn get(&self, word: WordId) -> &[u32] {
        let range = self.range(word);
        &self.elements[range.start as usize..range.end as usize]
    }

    /// The elements of all words, by range.
    #[inline]
    pub fn elements(&self) -> &[u32] {
        &self.elements
    }
}

/// Moves the distinct values of a sorted slice to the front; returns their number.
fn deduplicate(elements: &mut [u32]) -> u32 {
    let mut count = 1;
    for at in 1..elements.len() {
        if elements[at] != elements[count - 1] {
            elements[count] = elements[at];
            count += 1;
        }
    }
    count as u32
}

/// Galloping search: the first index from `from` on whose element is at least `wanted`. The cost
/// is logarithmic in the distance.
#[inline]
pub fn gallop(elements: &[u32], from: usize, wanted: u32) -> usize {
    let mut low = from;
    let mut step = 1;
    while low + step <= elements.len() && elements[low + step - 1] < wanted {
        low += step;
        step *= 2;
    }
    let high = (low + step - 1).min(elements.len());
    low + elements[low..high].partition_point(|&element| element < wanted)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_word_repeated_after_a_child_is_one_posting() {
        let occurrences = [(1, 0), (1, 1), (1, 0), (0, 2)];
        let occurrences = occurrences.map(|(word, element)| Occurrence { word, element });
        let mut postings = Postings::default();
        postings.clear(3);
        [1, 0].into_iter().for_each(|word| postings.request(word));
        postings.build(&occurrences);
        assert_eq!(postings.get(1), [0, 1]);
        assert_eq!(postings.get(0), [2]);
        assert_eq!(postings.get(2), [0_u32; 0]);
        assert_eq!(postings.words(), [1, 0]);
        postings.clear(3);
        postings.build(&[]);
        assert!(!postings.contains(1) && postings.words().is_empty());
    }

    proptest! {
        #[test]
        fn galloping_agrees_with_binary_search(
            elements in prop::collection::btree_set(0..60_u32, 0..40),
            from in 0..40_usize,
            wanted in 0..61_u32,
        ) {
            let elements: Vec<u32> = elements.into_iter().collect();
            let from = from.min(elements.len());
            let expected = elements.partition_point(|&element| element < wanted).max(from);
            prop_assert_eq!(gallop(&elements, from, wanted), expected);
        }
    }
}
