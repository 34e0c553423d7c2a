//! Index and matcher of path subscriptions. Long operations release the GIL.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

#[cfg(not(feature = "baselines"))]
use super::baseline_missing;
use super::buffers::BufferBytes;
use super::document_matcher::DocumentMatcher;
use super::explanations::{explanation_tuple, ExplanationTuple};
use super::indexes::{
    add_each, handles_of, header_tests_of, index_error, loaded_tuple, write_error, LoadedTuple,
    QueryErrorTuple,
};
use super::outcomes::or_refusal;
use super::reader::{options, summary_tuple, RefusalTuple, SummaryTuple};
use super::relations::CompiledQuery;
use crate::containment_index::{ContainedClass, ContainmentIndex};
use crate::dispatch::cache_budget;
use crate::dispatch::document_source::DocumentSource;
use crate::dispatch::outcome::MatchError;
use crate::engine_selection::{with_path_matcher, AnyPathMatcher, PathEngineKind, PathPools};
use crate::matching::segment_run::RunLimits;
use crate::matching::worker::MatcherOptions;
use crate::path_index::segment::Segment;
use crate::path_index::subscription_index::PathIndex as NativeIndex;
use crate::reader::ReaderOptions;
use crate::select::SelectedNode;
use crate::subscription_store::file_format;
use crate::subscription_store::header_tests::HeaderField;
use crate::subscription_store::numbering::NumberedSnapshot;
use crate::xpath::ast::Kind;
use crate::xpath::Namespaces;

/// A mutable set of path subscriptions.
#[pyclass(frozen, module = "penstock._native")]
pub struct Index {
    index: Mutex<NativeIndex>,
    pools: PathPools,
    containment: ContainmentIndex,
}

impl Index {
    fn of_segment(segment: Segment) -> Index {
        Index {
            index: Mutex::new(NativeIndex::from_segment(segment)),
            pools: PathPools::default(),
            containment: ContainmentIndex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, NativeIndex> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A matcher of the current subscriptions with the default engine and reader.
    fn default_matcher(&self, cache_bytes_max: usize, undecided_max: usize) -> AnyPathMatcher {
        let options = MatcherOptions {
            reader: ReaderOptions::default(),
            run: RunLimits {
                cache_bytes_max,
                undecided_max,
            },
        };
        let snapshot = self.lock().snapshot();
        self.pools
            .matcher(snapshot, PathEngineKind::Automaton, options)
    }
}

#[pymethods]
impl Index {
    #[new]
    fn new() -> Index {
        Index {
            index: Mutex::new(NativeIndex::default()),
            pools: PathPools::default(),
            containment: ContainmentIndex::default(),
        }
    }

    /// Opens an index file; returns the index, or the code and message of the error.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<LoadedTuple<Index>> {
        let opened = py.detach(|| file_format::open(&path));
        loaded_tuple(&path, opened.map(Index::of_segment))
    }

    /// The index in the content of an index file; or the code and message of the error.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, content: BufferBytes) -> PyResult<LoadedTuple<Index>> {
        let content: &[u8] = &content;
        let opened = py.detach(|| file_format::from_bytes(content));
        loaded_tuple(Path::new(""), opened.map(Index::of_segment))
    }

