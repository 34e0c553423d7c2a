//! Answers of keyword subscriptions as Python tuples, and their path returns.

use std::sync::Arc;

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::buffers::BufferBytes;
use crate::events::{NamespaceScope, Span};
use crate::keywords::answers::{Answer, QueryAnswers};
use crate::keywords::element_metadata::ElementRecord;
use crate::keywords::path_return_xml::{append_standalone_xml, merged};
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
pub(super) fn answer_tuple(segment: &KeywordSegment, answer: &Answer) -> AnswerTuple {
    let keywords = answer.keywords.iter().map(|keyword| {
        let witnesses = keyword.witnesses.iter();
        (
            segment.vocabulary.words.get(keyword.word).to_owned(),
            keyword.count,
            witnesses.map(|record| witness_tuple(record)).collect(),
        )
    });
    let top = &answer.top;
    (
        top.number,
        top.path(),
        top.depth,
        span_tuple(top.span()),
        scope_tuples(&top.namespaces),
        keywords.collect(),
        answer.ranges.iter().copied().map(span_tuple).collect(),
        answer.size,
        answer.truncated,
    )
}

fn witness_tuple(record: &ElementRecord) -> WitnessTuple {
    (record.number, record.path(), span_tuple(record.span()))
}

fn scope_tuples(scope: &NamespaceScope) -> Vec<(String, String)> {
    let bindings = scope.iter();
    let bindings = bindings.map(|(prefix, uri)| (prefix.to_string(), uri.to_string()));
    bindings.collect()
}

/// The path returns of one subscription, best answer first. Their parts are created when they are
/// requested.
#[pyclass(frozen, module = "penstock._native")]
pub struct PathReturns {
    answers: Arc<QueryAnswers>,
}

impl PathReturns {
    pub(super) fn of(answers: Arc<QueryAnswers>) -> PathReturns {
        PathReturns { answers }
    }
}

/// The spans of a fragment, and the namespaces in scope.
type FragmentTuple = (Vec<SpanTuple>, Vec<(String, String)>);

/// Fragments as columns: numbers of 64 bits in the machine's byte order, and text.
#[derive(Default)]
struct FragmentColumns {
    /// The number of spans of each fragment.
    span_counts: Vec<u8>,
    /// The starts of all spans.
    starts: Vec<u8>,
    /// The ends of all spans.
    ends: Vec<u8>,
    /// The length of the XML of each fragment in bytes.
    xml_lengths: Vec<u8>,
    /// The XML of all fragments.
    xml: String,
}

impl FragmentColumns {
    /// Adds a fragment of `document`; `None` if it cannot be made to stand alone.
    fn push(
        &mut self,
        document: &[u8],
        encoding: &str,
        spans: &[Span],
        scope: &NamespaceScope,
    ) -> Option<()> {
        let before = self.xml.len();
        append_standalone_xml(&mut self.xml, document, encoding, spans, scope)?;
        append_number(&mut self.xml_lengths, (self.xml.len() - before) as u64);
        append_number(&mut self.span_counts, spans.len() as u64);
        for span in spans {
            append_number(&mut self.starts, span.start);
            append_number(&mut self.ends, span.end);
        }
        Some(())
    }
}

fn append_number(column: &mut Vec<u8>, number: u64) {
    column.extend_from_slice(&number.to_ne_bytes());
}

/// The fields of [`FragmentColumns`].
type ColumnsTuple<'py> = [Bound<'py, PyBytes>; 5];

#[pymethods]
impl PathReturns {
    fn __len__(&self) -> usize {
        self.answers.best.len()
    }

    /// The spans of a fragment, merged, and the namespaces in scope.
    fn fragment(&self, number: usize) -> PyResult<FragmentTuple> {
        let answer = self.answers.best.get(number);
        let answer = answer.ok_or_else(|| PyIndexError::new_err("no such fragment"))?;
        let spans = merged(&answer.ranges).into_iter().map(span_tuple);
        Ok((spans.collect(), scope_tuples(&answer.top.namespaces)))
    }

    /// The first fragments of a document without entities of its own, as columns. `None` if one
    /// of them cannot be made to stand alone without reading it again.
    fn columns<'py>(
        &self,
        py: Python<'py>,
        document: BufferBytes,
        encoding: &str,
        limit: usize,
    ) -> Option<ColumnsTuple<'py>> {
        let bytes: &[u8] = &document;
        let columns = py.detach(|| {
            let mut columns = FragmentColumns::default();
            for answer in self.answers.best.iter().take(limit) {
                let spans = merged(&answer.ranges);
                columns.push(bytes, encoding, &spans, &answer.top.namespaces)?;
            }
            Some(columns)
        })?;
        let parts: [&[u8]; 5] = [
            &columns.span_counts,
            &columns.starts,
            &columns.ends,
            &columns.xml_lengths,
            columns.xml.as_bytes(),
        ];
        Some(parts.map(|part| PyBytes::new(py, part)))
    }
}
