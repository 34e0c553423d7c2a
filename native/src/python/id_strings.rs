//! The ids of subscriptions as Python strings, which are made once and kept with the index.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::OnceLock;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyString, PyTuple};

use crate::dispatch::DocumentMatcher;
use crate::subscription_store::subscription_table::SubscriptionTable;

/// Maximum number of ids of a segment that are kept as Python strings; the others are made on each use.
const STRINGS_KEPT_MAX: usize = 1 << 20;

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
    fn get<'py>(
        &self,
        py: Python<'py>,
        table: &SubscriptionTable,
        row: u32,
    ) -> Bound<'py, PyString> {
        let (block, at) = (row as usize / BLOCK_ROWS, row as usize % BLOCK_ROWS);
        let known = self.blocks[block].get().and_then(|cells| cells[at].get(py));
        match known {
            Some(id) => id.bind(py).clone(),
            None => self.make(py, table, row),
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
    let mut added: Vec<u32> = handles
        .iter()
        .map(|&handle| matcher.added_before(handle))
        .collect();
    added.sort_unstable();
    let mut tables = matcher.subscription_tables().into_iter();
    let mut current: Option<(&SubscriptionTable, &IdStrings)> = None;
    let (mut base, mut end) = (0, 0);
    let ids = added.iter().map(|&number| {
        while number >= end {
            let table = tables.next().expect("the handle is one of the matcher's");
            current = Some((table, IdStrings::of(table)));
            (base, end) = (end, end + table.count() as u32);
        }
        let (table, strings) = current.expect("a table was found");
        strings.get(py, table, number - base)
    });
    PyTuple::new(py, ids)
}
