//! Which queries have an answer in a document at all.

use crate::events::{Span, Stop};
use crate::matching::classes::{ClassSet, Classes};

use super::filing::{Filing, Places, Search};
use super::learning::Learnt;
use super::listen::{Listener, Queries, WordId};
use super::lists::OrLists;

/// Hears which words a document has.
///
/// A document whose root contains all words of an AND query has an answer to it, and one that has a
/// word of an OR query has an answer to that: where only matches are wanted, elements do not matter.
#[derive(Default)]
pub struct Matching {
    words: Classes,
    search: Search,
}

impl Matching {
    /// For a vocabulary of so many words.
    pub fn new(word_count: usize) -> Matching {
        Matching {
            words: Classes::new(word_count),
            search: Search::default(),
        }
    }

    /// Adds the queries that the document heard since the last call matches.
    pub fn finish(
        &mut self,
        queries: &dyn Queries,
        all: &Filing,
        any: &OrLists,
        matched: &mut Classes,
    ) {
        let words = self.words.list();
        let places = |word| Places::from(self.words.contains(word));
        all.search(&mut self.search, queries, words, places, |found| {
            matched.insert(found.query);
        });
        if !any.is_empty() {
            for &query in words.iter().flat_map(|&word| any.get(word)) {
                matched.insert(query);
            }
        }
        self.words.clear();
    }

    /// What was learnt from the documents.
    pub fn learnt(&self) -> &Learnt {
        &self.search.learnt
    }

    /// Forgets what was heard of a document that was refused.
    pub fn clear(&mut self) {
        self.words.clear();
    }
}

impl Listener for Matching {
    #[inline]
    fn open(&mut self) -> Result<(), Stop> {
        Ok(())
    }

    #[inline]
    fn word(&mut self, word: WordId) -> Result<(), Stop> {
        self.words.insert(word);
        Ok(())
    }

    #[inline]
    fn close(&mut self, _: Span, _: Span) -> Result<(), Stop> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::testing::{queries, trees, Document};
    use super::*;

    proptest! {
        #[test]
        fn a_query_matches_where_it_has_an_answer(
            documents in prop::collection::vec(trees(6, 20), 1..4),
            queries in queries(6, 12),
        ) {
            let (all, any) = (Filing::build(&queries, &[]), OrLists::build(&queries));
            let mut matching = Matching::new(queries.word_count());
            for tree in documents {
                tree.feed(&mut matching).unwrap();
                let mut matched = Classes::new(queries.count());
                matching.finish(&queries, &all, &any, &mut matched);
                let document = Document::new(&tree);
                for query in 0..queries.count() as u32 {
                    let answers = document.answers(queries.mode(query), queries.words(query));
                    prop_assert_eq!(matched.contains(query), !answers.is_empty());
                }
            }
        }
    }
}
