//! Label paths of documents, for Python.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::label_paths::{LabelPaths as NativePaths, LabelPathsBuilder, NO_PARENT};

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
