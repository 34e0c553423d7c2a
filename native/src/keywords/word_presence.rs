//! Determines which queries match a document, without locating answers.

use crate::events::{Span, Stop};
use crate::subscription_store::class_set::OrderedClassSet;

use crate::keywords::adaptive_reindex::ObservedFrequencies;
use crate::keywords::conjunction_index::{ConjunctionIndex, Presence, SearchBuffers};
use crate::keywords::disjunction_index::{is_met, DisjunctionIndex};
use crate::keywords::token_batch::TokenBatch;
use crate::keywords::token_sink::{QuerySet, TokenSink, WordId};

/// Collects the words of a document.
///
/// An AND query matches if the document contains all of its words, since the root then does; an OR
/// query matches if the document contains one of them. Elements do not matter for matching.
#[derive(Default)]
pub struct WordPresence {
    /// 1 for each vocabulary word that occurs. Bytes are faster to test than bits.
    present: Vec<u8>,
    /// The words that occur, distinct; the first `word_count` elements are valid.
    words: Vec<WordId>,
    word_count: usize,
    search: SearchBuffers,
    /// The OR queries that match, which several words may find.
    matched_any: OrderedClassSet,
}

impl WordPresence {
    /// For a vocabulary of `word_count` words.
    pub fn new(word_count: usize) -> WordPresence {
        WordPresence {
            present: vec![0; word_count],
            words: vec![0; word_count + 1],
            word_count: 0,
            search: SearchBuffers::default(),
            matched_any: OrderedClassSet::default(),
        }
    }

    /// Appends the queries that match the words collected since the last call, each once.
    pub fn finish(
        &mut self,
        queries: &dyn QuerySet,
        conjunctions: &ConjunctionIndex,
        disjunctions: &DisjunctionIndex,
        matched: &mut Vec<u32>,
    ) {
        let words = &self.words[..self.word_count];
        let present = &self.present[..];
        let presence = |word| Presence::from(present[word as usize]);
        conjunctions.search(&mut self.search, queries, words, presence, matched);
        if !disjunctions.is_empty() {
            self.matched_any.resize(queries.count());
            let header_words = queries.header_words();
            let is_present = |word: WordId| present[word as usize] != 0;
            for &query in words.iter().flat_map(|&word| disjunctions.get(word)) {
                if header_words == 0 || is_met(queries.words(query), header_words, is_present) {
                    self.matched_any.insert(query);
                }
            }
            matched.extend_from_slice(self.matched_any.list());
            self.matched_any.clear();
        }
        self.clear();
    }

    /// Statistics of the searches so far.
    pub fn observed(&self) -> &ObservedFrequencies {
        &self.search.observed
    }

    /// Discards the words of a document that was rejected.
    pub fn clear(&mut self) {
        for &word in &self.words[..self.word_count] {
            self.present[word as usize] = 0;
        }
        self.word_count = 0;
    }

    /// Adds a word that the document contains.
    pub fn add_word(&mut self, word: WordId) {
        self.add_words([word].iter());
    }

    #[inline(always)]
    fn add_words<'w>(&mut self, present: impl Iterator<Item = &'w WordId>) {
        let (all, list) = (&mut self.present[..], &mut self.words[..]);
        let mut count = self.word_count;
        for &word in present {
            // Branch-free, because whether a word is new is unpredictable.
            list[count] = word;
            count += usize::from(all[word as usize] == 0);
            all[word as usize] = 1;
        }
        self.word_count = count;
    }
}

impl TokenSink for WordPresence {
    const NEEDS_ELEMENTS: bool = false;

    #[inline]
    fn open(&mut self) -> Result<(), Stop> {
        Ok(())
    }

    #[inline]
    fn token(&mut self, word: WordId) -> Result<(), Stop> {
        self.add_words([word].iter());
        Ok(())
    }

    fn push_batch(&mut self, batch: &TokenBatch<'_>) -> Result<(), Stop> {
        self.add_words(batch.name_tokens().flatten());
        self.add_words(batch.words.iter());
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
    use crate::keywords::testing::{figure_1, queries, trees, Document, QueryList};
    use crate::keywords::token_sink::Mode;
    use crate::reader::tests::allocations::allocations;

    #[test]
    fn a_warm_sink_allocates_nothing() {
        struct IgnoreTokens;
        impl TokenSink for IgnoreTokens {
            fn open(&mut self) -> Result<(), Stop> {
                Ok(())
            }
            fn token(&mut self, _: WordId) -> Result<(), Stop> {
                Ok(())
            }
            fn close(&mut self, _: Span, _: Span) -> Result<(), Stop> {
                Ok(())
            }
        }
        let queries = [
            (Mode::All, vec![0, 1, 2]),
            (Mode::All, vec![0, 3]),
            (Mode::Any, vec![1, 4]),
        ];
        let queries = QueryList::new(queries).with_words(6);
        let (conjunctions, disjunctions) = (
            ConjunctionIndex::build(&queries, &[]),
            DisjunctionIndex::build(&queries),
        );
        let (mut presence, mut matched) = (WordPresence::new(queries.word_count()), Vec::new());
        let tree = figure_1();
        let mut match_once = || {
            matched.clear();
            tree.feed(&mut presence).unwrap();
            presence.finish(&queries, &conjunctions, &disjunctions, &mut matched);
            assert!((0..3).all(|query| matched.contains(&query)));
        };
        let cold = allocations(&mut match_once);
        let warm = allocations(&mut match_once);
        let feeding = allocations(|| tree.feed(&mut IgnoreTokens).unwrap());
        assert!(cold > feeding);
        assert_eq!(warm, feeding);
    }

    proptest! {
        #[test]
        fn a_query_matches_iff_it_has_an_answer(
            documents in prop::collection::vec(trees(6, 20), 1..4),
            queries in queries(6, 12),
        ) {
            let (conjunctions, disjunctions) = (ConjunctionIndex::build(&queries, &[]), DisjunctionIndex::build(&queries));
            let mut presence = WordPresence::new(queries.word_count());
            for tree in documents {
                tree.feed(&mut presence).unwrap();
                let mut matched = Vec::new();
                presence.finish(&queries, &conjunctions, &disjunctions, &mut matched);
                let document = Document::new(&tree);
                for query in 0..queries.count() as u32 {
                    let answers = document.answers(queries.mode(query), queries.words(query));
                    let times = matched.iter().filter(|&&each| each == query).count();
                    prop_assert_eq!(times, usize::from(!answers.is_empty()));
                }
            }
        }
    }
}
