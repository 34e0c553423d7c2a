//! What matching gives back to Python, of subscriptions of any kind.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use super::reader::{io_error, refusal_tuple, summary_tuple, RefusalTuple, SummaryTuple};
use crate::dispatch::document_source::MatchError;
use crate::dispatch::match_batch::Batch;
use crate::keywords::matcher::KeywordMatcher;
use crate::matching::matcher::{Counters, Matched, Matcher};
use crate::reader::Summary;

/// Knows the ids of handles.
pub(super) trait Ids: Send + Sync {
    /// The id of a handle.
    fn id(&self, handle: u32) -> &str;

    /// Subscriptions in this order are in that in which they were added.
    fn order(&self, handle: u32) -> u32;
}

impl Ids for Matcher {
    fn id(&self, handle: u32) -> &str {
        self.numbered().id(handle)
    }

    fn order(&self, handle: u32) -> u32 {
        self.numbered().added_before(handle)
    }
}

impl Ids for KeywordMatcher {
    fn id(&self, handle: u32) -> &str {
        self.numbered().id(handle)
    }

    fn order(&self, handle: u32) -> u32 {
        self.numbered().added_before(handle)
    }
}

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
    dict.set_item("unknown", counters.unknown)?;
    dict.set_item("held_bytes", counters.held_bytes)?;
    dict.set_item("copies_known", counters.copies_known)?;
    Ok(dict)
}

/// A value, or why the document was refused.
pub(super) fn or_refusal<T>(
    found: Result<T, MatchError>,
) -> PyResult<(Option<T>, Option<RefusalTuple>)> {
    match found {
        Ok(value) => Ok((Some(value), None)),
        Err(MatchError::Refused(refusal)) => Ok((None, Some(refusal_tuple(refusal)))),
        Err(MatchError::Io(error)) => Err(io_error(error)),
    }
}

/// What each subscription has in a document, and what reading the document gave; or why it was refused.
pub(super) type FoundTuple<T> = (Vec<Vec<T>>, Option<SummaryTuple>, Option<RefusalTuple>);

/// What was found in a document.
pub(super) fn found_tuple<T>(
    found: Result<(Vec<Vec<T>>, Summary), MatchError>,
) -> PyResult<FoundTuple<T>> {
    let (found, refusal) = or_refusal(found)?;
    let (found, summary) = found.unzip();
    Ok((
        found.unwrap_or_default(),
        summary.map(summary_tuple),
        refusal,
    ))
}

/// `(handles, counters, refusal)`
pub(super) type OutcomeTuple<'py> = (Handles, Bound<'py, PyDict>, Option<RefusalTuple>);

/// What became of a document.
pub(super) fn outcome<'py>(
    py: Python<'py>,
    ids: Arc<dyn Ids>,
    matched: Result<Matched, MatchError>,
) -> PyResult<OutcomeTuple<'py>> {
    let (matched, refusal) = or_refusal(matched)?;
    let matched = matched.unwrap_or_default();
    let handles = Handles {
        ids,
        handles: matched.handles,
    };
    Ok((handles, counters_dict(py, &matched.counters)?, refusal))
}

/// `(starts, indices, ids, refusals by row, counters)`, the first two as 32-bit numbers.
pub(super) type BatchTuple<'py> = (
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Vec<String>,
    Vec<(usize, RefusalTuple)>,
    Bound<'py, PyDict>,
);

/// A batch, and the ids of its handles.
pub(super) fn with_ids(ids: &(impl Ids + ?Sized), batch: Batch) -> (Batch, Vec<String>) {
    let id = |&handle: &u32| ids.id(handle).to_owned();
    let ids = batch.handles.iter().map(id).collect();
    (batch, ids)
}

/// What became of a batch.
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
        counters_dict(py, &batch.counters)?,
    ))
}

/// Handles that become ids when someone asks.
#[pyclass(frozen, module = "penstock._native")]
pub struct Handles {
    ids: Arc<dyn Ids>,
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
            handles.sort_by_cached_key(|&handle| self.ids.order(handle));
            handles
                .into_iter()
                .map(|handle| self.ids.id(handle).to_owned())
                .collect()
        })
    }
}
