//! The ways to hand documents to a matcher, which are the same for subscriptions of every kind.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::PyClassInitializer;

use super::buffers::{bytes_of, Chunks, Documents};
use super::outcomes::{batch_tuple, outcome, with_ids, BatchTuple, Ids, OutcomeTuple};
use crate::dispatch::document_source::{MatchError, Source};
use crate::dispatch::match_batch::match_all;
use crate::keywords::matcher::KeywordMatcher;
use crate::matching::matcher::{Matched, Matcher};

/// Matches one document after the other.
pub(super) trait Matches: Ids {
    /// The subscriptions that match a document.
    fn matches(&self, source: &mut Source<'_>) -> Result<Matched, MatchError>;
}

impl Matches for Matcher {
    fn matches(&self, source: &mut Source<'_>) -> Result<Matched, MatchError> {
        self.matches(source)
    }
}

impl Matches for KeywordMatcher {
    fn matches(&self, source: &mut Source<'_>) -> Result<Matched, MatchError> {
        self.matches(source)
    }
}

/// Matches documents; the classes of each kind of subscriptions extend it.
#[pyclass(frozen, subclass, module = "penstock._native")]
pub struct DocumentMatcher {
    matcher: Arc<dyn Matches>,
}

impl DocumentMatcher {
    /// What a class that extends this one is made of.
    pub(super) fn of(matcher: Arc<impl Matches + 'static>) -> PyClassInitializer<DocumentMatcher> {
        PyClassInitializer::from(DocumentMatcher { matcher })
    }

    fn outcome<'py>(
        &self,
        py: Python<'py>,
        source: &mut Source<'_>,
    ) -> PyResult<OutcomeTuple<'py>> {
        let matched = py.detach(|| self.matcher.matches(source));
        outcome(py, self.matcher.clone(), matched)
    }
}

#[pymethods]
impl DocumentMatcher {
    /// Matches a document that is in memory.
    fn match_bytes<'py>(
        &self,
        py: Python<'py>,
        document: PyBuffer<u8>,
    ) -> PyResult<OutcomeTuple<'py>> {
        self.outcome(py, &mut Source::Bytes(bytes_of(&document)?))
    }

    /// Matches a file's content.
    fn match_file<'py>(&self, py: Python<'py>, path: PathBuf) -> PyResult<OutcomeTuple<'py>> {
        self.outcome(py, &mut Source::File(&path))
    }

    /// Matches a document that comes in pieces.
    fn match_chunks<'py>(
        &self,
        py: Python<'py>,
        chunks: &Bound<'py, PyAny>,
    ) -> PyResult<OutcomeTuple<'py>> {
        self.outcome(py, &mut Source::stream(Box::new(Chunks::new(chunks)?)))
    }

    /// Matches documents that stand in one buffer, at `offsets` (64-bit, one more than
    /// documents): `(starts, indices, ids, refusals by row, counters)`, the first two as 32-bit.
    fn match_batch<'py>(
        &self,
        py: Python<'py>,
        documents: PyBuffer<u8>,
        offsets: PyBuffer<u8>,
    ) -> PyResult<BatchTuple<'py>> {
        let documents = Documents::new(&documents, &offsets)?;
        let (batch, ids) = py.detach(|| {
            let matches = |_, source: &mut Source<'_>| self.matcher.matches(source);
            with_ids(&*self.matcher, match_all(matches, documents.iter()))
        });
        batch_tuple(py, batch, ids)
    }
}
