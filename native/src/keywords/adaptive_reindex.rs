//! Rebuilds the conjunction index by word frequencies observed in documents.
//!
//! A word that few queries contain may occur in every document, such as an element name. After some
//! documents, it is known which words are rare. If the index probes too many queries that do not match, it is
//! rebuilt, once, in memory and for all threads. The results stay the same.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::OnceLock;

use crate::keywords::conjunction_index::ConjunctionIndex;
use crate::keywords::token_sink::{QuerySet, WordId};

/// Number of searches by one thread before the index is rebuilt.
pub const SEARCHES_OBSERVED: u32 = 64;

/// Rebuild if more than this many queries were probed per query found.
const PROBED_PER_FOUND_MAX: u64 = 2;

/// Word frequencies and search statistics of one thread.
#[derive(Debug, Default)]
pub struct ObservedFrequencies {
    searches: u32,
    /// Number of queries probed and found.
    probed: u64,
    found: u64,
    /// Number of searches in which each word occurred.
    counts: Vec<u32>,
}

impl ObservedFrequencies {
    /// Whether more searches need to be recorded.
    #[inline]
    pub fn is_observing(&self) -> bool {
        self.searches < SEARCHES_OBSERVED
    }

    /// Records a search: the words that occurred, and the numbers of queries probed and found.
    #[cold]
    pub fn record(&mut self, word_count: usize, words: &[WordId], probed: usize, found: usize) {
        self.searches += 1;
        self.probed += probed as u64;
        self.found += found as u64;
        self.counts.resize(word_count, 0);
        for &word in words {
            self.counts[word as usize] += 1;
        }
    }

    fn is_rebuild_worthwhile(&self) -> bool {
        !self.is_observing() && self.probed > PROBED_PER_FOUND_MAX * self.found
    }
}

/// The rebuilt index, once it exists.
#[derive(Default)]
pub struct AdaptiveIndex {
    is_started: AtomicBool,
    index: OnceLock<ConjunctionIndex>,
}

impl AdaptiveIndex {
    /// Returns the rebuilt index, if any.
    #[inline]
    pub fn get(&self) -> Option<&ConjunctionIndex> {
        self.index.get()
    }

    /// Rebuilds the index if the statistics justify it and no other thread does or did.
    pub fn rebuild_if_worthwhile(&self, queries: &dyn QuerySet, observed: &ObservedFrequencies) {
        if !observed.is_rebuild_worthwhile() || self.is_started.load(Ordering::Relaxed) {
            return;
        }
        if !self.is_started.swap(true, Ordering::Relaxed) {
            let index = ConjunctionIndex::build(queries, &observed.counts);
            assert!(self.index.set(index).is_ok(), "only one thread rebuilds");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keywords::conjunction_index::{Presence, SearchBuffers};
    use crate::keywords::testing::QueryList;
    use crate::keywords::token_sink::Mode;

    /// Returns the number of queries probed and the queries found in a document of these words.
    fn searched(
        index: &ConjunctionIndex,
        queries: &QueryList,
        words: &[WordId],
    ) -> (u64, Vec<u32>) {
        let mut buffers = SearchBuffers::default();
        let presence = |word| Presence::from(words.contains(&word));
        let mut found = Vec::new();
        index.search(&mut buffers, queries, words, presence, &mut found);
        found.sort_unstable();
        (buffers.observed.probed, found)
    }

    #[test]
    fn the_index_is_rebuilt_by_observed_word_frequencies() {
        // Words 0 and 1 occur in all documents but in few queries; word 2 occurs in no document at
        // first.
        let own = (0..20).map(|at| (Mode::All, vec![0, 1, 2, 3 + at]));
        let others = (0..20).map(|at| (Mode::All, vec![2, 3 + at]));
        let others = others.flat_map(|query| [query.clone(), query]);
        let queries = QueryList::new(own.chain(others)).with_words(30);
        let original = ConjunctionIndex::build(&queries, &[]);
        let adaptive = AdaptiveIndex::default();
        let mut buffers = SearchBuffers::default();
        let words: Vec<WordId> = [0, 1].into_iter().chain(3..23).collect();
        for _ in 0..SEARCHES_OBSERVED {
            assert!(buffers.observed.is_observing() && adaptive.get().is_none());
            let presence = |word| Presence::from(words.contains(&word));
            original.search(&mut buffers, &queries, &words, presence, &mut Vec::new());
            adaptive.rebuild_if_worthwhile(&queries, &buffers.observed);
        }
        let rebuilt = adaptive.get().expect("the rebuild is worthwhile");
        let (before, none) = searched(&original, &queries, &words);
        let (after, still_none) = searched(rebuilt, &queries, &words);
        assert!(none.is_empty() && still_none.is_empty());
        assert_eq!((before, after), (20, 0));
        let all: Vec<WordId> = (0..30).collect();
        assert_eq!(
            searched(&original, &queries, &all).1,
            searched(rebuilt, &queries, &all).1
        );
    }

    #[test]
    fn the_index_is_not_rebuilt_if_most_probes_succeed() {
        let queries = QueryList::new([(Mode::All, vec![0, 1, 2])]);
        let original = ConjunctionIndex::build(&queries, &[]);
        let adaptive = AdaptiveIndex::default();
        let mut buffers = SearchBuffers::default();
        for _ in 0..=SEARCHES_OBSERVED {
            original.search(&mut buffers, &queries, &[0, 1, 2], |_| 1, &mut Vec::new());
            adaptive.rebuild_if_worthwhile(&queries, &buffers.observed);
        }
        assert!(!buffers.observed.is_observing() && adaptive.get().is_none());
    }
}
