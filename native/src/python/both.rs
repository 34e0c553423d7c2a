//! Subscriptions of paths and of keywords, matched in one reading, for Python.

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;

use super::buffers::{bytes_of, Chunks, Documents};
use super::keywords::KeywordMatcher;
use super::matching::Matcher;
use super::outcomes::{batch_tuple, outcome, with_ids, BatchTuple, Ids, OutcomeTuple};
use crate::keywords::both::{id_of_both, match_both};
use crate::keywords::matcher::KeywordMatcher as NativeKeywordMatcher;
use crate::matching::batch::match_all;
use crate::matching::matcher::{Matched, Matcher as NativeMatcher};
use crate::matching::source::{MatchError, Source};
use crate::matching::through::Through;

/// Matchers of both kinds, whose handles go on from one to the other.
pub(super) struct Both<P, K>(pub P, pub K);

impl<P, K> Ids for Both<P, K>
where
    P: Deref<Target = NativeMatcher> + Send + Sync,
    K: Deref<Target = NativeKeywordMatcher> + Send + Sync,
{
    fn id(&self, handle: u32) -> &str {
        id_of_both(&self.0, &self.1, handle)
    }
}

type Held = Both<Arc<NativeMatcher>, Arc<NativeKeywordMatcher>>;

impl Held {
    fn matches(&self, source: &mut Source<'_>) -> Result<Matched, MatchError> {
        match_both(&self.0, &self.1, &mut Through::plain(source))
    }
}

/// Matches documents against subscriptions of both kinds, each document read once.
#[pyclass(frozen, module = "penstock._native")]
pub struct BothMatcher {
    both: Arc<Held>,
}

#[pymethods]
impl BothMatcher {
    #[new]
    fn new(paths: &Matcher, keywords: &KeywordMatcher) -> BothMatcher {
        let both = Both(Arc::clone(&paths.matcher), Arc::clone(&keywords.matcher));
        BothMatcher {
            both: Arc::new(both),
        }
    }

    /// Matches a document that is in memory.
    fn match_bytes<'py>(
        &self,
        py: Python<'py>,
        document: PyBuffer<u8>,
    ) -> PyResult<OutcomeTuple<'py>> {
        let bytes = bytes_of(&document)?;
        let matched = py.detach(|| self.both.matches(&mut Source::Bytes(bytes)));
        outcome(py, &self.both, matched)
    }

    /// Matches a file's content.
    fn match_file<'py>(&self, py: Python<'py>, path: PathBuf) -> PyResult<OutcomeTuple<'py>> {
        let matched = py.detach(|| self.both.matches(&mut Source::File(&path)));
        outcome(py, &self.both, matched)
    }

    /// Matches a document that comes in pieces.
    fn match_chunks<'py>(
        &self,
        py: Python<'py>,
        chunks: &Bound<'py, PyAny>,
    ) -> PyResult<OutcomeTuple<'py>> {
        let chunks = Chunks::new(chunks)?;
        let matched = py.detach(|| self.both.matches(&mut Source::stream(Box::new(chunks))));
        outcome(py, &self.both, matched)
    }

    /// Matches documents that stand in one buffer, as the matchers of one kind do.
    fn match_batch<'py>(
        &self,
        py: Python<'py>,
        documents: PyBuffer<u8>,
        offsets: PyBuffer<u8>,
    ) -> PyResult<BatchTuple<'py>> {
        let documents = Documents::new(&documents, &offsets)?;
        let (batch, ids) = py.detach(|| {
            let matches = |_, source: &mut Source<'_>| self.both.matches(source);
            with_ids(&*self.both, match_all(matches, documents.iter()))
        });
        batch_tuple(py, batch, ids)
    }
}
