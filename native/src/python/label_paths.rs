//! Label paths of documents and what is derived from them, for Python.

use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::buffers::BufferBytes;
use super::relations::CompiledQuery;
use crate::label_paths::bindings::{self, BindingRequest};
use crate::label_paths::main_paths::MainPaths as NativeMainPaths;
use crate::label_paths::vocabulary::{
    ClassifiedPaths as NativeClassified, NameClass, Vocabulary as NativeVocabulary,
};
use crate::label_paths::{
    last_offsets, skeleton, LabelPaths as NativePaths, LabelPathsBuilder, NO_PARENT,
};

/// The distinct label paths of a document.
#[pyclass(frozen, module = "penstock._native")]
pub struct LabelPaths {
    pub(super) paths: NativePaths,
}

/// `(number of the parent, name, attribute names, greatest end)`; names are `(URI, local name)`.
type LabelPathTuple<'a> = (
    Option<u32>,
    (&'a str, &'a str),
    Vec<(&'a str, &'a str)>,
    u64,
);

/// The same with owned names.
type OwnedPathTuple = (Option<u32>, (String, String), Vec<(String, String)>, u64);

#[pymethods]
impl LabelPaths {
    /// The paths of tuples as [`LabelPaths::paths`] returns them.
    #[new]
    fn new(paths: Vec<OwnedPathTuple>) -> PyResult<LabelPaths> {
        let mut builder = LabelPathsBuilder::default();
        for (parent, (uri, local), attributes, end) in &paths {
            let path = builder.add_path(*parent, (uri, local), *end);
            let added = path.is_some_and(|path| {
                attributes
                    .iter()
                    .all(|(uri, local)| builder.add_attribute(path, (uri, local)))
            });
            if !added {
                let message = "a label path comes before its parent, or there are too many names";
                return Err(PyValueError::new_err(message));
            }
        }
        Ok(LabelPaths {
            paths: builder.finish(),
        })
    }

    fn __len__(&self) -> usize {
        self.paths.paths().len()
    }

    /// The paths by number; the parent of a path comes before it.
    fn paths(&self) -> Vec<LabelPathTuple<'_>> {
        let mut tuples: Vec<LabelPathTuple<'_>> = Vec::new();
        for path in self.paths.paths() {
            let parent = (path.parent != NO_PARENT).then_some(path.parent);
            let name = self.paths.name(path.name);
            tuples.push((parent, name, Vec::new(), path.end));
        }
        for &(path, name) in self.paths.attributes() {
            tuples[path as usize].2.push(self.paths.name(name));
        }
        tuples
    }
}

/// The names that a set of queries mentions.
#[pyclass(frozen, module = "penstock._native")]
pub struct Vocabulary {
    vocabulary: Arc<NativeVocabulary>,
}

/// A rank and a label path as numbers of namespace URIs and local names.
type BindingTuple = (u32, Vec<(u32, u32)>);

#[pymethods]
impl Vocabulary {
    /// Namespace URIs, local names, and the mentioned names as pairs of their positions.
    #[new]
    fn new(uris: Vec<String>, locals: Vec<String>, mentioned: Vec<(u32, u32)>) -> PyResult<Self> {
        let vocabulary = NativeVocabulary::new(&uris, &locals, &mentioned)
            .ok_or_else(|| PyValueError::new_err("a name refers to a missing part"))?;
        Ok(Vocabulary {
            vocabulary: Arc::new(vocabulary),
        })
    }

    /// The label paths of a document with the classes of their names.
    fn classify(&self, paths: &LabelPaths) -> ClassifiedPaths {
        ClassifiedPaths {
            paths: self.vocabulary.classify(&paths.paths),
            vocabulary: Arc::clone(&self.vocabulary),
        }
    }

    /// Compiles the main paths of queries by rank; `None` stands for a query that is not a path.
    fn main_paths(&self, queries: Vec<Option<PyRef<'_, CompiledQuery>>>) -> MainPaths {
        let queries = queries
            .iter()
            .map(|query| query.as_ref().map(|query| query.compiled.query()));
        MainPaths {
            paths: NativeMainPaths::new(queries, &self.vocabulary),
        }
    }

