//! The default engine's answers: a document is recorded in a window and answered when it ends.
//!
//! A document too large for the window is folded: each closed child of an open element is answered
//! by itself, then reduced to what the elements around it need of it; see [`crate::keywords::subtree_summary`].

use std::sync::Arc;

use crate::events::{Context, Span, StartElement, Stop};
use crate::subscription_store::class_set::Classes;

use crate::keywords::ancestor_bitmaps::AnySets;
use crate::keywords::answers::{Answer, Ranked};
use crate::keywords::closed_subtree::Unit;
use crate::keywords::conjunction_index::{CompleteQuery, ConjunctionIndex, SearchBuffers};
use crate::keywords::conjunctive_answers::{Conjunctions, Stretch, Which};
use crate::keywords::disjunction_index::DisjunctionIndex;
use crate::keywords::disjunctive_answers::Disjunctions;
use crate::keywords::element_metadata::{Kept, Notes};
use crate::keywords::element_window::{Window, HERE, MANY, NONE};
use crate::keywords::postings::Postings;
use crate::keywords::subtree_summary::Frame;
use crate::keywords::token_batch::TokenBatch;
use crate::keywords::token_sink::{QuerySet, TokenSink, WordId};

/// QuerySet as the default engine reads them.
#[derive(Clone, Copy)]
pub struct Parts<'a> {
    /// All of them.
    pub queries: &'a dyn QuerySet,
    /// The AND queries by their words.
    pub all: &'a ConjunctionIndex,
    /// The OR queries by their words.
    pub any: &'a DisjunctionIndex,
}

/// What is wanted of a document, and what it may take.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Which elements answer AND queries; OR queries are answered only among [`Which::Compact`].
    pub which: Which,
    /// How many answers of a query are told in detail, the best.
    pub limit: usize,
    /// Elements, words and pieces of text that are held at once. A larger document is folded; its OR
    /// queries cannot be answered, so that it is stopped with `keywords.or-too-large` where it has a
    /// word of one.
    pub window_max: usize,
    /// Witnesses of a word that an answer is told with; the others are counted.
    pub witnesses_max: usize,
    /// Elements of a document that is folded, whose numbers are of 32 bits. Past it the document is
    /// stopped with `keywords.too-many-elements`.
    pub elements_max: u32,
    /// Answers of a document in all. Past it the document is stopped with
    /// `keywords.too-many-answers`.
    pub answers_max: usize,
}

/// See [`Options::window_max`].
pub const WINDOW_MAX: usize = 1 << 20;
/// See [`Options::witnesses_max`].
pub const WITNESSES_MAX: usize = 16;
/// See [`Options::answers_max`].
pub const ANSWERS_MAX: usize = 1 << 24;

impl Default for Options {
    fn default() -> Options {
        Options {
            which: Which::Compact,
            limit: usize::MAX,
            window_max: WINDOW_MAX,
            witnesses_max: WITNESSES_MAX,
            elements_max: u32::MAX,
            answers_max: ANSWERS_MAX,
        }
    }
}

/// What a run works with; kept from one document to the next so that its memory is used again.
#[derive(Default)]
pub struct State {
    pub(super) window: Window,
    pub(super) postings: Postings,
    sets: AnySets,
    pub(super) conjunctions: Conjunctions,
    pub(super) disjunctions: Disjunctions,
    pub(super) notes: Notes,
    /// The number of the window's first element.
    pub(super) base: u32,
    /// The open elements that are not in the window, outside in.
    pub(super) frames: Vec<Frame>,
    /// Whether anything was folded.
    pub(super) is_folded: bool,
    pub(super) open: Vec<u32>,
    pub(super) words: Vec<WordId>,
    pub(super) search: SearchBuffers,
    pub(super) complete: Vec<CompleteQuery>,
    /// OR queries that have a word of the document, out of so many queries.
    any: Classes,
    query_count: usize,
    pub(super) pairs: Vec<(u32, u32)>,
    pub(super) ranked: Ranked,
}

/// Hears a document and answers queries: in detail, or only by the numbers of elements.
pub struct Answering<'a, const DETAILS: bool> {
    pub(super) parts: Parts<'a>,
    pub(super) options: Options,
    pub(super) state: &'a mut State,
}

