//! Learns from documents under which words queries are best filed.
//!
//! A word that few queries have may be in every document, such as the name of an element. After some
//! documents it is known which words are rare there, and where that pays, the queries of a segment are filed
//! anew under those: once, in memory, for all who use the segment. The same queries are found either way.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::OnceLock;

use crate::keywords::conjunction_index::Filing;
use crate::keywords::token_sink::{Queries, WordId};

/// Queries are filed anew after so many searches by one thread.
pub const SEARCHES_LEARNT: u32 = 64;

/// It pays where so many times the queries that were found have been looked at.
const LOOKED_AT_SHARE: u64 = 2;

/// What one thread has learnt of a segment's words.
#[derive(Debug, Default)]
pub struct Learnt {
    searches: u32,
    /// How many queries were looked at and found.
    looked_at: u64,
    found: u64,
    /// For each word in how many searches it was.
    counts: Vec<u32>,
}

impl Learnt {
    /// Whether searches are still to be learnt from.
    #[inline]
    pub fn is_learning(&self) -> bool {
        self.searches < SEARCHES_LEARNT
    }

    /// Learns from a search: words of so many that were there, and how many queries were looked at and
    /// found.
    #[cold]
    pub fn learn(&mut self, word_count: usize, words: &[WordId], looked_at: usize, found: usize) {
        self.searches += 1;
        self.looked_at += looked_at as u64;
        self.found += found as u64;
        self.counts.resize(word_count, 0);
        for &word in words {
            self.counts[word as usize] += 1;
        }
    }

    fn shows_waste(&self) -> bool {
        !self.is_learning() && self.looked_at > LOOKED_AT_SHARE * self.found
    }
}

/// Queries filed anew, once that is learnt.
#[derive(Default)]
pub struct Refiled {
    is_begun: AtomicBool,
    filing: OnceLock<Filing>,
}

impl Refiled {
    /// The queries as they are filed anew.
    #[inline]
    pub fn get(&self) -> Option<&Filing> {
        self.filing.get()
    }

    /// Files the queries anew if what was learnt shows that it pays, unless another thread does or did.
    pub fn refile(&self, queries: &dyn Queries, learnt: &Learnt) {
        if !learnt.shows_waste() || self.is_begun.load(Ordering::Relaxed) {
            return;
        }
        if !self.is_begun.swap(true, Ordering::Relaxed) {
            let filing = Filing::build(queries, &learnt.counts);
            assert!(self.filing.set(filing).is_ok(), "it is begun once");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keywords::conjunction_index::{Places, Search};
    use crate::keywords::testing::QueryList;
    use crate::keywords::token_sink::Mode;

    /// How many queries are looked at, and those that are found, where these words are.
    fn searched(filing: &Filing, queries: &QueryList, words: &[WordId]) -> (u64, Vec<u32>) {
        let mut memory = Search::default();
        let places = |word| Places::from(words.contains(&word));
        let mut found = Vec::new();
        filing.search(&mut memory, queries, words, places, |complete| {
            found.push(complete.query);
        });
        found.sort_unstable();
        (memory.learnt.looked_at, found)
    }

    #[test]
    fn queries_are_filed_anew_under_words_that_are_rare_in_documents() {
        // Words 0 and 1 are in all documents, and few queries have them; word 2 is in none of the first.
        let own = (0..20).map(|at| (Mode::All, vec![0, 1, 2, 3 + at]));
        let others = (0..20).map(|at| (Mode::All, vec![2, 3 + at]));
        let others = others.flat_map(|query| [query.clone(), query]);
        let queries = QueryList::new(own.chain(others)).with_words(30);
        let filed = Filing::build(&queries, &[]);
        let refiled = Refiled::default();
        let mut memory = Search::default();
        let words: Vec<WordId> = [0, 1].into_iter().chain(3..23).collect();
        for _ in 0..SEARCHES_LEARNT {
            assert!(memory.learnt.is_learning() && refiled.get().is_none());
            let places = |word| Places::from(words.contains(&word));
            filed.search(&mut memory, &queries, &words, places, |_| {});
            refiled.refile(&queries, &memory.learnt);
        }
        let anew = refiled.get().expect("it pays");
        let (before, none) = searched(&filed, &queries, &words);
        let (after, still_none) = searched(anew, &queries, &words);
        assert!(none.is_empty() && still_none.is_empty());
        assert_eq!((before, after), (20, 0));
        let all: Vec<WordId> = (0..30).collect();
        assert_eq!(
            searched(&filed, &queries, &all).1,
            searched(anew, &queries, &all).1
        );
    }

    #[test]
    fn where_most_that_is_looked_at_is_found_nothing_changes() {
        let queries = QueryList::new([(Mode::All, vec![0, 1, 2])]);
        let filed = Filing::build(&queries, &[]);
        let refiled = Refiled::default();
        let mut memory = Search::default();
        for _ in 0..=SEARCHES_LEARNT {
            filed.search(&mut memory, &queries, &[0, 1, 2], |_| 1, |_| {});
            refiled.refile(&queries, &memory.learnt);
        }
        assert!(!memory.learnt.is_learning() && refiled.get().is_none());
    }
}
