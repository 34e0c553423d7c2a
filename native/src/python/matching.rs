//! Index and matcher for Python. Whatever takes time runs with the interpreter released.

use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyIterator};

use super::explaining::{explanation_tuple, ExplanationTuple};
use super::reader::{io_error, options, refusal_tuple, summary_tuple, RefusalTuple, SummaryTuple};
use crate::index::format::{self, OpenError};
use crate::index::store::{AddError, Index as NativeIndex};
use crate::matching::batch::match_all;
use crate::matching::matcher::{Counters, Engine, Matched, Matcher as NativeMatcher};
use crate::matching::pool::{MatcherOptions, Pools};
use crate::matching::run::RunLimits;
use crate::matching::source::{MatchError, Source};
use crate::select::Node;
use crate::xpath::ast::Kind;
use crate::xpath::Namespaces;

/// The counters by name.
fn counters_dict<'py>(py: Python<'py>, counters: &Counters) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("bytes_read", counters.bytes)?;
    dict.set_item("elements", counters.elements)?;
    dict.set_item("verified", counters.verified)?;
    dict.set_item("paths_made", counters.paths_made)?;
    dict.set_item("states_made", counters.states_made)?;
    dict.set_item("caches_dropped", counters.caches_dropped)?;
    dict.set_item("cache_bytes", counters.cache_bytes)?;
    Ok(dict)
}

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

/// `(position, code, message, offset in characters)`
type QueryErrorTuple = (usize, &'static str, String, Option<usize>);

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
                match index.add(id, query, &namespaces) {
                    Ok(()) => {}
                    Err(AddError::Query(refusal)) => {
                        errors.push((
                            position,
                            refusal.code,
                            refusal.message,
                            Some(refusal.offset_characters),
                        ));
                    }
                    Err(AddError::Duplicate) => {
                        let message = format!("there is a subscription `{id}` already");
                        errors.push((position, "subscription.duplicate", message, None));
                    }
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
    matcher: Arc<NativeMatcher>,
}

/// `(handles, counters, refusal)`
type OutcomeTuple<'py> = (Handles, Bound<'py, PyDict>, Option<RefusalTuple>);

impl Matcher {
    fn outcome<'py>(
        &self,
        py: Python<'py>,
        matched: Result<Matched, MatchError>,
    ) -> PyResult<OutcomeTuple<'py>> {
        let (matched, refusal) = match matched {
            Ok(matched) => (matched, None),
            Err(MatchError::Refused(refusal)) => (Matched::default(), Some(refusal_tuple(refusal))),
            Err(MatchError::Io(error)) => return Err(io_error(error)),
        };
        let handles = Handles {
            matcher: Arc::clone(&self.matcher),
            handles: matched.handles,
        };
        Ok((handles, counters_dict(py, &matched.counters)?, refusal))
    }
}

/// `(kind, name of an attribute, spans, namespaces in scope)`; a span is `(start, end, from entity)`.
type NodeTuple = (
    &'static str,
    Option<(String, String)>,
    Vec<(u64, u64, bool)>,
    Vec<(String, String)>,
);

