//! Mappings for Python, and matching through them. Python reads mapping files and checks them; here a
//! mapping comes as plain tuples.

use std::sync::Arc;

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::both::Both;
use super::buffers::{bytes_of, Documents};
use super::indexes::handles_of;
use super::keywords::KeywordMatcher;
use super::matching::Matcher;
use super::outcomes::{
    batch_tuple, found_tuple, outcome, with_ids, BatchTuple, FoundTuple, OutcomeTuple,
};
use crate::combined::match_both;
use crate::dispatch::document_source::Source;
use crate::dispatch::event_source::Through;
use crate::dispatch::match_batch::match_all;
use crate::rewriting::fragment_extractor::Fragment;
use crate::rewriting::{Limits, LocalNode, Mapping as NativeMapping, Operator};
use crate::xpath::ast::Kind;

/// A mapping from a local schema to the global one.
#[pyclass(frozen, module = "penstock._native")]
pub struct Mapping {
    pub(super) mapping: Arc<NativeMapping>,
}

/// Parent, name, whether it has text, operators.
type NodeTuple<'py> = (u32, (String, String), bool, Vec<Bound<'py, PyTuple>>);

#[pymethods]
impl Mapping {
    /// `attributes` become elements, and have the numbers after all nodes.
    #[new]
    fn new(
        nodes: Vec<NodeTuple<'_>>,
        attributes: usize,
        copies_max: u64,
        held_bytes_max: usize,
    ) -> PyResult<Mapping> {
        let limits = Limits {
            copies_max,
            held_bytes_max,
        };
        let node = |(parent, name, text, operators): NodeTuple<'_>| {
            let operators = operators.iter().map(operator_of);
            PyResult::Ok(LocalNode {
                parent,
                name,
                text,
                operators: operators.collect::<PyResult<_>>()?,
            })
        };
        let nodes = nodes.into_iter().map(node);
        let nodes = nodes.collect::<PyResult<Vec<LocalNode>>>()?;
        Ok(Mapping {
            mapping: Arc::new(NativeMapping::new(&nodes, attributes, limits)),
        })
    }
}

fn operator_of(tuple: &Bound<'_, PyTuple>) -> PyResult<Operator> {
    let kind: String = tuple.get_item(0)?.extract()?;
    let rest = tuple.get_slice(1, tuple.len());
    Ok(match kind.as_str() {
        "rename" => Operator::Rename(rest.extract::<(_,)>()?.0),
        "rename-attribute" => {
            let (attribute, name) = rest.extract()?;
            Operator::RenameAttribute(attribute, name)
        }
        "to-element" => {
            let (attribute, name, place) = rest.extract()?;
            Operator::ToElement(attribute, name, place)
        }
        "insert" => {
            let (path, children) = rest.extract()?;
            Operator::Insert(path, children)
        }
        "upgrade" => Operator::Upgrade(rest.extract::<(_,)>()?.0),
        "downgrade" => {
            let (children, target) = rest.extract()?;
            Operator::Downgrade(children, target)
        }
        "exchange" => Operator::Exchange(rest.extract::<(_,)>()?.0),
        other => return Err(PyValueError::new_err(format!("no operator {other:?}"))),
    })
}

/// Matches what a mapping makes of a document that is in memory.
#[pyfunction]
pub fn match_mapped<'py>(
    py: Python<'py>,
    matcher: &Matcher,
    document: PyBuffer<u8>,
    mapping: &Mapping,
    takes_once: bool,
) -> PyResult<OutcomeTuple<'py>> {
    let bytes = bytes_of(&document)?;
    let matched = py.detach(|| {
        matcher.matcher.matches_through(&mut Through {
            source: &mut Source::Bytes(bytes),
            mapping: Some(&mapping.mapping),
            takes_once,
        })
    });
    outcome(py, matcher.matcher.clone(), matched)
}

/// Matches documents as `match_batch` does, each through the mapping whose number `rows` has, if any;
/// against keywords too, where they are given, as the documents are. Also tells, by row, how many elements
/// their mappings' schemas do not have, where there are any.
#[pyfunction]
#[pyo3(signature = (matcher, keywords, documents, offsets, mappings, rows, takes_once))]
#[allow(clippy::too_many_arguments)]
pub fn match_batch_mapped<'py>(
    py: Python<'py>,
    matcher: &Matcher,
    keywords: Option<&KeywordMatcher>,
    documents: PyBuffer<u8>,
    offsets: PyBuffer<u8>,
    mappings: Vec<PyRef<'py, Mapping>>,
    rows: Vec<Option<usize>>,
    takes_once: bool,
) -> PyResult<(BatchTuple<'py>, Vec<(usize, u64)>)> {
    let documents = Documents::new(&documents, &offsets)?;
    let mappings: Vec<&NativeMapping> = mappings.iter().map(|each| &*each.mapping).collect();
    let paths = &*matcher.matcher;
    let keywords = keywords.map(|keywords| &*keywords.matcher);
    let (mut batch, ids) = py.detach(|| {
        let matches = |row: usize, source: &mut Source<'_>| {
            let through = &mut Through {
                source,
                mapping: rows[row].map(|number| mappings[number]),
                takes_once,
            };
            match keywords {
                Some(keywords) => match_both(paths, keywords, through),
                None => paths.matches_through(through),
            }
        };
        let batch = match_all(matches, documents.iter());
        match keywords {
            Some(keywords) => with_ids(&Both(paths, keywords), batch),
            None => with_ids(paths, batch),
        }
    });
    let unknown = std::mem::take(&mut batch.unknown);
    Ok((batch_tuple(py, batch, ids)?, unknown))
}

/// `(kind, name of an attribute, range, namespaces in scope)`
pub(super) type FragmentTuple = (
    &'static str,
    Option<(String, String)>,
    (u64, u64, bool),
    Vec<(String, String)>,
);

/// The parts of the original that each of these subscriptions selects in what a mapping makes of it,
/// and what reading it gave; or why it was refused.
#[pyfunction]
pub fn select_mapped(
    py: Python<'_>,
    matcher: &Matcher,
    document: PyBuffer<u8>,
    mapping: &Mapping,
    ids: Vec<String>,
) -> PyResult<FoundTuple<FragmentTuple>> {
    let bytes = bytes_of(&document)?;
    let handles = handles_of(matcher.matcher.numbered(), &ids)?;
    found_tuple(py.detach(|| {
        let source = &mut Source::Bytes(bytes);
        let native = &matcher.matcher;
        let (selected, summary) = native.select_mapped(source, &mapping.mapping, &handles)?;
        let tuples = |fragments: &Vec<Fragment>| fragments.iter().map(fragment_tuple).collect();
        Ok((selected.iter().map(tuples).collect(), summary))
    }))
}

pub(super) fn fragment_tuple(fragment: &Fragment) -> FragmentTuple {
    let kind = match fragment.wanted.kind {
        Kind::Element if fragment.is_content => "content",
        Kind::Element => "element",
        Kind::Attribute => "attribute",
        Kind::Text => "text",
    };
    let name = fragment.wanted.name.as_ref();
    let span = fragment.wanted.span;
    let scope = fragment.scope.iter();
    (
        kind,
        name.map(|name| (name.0.to_string(), name.1.to_string())),
        (span.start, span.end, span.from_entity),
        scope
            .map(|(prefix, uri)| (prefix.to_string(), uri.to_string()))
            .collect(),
    )
}
