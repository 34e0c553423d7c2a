//! Rewrites documents for Python: global documents as XML, and fragments of originals.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use super::buffers::BufferBytes;
use super::mapping::{fragment_tuple, FragmentTuple, Mapping};
use super::outcomes::or_refusal;
use super::reader::{options, summary_tuple, RefusalTuple, SummaryTuple};
use crate::dispatch::document_source::DocumentSource;
use crate::dispatch::event_reader::EventReader;
use crate::dispatch::outcome::MatchError;
use crate::dispatch::worker_pool::Pool;
use crate::events::{ExpandedName, Span};
use crate::reader::Summary;
use crate::rewriting::fragment_extractor::{FragmentExtractor, FragmentRequest};
use crate::rewriting::tree_writer::{ProvenanceRow, TreeWriter, WrittenTree};
use crate::rewriting::Mapping as NativeMapping;
use crate::xpath::ast::Kind;

/// Rewrites documents by mappings.
#[pyclass(frozen, module = "penstock._native")]
pub struct DocumentRewriter {
    readers: Pool<EventReader>,
}

type SpanTuple = (u64, u64, bool);

/// `(kind, start in the tree, end in the tree, spans of the original, name in the original)`
type RowTuple = (
    &'static str,
    usize,
    usize,
    Vec<SpanTuple>,
    Option<(String, String)>,
);

/// `(kind, span, name of an attribute)`
type RequestTuple = (String, SpanTuple, Option<(String, String)>);

/// Trees with their tables; number of unknown elements, peak size of the buffers, and summary; or the
/// refusal.
type WrittenTuple<'py> = (
    Vec<(Bound<'py, PyBytes>, Vec<RowTuple>)>,
    Option<(u64, u64, SummaryTuple)>,
    Option<RefusalTuple>,
);

fn kind_text(kind: Kind) -> &'static str {
    match kind {
        Kind::Element => "element",
        Kind::Attribute => "attribute",
        Kind::Text => "text",
    }
}

fn row_tuple(mapping: &NativeMapping, row: &ProvenanceRow) -> RowTuple {
    let name = row.name.map(|symbol| mapping.name(symbol));
    let spans = row.spans.iter();
    (
        kind_text(row.kind),
        row.start,
        row.end,
        spans
            .map(|span| (span.start, span.end, span.from_entity))
            .collect(),
        name.map(|(uri, local)| (uri.to_owned(), local.to_owned())),
    )
}

impl DocumentRewriter {
    fn write_trees<const TABLE: bool>(
        &self,
        mapping: &NativeMapping,
        document: &[u8],
    ) -> Result<(Vec<WrittenTree>, u64, u64, Summary), MatchError> {
        let writer = TreeWriter::<TABLE>::default();
        let document = &mut DocumentSource::Bytes(document);
        let (done, summary) = self.readers.take().rewrite(document, mapping, writer)?;
        let trees = done.handler.finish(&done.provenance);
        Ok((trees, done.unknown_elements, done.held_bytes_peak, summary))
    }
}

#[pymethods]
impl DocumentRewriter {
    #[new]
    fn new(limits: &Bound<'_, PyDict>) -> PyResult<DocumentRewriter> {
        Ok(DocumentRewriter {
            readers: Pool::new(options(limits, Vec::new(), false)?),
        })
    }

    /// The trees of the global document, with the provenance of their nodes if `table` is set.
    fn write<'py>(
        &self,
        py: Python<'py>,
        document: BufferBytes,
        mapping: &Mapping,
        table: bool,
    ) -> PyResult<WrittenTuple<'py>> {
        let bytes: &[u8] = &document;
        let own = &*mapping.mapping;
        let written = py.detach(|| {
            if table {
                self.write_trees::<true>(own, bytes)
            } else {
                self.write_trees::<false>(own, bytes)
            }
        });
        let (written, refusal) = or_refusal(written)?;
        Ok(match written {
            None => (Vec::new(), None, refusal),
            Some((trees, unknown, held, summary)) => {
                let tree = |tree: &WrittenTree| {
                    let rows = tree.rows.iter().map(|row| row_tuple(own, row));
                    (PyBytes::new(py, tree.xml.as_bytes()), rows.collect())
                };
                let counts = (unknown, held, summary_tuple(summary));
                (trees.iter().map(tree).collect(), Some(counts), None)
            }
        })
    }

    /// The fragments of a document at the given spans, each once, in document order.
    fn cut(
        &self,
        py: Python<'_>,
        document: BufferBytes,
        requests: Vec<RequestTuple>,
    ) -> PyResult<(
        Vec<FragmentTuple>,
        Option<SummaryTuple>,
        Option<RefusalTuple>,
    )> {
        let bytes: &[u8] = &document;
        let requests = requests
            .into_iter()
            .map(|(kind, span, name)| FragmentRequest {
                span: Span {
                    start: span.0,
                    end: span.1,
                    from_entity: span.2,
                },
                kind: match kind.as_str() {
                    "attribute" => Kind::Attribute,
                    "text" => Kind::Text,
                    _ => Kind::Element,
                },
                name: name.map(|(uri, local)| ExpandedName::new((uri.into(), local.into()))),
            });
        let mut extractor = FragmentExtractor::new(requests.collect());
        let read = py.detach(|| {
            let document = &mut DocumentSource::Bytes(bytes);
            self.readers.take().read_original(document, &mut extractor)
        });
        let (summary, refusal) = or_refusal(read)?;
        Ok(match summary {
            None => (Vec::new(), None, refusal),
            Some(summary) => {
                let fragments = extractor.finish();
                let tuples = fragments.iter().map(fragment_tuple).collect();
                (tuples, Some(summary_tuple(summary)), None)
            }
        })
    }
}
