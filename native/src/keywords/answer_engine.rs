//! Locates the answers of queries: records a document in a window and answers the queries at its
//! end.
//!
//! A document that is too large for the window spills: queries are answered in each closed child of
//! an open element, and the child is reduced to a summary for the enclosing elements; see
//! [`crate::keywords::subtree_summary`].

use std::sync::Arc;

use crate::events::{Context, Span, StartElement, Stop};
use crate::subscription_store::class_set::OrderedClassSet;

use crate::keywords::answer_budget::AnswerBudget;
use crate::keywords::answers::{QueryAnswers, RankedAnswers};
use crate::keywords::closed_subtree::ClosedSubtree;
use crate::keywords::conjunction_index::{ConjunctionIndex, Presence, SearchBuffers};
use crate::keywords::conjunctive_answers::{ConjunctiveAnswers, ElementRange};
use crate::keywords::disjunction_index::DisjunctionIndex;
use crate::keywords::disjunctive_answers::DisjunctiveAnswers;
use crate::keywords::element_metadata::{ElementMetadata, ElementRecord};
use crate::keywords::element_window::{ElementWindow, NO_ELEMENT};
use crate::keywords::postings::Postings;
use crate::keywords::subtree_summary::SubtreeSummary;
use crate::keywords::token_batch::TokenBatch;
use crate::keywords::token_sink::{Mode, QuerySet, TokenSink, WordId};

mod spill;

/// Queries and their indexes.
#[derive(Clone, Copy)]
pub struct QueryIndexes<'a> {
    /// All queries.
    pub queries: &'a dyn QuerySet,
    /// The AND queries by their words.
    pub conjunctions: &'a ConjunctionIndex,
    /// The OR queries by their words.
    pub disjunctions: &'a DisjunctionIndex,
}

/// Limits on the answers and on resources.
#[derive(Clone, Copy, Debug)]
pub struct AnswerOptions {
    /// Number of answers returned for each query, the best ones.
    pub limit: usize,
    /// Maximum number of elements, words and text ranges in the window. A larger document spills.
    /// Its OR queries cannot be answered, so that it is stopped with `keywords.or-too-large` if it
    /// contains a word of one.
    pub window_max: usize,
    /// Number of witnesses returned for each word of an answer; the others are only counted.
    pub witnesses_max: usize,
    /// Maximum number of elements of a document that spills, which have 32-bit numbers. Beyond it,
    /// the document is stopped with `keywords.too-many-elements`.
    pub elements_max: u32,
    /// Maximum size of the answers held for a document in memory, approximately. Beyond it, those of
    /// the query with the most are abandoned.
    pub bytes_max: usize,
    /// Maximum number of steps that finding the answers of a document takes. Beyond it, those of the
    /// queries whose words occur most often are abandoned.
    pub steps_max: u64,
}

/// Default of [`AnswerOptions::window_max`].
pub const WINDOW_MAX: usize = 1 << 20;
/// Default of [`AnswerOptions::witnesses_max`].
pub const WITNESSES_MAX: usize = 16;
/// Default of [`AnswerOptions::bytes_max`].
pub const ANSWER_BYTES_MAX: usize = 256 * 1024 * 1024;

impl Default for AnswerOptions {
    fn default() -> AnswerOptions {
        AnswerOptions {
            limit: usize::MAX,
            window_max: WINDOW_MAX,
            witnesses_max: WITNESSES_MAX,
            elements_max: u32::MAX,
            bytes_max: ANSWER_BYTES_MAX,
            steps_max: u64::MAX,
        }
    }
}

/// The element of the words that arrive with a delay.
#[derive(Default)]
struct DelayedPlace {
    element: u32,
    /// The number of elements that have started before it, itself included.
    started: u32,
}

/// Adds words to elements that have started before, and may have ended.
struct DelayedWords<'w> {
    window: &'w mut ElementWindow,
    place: &'w mut DelayedPlace,
}

