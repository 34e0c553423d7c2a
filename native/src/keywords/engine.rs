//! The interface between [`KeywordMatcher`](crate::keywords::matcher::KeywordMatcher) and a keyword
//! engine, and the default engine.

use crate::keywords::segment::KeywordSegment;
use crate::keywords::store::KeywordSnapshot;
use crate::keywords::token_sink::{TokenSink, WordId};
use crate::keywords::word_presence::WordPresence;

/// Matches the keyword subscriptions of a snapshot.
pub trait KeywordEngine: Send + Sync + 'static {
    /// Configures the engine.
    type Options;
    /// Working memory for one segment, reused across documents.
    type State: Send;
    /// Receives the tokens of a document.
    type MatchSink<'a>: TokenSink;

    /// Prepares the engine for the segments of a snapshot.
    fn new(options: Self::Options, snapshot: &KeywordSnapshot) -> Self;

    /// Creates working memory for a segment.
    fn new_state(segment: &KeywordSegment) -> Self::State;

    /// Starts a document for the segment at position `at` of the snapshot.
    fn match_sink<'a>(
        &'a self,
        at: usize,
        segment: &'a KeywordSegment,
        state: &'a mut Self::State,
    ) -> Self::MatchSink<'a>;

    /// The header of the document has a field for which a word of the vocabulary stands. An engine that
    /// ignores these words cannot match subscriptions with header tests.
    fn add_header_word(_sink: &mut Self::MatchSink<'_>, _word: WordId) {}

    /// Ends a document; appends the classes that match, each once.
    fn finish_matches(
        &self,
        segment: &KeywordSegment,
        sink: Self::MatchSink<'_>,
        matched: &mut Vec<u32>,
    );
}

/// The default engine: matches by the words that a document contains.
pub struct PostingsEngine;

impl KeywordEngine for PostingsEngine {
    type Options = ();
    type State = WordPresence;
    type MatchSink<'a> = &'a mut WordPresence;

    fn new((): (), _: &KeywordSnapshot) -> PostingsEngine {
        PostingsEngine
    }

    fn new_state(segment: &KeywordSegment) -> WordPresence {
        WordPresence::new(segment.vocabulary.count())
    }

    fn match_sink<'a>(
        &'a self,
        _: usize,
        _: &'a KeywordSegment,
        state: &'a mut WordPresence,
    ) -> &'a mut WordPresence {
        state.clear();
        state
    }

    fn add_header_word(sink: &mut &mut WordPresence, word: WordId) {
        sink.add_word(word);
    }

    fn finish_matches(
        &self,
        segment: &KeywordSegment,
        sink: &mut WordPresence,
        matched: &mut Vec<u32>,
    ) {
        sink.finish(
            &segment.queries,
            segment.conjunction_index(),
            &segment.disjunctions,
            matched,
        );
        segment.observe(sink.observed());
    }
}
