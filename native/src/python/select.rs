//! Evaluates one query on one document, for tests against other evaluators.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::reader::{Reader, ReaderOptions};
use crate::select::{
    QuerySteps, ResultDetail, SelectedNode, Selection, SelectionOptions, Selector,
};
use crate::xpath::ast::Kind;
use crate::xpath::{parse, Namespaces};

/// The kind of a node and its byte spans.
type Selected = (&'static str, Vec<(u64, u64)>);

/// The nodes that a query selects in a document, in document order. Raises `ValueError` if the query or
/// the document is refused.
#[pyfunction]
pub fn select(
    py: Python<'_>,
    document: &[u8],
    query: &str,
    namespaces: Vec<(String, String)>,
) -> PyResult<Vec<Selected>> {
    let bindings = namespaces
        .iter()
        .map(|(prefix, uri)| (prefix.as_str(), uri.as_str()));
    let namespaces = Namespaces::new(bindings, "").map_err(PyValueError::new_err)?;
    let query = parse(query, &namespaces)
        .map_err(|refusal| PyValueError::new_err((refusal.code, refusal.message)))?;
    py.detach(|| {
        let selector = Selector::compile(&query);
        let options = SelectionOptions {
            detail: ResultDetail::AllNodes,
            ..SelectionOptions::default()
        };
        let steps = QuerySteps::new(&[&selector]);
        let mut selection = Selection::new(&steps, options);
        Reader::new(ReaderOptions::default())
            .read_slice(document, &mut selection)
            .map_err(|refusal| PyValueError::new_err((refusal.code, refusal.message)))?;
        let nodes = selection
            .finish()
            .into_iter()
            .flat_map(|outcome| outcome.nodes);
        Ok(nodes.map(selected).collect())
    })
}

fn selected(node: SelectedNode) -> Selected {
    let kind = match node.kind {
        Kind::Element => "element",
        Kind::Attribute => "attribute",
        Kind::Text => "text",
    };
    let ranges = node.spans.iter().map(|span| (span.start, span.end));
    (kind, ranges.collect())
}
