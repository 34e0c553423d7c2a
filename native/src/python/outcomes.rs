//! Match outcomes as Python tuples, for any kind of subscription.

use std::path::Path;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};

use super::id_strings::ids_of;
use super::indexes::index_error;
use super::reader::{file_error, io_error, refusal_tuple, RefusalTuple};
use crate::dispatch::batch::Batch;
use crate::dispatch::outcome::{Counters, MatchError, Matched};
use crate::dispatch::DocumentMatcher;

/// The counters by name.
fn counters_dict<'py>(py: Python<'py>, counters: &Counters) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("bytes_read", counters.bytes)?;
    dict.set_item("elements", counters.elements)?;
    dict.set_item("steps", counters.steps)?;
    dict.set_item("verified", counters.verified)?;
    dict.set_item("paths_made", counters.paths_made)?;
    dict.set_item("states_made", counters.states_made)?;
    dict.set_item("caches_dropped", counters.caches_dropped)?;
    dict.set_item("cache_bytes", counters.cache_bytes)?;
    dict.set_item("unknown", counters.unknown)?;
    dict.set_item("held_bytes", counters.held_bytes)?;
    dict.set_item("copies_known", counters.copies_known)?;
    Ok(dict)
}

/// Adds the name of the file to an I/O error.
pub(super) fn of_file<T>(
    path: &Path,
    found: Result<T, MatchError>,
) -> PyResult<Result<T, MatchError>> {
    match found {
        Err(MatchError::Io(error)) => Err(file_error(path, error)),
        found => Ok(found),
    }
}

/// Splits a result into its value and the refusal of the document.
pub(super) fn or_refusal<T>(
    found: Result<T, MatchError>,
) -> PyResult<(Option<T>, Option<RefusalTuple>)> {
    match found {
        Ok(value) => Ok((Some(value), None)),
        Err(MatchError::Refused(refusal)) => Ok((None, Some(refusal_tuple(refusal)))),
        Err(error) => Err(match_error(error)),
    }
}

/// The exception for an error that is not the document's.
fn match_error(error: MatchError) -> PyErr {
    match error {
        MatchError::Io(error) => io_error(error),
        MatchError::Index(error) => index_error(error),
        MatchError::Refused(_) => unreachable!("a refusal is a result"),
    }
}

/// `(handles, handles that were set aside if there are any, counters, refusal)`
pub(super) type OutcomeTuple = (Handles, Option<Handles>, WorkCounters, Option<RefusalTuple>);

/// Converts the outcome of matching a document.
pub(super) fn outcome(
    matcher: Arc<dyn DocumentMatcher>,
    matched: Result<Matched, MatchError>,
) -> PyResult<OutcomeTuple> {
    let (matched, refusal) = or_refusal(matched)?;
    let matched = matched.unwrap_or_default();
    let of = |handles: Vec<u32>| Handles {
        matcher: Arc::clone(&matcher),
        handles,
    };
    let set_aside = (!matched.set_aside.is_empty()).then(|| of(matched.set_aside));
    let counters = WorkCounters(matched.counters);
    Ok((of(matched.handles), set_aside, counters, refusal))
}

/// `(starts, indices, ids, refusals by row, indices that were set aside by row, counters)`, the first
/// two as 32-bit integers.
pub(super) type BatchTuple<'py> = (
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Vec<String>,
    Vec<(usize, RefusalTuple)>,
    Vec<(usize, Vec<i32>)>,
    Bound<'py, PyDict>,
);

/// A batch and the ids of its handles.
pub(super) fn with_ids(
    matcher: &dyn DocumentMatcher,
    batch: Result<Batch, MatchError>,
) -> PyResult<(Batch, Vec<String>)> {
    let batch = batch.map_err(match_error)?;
    let id = |&handle: &u32| matcher.id(handle).to_owned();
    let ids = batch.handles.iter().map(id).collect();
    Ok((batch, ids))
}

/// Converts the outcome of matching a batch.
pub(super) fn batch_tuple(
    py: Python<'_>,
    batch: Batch,
    ids: Vec<String>,
) -> PyResult<BatchTuple<'_>> {
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
        batch.set_aside,
        counters_dict(py, &batch.counters)?,
    ))
}

/// The counters of one document, converted on demand: most callers only want the matches.
#[pyclass(frozen, module = "penstock._native")]
pub struct WorkCounters(Counters);

#[pymethods]
impl WorkCounters {
    /// The counters by name.
    fn by_name<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        counters_dict(py, &self.0)
    }
}

/// Handles of matched subscriptions, converted to ids on demand.
#[pyclass(frozen, module = "penstock._native")]
pub struct Handles {
    matcher: Arc<dyn DocumentMatcher>,
    handles: Vec<u32>,
}

impl Handles {
    /// The matcher, and the handles in no particular order.
    pub(super) fn parts(&self) -> (&Arc<dyn DocumentMatcher>, &[u32]) {
        (&self.matcher, &self.handles)
    }
}

#[pymethods]
impl Handles {
    fn __len__(&self) -> usize {
        self.handles.len()
    }

    /// The ids, in the order in which the subscriptions were added.
    fn ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        ids_of(py, &*self.matcher, &self.handles)
    }
}
