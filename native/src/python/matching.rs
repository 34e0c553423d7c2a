//! Index and matcher for Python. Whatever takes time runs with the interpreter released.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::buffers::{bytes_of, Chunks, Documents};
use super::explaining::{explanation_tuple, ExplanationTuple};
use super::outcomes::{
    batch_tuple, outcome, query_error, with_ids, BatchTuple, OutcomeTuple, QueryErrorTuple,
};
use super::reader::{io_error, options, refusal_tuple, summary_tuple, RefusalTuple, SummaryTuple};
use crate::index::format::{self, OpenError};
use crate::index::store::Index as NativeIndex;
use crate::matching::batch::match_all;
use crate::matching::matcher::{Engine, Matcher as NativeMatcher};
use crate::matching::pool::{MatcherOptions, Pools};
use crate::matching::run::RunLimits;
use crate::matching::source::{MatchError, Source};
use crate::select::Node;
use crate::xpath::ast::Kind;
use crate::xpath::Namespaces;

/// A set of subscriptions that changes.
#[pyclass(frozen, module = "penstock._native")]
pub struct Index {
    index: Mutex<NativeIndex>,
    pools: Pools,
}

impl Index {
    fn lock(&self) -> MutexGuard<'_, NativeIndex> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An index, or the code and message of what is wrong with its file.
type LoadedTuple = (Option<Index>, Option<(&'static str, String)>);

#[pymethods]
impl Index {
    #[new]
    fn new() -> Index {
        Index {
            index: Mutex::new(NativeIndex::default()),
            pools: Pools::default(),
        }
    }

    /// Opens an index file: the index, or the code and message of what is wrong with the file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<LoadedTuple> {
        match py.detach(|| format::open(&path)) {
            Ok(segment) => {
                let index = Mutex::new(NativeIndex::from_segment(segment));
                Ok((
                    Some(Index {
                        index,
                        pools: Pools::default(),
                    }),
                    None,
                ))
            }
            Err(OpenError::Io(error)) => Err(error.into()),
            Err(OpenError::Refused(code, message)) => Ok((None, Some((code, message)))),
        }
    }

    /// Writes an index file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| {
            let segment = self.lock().compacted();
            format::write(&*segment, &path)
        })?;
        Ok(())
    }

    /// Adds what can be added; returns `(position, code, message, offset in characters)` of the rest.
    fn add_many(
        &self,
        py: Python<'_>,
        ids: Vec<String>,
        queries: Vec<String>,
        namespaces: Vec<(String, String)>,
        default_namespace: &str,
    ) -> PyResult<Vec<QueryErrorTuple>> {
        if ids.len() != queries.len() {
            return Err(PyValueError::new_err("as many ids as queries"));
        }
        let bindings = namespaces
            .iter()
            .map(|(prefix, uri)| (prefix.as_str(), uri.as_str()));
        let namespaces = match Namespaces::new(bindings, default_namespace) {
            Ok(namespaces) => namespaces,
            Err(problem) => {
                let refused = |position| (position, "query.namespaces", problem.clone(), None);
                return Ok((0..ids.len()).map(refused).collect());
            }
        };
        Ok(py.detach(|| {
            let mut index = self.lock();
            let mut errors = Vec::new();
            for (position, (id, query)) in ids.iter().zip(&queries).enumerate() {
                if let Err(error) = index.add(id, query, &namespaces) {
                    errors.push(query_error(position, id, error));
                }
            }
            errors
        }))
    }

    /// Removes a subscription; whether there was one.
    fn remove(&self, py: Python<'_>, id: &str) -> bool {
        py.detach(|| self.lock().remove(id))
    }

    /// Whether there is such a subscription.
    fn contains(&self, py: Python<'_>, id: &str) -> bool {
        py.detach(|| self.lock().contains(id))
    }

    /// The query of a subscription as it was given.
    fn query(&self, py: Python<'_>, id: &str) -> Option<String> {
        py.detach(|| self.lock().query(id))
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        py.detach(|| self.lock().count())
    }

    /// `(subscriptions, distinct queries, segments)`
    fn stats(&self, py: Python<'_>) -> (usize, usize, usize) {
        py.detach(|| {
            let mut index = self.lock();
            let views = index.snapshot().views;
            let classes = views.iter().map(|view| view.segment.class_count()).sum();
            (index.count(), classes, views.len())
        })
    }

    /// A snapshot that matches.
    fn matcher(
        &self,
        py: Python<'_>,
        engine: &str,
        limits: &Bound<'_, PyDict>,
        cache_bytes_max: usize,
        undecided_max: usize,
    ) -> PyResult<Matcher> {
        let engine = match engine {
            "shared" => Engine::Shared,
            "yfilter" => Engine::YFilter,
            other => return Err(PyValueError::new_err(format!("no engine {other:?}"))),
        };
        let run = RunLimits {
            cache_bytes_max,
            undecided_max,
        };
        let options = MatcherOptions {
            reader: options(limits, Vec::new(), false)?,
            run,
        };
        let pool = self.pools.get(options);
        let snapshot = py.detach(|| self.lock().snapshot());
        Ok(Matcher {
            matcher: Arc::new(NativeMatcher::new(snapshot, engine, pool)),
        })
    }
}

