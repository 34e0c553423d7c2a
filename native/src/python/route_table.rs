//! The route table of a router.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::outcomes::Handles;
use crate::routes::route_table::{Digest, RouteTable as NativeTable, Routes};

/// `(local numbers, groups and match lists, unknown local numbers, whether something is undecided)`
type RoutesTuple<'py> = (Vec<u32>, Vec<(u32, Bound<'py, PyBytes>)>, Vec<u32>, bool);

/// Decides where documents go.
#[pyclass(frozen, module = "penstock._native")]
#[derive(Default)]
pub struct RouteTable {
    table: Mutex<NativeTable>,
}

impl RouteTable {
    fn table(&self) -> MutexGuard<'_, NativeTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl RouteTable {
    #[new]
    fn new() -> RouteTable {
        RouteTable::default()
    }

    /// Adds targets; `digests` has 16 bytes for each number.
    fn add(&self, group: u32, numbers: Vec<u32>, digests: &[u8]) -> PyResult<()> {
        let digests = parts_of(digests, numbers.len())?;
        let targets = numbers.into_iter().zip(digests.iter().copied());
        self.table().add(group, targets);
        Ok(())
    }

    fn remove(&self, numbers: Vec<u32>) {
        self.table().remove(&numbers);
    }

    /// Changes an announced set; both arguments are digests of 16 bytes each.
    fn announce(&self, group: u32, added: &[u8], removed: &[u8]) -> PyResult<()> {
        let added = parts_of(added, added.len() / size_of::<Digest>())?;
        let removed = parts_of(removed, removed.len() / size_of::<Digest>())?;
        self.table().announce(group, added, removed);
        Ok(())
    }

    fn must_be_prepared(&self, group: u32) -> bool {
        self.table().must_be_prepared(group)
    }

    fn unannounced(&self, group: u32) -> Vec<u32> {
        self.table().unannounced(group)
    }

    /// States the containers of unannounced targets; `digests` has 16 bytes for each number.
    fn set_containers(&self, group: u32, numbers: Vec<u32>, digests: &[u8]) -> PyResult<()> {
        let digests = parts_of(digests, numbers.len())?;
        let containers = numbers.into_iter().zip(digests.iter().copied());
        self.table().set_containers(group, containers);
        Ok(())
    }

    /// The routes of a document that was read; `set_aside` are numbers.
    fn of_handles<'py>(
        &self,
        py: Python<'py>,
        matched: &Handles,
        set_aside: Vec<u32>,
        source: Option<u32>,
    ) -> RoutesTuple<'py> {
        let mut table = self.table();
        let (matcher, handles) = matched.parts();
        let routes = table.of_matched(matcher, handles, &set_aside, source);
        routes_tuple(py, routes)
    }

    /// The routes of a document that was read, by numbers.
    fn of_numbers<'py>(
        &self,
        py: Python<'py>,
        matched: Vec<u32>,
        set_aside: Vec<u32>,
        source: Option<u32>,
    ) -> RoutesTuple<'py> {
        let routes = self.table().of_numbers(&matched, &set_aside, source);
        routes_tuple(py, routes)
    }

    /// Numbers of the targets that a match list proves to match, and of those that it leaves open.
    fn split_match_list(&self, source: u32, list: &[u8]) -> PyResult<(Vec<u32>, Vec<u32>)> {
        let split = self.table().split_match_list(source, list);
        split.map_err(|_| PyValueError::new_err("the match list is malformed"))
    }

    /// The routes that a match list decides.
    fn of_match_list<'py>(
        &self,
        py: Python<'py>,
        source: u32,
        list: &[u8],
    ) -> PyResult<RoutesTuple<'py>> {
        let routes = self.table().of_match_list(source, list);
        let routes = routes.map_err(|_| PyValueError::new_err("the match list is malformed"))?;
        Ok(routes_tuple(py, routes))
    }
}

/// Cuts `count` digests.
fn parts_of(digests: &[u8], count: usize) -> PyResult<&[Digest]> {
    match digests.as_chunks() {
        (parts, []) if parts.len() == count => Ok(parts),
        _ => Err(PyValueError::new_err("a digest has 16 bytes")),
    }
}

fn routes_tuple(py: Python<'_>, routes: Routes) -> RoutesTuple<'_> {
    let forwards = routes.forwards.iter();
    let forwards = forwards
        .map(|(group, list)| (*group, PyBytes::new(py, &list.encode())))
        .collect();
    (routes.local, forwards, routes.unknown, routes.is_undecided)
}
