//! The base class of matchers: matches bytes, files, streams and batches, for any kind of
//! subscription.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::PyClassInitializer;

use super::buffers::{BufferBytes, Chunks, Documents};
use super::document_tree::DocumentTree;
use super::label_paths::LabelPaths;
use super::outcomes::{batch_tuple, of_file, outcome, with_ids, BatchTuple, OutcomeTuple};
use crate::dispatch::batch::match_all;
use crate::dispatch::document_source::DocumentSource;
use crate::dispatch::event_source::EventSource;
use crate::dispatch::DocumentMatcher as NativeMatcher;
use crate::label_paths::collector::LabelPathRequest;
use crate::subscription_store::header_tests::HeaderField;

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

    fn outcome(
        &self,
        py: Python<'_>,
        document: &mut DocumentSource<'_>,
        header: &[HeaderField],
    ) -> PyResult<OutcomeTuple> {
        let source = &mut EventSource {
            header,
            ..EventSource::unmapped(document)
        };
        let matched = py.detach(|| self.matcher.match_document(source));
        outcome(self.matcher.clone(), matched)
    }
}

#[pymethods]
impl DocumentMatcher {
    /// Matches a document in memory.
    #[pyo3(signature = (document, header=Vec::new()))]
    fn match_bytes(
        &self,
        py: Python<'_>,
        document: BufferBytes,
        header: Vec<HeaderField>,
    ) -> PyResult<OutcomeTuple> {
        self.outcome(py, &mut DocumentSource::Bytes(&document), &header)
    }

    /// Matches a document in memory up to the first end tag that ends at `stop_at` or later, and
    /// collects its label paths if there are at most `label_paths_max`, attributes included; 0 collects
    /// none.
    fn match_observed(
        &self,
        py: Python<'_>,
        document: BufferBytes,
        header: Vec<HeaderField>,
        label_paths_max: usize,
        stop_at: Option<u64>,
    ) -> PyResult<(OutcomeTuple, Option<LabelPaths>)> {
        let bytes: &[u8] = &document;
        let mut request = (label_paths_max > 0).then(|| LabelPathRequest::new(label_paths_max));
        let matched = py.detach(|| {
            self.matcher.match_document(&mut EventSource {
                header: &header,
                stop_at,
                label_paths: request.as_mut(),
                ..EventSource::unmapped(&mut DocumentSource::Bytes(bytes))
            })
        });
        let found = request.filter(|_| matched.is_ok());
        let paths = found.and_then(|request| request.found);
        let outcome = outcome(self.matcher.clone(), matched)?;
        Ok((outcome, paths.map(|paths| LabelPaths { paths })))
    }

    /// Matches a file.
    #[pyo3(signature = (path, header=Vec::new()))]
    fn match_file(
        &self,
        py: Python<'_>,
        path: PathBuf,
        header: Vec<HeaderField>,
    ) -> PyResult<OutcomeTuple> {
        let document = &mut DocumentSource::File(&path);
        let source = &mut EventSource {
            header: &header,
            ..EventSource::unmapped(document)
        };
        let matched = py.detach(|| self.matcher.match_document(source));
        outcome(self.matcher.clone(), of_file(&path, matched)?)
    }

    /// Matches a document that arrives in chunks.
    #[pyo3(signature = (chunks, header=Vec::new()))]
    fn match_chunks(
        &self,
        py: Python<'_>,
        chunks: &Bound<'_, PyAny>,
        header: Vec<HeaderField>,
    ) -> PyResult<OutcomeTuple> {
        self.outcome(
            py,
            &mut DocumentSource::stream(Box::new(Chunks::new(chunks)?)),
            &header,
        )
    }

    /// Matches a document tree without writing it.
    #[pyo3(signature = (tree, header=Vec::new()))]
    fn match_tree(
        &self,
        py: Python<'_>,
        tree: &DocumentTree,
        header: Vec<HeaderField>,
    ) -> PyResult<OutcomeTuple> {
        self.outcome(py, &mut DocumentSource::Tree(&tree.0), &header)
    }

    /// Matches documents stored in one buffer at `offsets` (64-bit, one more than documents), with
    /// their headers, or without if there are none.
    /// Returns `(starts, indices, ids, refusals by row, indices that were set aside by row,
    /// counters)`, the first two as 32-bit integers.
    #[pyo3(signature = (documents, offsets, headers=Vec::new()))]
    fn match_batch<'py>(
        &self,
        py: Python<'py>,
        documents: BufferBytes,
        offsets: BufferBytes,
        headers: Vec<Vec<HeaderField>>,
    ) -> PyResult<BatchTuple<'py>> {
        let documents = Documents::new(&documents, &offsets)?;
        let (batch, ids) = py.detach(|| {
            let match_row = |row, document: &mut DocumentSource<'_>| {
                self.matcher.match_document(&mut EventSource {
                    header: header_of(&headers, row),
                    ..EventSource::unmapped(document)
                })
            };
            with_ids(&*self.matcher, match_all(match_row, documents.iter()))
        })?;
        batch_tuple(py, batch, ids)
    }
}

/// The header of a row; there is none if the caller passed no headers.
pub(super) fn header_of(headers: &[Vec<HeaderField>], row: usize) -> &[HeaderField] {
    headers.get(row).map_or(&[], Vec::as_slice)
}