/// A snapshot of an index that matches documents.
#[pyclass(frozen, module = "penstock._native")]
pub struct Matcher {
    pub(super) matcher: Arc<NativeMatcher>,
}

impl Matcher {
    /// The handles of subscriptions.
    pub(super) fn handles(&self, ids: &[String]) -> PyResult<Vec<u32>> {
        let unknown = |id: &String| PyValueError::new_err(format!("no subscription `{id}`"));
        let numbered = self.matcher.numbered();
        let handle = |id: &String| numbered.handle(id).ok_or_else(|| unknown(id));
        ids.iter().map(handle).collect()
    }
}

/// `(kind, name of an attribute, spans, namespaces in scope)`; a span is `(start, end, from entity)`.
type NodeTuple = (
    &'static str,
    Option<(String, String)>,
    Vec<(u64, u64, bool)>,
    Vec<(String, String)>,
);

/// What each subscription selects, and what reading the document gave; or why it was refused.
type SelectedTuple = (
    Vec<Vec<NodeTuple>>,
    Option<SummaryTuple>,
    Option<RefusalTuple>,
);

fn node_tuple(node: Node) -> NodeTuple {
    let kind = match node.kind {
        Kind::Element => "element",
        Kind::Attribute => "attribute",
        Kind::Text => "text",
    };
    let name = node.name.filter(|_| node.kind == Kind::Attribute);
    let name = name.map(|name| (name.0.to_string(), name.1.to_string()));
    let spans = node
        .spans
        .iter()
        .map(|span| (span.start, span.end, span.from_entity))
        .collect();
    let scope = node.namespaces.iter().flat_map(|scope| scope.iter());
    (
        kind,
        name,
        spans,
        scope
            .map(|(prefix, uri)| (prefix.to_string(), uri.to_string()))
            .collect(),
    )
}

#[pymethods]
impl Matcher {
    /// The same, reading documents within other limits.
    fn reading_within(&self, limits: &Bound<'_, PyDict>) -> PyResult<Matcher> {
        let limits = options(limits, Vec::new(), false)?.limits;
        Ok(Matcher {
            matcher: Arc::new(self.matcher.reading_within(limits)),
        })
    }

    /// Matches a document that is in memory.
    fn match_bytes<'py>(
        &self,
        py: Python<'py>,
        document: PyBuffer<u8>,
    ) -> PyResult<OutcomeTuple<'py>> {
        let bytes = bytes_of(&document)?;
        let matched = py.detach(|| self.matcher.matches(&mut Source::Bytes(bytes)));
        outcome(py, &self.matcher, matched)
    }

    /// Matches a file's content.
    fn match_file<'py>(&self, py: Python<'py>, path: PathBuf) -> PyResult<OutcomeTuple<'py>> {
        let matched = py.detach(|| self.matcher.matches(&mut Source::File(&path)));
        outcome(py, &self.matcher, matched)
    }

    /// Matches a document that comes in pieces.
    fn match_chunks<'py>(
        &self,
        py: Python<'py>,
        chunks: &Bound<'py, PyAny>,
    ) -> PyResult<OutcomeTuple<'py>> {
        let chunks = Chunks::new(chunks)?;
        let matched = py.detach(|| self.matcher.matches(&mut Source::stream(Box::new(chunks))));
        outcome(py, &self.matcher, matched)
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

    /// What each of these subscriptions selects in a document, and what reading it gave; or why it
    /// was refused.
    fn select(
        &self,
        py: Python<'_>,
        document: PyBuffer<u8>,
        ids: Vec<String>,
    ) -> PyResult<SelectedTuple> {
        let bytes = bytes_of(&document)?;
        let handles = self.handles(&ids)?;
        match py.detach(|| self.matcher.select(&mut Source::Bytes(bytes), &handles)) {
            Ok((selected, summary)) => {
                let tuples = |nodes: Vec<Node>| nodes.into_iter().map(node_tuple).collect();
                Ok((
                    selected.into_iter().map(tuples).collect(),
                    Some(summary_tuple(summary)),
                    None,
                ))
            }
            Err(MatchError::Refused(refusal)) => {
                Ok((Vec::new(), None, Some(refusal_tuple(refusal))))
            }
            Err(MatchError::Io(error)) => Err(io_error(error)),
        }
    }

    /// Why a document meets a subscription or not; or why the document was refused. Nothing where
    /// there is no such subscription.
    fn explain<'py>(
        &self,
        py: Python<'py>,
        document: PyBuffer<u8>,
        id: &str,
    ) -> PyResult<(Option<ExplanationTuple<'py>>, Option<RefusalTuple>)> {
        let bytes = bytes_of(&document)?;
        let Some(handle) = self.matcher.numbered().handle(id) else {
            return Ok((None, None));
        };
        match py.detach(|| self.matcher.explain(&mut Source::Bytes(bytes), handle)) {
            Ok((query, told)) => Ok((Some(explanation_tuple(py, &query, &told)?), None)),
            Err(MatchError::Refused(refusal)) => Ok((None, Some(refusal_tuple(refusal)))),
            Err(MatchError::Io(error)) => Err(io_error(error)),
        }
    }

    /// The query of a subscription as it was given.
    fn query(&self, id: &str) -> Option<&str> {
        let numbered = self.matcher.numbered();
        numbered.handle(id).map(|handle| numbered.source(handle))
    }
}
