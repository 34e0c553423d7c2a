//! Posting lists from words to the OR queries that contain them.

use crate::subscription_store::file_format::is_partition;
use crate::subscription_store::flat_layout::FlatArray;

use crate::keywords::token_sink::{Mode, QuerySet, WordId};

/// The OR queries of each word.
pub struct DisjunctionIndex {
    /// Start of each word's queries; one more than there are words.
    pub starts: FlatArray<u32>,
    /// The queries of all words; those of one word are ascending.
    pub queries: FlatArray<u32>,
}

impl DisjunctionIndex {
    /// Indexes all OR queries.
    pub fn build(queries: &dyn QuerySet) -> DisjunctionIndex {
        let count = u32::try_from(queries.count()).expect("fewer than 2^32 queries");
        let disjunctions = || (0..count).filter(|&query| queries.mode(query) == Mode::Any);
        let mut starts = vec![0_u32; queries.word_count() + 1];
        for &word in disjunctions().flat_map(|query| queries.words(query)) {
            starts[word as usize + 1] += 1;
        }
        for word in 1..starts.len() {
            starts[word] += starts[word - 1];
        }
        let total = starts.last().copied().unwrap_or(0);
        let mut listed = vec![0; total as usize];
        let mut ends = starts.clone();
        for query in disjunctions() {
            for &word in queries.words(query) {
                let end = &mut ends[word as usize];
                listed[*end as usize] = query;
                *end += 1;
            }
        }
        DisjunctionIndex {
            starts: starts.into(),
            queries: listed.into(),
        }
    }

    /// The OR queries that contain a word.
    #[inline]
    pub fn get(&self, word: WordId) -> &[u32] {
        let start = self.starts[word as usize] as usize;
        &self.queries[start..self.starts[word as usize + 1] as usize]
    }

    /// Whether each OR query is listed under each of its words.
    pub fn is_valid(&self, queries: &dyn QuerySet) -> bool {
        let disjunctions =
            (0..queries.count() as u32).filter(|&query| queries.mode(query) == Mode::Any);
        let word_count: usize = disjunctions.map(|query| queries.words(query).len()).sum();
        let is_listed_under = |word: WordId, query: u32| {
            (query as usize) < queries.count()
                && queries.mode(query) == Mode::Any
                && queries.words(query).binary_search(&word).is_ok()
        };
        self.starts.len() == queries.word_count() + 1
            && self.queries.len() == word_count
            && word_count < u32::MAX as usize
            && is_partition(self.starts.iter().copied(), word_count as u32)
            && (0..queries.word_count() as WordId).all(|word| {
                let listed = self.get(word);
                listed.is_sorted_by(|a, b| a < b)
                    && listed.iter().all(|&query| is_listed_under(word, query))
            })
    }

    /// Whether there are no OR queries.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.queries.is_empty()
    }
}