impl TokenSink for DelayedWords<'_> {
    fn open(&mut self) -> Result<(), Stop> {
        self.place.element = self.place.started;
        self.place.started += 1;
        Ok(())
    }

    fn token(&mut self, word: WordId) -> Result<(), Stop> {
        self.tokens(&[word])
    }

    #[inline]
    fn tokens(&mut self, words: &[WordId]) -> Result<(), Stop> {
        self.window.add_words(self.place.element, words);
        Ok(())
    }

    fn close(&mut self, _: Span, _: Span) -> Result<(), Stop> {
        self.place.element = self.window.parent(self.place.element);
        Ok(())
    }
}

/// Working memory of the answer engine.
#[derive(Default)]
pub struct AnswerBuffers {
    window: ElementWindow,
    delayed: DelayedPlace,
    postings: Postings,
    conjunctive: ConjunctiveAnswers,
    disjunctive: DisjunctiveAnswers,
    metadata: ElementMetadata,
    /// Document number of the window's first element.
    base: u32,
    /// The open elements outside of the window, outermost first.
    summaries: Vec<SubtreeSummary>,
    is_spilled: bool,
    /// Scratch space for open elements.
    open: Vec<u32>,
    /// Scratch space for words.
    words: Vec<WordId>,
    search: SearchBuffers,
    /// The AND queries that are complete in the current subtree.
    complete: Vec<u32>,
    /// The OR queries that contain a word of the document.
    matched_or: OrderedClassSet,
    query_count: usize,
    /// Scratch space: the matching queries, with an estimate of the steps to answer them.
    by_estimate: Vec<(u64, u32)>,
    ranked: RankedAnswers,
    budget: AnswerBudget,
}

/// Receives a document and answers queries.
pub struct AnswerEngine<'a> {
    indexes: QueryIndexes<'a>,
    options: AnswerOptions,
    buffers: &'a mut AnswerBuffers,
}

impl<'a> AnswerEngine<'a> {
    /// Starts a document.
    pub fn new(
        indexes: QueryIndexes<'a>,
        options: AnswerOptions,
        buffers: &'a mut AnswerBuffers,
    ) -> Self {
        buffers.clear(indexes.queries);
        buffers.budget = AnswerBudget::new(options.steps_max);
        AnswerEngine {
            indexes,
            options,
            buffers,
        }
    }

    /// Returns the answers by query, ascending.
    pub fn finish(self) -> Vec<(u32, QueryAnswers)> {
        self.buffers.ranked.take(self.options.limit)
    }

    /// Answers the complete AND queries and the OR queries of the subtree whose words are in the
    /// postings. Those whose words occur least often come first, so that expensive queries do not take the
    /// budget of others.
    fn answer_queries(&mut self, enclosing: Option<&Arc<ElementRecord>>) {
        let AnswerBuffers {
            window,
            postings,
            conjunctive,
            disjunctive,
            metadata,
            base,
            complete,
            matched_or,
            by_estimate,
            ranked,
            budget,
            ..
        } = &mut *self.buffers;
        let AnswerOptions {
            limit,
            witnesses_max,
            bytes_max,
            ..
        } = self.options;
        let queries = self.indexes.queries;
        by_estimate.clear();
        let matching = complete.iter().chain(matched_or.list());
        by_estimate.extend(matching.map(|&query| {
            let words = queries.words(query).iter();
            let counts = words.map(|&word| postings.get(word).len() as u64);
            let estimate = match queries.mode(query) {
                Mode::All => counts.min().unwrap_or_default() * queries.words(query).len() as u64,
                Mode::Any => counts.sum(),
            };
            (estimate, query)
        }));
        by_estimate.sort_unstable();
        for &(_, query) in &*by_estimate {
            if ranked.is_abandoned(query) {
                continue;
            }
            let words = queries.words(query);
            let mut subtree = ClosedSubtree::new(window, postings, metadata, *base, enclosing);
            let add = |budget: &mut AnswerBudget, element: u32, remaining: &[ElementRange]| {
                let answer = subtree.answer(words, element, remaining, witnesses_max, budget);
                ranked.push(query, answer, limit, bytes_max);
            };
            match queries.mode(query) {
                Mode::All => conjunctive.answers(window, postings, words, budget, add),
                Mode::Any => disjunctive.answers(window, postings, words, budget, add),
            }
            if budget.is_spent() {
                ranked.abandon(query);
            }
        }
    }