    /// The content of the index file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let content = py.detach(|| Ok(file_format::to_bytes(&*self.lock().compacted()?)));
        Ok(PyBytes::new(py, &content.map_err(index_error)?))
    }

    /// Writes an index file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| {
            let segment = self.lock().compacted()?;
            Ok(file_format::write(&*segment, &path)?)
        })
        .map_err(|error| write_error(&path, error))
    }

    /// Adds the valid subscriptions; returns `(position, code, message, offset in characters)` of
    /// the others.
    #[pyo3(signature = (ids, queries, namespaces, default_namespace, header_tests=Vec::new()))]
    fn add_many(
        &self,
        py: Python<'_>,
        ids: Vec<String>,
        queries: Vec<String>,
        namespaces: Vec<(String, String)>,
        default_namespace: &str,
        header_tests: Vec<Vec<HeaderField>>,
    ) -> PyResult<Vec<QueryErrorTuple>> {
        if ids.len() != queries.len() {
            return Err(PyValueError::new_err(
                "the numbers of ids and queries differ",
            ));
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
            add_each(&ids, &queries, header_tests, |id, query, header| {
                index.add_where(id, query, &namespaces, header)
            })
        }))
    }

    /// Removes a subscription; returns whether there was one.
    fn remove(&self, py: Python<'_>, id: &str) -> bool {
        py.detach(|| self.lock().remove(id))
    }

    /// Whether a subscription has the id.
    fn contains(&self, py: Python<'_>, id: &str) -> bool {
        py.detach(|| self.lock().contains(id))
    }

    /// The query of a subscription as it was submitted.
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

    /// The ids of the subscriptions that contain a subscription with this query in normal form and
    /// these header tests.
    fn containers(
        &self,
        py: Python<'_>,
        query: &CompiledQuery,
        header: Vec<HeaderField>,
        cache_bytes_max: usize,
        undecided_max: usize,
    ) -> PyResult<Vec<String>> {
        py.detach(|| {
            let matcher = self.default_matcher(cache_bytes_max, undecided_max);
            with_path_matcher!(&matcher, matcher => {
                let found = self.containment.containers(matcher, &query.compiled, &header);
                found.map(|handles| ids_of(matcher.numbered(), &handles))
            })
        })
        .map_err(match_error)
    }

    /// What contains each subscription: the ids by handle, and for each distinct subscription the
    /// handles that have it and the handles of those that contain it, including itself. Those without a
    /// canonical document are left out.
    fn all_containers(
        &self,
        py: Python<'_>,
        cache_bytes_max: usize,
        undecided_max: usize,
    ) -> PyResult<(Vec<String>, Vec<ContainedClass>)> {
        py.detach(|| {
            let matcher = self.default_matcher(cache_bytes_max, undecided_max);
            with_path_matcher!(&matcher, matcher => {
                let numbered = matcher.numbered();
                let handles: Vec<u32> = (0..numbered.count()).collect();
                let found = self.containment.all_containers(matcher);
                found.map(|rows| (ids_of(numbered, &handles), rows))
            })
        })
        .map_err(match_error)
    }

    /// The ids of the subscriptions that a subscription with this query in normal form and these header
    /// tests contains.
    fn contained(
        &self,
        py: Python<'_>,
        query: &CompiledQuery,
        header: Vec<HeaderField>,
    ) -> PyResult<Vec<String>> {
        py.detach(|| {
            let numbered = NumberedSnapshot::new(self.lock().snapshot());
            let found = self
                .containment
                .contained(&numbered, &query.compiled, &header);
            found.map(|handles| ids_of(&numbered, &handles))
        })
        .map_err(match_error)
    }

    /// A matcher of the current subscriptions.
    fn matcher(
        &self,
        py: Python<'_>,
        engine: &str,
        limits: &Bound<'_, PyDict>,
        cache_bytes_max: usize,
        undecided_max: usize,
    ) -> PyResult<Py<Matcher>> {
        let engine = match engine {
            "shared" => PathEngineKind::Automaton,
            #[cfg(feature = "baselines")]
            "yfilter" => PathEngineKind::YFilter,
            #[cfg(not(feature = "baselines"))]
            "yfilter" => return Err(baseline_missing(engine)),
            other => return Err(PyValueError::new_err(format!("unknown engine {other:?}"))),
        };
        cache_budget::set_limit(cache_bytes_max);
        let run = RunLimits {
            cache_bytes_max,
            undecided_max,
        };
        let options = MatcherOptions {
            reader: options(limits, Vec::new(), false)?,
            run,
        };
        let matcher = py.detach(|| {
            let snapshot = self.lock().snapshot();
            self.pools.matcher(snapshot, engine, options)
        });
        Matcher::new(py, matcher)
    }
}

fn ids_of(numbered: &NumberedSnapshot<Segment>, handles: &[u32]) -> Vec<String> {
    let id = |&handle: &u32| numbered.id(handle).to_owned();
    handles.iter().map(id).collect()
}

/// The exception for a search that failed because the index is damaged.
fn match_error(error: MatchError) -> PyErr {
    match error {
        MatchError::Index(error) => index_error(error),
        MatchError::Io(error) => error.into(),
        MatchError::Refused(refusal) => PyValueError::new_err(refusal.message),
    }
}

/// Bytes of the caches of all matchers of the process.
#[pyfunction]
pub fn process_cache_bytes() -> usize {
    cache_budget::total_bytes()
}

/// Matches documents against a snapshot of an index.
#[pyclass(frozen, extends = DocumentMatcher, module = "penstock._native")]
pub struct Matcher {
    pub(super) matcher: AnyPathMatcher,
}

impl Matcher {
    fn new(py: Python<'_>, matcher: AnyPathMatcher) -> PyResult<Py<Matcher>> {
        let base = DocumentMatcher::of(matcher.document_matcher());
        Py::new(py, base.add_subclass(Matcher { matcher }))
    }

    /// The subscriptions.
    pub(super) fn numbered(&self) -> &NumberedSnapshot<Segment> {
        with_path_matcher!(&self.matcher, matcher => matcher.numbered())
    }
}

