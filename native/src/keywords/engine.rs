//! The interface of a keyword engine, which [`KeywordMatcher`](crate::keywords::matcher::KeywordMatcher)
//! drives, and the default engine.

use crate::keywords::answer_engine::{Answering, Options, Parts, State};
use crate::keywords::conjunctive_answers::Which;
use crate::keywords::segment::KeywordSegment;
use crate::keywords::store::KeywordSnapshot;
use crate::keywords::token_sink::TokenSink;
use crate::keywords::word_presence::WordPresence;
use crate::subscription_store::class_set::Classes;

/// Matches and answers the keyword subscriptions of a snapshot.
pub trait KeywordEngine: Send + Sync + 'static {
    /// What distinguishes engines of this type.
    type Options;
    /// Working memory for one segment, reused across documents.
    type State: Send;
    /// Receives a document's tokens to find the classes that match.
    type MatchSink<'a>: TokenSink;
    /// Receives a document's tokens to find the elements that answer.
    type AnswerSink<'a>: TokenSink;

    /// Prepares the engine for the segments of a snapshot.
    fn new(options: Self::Options, snapshot: &KeywordSnapshot) -> Self;

    /// Working memory for a segment.
    fn new_state(segment: &KeywordSegment) -> Self::State;

    /// Begins a document for the segment at position `at` of the snapshot.
    fn match_sink<'a>(
        &'a self,
        at: usize,
        segment: &'a KeywordSegment,
        state: &'a mut Self::State,
    ) -> Self::MatchSink<'a>;

    /// After a document: adds the classes that match.
    fn finish_matches(
        &self,
        segment: &KeywordSegment,
        sink: Self::MatchSink<'_>,
        matched: &mut Classes,
    );

    /// Begins a document for the segment at position `at` of the snapshot.
    fn answer_sink<'a>(
        &'a self,
        at: usize,
        segment: &'a KeywordSegment,
        state: &'a mut Self::State,
    ) -> Self::AnswerSink<'a>;

    /// After a document: adds class and element of each answer, the answers of a class together.
    fn finish_answers(
        &self,
        segment: &KeywordSegment,
        sink: Self::AnswerSink<'_>,
        answers: &mut Vec<(u32, u32)>,
    );
}

/// The default engine.
pub struct PostingsEngine;

/// Working memory of the default engine.
pub struct PostingsState {
    presence: WordPresence,
    answering: State,
}

impl KeywordEngine for PostingsEngine {
    type Options = ();
    type State = PostingsState;
    type MatchSink<'a> = &'a mut WordPresence;
    type AnswerSink<'a> = Answering<'a, false>;

    fn new((): (), _: &KeywordSnapshot) -> PostingsEngine {
        PostingsEngine
    }

    fn new_state(segment: &KeywordSegment) -> PostingsState {
        PostingsState {
            presence: WordPresence::new(segment.vocabulary.count()),
            answering: State::default(),
        }
    }

    fn match_sink<'a>(
        &'a self,
        _: usize,
        _: &'a KeywordSegment,
        state: &'a mut PostingsState,
    ) -> &'a mut WordPresence {
        state.presence.clear();
        &mut state.presence
    }

    fn finish_matches(
        &self,
        segment: &KeywordSegment,
        sink: &mut WordPresence,
        matched: &mut Classes,
    ) {
        sink.finish(
            &segment.queries,
            segment.conjunction_index(),
            &segment.disjunctions,
            matched,
        );
        segment.observe(sink.observed());
    }

    fn answer_sink<'a>(
        &'a self,
        _: usize,
        segment: &'a KeywordSegment,
        state: &'a mut PostingsState,
    ) -> Answering<'a, false> {
        answer_sink(segment, Which::Compact, &mut state.answering)
    }

    fn finish_answers(
        &self,
        segment: &KeywordSegment,
        sink: Answering<'_, false>,
        answers: &mut Vec<(u32, u32)>,
    ) {
        finish_answers(segment, sink, answers);
    }
}

/// Begins a document that the answer engine answers.
pub(crate) fn answer_sink<'a>(
    segment: &'a KeywordSegment,
    which: Which,
    state: &'a mut State,
) -> Answering<'a, false> {
    let options = Options {
        which,
        ..Options::default()
    };
    Answering::new(parts(segment), options, state)
}

/// After a document: adds class and element of each answer that the answer engine found.
pub(crate) fn finish_answers(
    segment: &KeywordSegment,
    sink: Answering<'_, false>,
    answers: &mut Vec<(u32, u32)>,
) {
    segment.observe(&sink.state.search.observed);
    answers.extend_from_slice(sink.finish());
}

/// A segment's queries as the answer engine reads them.
pub(super) fn parts(segment: &KeywordSegment) -> Parts<'_> {
    Parts {
        queries: &segment.queries,
        all: segment.conjunction_index(),
        any: &segment.disjunctions,
    }
}
