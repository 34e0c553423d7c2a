//! The ids of subscriptions as Python strings, which are made once and kept with the index.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::OnceLock;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyString, PyTuple};

use crate::dispatch::DocumentMatcher;
use crate::subscription_store::flat_layout::{prefetch, prefetch_address};
use crate::subscription_store::subscription_table::SubscriptionTable;

/// Maximum number of ids of a segment that are kept as Python strings; the others are made on each use.
const STRINGS_KEPT_MAX: usize = 1 << 20;

/// Strings that are prefetched: those of a document's matches are spread over memory, and reading one
/// after the other would wait for each of them.
const STRINGS_PREFETCHED: usize = 16;

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

    #[inline]
    fn cells(&self, row: u32) -> Option<(&[Cell], usize)> {
        let (block, at) = (row as usize / BLOCK_ROWS, row as usize % BLOCK_ROWS);
        self.blocks[block].get().map(|cells| (&**cells, at))
    }

    #[inline]
    fn get<'py>(
        &self,
        py: Python<'py>,
        table: &SubscriptionTable,
        row: u32,
    ) -> Bound<'py, PyString> {
        match self.cells(row).and_then(|(cells, at)| cells[at].get(py)) {
            Some(id) => id.bind(py).clone(),
            None => self.make(py, table, row),
        }
    }

    /// Prefetches where the string of a row is kept.
    #[inline]
    fn prefetch_cell(&self, row: u32) {
        if let Some((cells, at)) = self.cells(row) {
            prefetch(cells, at);
        }
    }

    /// Prefetches the string of a row, whose reference count will be changed.
    #[inline]
    fn prefetch_string(&self, py: Python<'_>, row: u32) {
        let id = self.cells(row).and_then(|(cells, at)| cells[at].get(py));
        if let Some(id) = id {
            prefetch_address(id.as_ptr());
        }
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
    let mut tables = matcher.subscription_tables().into_iter();
    let mut current: Option<(&SubscriptionTable, &IdStrings)> = None;
    let (mut base, mut end) = (0, 0);
    let ids = added.iter().enumerate().map(|(at, &number)| {
        while number >= end {
            let table = tables.next().expect("the handle is one of the matcher's");
            current = Some((table, IdStrings::of(table)));
            (base, end) = (end, end + table.count() as u32);
        }
        let (table, strings) = current.expect("a table was found");
        let row_later = |later: usize| added.get(at + later).filter(|&&number| number < end);
        if let Some(later) = row_later(2 * STRINGS_PREFETCHED) {
            strings.prefetch_cell(later - base);
        }
        if let Some(next) = row_later(STRINGS_PREFETCHED) {
            strings.prefetch_string(py, next - base);
        }
        strings.get(py, table, number - base)
    });
    PyTuple::new(py, ids)
}