/// `(kind, name of an attribute, spans, namespaces in scope)`; a span is `(start, end, from
/// entity)`.
type NodeTuple = (
    &'static str,
    Option<(String, String)>,
    Vec<(u64, u64, bool)>,
    Vec<(String, String)>,
);

fn node_tuple(node: &SelectedNode) -> NodeTuple {
    let kind = match node.kind {
        Kind::Element => "element",
        Kind::Attribute => "attribute",
        Kind::Text => "text",
    };
    let name = node.name.as_ref().filter(|_| node.kind == Kind::Attribute);
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

/// The nodes that one subscription selects, in document order. Their parts are created when they are
/// requested: a document can have very many, each with all namespaces in scope.
#[pyclass(frozen, module = "penstock._native")]
pub struct SelectedNodes {
    nodes: Vec<SelectedNode>,
}

#[pymethods]
impl SelectedNodes {
    fn __len__(&self) -> usize {
        self.nodes.len()
    }

    /// The parts of a node.
    fn node(&self, number: usize) -> PyResult<NodeTuple> {
        let node = self.nodes.get(number).map(node_tuple);
        node.ok_or_else(|| PyIndexError::new_err("no such node"))
    }
}

/// The selected nodes by subscription, the reader's summary, and why the document was rejected.
type SelectedTuple = (
    Vec<Option<SelectedNodes>>,
    Option<SummaryTuple>,
    Option<RefusalTuple>,
);

#[pymethods]
impl Matcher {
    /// A matcher of the same snapshot with other reader limits.
    fn reading_within(&self, py: Python<'_>, limits: &Bound<'_, PyDict>) -> PyResult<Py<Matcher>> {
        let limits = options(limits, Vec::new(), false)?.limits;
        let matcher = match &self.matcher {
            AnyPathMatcher::Automaton(matcher) => {
                AnyPathMatcher::Automaton(Arc::new(matcher.with_limits(limits)))
            }
            #[cfg(feature = "baselines")]
            AnyPathMatcher::YFilter(matcher) => {
                AnyPathMatcher::YFilter(Arc::new(matcher.with_limits(limits)))
            }
        };
        Matcher::new(py, matcher)
    }

    /// The nodes that each of these subscriptions selects and the summary of the reading, or the
    /// refusal. `None` for a subscription whose evaluation spent the work budget.
    fn select(
        &self,
        py: Python<'_>,
        document: BufferBytes,
        ids: Vec<String>,
    ) -> PyResult<SelectedTuple> {
        let bytes: &[u8] = &document;
        let handles = handles_of(self.numbered(), &ids)?;
        let found = py.detach(|| {
            let document = &mut DocumentSource::Bytes(bytes);
            with_path_matcher!(&self.matcher, matcher => matcher.select(document, &handles))
        });
        let (found, refusal) = or_refusal(found)?;
        let (selected, summary) = found.unzip();
        let selected = selected.unwrap_or_default().into_iter();
        let selected = selected.map(|nodes| nodes.map(|nodes| SelectedNodes { nodes }));
        Ok((selected.collect(), summary.map(summary_tuple), refusal))
    }

    /// Explains why a document matches a subscription or not; or the refusal of the document.
    /// `None` for an unknown subscription.
    fn explain<'py>(
        &self,
        py: Python<'py>,
        document: BufferBytes,
        id: &str,
    ) -> PyResult<(Option<ExplanationTuple<'py>>, Option<RefusalTuple>)> {
        let bytes: &[u8] = &document;
        let Some(handle) = self.numbered().handle(id) else {
            return Ok((None, None));
        };
        let explained = py.detach(|| {
            let document = &mut DocumentSource::Bytes(bytes);
            with_path_matcher!(&self.matcher, matcher => matcher.explain(document, handle))
        });
        let (explained, refusal) = or_refusal(explained)?;
        let tuple =
            explained.map(|(query, explanation)| explanation_tuple(py, &query, &explanation));
        Ok((tuple.transpose()?, refusal))
    }

    /// Whether some subscription tests header fields.
    fn tests_headers(&self) -> bool {
        with_path_matcher!(&self.matcher, matcher => matcher.tests_headers())
    }

    /// The header tests of a subscription: fields and values.
    fn header_tests(&self, id: &str) -> Vec<HeaderField> {
        header_tests_of(self.numbered(), id)
    }

    /// The query of a subscription as it was submitted.
    fn query(&self, id: &str) -> Option<&str> {
        let numbered = self.numbered();
        numbered.handle(id).map(|handle| numbered.source(handle))
    }
}