/// `(starts, indices, ids, refusals by row, counters)`, the first two as 32-bit numbers.
type BatchTuple<'py> = (
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Vec<String>,
    Vec<(usize, RefusalTuple)>,
    Bound<'py, PyDict>,
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
    /// Matches a document that is in memory.
    fn match_bytes<'py>(
        &self,
        py: Python<'py>,
        document: PyBuffer<u8>,
    ) -> PyResult<OutcomeTuple<'py>> {
        let bytes = bytes_of(&document)?;
        let matched = py.detach(|| self.matcher.matches(&mut Source::Bytes(bytes)));
        self.outcome(py, matched)
    }

    /// Matches a file's content.
    fn match_file<'py>(&self, py: Python<'py>, path: PathBuf) -> PyResult<OutcomeTuple<'py>> {
        let matched = py.detach(|| self.matcher.matches(&mut Source::File(&path)));
        self.outcome(py, matched)
    }

    /// Matches a document that comes in pieces.
    fn match_chunks<'py>(
        &self,
        py: Python<'py>,
        chunks: &Bound<'py, PyAny>,
    ) -> PyResult<OutcomeTuple<'py>> {
        let chunks = Chunks {
            iterator: chunks.try_iter()?.unbind(),
            chunk: Vec::new(),
            at: 0,
        };
        let matched = py.detach(|| self.matcher.matches(&mut Source::stream(Box::new(chunks))));
        self.outcome(py, matched)
    }

    /// Matches documents that stand in one buffer, at `offsets` (64-bit, one more than
    /// documents): `(starts, indices, ids, refusals by row, counters)`, the first two as 32-bit.
    fn match_batch<'py>(
        &self,
        py: Python<'py>,
        documents: PyBuffer<u8>,
        offsets: PyBuffer<u8>,
    ) -> PyResult<BatchTuple<'py>> {
        let (bytes, offsets) = (bytes_of(&documents)?, bytes_of(&offsets)?);
        let offsets: Vec<usize> = offsets
            .chunks_exact(8)
            .map(|offset| i64::from_le_bytes(offset.try_into().expect("eight bytes")) as usize)
            .collect();
        let sound = offsets.windows(2).all(|pair| pair[0] <= pair[1])
            && offsets.last().is_none_or(|&end| end <= bytes.len());
        if !sound {
            return Err(PyValueError::new_err(
                "offsets must ascend within the buffer",
            ));
        }
        let (batch, ids) = py.detach(|| {
            let batch = match_all(
                &self.matcher,
                offsets.windows(2).map(|pair| &bytes[pair[0]..pair[1]]),
            );
            let ids: Vec<String> = batch
                .handles
                .iter()
                .map(|&handle| self.matcher.numbered().id(handle).to_owned())
                .collect();
            (batch, ids)
        });
        let refusals = batch
            .refusals
            .into_iter()
            .map(|(row, refusal)| (row, refusal_tuple(refusal)))
            .collect();
        Ok((
            PyBytes::new(py, bytemuck::cast_slice(&batch.starts)),
            PyBytes::new(py, bytemuck::cast_slice(&batch.indices)),
            ids,
            refusals,
            counters_dict(py, &batch.counters)?,
        ))
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
        let unknown = |id: &String| PyValueError::new_err(format!("no subscription `{id}`"));
        let handle = |id: &String| {
            self.matcher
                .numbered()
                .handle(id)
                .ok_or_else(|| unknown(id))
        };
        let handles = ids.iter().map(handle).collect::<PyResult<Vec<u32>>>()?;
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

/// Handles that become ids when someone asks.
#[pyclass(frozen, module = "penstock._native")]
pub struct Handles {
    matcher: Arc<NativeMatcher>,
    handles: Vec<u32>,
}

#[pymethods]
impl Handles {
    fn __len__(&self) -> usize {
        self.handles.len()
    }

    /// The ids, in the order in which the subscriptions were added.
    fn ids(&self, py: Python<'_>) -> Vec<String> {
        py.detach(|| {
            let mut handles = self.handles.clone();
            handles.sort_unstable();
            handles
                .into_iter()
                .map(|handle| self.matcher.numbered().id(handle).to_owned())
                .collect()
        })
    }
}

/// The bytes of a contiguous buffer. Whoever hands a buffer in must not change it meanwhile.
fn bytes_of(buffer: &PyBuffer<u8>) -> PyResult<&[u8]> {
    if !buffer.is_c_contiguous() {
        return Err(PyTypeError::new_err(
            "a contiguous buffer of bytes is needed",
        ));
    }
    // SAFETY: the exporter keeps the memory alive and in place while `buffer` lives.
    Ok(unsafe { std::slice::from_raw_parts(buffer.buf_ptr().cast(), buffer.len_bytes()) })
}

/// A Python iterable of bytes as a stream that another thread could read.
struct Chunks {
    iterator: Py<PyIterator>,
    chunk: Vec<u8>,
    at: usize,
}

impl Chunks {
    /// The next piece that is not empty; an empty one at the end.
    fn next(&self) -> PyResult<Vec<u8>> {
        Python::attach(|py| {
            for chunk in self.iterator.bind(py).clone() {
                let chunk = PyBuffer::<u8>::get(&chunk?)?;
                if chunk.len_bytes() > 0 {
                    return chunk.to_vec(py);
                }
            }
            Ok(Vec::new())
        })
    }
}

impl Read for Chunks {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.chunk.len() {
            self.at = 0;
            self.chunk = self.next().map_err(io::Error::other)?;
        }
        let count = (&self.chunk[self.at..]).read(buffer)?;
        self.at += count;
        Ok(count)
    }
}
