//! The ids of subscriptions as Python strings, which are made once and kept with the index.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::OnceLock;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyString, PyTuple};

use crate::dispatch::DocumentMatcher;
use crate::subscription_store::flat_layout::prefetch_address;
use crate::subscription_store::subscription_table::SubscriptionTable;

/// Maximum number of ids of a segment that are kept as Python strings; the others are made on each use.
const STRINGS_KEPT_MAX: usize = 1 << 20;

/// Strings that are looked up and prefetched together, before the reference count of each is changed: they
/// are spread over memory, and one after the other would be waited for.
const BATCH: usize = 32;

/// Rows whose cells are allocated together.
const BLOCK_ROWS: usize = 512;

type Cell = PyOnceLock<Py<PyString>>;

/// The strings of one segment, made when they are first needed.
struct IdStrings {
    blocks: Box<[OnceLock<Box<[Cell]>>]>,
    kept: AtomicUsize,
}

impl IdStrings {
    fn of(table: &SubscriptionTable) -> &IdStrings {
        let cache = table.binding_cache.get_or_init(|| {
            let blocks = table.count().div_ceil(BLOCK_ROWS);
            Box::new(IdStrings {
                blocks: (0..blocks).map(|_| OnceLock::new()).collect(),
                kept: AtomicUsize::new(0),
            })
        });
        cache.downcast_ref().expect("there is one binding")
    }

    /// The string of a row, if it is kept.
    #[inline]
    fn get(&self, py: Python<'_>, row: u32) -> Option<&Py<PyString>> {
        let (block, at) = (row as usize / BLOCK_ROWS, row as usize % BLOCK_ROWS);
        self.blocks[block].get()?[at].get(py)
    }

    #[cold]
    fn make<'py>(
        &self,
        py: Python<'py>,
        table: &SubscriptionTable,
        row: u32,
    ) -> Bound<'py, PyString> {
        let id = PyString::new(py, table.ids.get(row));
        if self.kept.fetch_add(1, Ordering::Relaxed) >= STRINGS_KEPT_MAX {
            self.kept.fetch_sub(1, Ordering::Relaxed);
            return id;
        }
        let (block, at) = (row as usize / BLOCK_ROWS, row as usize % BLOCK_ROWS);
        let cells =
            self.blocks[block].get_or_init(|| (0..BLOCK_ROWS).map(|_| Cell::new()).collect());
        // Another thread may have been first; then its string is the one that is kept.
        cells[at].get_or_init(py, || id.unbind()).bind(py).clone()
    }
}

/// The ids of handles, in the order in which their subscriptions were added.
pub(super) fn ids_of<'py>(
    py: Python<'py>,
    matcher: &dyn DocumentMatcher,
    handles: &[u32],
) -> PyResult<Bound<'py, PyTuple>> {
    let added = matcher.in_order_added(handles);
    let mut ids = Vec::with_capacity(added.len());
    let (mut rest, mut base) = (&*added, 0);
    for table in matcher.subscription_tables() {
        let end = base + table.count() as u32;
        let (rows, later) = rest.split_at(rest.partition_point(|&number| number < end));
        if !rows.is_empty() {
            let strings = IdStrings::of(table);
            for batch in rows.chunks(BATCH) {
                push_batch(py, table, strings, base, batch, &mut ids);
            }
        }
        (rest, base) = (later, end);
    }
    PyTuple::new(py, ids)
}

/// The ids of at most [`BATCH`] subscriptions of a table, the first of which has the number `base`.
#[inline]
fn push_batch<'py>(
    py: Python<'py>,
    table: &SubscriptionTable,
    strings: &IdStrings,
    base: u32,
    batch: &[u32],
    ids: &mut Vec<Bound<'py, PyString>>,
) {
    let mut kept = [None; BATCH];
    for (id, &number) in kept.iter_mut().zip(batch) {
        *id = strings.get(py, number - base);
        if let Some(id) = id {
            prefetch_address(id.as_ptr());
        }
    }
    ids.extend(kept.iter().zip(batch).map(|(id, &number)| match id {
        Some(id) => id.bind(py).clone(),
        None => strings.make(py, table, number - base),
    }));
}