impl<'a, const DETAILS: bool> Answering<'a, DETAILS> {
    /// To hear a document.
    pub fn new(parts: Parts<'a>, options: Options, state: &'a mut State) -> Self {
        state.clear(parts);
        Answering {
            parts,
            options,
            state,
        }
    }

    /// How many witnesses of a word are held.
    pub(super) fn witnesses(&self) -> usize {
        if DETAILS {
            self.options.witnesses_max
        } else {
            0
        }
    }

    /// Answers the AND queries that are complete, on what the postings hold.
    pub(super) fn answer_all(&mut self, outside: Option<&Arc<Kept>>) -> Result<(), Stop> {
        let State {
            window,
            postings,
            conjunctions,
            notes,
            base,
            complete,
            pairs,
            ranked,
            ..
        } = &mut *self.state;
        let mut unit = Unit::new(window, postings, notes, *base, outside);
        for found in &*complete {
            let query = found.query;
            let words = self.parts.queries.words(query);
            let answer = |element: u32, kept: &[Stretch]| {
                if DETAILS {
                    let answer = unit.answer(words, element, kept, self.options.witnesses_max);
                    ranked.push(query, answer, self.options.limit);
                } else {
                    pairs.push((query, *base + element));
                }
            };
            conjunctions.answers(window, postings, words, self.options.which, answer);
            check_answers(pairs.len() + ranked.held(), &self.options)?;
        }
        check_answers(pairs.len() + ranked.held(), &self.options)
    }

    /// The same where the window holds a document whole that has few elements, and no details are wanted.
    fn answer_by_sets(&mut self) -> Result<(), Stop> {
        let Parts { queries, all, .. } = self.parts;
        let State {
            window,
            postings,
            sets,
            complete,
            pairs,
            ..
        } = &mut *self.state;
        let found = complete.iter();
        let asked = found.map(|&found| (found, all.words(queries, found)));
        sets.answer(window, postings, asked, &mut |query, elements| {
            pairs.extend(elements.iter().map(|&element| (query, element)));
            check_answers(pairs.len(), &self.options)
        })?;
        check_answers(pairs.len(), &self.options)
    }

    /// Answers the OR queries on what the postings hold: the whole document.
    fn answer_any(&mut self) -> Result<(), Stop> {
        let State {
            window,
            postings,
            disjunctions,
            notes,
            any,
            pairs,
            ranked,
            ..
        } = &mut *self.state;
        let mut unit = Unit::new(window, postings, notes, 0, None);
        for &query in any.list() {
            let words = self.parts.queries.words(query);
            disjunctions.answers(window, postings, words, |element, kept| {
                if DETAILS {
                    let answer = unit.answer(words, element, kept, self.options.witnesses_max);
                    ranked.push(query, answer, self.options.limit);
                } else {
                    pairs.push((query, element));
                }
            });
            check_answers(pairs.len() + ranked.held(), &self.options)?;
        }
        Ok(())
    }

    /// Answers a document that the window holds whole.
    fn answer_document(&mut self) -> Result<(), Stop> {
        self.find_queries();
        let state = &mut *self.state;
        let are_few = state.window.elements() <= AnySets::ELEMENTS_MAX;
        let is_by_sets = !DETAILS && are_few && self.options.which == Which::Compact;
        if !is_by_sets || !state.any.list().is_empty() {
            state.postings.gather(state.window.occurrences());
        }
        if is_by_sets {
            self.answer_by_sets()?;
        } else {
            self.answer_all(None)?;
        }
        self.answer_any()?;
        let word_count = self.parts.queries.word_count();
        self.state.window.clear(word_count);
        self.state.notes.clear_window();
        Ok(())
    }

