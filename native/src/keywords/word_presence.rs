//! Which queries have an answer in a document at all.

use crate::events::{Span, Stop};
use crate::subscription_store::class_set::Classes;

use crate::keywords::adaptive_reindex::Learnt;
use crate::keywords::conjunction_index::{Filing, Places, Search};
use crate::keywords::disjunction_index::OrLists;
use crate::keywords::token_batch::Batch;
use crate::keywords::token_sink::{Listener, Queries, WordId};

/// Hears which words a document has.
///
/// A document whose root contains all words of an AND query has an answer to it, and one that has a
/// word of an OR query has an answer to that: where only matches are wanted, elements do not matter.
#[derive(Default)]
pub struct Matching {
    /// For each word of the vocabulary 1 where it was heard. Numbers of their own are found sooner than bits.
    heard: Vec<u8>,
    /// The words that were heard, each once; so many of these.
    words: Vec<WordId>,
    word_count: usize,
    search: Search,
}

impl Matching {
    /// For a vocabulary of so many words.
    pub fn new(word_count: usize) -> Matching {
        Matching {
            heard: vec![0; word_count],
            words: vec![0; word_count + 1],
            word_count: 0,
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
        let words = &self.words[..self.word_count];
        let heard = &self.heard[..];
        let places = |word| Places::from(heard[word as usize]);
        all.search(&mut self.search, queries, words, places, |found| {
            matched.insert(found.query);
        });
        if !any.is_empty() {
            for &query in words.iter().flat_map(|&word| any.get(word)) {
                matched.insert(query);
            }
        }
        self.clear();
    }

    /// What was learnt from the documents.
    pub fn learnt(&self) -> &Learnt {
        &self.search.learnt
    }

    /// Forgets what was heard of a document that was refused.
    pub fn clear(&mut self) {
        for &word in &self.words[..self.word_count] {
            self.heard[word as usize] = 0;
        }
        self.word_count = 0;
    }

    #[inline(always)]
    fn hear_words<'w>(&mut self, heard: impl Iterator<Item = &'w WordId>) {
        let (all, list) = (&mut self.heard[..], &mut self.words[..]);
        let mut count = self.word_count;
        for &word in heard {
            // Without a branch: whether it was heard before cannot be foretold.
            list[count] = word;
            count += usize::from(all[word as usize] == 0);
            all[word as usize] = 1;
        }
        self.word_count = count;
    }
}

impl Listener for Matching {
    #[inline]
    fn open(&mut self) -> Result<(), Stop> {
        Ok(())
    }

    #[inline]
    fn word(&mut self, word: WordId) -> Result<(), Stop> {
        self.hear_words([word].iter());
        Ok(())
    }

    fn hear(&mut self, batch: &Batch<'_>) -> Result<(), Stop> {
        self.hear_words(batch.names_heard().flatten());
        self.hear_words(batch.words.iter());
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

    use super::*;
    use crate::keywords::testing::{queries, trees, Document};
    use crate::subscription_store::class_set::ClassSet;

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
