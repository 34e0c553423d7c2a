//! The search for the subscriptions that a change affects.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::indexes::QueryErrorTuple;
use crate::affected::limits::AUTOMATON_CACHE_BYTES_MAX;
use crate::affected::touch::{LabelTree, Name, Touch, TouchedNode, NO_PARENT};
use crate::affected::{
    AffectedIndex as NativeIndex, Counters, ElementGraph, ElementRule, Selected,
};
use crate::xpath::{parse, Namespaces};

/// `(name, numbers of the children, names of the attributes, whether it may contain text)`
type RuleTuple = (Name, Vec<u32>, Vec<Name>, bool);

/// `(element, kind, namespace URI and local name of an attribute, below, text)`
type TouchTuple = (u32, u8, String, String, bool, bool);

/// `(labels, trie nodes, posting lists, postings)`
type CountersTuple = (u64, u64, u64, u64);

/// Subscriptions by what they observe.
#[pyclass(frozen, module = "penstock._native")]
pub struct AffectedIndex {
    index: Mutex<NativeIndex>,
}

impl AffectedIndex {
    fn lock(&self) -> MutexGuard<'_, NativeIndex> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl AffectedIndex {
    #[new]
    #[pyo3(signature = (schema=None, cache_bytes_max=None, selection_only=false))]
    fn new(
        schema: Option<Vec<RuleTuple>>,
        cache_bytes_max: Option<usize>,
        selection_only: bool,
    ) -> PyResult<Self> {
        let schema = match schema {
            Some(rules) => {
                let rules = rules.into_iter().map(element_rule).collect();
                let graph = ElementGraph::new(rules);
                Some(graph.ok_or_else(|| PyValueError::new_err("a child has no rule"))?)
            }
            None => None,
        };
        let selected = if selection_only {
            Selected::Nodes
        } else {
            Selected::Subtrees
        };
        Ok(AffectedIndex {
            index: Mutex::new(NativeIndex::new(schema, cache_bytes_max, selected)),
        })
    }

    /// Adds the valid queries; returns the handle of the first one, which the others follow in order, and
    /// the errors of the rest.
    fn add_many(
        &self,
        py: Python<'_>,
        queries: Vec<String>,
        namespaces: Vec<(String, String)>,
        default_namespace: &str,
    ) -> PyResult<(usize, Vec<QueryErrorTuple>)> {
        let bindings = namespaces.iter();
        let bindings = bindings.map(|(prefix, uri)| (prefix.as_str(), uri.as_str()));
        let namespaces =
            Namespaces::new(bindings, default_namespace).map_err(PyValueError::new_err)?;
        Ok(py.detach(|| {
            let mut index = self.lock();
            let first = index.handle_count();
            let mut refused = Vec::new();
            for (position, query) in queries.iter().enumerate() {
                match parse(query, &namespaces) {
                    Ok(query) => {
                        index.add(&query);
                    }
                    Err(refusal) => {
                        let offset = Some(refusal.offset_characters);
                        refused.push((position, refusal.code, refusal.message, offset));
                    }
                }
            }
            (first, refused)
        }))
    }

    /// Removes a subscription; returns whether it was there.
    fn remove(&self, handle: u32) -> bool {
        self.lock().remove(handle)
    }

    /// Renumbers the subscriptions that are left; returns the old handle of each.
    fn compact(&self) -> Vec<u32> {
        self.lock().compact()
    }

    /// Forgets cached states.
    fn clear_cache(&self) {
        self.lock().clear_cache();
    }

    fn __len__(&self) -> usize {
        self.lock().count()
    }

    /// `(trie nodes, postings, cached states, cached bytes, evictions)`
    fn sizes(&self) -> (usize, usize, usize, usize, u64) {
        let index = self.lock();
        let (states, bytes, evictions) = index.cache();
        (
            index.node_count(),
            index.posting_count(),
            states,
            bytes,
            evictions,
        )
    }

    /// The handles that a change may affect, as 32-bit integers, and the work of the search. `labels` are
    /// parent (-1 for none), namespace URI and local name of each element, parents first.
    fn affected<'py>(
        &self,
        py: Python<'py>,
        labels: Vec<(i64, String, String)>,
        touches: Vec<TouchTuple>,
    ) -> PyResult<(Bound<'py, PyBytes>, CountersTuple)> {
        let labels = label_tree(labels)?;
        let count = labels.elements.len();
        let touches: PyResult<Vec<Touch>> = touches
            .into_iter()
            .map(|tuple| touch(tuple, count))
            .collect();
        let mut index = self.lock();
        let (handles, work) = index.affected(&labels, &touches?);
        let handles = PyBytes::new(py, bytemuck::cast_slice(handles));
        Ok((handles, counters_tuple(work)))
    }
}

/// The limits of the search, by name.
#[pyfunction]
pub fn affected_limits() -> Vec<(&'static str, usize)> {
    vec![("cache_bytes_max", AUTOMATON_CACHE_BYTES_MAX)]
}

fn element_rule((name, children, attributes, text): RuleTuple) -> ElementRule {
    ElementRule {
        name,
        children,
        attributes,
        text,
    }
}

fn counters_tuple(counters: Counters) -> CountersTuple {
    let Counters {
        labels,
        nodes,
        lists,
        postings,
    } = counters;
    (labels, nodes, lists, postings)
}

fn label_tree(labels: Vec<(i64, String, String)>) -> PyResult<LabelTree> {
    let elements = labels.into_iter().map(|(parent, uri, local)| {
        let parent = u32::try_from(parent).unwrap_or(NO_PARENT);
        (parent, (uri, local))
    });
    let tree = LabelTree {
        elements: elements.collect(),
    };
    if tree.is_valid() {
        Ok(tree)
    } else {
        Err(PyValueError::new_err("a parent follows its child"))
    }
}

fn touch(
    (element, kind, uri, local, below, text): TouchTuple,
    element_count: usize,
) -> PyResult<Touch> {
    if element as usize >= element_count {
        return Err(PyValueError::new_err("a touch has no element"));
    }
    let node = match kind {
        0 => TouchedNode::Element { below, text },
        1 => TouchedNode::Attribute((uri, local)),
        2 => TouchedNode::Text,
        3 => TouchedNode::TextBoundary,
        4 => TouchedNode::Other,
        other => return Err(PyValueError::new_err(format!("unknown kind {other}"))),
    };
    Ok(Touch { element, node })
}