    /// Finds the queries that a document has answers to, and the words whose postings tell which. Where only
    /// the root can be the answer, it is.
    fn find_queries(&mut self) {
        let Parts { queries, all, any } = self.parts;
        let State {
            window,
            postings,
            search,
            complete,
            pairs,
            base,
            ..
        } = &mut *self.state;
        complete.clear();
        all.search(
            search,
            queries,
            window.words(),
            |word| window.places(word),
            |found| {
                if !DETAILS && found.presence | MANY == HERE | MANY {
                    // No element but the first contains all words.
                    pairs.push((found.query, *base));
                } else {
                    complete.push(found);
                }
            },
        );
        postings.clear(queries.word_count());
        for &found in &*complete {
            let words = all.words(queries, found).iter();
            words.for_each(|&word| postings.want(word));
        }
        self.state.any.clear();
        if any.is_empty() || self.options.which != Which::Compact {
            return;
        }
        let state = &mut *self.state;
        for &word in state.window.words() {
            for &query in any.get(word) {
                state.any.insert(query);
                state.postings.want(word);
            }
        }
    }
}

/// Stops a document with too many answers.
pub(super) fn check_answers(answers: usize, options: &Options) -> Result<(), Stop> {
    if answers <= options.answers_max {
        return Ok(());
    }
    Err(Stop {
        code: "keywords.too-many-answers",
        message: format!("the document has more than {} answers", options.answers_max),
    })
}

impl State {
    /// Begins a document.
    fn clear(&mut self, parts: Parts<'_>) {
        self.window.clear(parts.queries.word_count());
        self.notes.clear();
        if self.query_count != parts.queries.count() {
            self.query_count = parts.queries.count();
            self.any = Classes::new(self.query_count);
        }
        self.base = 0;
        self.frames.clear();
        self.is_folded = false;
        self.pairs.clear();
        self.ranked.clear();
    }

    /// How much is held in the window.
    fn held(&self) -> usize {
        self.window.held() + self.notes.held()
    }
}

impl<'a> Answering<'a, false> {
    /// Query and number of each element that answers it, the root being 0: a query's together, in
    /// document order.
    pub fn finish(self) -> &'a [(u32, u32)] {
        if self.state.is_folded {
            self.state.pairs.sort_unstable();
        }
        &self.state.pairs
    }
}

impl Answering<'_, true> {
    /// The answers by query, ascending; each query's best first.
    pub fn finish(self) -> Vec<(u32, Vec<Answer>)> {
        self.state.ranked.take(self.options.limit)
    }
}

impl<const DETAILS: bool> TokenSink for Answering<'_, DETAILS> {
    const NEEDS_SPANS: bool = DETAILS;

    #[inline]
    fn open(&mut self) -> Result<(), Stop> {
        if self.state.held() >= self.options.window_max {
            self.fold()?;
        }
        self.state.window.open();
        Ok(())
    }

    fn start_tag(&mut self, context: &dyn Context, element: &StartElement<'_>) {
        self.state.notes.open(context, element);
    }

    #[inline]
    fn token(&mut self, word: WordId) -> Result<(), Stop> {
        if self.state.is_folded {
            return self.word_folded(word);
        }
        self.state.window.words_heard(&[word]);
        Ok(())
    }

    #[inline]
    fn tokens(&mut self, words: &[WordId]) -> Result<(), Stop> {
        if self.state.is_folded {
            return words.iter().try_for_each(|&word| self.word_folded(word));
        }
        self.state.window.words_heard(words);
        Ok(())
    }

    fn push_batch(&mut self, batch: &TokenBatch<'_>) -> Result<(), Stop> {
        let fits = self.state.held() + batch.size() <= self.options.window_max;
        if DETAILS || self.state.is_folded || !fits {
            return batch.replay(self);
        }
        self.state.window.push_batch(batch);
        if self.state.window.current() == NONE {
            return self.answer_document();
        }
        Ok(())
    }

    #[inline]
    fn text_span(&mut self, span: Span) -> Result<(), Stop> {
        match self.state.window.current() {
            NONE => self
                .state
                .frames
                .last_mut()
                .expect("an open element")
                .texts
                .push(span),
            element => self.state.notes.text(element, span),
        }
        Ok(())
    }

    #[inline]
    fn close(&mut self, _: Span, end_tag: Span) -> Result<(), Stop> {
        let element = self.state.window.current();
        if element == NONE {
            return self.close_frame(end_tag);
        }
        self.state.window.close();
        if DETAILS {
            self.state.notes.close(element, end_tag);
        }
        if element == 0 && self.state.frames.is_empty() {
            return self.answer_document();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
