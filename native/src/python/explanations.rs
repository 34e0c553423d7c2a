//! Explanations for Python, as tuples, which Python formats as text.

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::xpath::query_tuple;
use crate::select::{Explanation, SelectedNode};
use crate::xpath::ast::Query;

/// A node of an explanation: a path to it, and its spans as `(start, end, from entity)`.
type WitnessTuple = (String, Vec<(u64, u64, bool)>);

/// `(step, predicate, number of nodes that got that far, nodes that got that far)`
type FailureTuple = (usize, Option<usize>, u64, Vec<WitnessTuple>);

/// `(query in normal form, count, nodes, (branch, one node per step), failures)`
pub type ExplanationTuple<'py> = (
    Bound<'py, PyTuple>,
    u64,
    Vec<WitnessTuple>,
    Option<(usize, Vec<WitnessTuple>)>,
    Vec<FailureTuple>,
);

/// The explanation of a query as a tuple.
pub fn explanation_tuple<'py>(
    py: Python<'py>,
    query: &Query,
    explanation: &Explanation,
) -> PyResult<ExplanationTuple<'py>> {
    let witness = explanation.witness.as_ref();
    let failures = explanation.failures.iter().map(|failure| {
        let nodes = witness_tuples(&failure.nodes);
        (failure.step, failure.predicate, failure.reached, nodes)
    });
    Ok((
        query_tuple(py, query)?,
        explanation.count,
        witness_tuples(&explanation.nodes),
        witness.map(|witness| (witness.branch, witness_tuples(&witness.steps))),
        failures.collect(),
    ))
}

fn witness_tuples(nodes: &[SelectedNode]) -> Vec<WitnessTuple> {
    let spans = |node: &SelectedNode| {
        let spans = node.spans.iter();
        spans
            .map(|span| (span.start, span.end, span.from_entity))
            .collect()
    };
    nodes
        .iter()
        .map(|node| (node.path.as_deref().unwrap_or("").to_owned(), spans(node)))
        .collect()
}
