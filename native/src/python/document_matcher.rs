//! The base class of matchers: matches bytes, files, streams and batches, for any kind of
//! subscription.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::PyClassInitializer;

use super::buffers::{BufferBytes, Chunks, Documents};
use super::outcomes::{batch_tuple, of_file, outcome, with_ids, BatchTuple, OutcomeTuple};
use crate::dispatch::batch::match_all;
use crate::dispatch::document_source::DocumentSource;
use crate::dispatch::event_source::EventSource;
use crate::dispatch::DocumentMatcher as NativeMatcher;

/// Matches documents; the matcher classes for each kind of subscription extend it.
#[pyclass(frozen, subclass, module = "penstock._native")]
pub struct DocumentMatcher {
    matcher: Arc<dyn NativeMatcher>,
}

impl DocumentMatcher {
    /// Initializes the base of a class that extends this one.
    pub(super) fn of(matcher: Arc<dyn NativeMatcher>) -> PyClassInitializer<DocumentMatcher> {
        PyClassInitializer::from(DocumentMatcher { matcher })
    }

    fn outcome<'py>(
        &self,
        py: Python<'py>,
        document: &mut DocumentSource<'_>,
    ) -> PyResult<OutcomeTuple<'py>> {
        let source = &mut EventSource::unmapped(document);
        let matched = py.detach(|| self.matcher.match_document(source));
        outcome(py, self.matcher.clone(), matched)
    }
}

#[pymethods]
impl DocumentMatcher {
    /// Matches a document in memory.
    fn match_bytes<'py>(
        &self,
        py: Python<'py>,
        document: BufferBytes,
    ) -> PyResult<OutcomeTuple<'py>> {
        self.outcome(py, &mut DocumentSource::Bytes(&document))
    }

    /// Matches a file.
    fn match_file<'py>(&self, py: Python<'py>, path: PathBuf) -> PyResult<OutcomeTuple<'py>> {
        let document = &mut DocumentSource::File(&path);
        let source = &mut EventSource::unmapped(document);
        let matched = py.detach(|| self.matcher.match_document(source));
        outcome(py, self.matcher.clone(), of_file(&path, matched)?)
    }

    /// Matches a document that arrives in chunks.
    fn match_chunks<'py>(
        &self,
        py: Python<'py>,
        chunks: &Bound<'py, PyAny>,
    ) -> PyResult<OutcomeTuple<'py>> {
        self.outcome(
            py,
            &mut DocumentSource::stream(Box::new(Chunks::new(chunks)?)),
        )
    }

    /// Matches documents stored in one buffer at `offsets` (64-bit, one more than documents).
    /// Returns `(starts, indices, ids, refusals by row, counters)`, the first two as 32-bit
    /// integers.
    fn match_batch<'py>(
        &self,
        py: Python<'py>,
        documents: BufferBytes,
        offsets: BufferBytes,
    ) -> PyResult<BatchTuple<'py>> {
        let documents = Documents::new(&documents, &offsets)?;
        let (batch, ids) = py.detach(|| {
            let match_row = |_, document: &mut DocumentSource<'_>| {
                let source = &mut EventSource::unmapped(document);
                self.matcher.match_document(source)
            };
            with_ids(&*self.matcher, match_all(match_row, documents.iter()))
        })?;
        batch_tuple(py, batch, ids)
    }
}