    /// A skeleton as an XML document; `None` if it is malformed.
    fn decode_skeleton<'py>(
        &self,
        py: Python<'py>,
        encoded: BufferBytes,
    ) -> Option<Bound<'py, PyBytes>> {
        let xml = skeleton::decode(&encoded, &self.vocabulary)?;
        Some(PyBytes::new(py, xml.as_bytes()))
    }

    /// At most `bindings_max` bindings of ranks below `ranks_max`; `None` if they are malformed.
    fn decode_bindings(
        &self,
        encoded: BufferBytes,
        ranks_max: u32,
        bindings_max: usize,
    ) -> Option<Vec<BindingTuple>> {
        let decoded = bindings::decode(&encoded, &self.vocabulary, ranks_max, bindings_max)?;
        let pair = |class: NameClass| (class.uri, class.local);
        let tuples = decoded
            .into_iter()
            .map(|(rank, path)| (rank, path.into_iter().map(pair).collect()));
        Some(tuples.collect())
    }
}

/// The label paths of a document with the classes of their names in a vocabulary.
#[pyclass(frozen, module = "penstock._native")]
pub struct ClassifiedPaths {
    paths: NativeClassified,
    vocabulary: Arc<NativeVocabulary>,
}

#[pymethods]
impl ClassifiedPaths {
    /// The encoded skeleton; `None` if it exceeds a limit.
    fn encode_skeleton<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        let encoded = skeleton::encode(&self.paths, &self.vocabulary)?;
        Some(PyBytes::new(py, &encoded))
    }

    /// A bitmap of the mentioned names that no element has, least significant bit first.
    fn absent_elements<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.paths.absent_elements(&self.vocabulary))
    }
}

/// The main paths of a list of queries.
#[pyclass(frozen, module = "penstock._native")]
pub struct MainPaths {
    paths: NativeMainPaths,
}

#[pymethods]
impl MainPaths {
    /// The encoded last offsets of these ranks.
    fn encode_last_offsets<'py>(
        &self,
        py: Python<'py>,
        paths: &ClassifiedPaths,
        ranks: Vec<u32>,
    ) -> Bound<'py, PyBytes> {
        let mut pairs = self.paths.last_ends(&paths.paths, &ranks);
        PyBytes::new(py, &last_offsets::encode(&mut pairs))
    }

    /// The encoded bindings of ranks in ascending order, each with whether its label path must be the only
    /// one.
    fn encode_bindings<'py>(
        &self,
        py: Python<'py>,
        paths: &ClassifiedPaths,
        requests: Vec<(u32, bool)>,
        paths_max: usize,
        bindings_max: usize,
    ) -> PyResult<Bound<'py, PyBytes>> {
        if !requests.is_sorted_by(|one, two| one.0 < two.0) {
            return Err(PyValueError::new_err("the ranks are not ascending"));
        }
        let request = |(rank, is_single)| BindingRequest { rank, is_single };
        let requests: Vec<BindingRequest> = requests.into_iter().map(request).collect();
        let (main_paths, own) = (&self.paths, &paths.paths);
        let found = bindings::find(main_paths, own, &requests, paths_max, bindings_max);
        Ok(PyBytes::new(
            py,
            &bindings::encode(&found, &paths.vocabulary),
        ))
    }
}

/// Pairs of rank and offset of ranks below `ranks_max`; `None` if they are malformed.
#[pyfunction]
pub fn decode_last_offsets(encoded: BufferBytes, ranks_max: u32) -> Option<Vec<(u32, u64)>> {
    last_offsets::decode(&encoded, ranks_max)
}

/// Maximum number of elements and attributes of a skeleton, and its maximum depth.
#[pyfunction]
pub fn skeleton_limits() -> (usize, usize) {
    (skeleton::NODES_MAX, skeleton::DEPTH_MAX)
}
