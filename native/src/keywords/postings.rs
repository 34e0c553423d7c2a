//! Where the words of a document are: for each word its elements in document order.

use crate::keywords::conjunction_index::ensure_len;
use crate::keywords::element_window::{Occurrence, NONE};
use crate::keywords::token_sink::WordId;

/// The elements of each word, in document order.
#[derive(Debug, Default)]
pub struct Postings {
    /// For each word of the vocabulary its place among those wanted, or [`NONE`].
    places: Vec<u32>,
    present: Vec<WordId>,
    /// For each of them where its elements are.
    ranges: Vec<Range>,
    elements: Vec<u32>,
    /// Memory of [`Postings::wanted`].
    wanted: Vec<(u32, u32)>,
}

/// Where a word's elements are among all.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    /// The first.
    pub start: u32,
    /// One past the last.
    pub end: u32,
}

impl Postings {
    /// Forgets what was there, for a vocabulary of so many words.
    pub fn clear(&mut self, word_count: usize) {
        for &word in &self.present {
            self.places[word as usize] = NONE;
        }
        self.places.resize(word_count, NONE);
        self.present.clear();
        self.ranges.clear();
        self.elements.clear();
    }

    /// Wants the elements of a word that occurs.
    #[inline]
    pub fn want(&mut self, word: WordId) {
        let place = &mut self.places[word as usize];
        if *place == NONE {
            *place = self.present.len() as u32;
            self.present.push(word);
            self.ranges.push(Range { start: 0, end: 0 });
        }
    }

    /// The words that are wanted among these, each by its place, and their elements.
    #[inline]
    pub fn wanted(&mut self, occurrences: &[Occurrence]) -> &[(u32, u32)] {
        ensure_len(&mut self.wanted, occurrences.len());
        let (places, wanted) = (&self.places[..], &mut self.wanted[..occurrences.len()]);
        let mut count = 0;
        for occurrence in occurrences {
            // Without a branch: it cannot be foretold.
            let place = places[occurrence.word as usize];
            wanted[count] = (place, occurrence.element);
            count += usize::from(place != NONE);
        }
        &wanted[..count]
    }

    /// Gathers the elements of the words that are wanted.
    pub fn gather(&mut self, occurrences: &[Occurrence]) {
        let count = self.wanted(occurrences).len();
        for &(place, _) in &self.wanted[..count] {
            self.ranges[place as usize].end += 1;
        }
        let mut start = 0;
        for range in &mut self.ranges {
            let len = range.end;
            // The end moves on as elements are put in.
            *range = Range { start, end: start };
            start += len;
        }
        self.elements.resize(count, 0);
        for &(place, element) in &self.wanted[..count] {
            let end = &mut self.ranges[place as usize].end;
            self.elements[*end as usize] = element;
            *end += 1;
        }
        for range in &mut self.ranges {
            let elements = &mut self.elements[range.start as usize..range.end as usize];
            // Texts come behind names, and text behind a child behind that.
            if !elements.is_sorted_by(|a, b| a < b) {
                elements.sort_unstable();
                range.end = range.start + deduplicate(elements);
            }
        }
    }

    /// The words that are wanted, each once, as they came first.
    #[inline]
    pub fn words(&self) -> &[WordId] {
        &self.present
    }

    /// Whether a word is wanted.
    #[inline]
    pub fn contains(&self, word: WordId) -> bool {
        self.places[word as usize] != NONE
    }

    /// The place of a word that is wanted among [`Postings::words`].
    #[inline]
    pub fn place(&self, word: WordId) -> usize {
        self.places[word as usize] as usize
    }

    /// Where the elements of a word are; nowhere for one that is not wanted.
    #[inline]
    pub fn range(&self, word: WordId) -> Range {
        match self.places[word as usize] {
            NONE => Range { start: 0, end: 0 },
            place => self.ranges[place as usize],
        }
    }

    /// The elements of a word.
    #[inline]
    pub fn get(&self, word: WordId) -> &[u32] {
        let range = self.range(word);
        &self.elements[range.start as usize..range.end as usize]
    }

    /// The elements of all words; a word's are at its range.
    #[inline]
    pub fn elements(&self) -> &[u32] {
        &self.elements
    }
}

/// Moves the distinct ones of sorted elements to the front; how many they are.
fn deduplicate(elements: &mut [u32]) -> u32 {
    let mut kept = 1;
    for at in 1..elements.len() {
        if elements[at] != elements[kept - 1] {
            elements[kept] = elements[at];
            kept += 1;
        }
    }
    kept as u32
}

/// The first place from `from` on whose element is at least `wanted`, in steps that double: cheap
/// where it is near.
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
    fn a_word_heard_again_behind_a_child_is_one_posting() {
        let heard = [(1, 0), (1, 1), (1, 0), (0, 2)];
        let heard = heard.map(|(word, element)| Occurrence { word, element });
        let mut postings = Postings::default();
        postings.clear(3);
        [1, 0].into_iter().for_each(|word| postings.want(word));
        postings.gather(&heard);
        assert_eq!(postings.get(1), [0, 1]);
        assert_eq!(postings.get(0), [2]);
        assert_eq!(postings.get(2), [0_u32; 0]);
        assert_eq!(postings.words(), [1, 0]);
        postings.clear(3);
        postings.gather(&[]);
        assert!(!postings.contains(1) && postings.words().is_empty());
    }

    proptest! {
        #[test]
        fn galloping_finds_what_a_search_finds(
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
