//! Converts answers of keyword subscriptions to Python tuples.

use crate::events::Span;
use crate::keywords::answers::Answer;
use crate::keywords::segment::KeywordSegment;

/// `(start, end, from entity)`
type SpanTuple = (u64, u64, bool);

/// `(number, path, span)` of an element.
type WitnessTuple = (u32, String, SpanTuple);

/// `(number, path, depth, span, namespaces in scope, keywords, ranges, size, truncated)`; a keyword is
/// `(word, count, witnesses)`.
pub(super) type AnswerTuple = (
    u32,
    String,
    u32,
    SpanTuple,
    Vec<(String, String)>,
    Vec<(String, u64, Vec<WitnessTuple>)>,
    Vec<SpanTuple>,
    u32,
    bool,
);

fn span_tuple(span: Span) -> SpanTuple {
    (span.start, span.end, span.from_entity)
}

/// Converts an answer; `segment` numbers its words.
pub(super) fn answer_tuple(segment: &KeywordSegment, answer: Answer) -> AnswerTuple {
    let scope = answer.namespaces.iter();
    let scope = scope.map(|(prefix, uri)| (prefix.to_string(), uri.to_string()));
    let keywords = answer.keywords.into_iter().map(|keyword| {
        let witnesses = keyword.witnesses.into_iter();
        (
            segment.vocabulary.words.get(keyword.word).to_owned(),
            keyword.count,
            witnesses
                .map(|witness| (witness.element, witness.path, span_tuple(witness.span)))
                .collect(),
        )
    });
    (
        answer.element,
        answer.path,
        answer.depth,
        span_tuple(answer.span),
        scope.collect(),
        keywords.collect(),
        answer.ranges.into_iter().map(span_tuple).collect(),
        answer.size,
        answer.truncated,
    )
}
