//! Counting the elements of sample documents for Python.

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyDict;

use crate::sample_paths::{
    PathCounts, SampleCounter as NativeCounter, SampleLimits, SampleProblem, NO_PARENT,
};

use super::reader::{options, refusal_tuple, RefusalTuple};

/// Namespace URI and local name.
type NameTuple<'a> = (&'a str, &'a str);

/// Position of the parent, name, numbers of elements, parents, most and with text, attributes with the
/// number of elements that have each.
type PathTuple<'a> = (
    Option<u32>,
    NameTuple<'a>,
    (u64, u64, u64, u64),
    Vec<(NameTuple<'a>, u64)>,
);

/// Counts the elements of sample documents by path.
#[pyclass(module = "penstock._native")]
pub struct SampleCounter(NativeCounter);

#[pymethods]
impl SampleCounter {
    #[new]
    fn new(limits: &Bound<'_, PyDict>, depth_max: usize, paths_max: usize) -> PyResult<Self> {
        let sample_limits = SampleLimits {
            depth_max,
            paths_max,
        };
        let options = options(limits, Vec::new(), false)?;
        Ok(Self(NativeCounter::new(options, sample_limits)))
    }

    /// Adds a document; returns `depth` or `paths` if a limit was exceeded, or a refusal.
    fn add(
        &mut self,
        py: Python<'_>,
        document: PyBackedBytes,
    ) -> (Option<&'static str>, Option<RefusalTuple>) {
        match py.detach(|| self.0.add(&document)) {
            Ok(problem) => {
                let text = problem.map(|problem| match problem {
                    SampleProblem::TooDeep => "depth",
                    SampleProblem::TooManyPaths => "paths",
                });
                (text, None)
            }
            Err(refusal) => (None, Some(refusal_tuple(refusal))),
        }
    }

    /// The paths of all documents; the parent of a path comes before it.
    fn counts(&self) -> Vec<PathTuple<'_>> {
        let mut counts: Vec<PathTuple<'_>> = Vec::new();
        for path in self.0.paths() {
            let PathCounts {
                elements,
                parents,
                most,
                with_text,
            } = path.counts;
            counts.push((
                (path.parent != NO_PARENT).then_some(path.parent),
                self.0.name(path.name),
                (elements, parents, most, with_text),
                Vec::new(),
            ));
        }
        for (path, name, count) in self.0.attributes() {
            counts[path as usize].3.push((self.0.name(name), count));
        }
        counts
    }
}