    /// Answers a document that is entirely in the window.
    fn answer_document(&mut self) {
        self.find_queries();
        let AnswerBuffers {
            window, postings, ..
        } = &mut *self.buffers;
        postings.build(window.occurrences());
        self.answer_queries(None);
        let word_count = self.indexes.queries.word_count();
        self.buffers.window.clear(word_count);
        self.buffers.metadata.clear_window();
    }

    /// Finds the queries that match the document, and requests the postings of their words.
    fn find_queries(&mut self) {
        let QueryIndexes {
            queries,
            conjunctions,
            disjunctions,
        } = self.indexes;
        let AnswerBuffers {
            window,
            postings,
            search,
            complete,
            matched_or,
            ..
        } = &mut *self.buffers;
        complete.clear();
        let presence = |word| Presence::from(window.contains(word));
        conjunctions.search(search, queries, window.words(), presence, complete);
        postings.clear(queries.word_count());
        for &query in &*complete {
            let words = queries.words(query).iter();
            words.for_each(|&word| postings.request(word));
        }
        matched_or.clear();
        if disjunctions.is_empty() {
            return;
        }
        for &word in window.words() {
            for &query in disjunctions.get(word) {
                matched_or.insert(query);
                postings.request(word);
            }
        }
    }
}

impl AnswerBuffers {
    /// Starts a document.
    fn clear(&mut self, queries: &dyn QuerySet) {
        self.window.clear(queries.word_count());
        self.delayed = DelayedPlace::default();
        self.metadata.clear();
        if self.query_count != queries.count() {
            self.query_count = queries.count();
            self.matched_or = OrderedClassSet::new(self.query_count);
        }
        self.base = 0;
        self.complete.clear();
        self.matched_or.clear();
        self.summaries.clear();
        self.is_spilled = false;
        self.ranked.clear();
    }

    /// Amount of data in the window.
    fn window_size(&self) -> usize {
        self.window.size() + self.metadata.text_piece_count()
    }
}

impl TokenSink for AnswerEngine<'_> {
    const NEEDS_SPANS: bool = true;

    #[inline]
    fn open(&mut self) -> Result<(), Stop> {
        if self.buffers.window_size() >= self.options.window_max {
            self.spill()?;
        }
        self.buffers.window.open();
        Ok(())
    }

    fn start_tag(&mut self, context: &dyn Context, element: &StartElement<'_>) {
        self.buffers.metadata.open(context, element);
    }

    #[inline]
    fn token(&mut self, word: WordId) -> Result<(), Stop> {
        self.tokens(&[word])
    }

    #[inline]
    fn tokens(&mut self, words: &[WordId]) -> Result<(), Stop> {
        if self.buffers.is_spilled {
            let mut words = words.iter();
            return words.try_for_each(|&word| self.add_word_spilled(word));
        }
        let element = self.buffers.window.current();
        self.buffers.window.add_words(element, words);
        Ok(())
    }

    #[inline]
    fn may_delay(&self, pending: usize) -> bool {
        // A window that spills needs the words of its elements.
        !self.buffers.is_spilled && self.buffers.window_size() + pending < self.options.window_max
    }

    fn push_batch(&mut self, batch: &TokenBatch<'_>) -> Result<(), Stop> {
        if self.buffers.is_spilled {
            return batch.replay(self);
        }
        let AnswerBuffers {
            window, delayed, ..
        } = &mut *self.buffers;
        batch.replay(&mut DelayedWords {
            window,
            place: delayed,
        })
    }

    #[inline]
    fn text_span(&mut self, span: Span) -> Result<(), Stop> {
        match self.buffers.window.current() {
            NO_ELEMENT => {
                let summary = self.buffers.summaries.last_mut();
                summary.expect("an open element").texts.push(span);
            }
            element => self.buffers.metadata.text(element, span),
        }
        Ok(())
    }

    #[inline]
    fn close(&mut self, _: Span, end_tag: Span) -> Result<(), Stop> {
        let element = self.buffers.window.current();
        if element == NO_ELEMENT {
            return self.close_summary(end_tag);
        }
        self.buffers.window.close();
        self.buffers.metadata.close(element, end_tag);
        if element == 0 && self.buffers.summaries.is_empty() {
            self.answer_document();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
