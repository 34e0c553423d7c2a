//! Mappings for Python, and matching through mappings. Python parses and validates mapping files; here
//! mappings are plain tuples.

use std::sync::Arc;

use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::buffers::{BufferBytes, Documents};
use super::document_matcher::header_of;
use super::indexes::handles_of;
use super::keywords::KeywordMatcher;
use super::outcomes::{batch_tuple, or_refusal, outcome, with_ids, BatchTuple, OutcomeTuple};
use super::paths::Matcher;
use super::reader::{summary_tuple, RefusalTuple, SummaryTuple};
use crate::dispatch::batch::match_all;
use crate::dispatch::document_source::DocumentSource;
use crate::dispatch::event_source::EventSource;
use crate::engine_selection::with_path_matcher;
use crate::rewriting::fragment_extractor::Fragment;
use crate::rewriting::{Limits, LocalNode, Mapping as NativeMapping, Operator};
use crate::subscription_store::header_tests::HeaderField;
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
    /// `attributes` is the number of attributes that become elements; they are numbered after all nodes.
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
            let (attribute, name, node) = rest.extract()?;
            Operator::ToElement(attribute, name, node)
        }
        "insert" => {
            let (path, shared, children) = rest.extract()?;
            Operator::Insert(path, shared, children)
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

/// Matches a document in memory after rewriting it by a mapping.
#[pyfunction]
#[pyo3(signature = (matcher, document, mapping, memoize_repeated, header=Vec::new()))]
pub fn match_mapped(
    py: Python<'_>,
    matcher: &Matcher,
    document: BufferBytes,
    mapping: &Mapping,
    memoize_repeated: bool,
    header: Vec<HeaderField>,
) -> PyResult<OutcomeTuple> {
    let bytes: &[u8] = &document;
    let matcher = matcher.matcher.document_matcher();
    let matched = py.detach(|| {
        matcher.match_document(&mut EventSource {
            mapping: Some(&mapping.mapping),
            memoize_repeated,
            header: &header,
            ..EventSource::unmapped(&mut DocumentSource::Bytes(bytes))
        })
    });
    outcome(matcher, matched)
}

/// Matches documents like `match_batch`, each rewritten by the mapping whose index is in `rows`, if any.
/// Keyword subscriptions, if given, are matched against the original documents. Also returns, by row, the
/// number of elements that the schema of the mapping does not have, if it is not zero.
#[pyfunction]
#[pyo3(signature = (matcher, keywords, documents, offsets, mappings, rows, memoize_repeated, headers=Vec::new()))]
#[allow(clippy::too_many_arguments)]
pub fn match_batch_mapped<'py>(
    py: Python<'py>,
    matcher: &Matcher,
    keywords: Option<&KeywordMatcher>,
    documents: BufferBytes,
    offsets: BufferBytes,
    mappings: Vec<PyRef<'py, Mapping>>,
    rows: Vec<Option<usize>>,
    memoize_repeated: bool,
    headers: Vec<Vec<HeaderField>>,
) -> PyResult<(BatchTuple<'py>, Vec<(usize, u64)>)> {
    let documents = Documents::new(&documents, &offsets)?;
    let mappings: Vec<&NativeMapping> = mappings.iter().map(|each| &*each.mapping).collect();
    let matcher = match keywords {
        Some(keywords) => matcher.matcher.combined_with(&keywords.matcher),
        None => matcher.matcher.document_matcher(),
    };
    let (mut batch, ids) = py.detach(|| {
        let match_row = |row: usize, document: &mut DocumentSource<'_>| {
            matcher.match_document(&mut EventSource {
                mapping: rows[row].map(|number| mappings[number]),
                memoize_repeated,
                header: header_of(&headers, row),
                ..EventSource::unmapped(document)
            })
        };
        with_ids(&*matcher, match_all(match_row, documents.iter()))
    })?;
    let unknown = std::mem::take(&mut batch.unknown);
    Ok((batch_tuple(py, batch, ids)?, unknown))
}

/// `(kind, name of an attribute, span, namespaces in scope)`
pub(super) type FragmentTuple = (
    &'static str,
    Option<(String, String)>,
    (u64, u64, bool),
    Vec<(String, String)>,
);

/// The parts of the original that one subscription selects, in document order; each is converted when it is
/// requested.
#[pyclass(frozen, module = "penstock._native")]
pub struct SelectedParts {
    parts: Vec<Fragment>,
}

#[pymethods]
impl SelectedParts {
    fn __len__(&self) -> usize {
        self.parts.len()
    }

    /// Kind, name, span and namespaces of a part.
    fn part(&self, number: usize) -> PyResult<FragmentTuple> {
        let part = self.parts.get(number).map(fragment_tuple);
        part.ok_or_else(|| PyIndexError::new_err("no such part"))
    }
}

/// The selected parts by subscription, the reader's summary, and why the document was rejected.
type SelectedTuple = (
    Vec<Option<SelectedParts>>,
    Option<SummaryTuple>,
    Option<RefusalTuple>,
);

/// The parts of the original that each subscription selects in the rewritten document, and the summary of
/// the document; or the refusal. `None` for a subscription whose evaluation spent the work budget.
#[pyfunction]
pub fn select_mapped(
    py: Python<'_>,
    matcher: &Matcher,
    document: BufferBytes,
    mapping: &Mapping,
    ids: Vec<String>,
) -> PyResult<SelectedTuple> {
    let bytes: &[u8] = &document;
    let handles = handles_of(matcher.numbered(), &ids)?;
    let found = py.detach(|| {
        let document = &mut DocumentSource::Bytes(bytes);
        let source = &mut EventSource {
            mapping: Some(&mapping.mapping),
            ..EventSource::unmapped(document)
        };
        with_path_matcher!(
            &matcher.matcher,
            matcher => matcher.select_fragments(source, &handles)
        )
    });
    let (found, refusal) = or_refusal(found)?;
    let (selected, summary) = found.unzip();
    let selected = selected.unwrap_or_default().into_iter();
    let selected = selected.map(|parts| parts.map(|parts| SelectedParts { parts }));
    Ok((selected.collect(), summary.map(summary_tuple), refusal))
}

pub(super) fn fragment_tuple(fragment: &Fragment) -> FragmentTuple {
    let kind = match fragment.request.kind {
        Kind::Element if fragment.is_content => "content",
        Kind::Element => "element",
        Kind::Attribute => "attribute",
        Kind::Text => "text",
    };
    let name = fragment.request.name.as_ref();
    let span = fragment.request.span;
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
