//! The containment index of XSync, a baseline.

use std::sync::{Mutex, MutexGuard, PoisonError};

use hashbrown::HashMap;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::baselines::xsync::containment_index::{
    ContainmentIndex, Pseudocode, SearchCost, SearchPolicy,
};
use crate::baselines::xsync::document_type::{Cycles, DocumentType};
use crate::baselines::xsync::path_tokens::PathExpression;

/// `(index nodes, client identifiers, comparisons)`
type CostTuple = (u64, u64, u64);

/// The clients of a server, by what they subscribed to.
#[pyclass(frozen, module = "penstock._native")]
pub struct XSyncIndex {
    index: Mutex<ContainmentIndex>,
    elements: HashMap<String, u32>,
}

impl XSyncIndex {
    fn lock(&self) -> MutexGuard<'_, ContainmentIndex> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn expression(&self, text: &str) -> PyResult<PathExpression> {
        let number = |name: &str| self.elements.get(name).copied();
        PathExpression::tokenize(text, number)
            .ok_or_else(|| PyValueError::new_err(format!("no path expression: {text:?}")))
    }
}

#[pymethods]
impl XSyncIndex {
    /// `printed` selects the pseudocode as printed, with cycles cut at the first occurrence.
    #[new]
    fn new(
        elements: Vec<String>,
        roots: Vec<u32>,
        children: Vec<Vec<u32>>,
        depth_max: usize,
        expansions_max: usize,
        printed: bool,
    ) -> PyResult<Self> {
        let (pseudocode, cycles) = match printed {
            true => (Pseudocode::Printed, Cycles::FirstOccurrence),
            false => (Pseudocode::Mended, Cycles::Unrolled),
        };
        let document_type = DocumentType::new(roots, children, (depth_max, expansions_max), cycles);
        let document_type =
            document_type.ok_or_else(|| PyValueError::new_err("an element is unknown"))?;
        Ok(XSyncIndex {
            index: Mutex::new(ContainmentIndex::new(document_type, pseudocode)),
            elements: elements.into_iter().zip(0..).collect(),
        })
    }

    /// Inserts clients in the paper's order; their numbers follow each other.
    fn insert_all(&self, py: Python<'_>, first_cid: u32, expressions: Vec<String>) -> PyResult<()> {
        let parsed: PyResult<Vec<PathExpression>> = expressions
            .iter()
            .map(|text| self.expression(text))
            .collect();
        let clients = (first_cid..).zip(parsed?).collect();
        py.detach(|| self.lock().insert_all(clients));
        Ok(())
    }

    /// Removes a client; returns whether it was there.
    fn remove(&self, cid: u32) -> bool {
        self.lock().remove(cid)
    }

    fn __len__(&self) -> usize {
        self.lock().client_count()
    }

    /// `(index nodes, dummies, clients with too many expansions)`
    fn sizes(&self) -> (usize, usize, usize) {
        let index = self.lock();
        (
            index.node_count(),
            index.dummy_count(),
            index.unexpanded_count(),
        )
    }

    /// The clients that overlap with an update of a client, as 32-bit integers, and the operations.
    fn search<'py>(
        &self,
        py: Python<'py>,
        cid: u32,
        update: &str,
        down_all: bool,
    ) -> PyResult<(Bound<'py, PyBytes>, CostTuple)> {
        let policy = match down_all {
            true => SearchPolicy::DownAll,
            false => SearchPolicy::Down,
        };
        self.found(py, cid, update, policy)
    }

    /// The same, with CLIENT-SEARCH-DOWN-ALL if the processor's load exceeds that of the network.
    fn search_by_load<'py>(
        &self,
        py: Python<'py>,
        cid: u32,
        update: &str,
        loads: (f64, f64),
    ) -> PyResult<(Bound<'py, PyBytes>, CostTuple)> {
        let (process, bandwidth) = loads;
        self.found(py, cid, update, SearchPolicy::ByLoad { process, bandwidth })
    }

    /// The clients that overlap with a path from the root.
    fn search_path<'py>(
        &self,
        py: Python<'py>,
        path: &str,
    ) -> PyResult<(Bound<'py, PyBytes>, CostTuple)> {
        let path = self.expression(path)?;
        let (cids, cost) = self.lock().search_path(&path);
        Ok((
            PyBytes::new(py, bytemuck::cast_slice(&cids)),
            cost_tuple(cost),
        ))
    }
}

impl XSyncIndex {
    fn found<'py>(
        &self,
        py: Python<'py>,
        cid: u32,
        update: &str,
        policy: SearchPolicy,
    ) -> PyResult<(Bound<'py, PyBytes>, CostTuple)> {
        let update = self.expression(update)?;
        let found = self.lock().search(cid, &update, policy);
        let (cids, cost) = found.ok_or_else(|| PyValueError::new_err("unknown client"))?;
        Ok((
            PyBytes::new(py, bytemuck::cast_slice(&cids)),
            cost_tuple(cost),
        ))
    }
}

fn cost_tuple(cost: SearchCost) -> CostTuple {
    (cost.nodes, cost.cids, cost.comparisons)
}
