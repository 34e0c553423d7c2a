//! Global documents for Python, written as XML; and fragments cut out of originals.

use std::sync::Mutex;

use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use super::buffers::bytes_of;
use super::mapping::{fragment_tuple, FragmentTuple, Mapping};
use super::reader::{options, refusal_tuple, summary_tuple, RefusalTuple, SummaryTuple};
use crate::dispatch::worker_pool::NumberedReader;
use crate::events::{ExpandedName, Handler, Refusal, Span};
use crate::reader::{ReaderOptions, Summary};
use crate::rewriting::fragment_extractor::{FragmentExtractor, FragmentRequest};
use crate::rewriting::tree_writer::{ProvenanceRow, TreeWriter, WrittenTree};
use crate::rewriting::{Mapping as NativeMapping, Rewriter, RewriterBuffers, Rewritten};

use crate::xpath::ast::Kind;

/// Writes what mappings make of documents.
#[pyclass(frozen, module = "penstock._native")]
pub struct DocumentRewriter {
    options: ReaderOptions,
    idle: Mutex<Vec<Work>>,
}

struct Work {
    reader: NumberedReader,
    memory: RewriterBuffers,
}

type SpanTuple = (u64, u64, bool);

/// `(kind, first byte in the tree, one past the last, ranges of the original, name in the original)`
type RowTuple = (
    &'static str,
    usize,
    usize,
    Vec<SpanTuple>,
    Option<(String, String)>,
);

/// `(kind, range, name of an attribute)`
type WantedTuple = (String, SpanTuple, Option<(String, String)>);

/// TreeBuffer with their tables; elements that are not known, bytes held, summary; or why it was refused.
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
    fn with_work<T>(&self, work: impl FnOnce(&mut Work) -> T) -> T {
        // Another thread may have held the lock when this process was forked: never wait for it.
        let idle = self.idle.try_lock().ok().and_then(|mut idle| idle.pop());
        let mut own = idle.unwrap_or_else(|| Work {
            reader: NumberedReader::new(self.options.clone()),
            memory: RewriterBuffers::default(),
        });
        let result = work(&mut own);
        if let Ok(mut idle) = self.idle.try_lock() {
            idle.push(own);
        }
        result
    }

    fn rewrite<H: Handler>(
        &self,
        work: &mut Work,
        mapping: &NativeMapping,
        document: &[u8],
        handler: H,
    ) -> Result<(Rewritten<H>, Summary), Refusal> {
        let table = work.reader.names_table();
        let Work { reader, memory } = work;
        memory.begin(mapping, table, reader.reader.names_mut());
        let depth_max = self.options.limits.depth as u64;
        let mut rewriter = Rewriter::new(mapping, memory, depth_max, handler);
        let summary = reader.reader.read_slice(document, &mut rewriter)?;
        Ok((rewriter.finish(), summary))
    }

    fn write_trees<const TABLE: bool>(
        &self,
        mapping: &NativeMapping,
        document: &[u8],
    ) -> Result<(Vec<WrittenTree>, u64, u64, Summary), Refusal> {
        let writer = TreeWriter::<TABLE>::default();
        let done = self.with_work(|work| self.rewrite(work, mapping, document, writer));
        let (done, summary) = done?;
        let trees = done.inner.finish(&done.provenance);
        Ok((trees, done.unknown, done.held_bytes_peak, summary))
    }
}

#[pymethods]
impl DocumentRewriter {
    #[new]
    fn new(limits: &Bound<'_, PyDict>) -> PyResult<DocumentRewriter> {
        Ok(DocumentRewriter {
            options: options(limits, Vec::new(), false)?,
            idle: Mutex::new(Vec::new()),
        })
    }

    /// The trees of the global document; with what their nodes stand for, if asked.
    fn write<'py>(
        &self,
        py: Python<'py>,
        document: PyBuffer<u8>,
        mapping: &Mapping,
        table: bool,
    ) -> PyResult<WrittenTuple<'py>> {
        let bytes = bytes_of(&document)?;
        let own = &*mapping.mapping;
        let written = py.detach(|| {
            if table {
                self.write_trees::<true>(own, bytes)
            } else {
                self.write_trees::<false>(own, bytes)
            }
        });
        Ok(match written {
            Err(refusal) => (Vec::new(), None, Some(refusal_tuple(refusal))),
            Ok((trees, unknown, held, summary)) => {
                let tree = |tree: &WrittenTree| {
                    let rows = tree.rows.iter().map(|row| row_tuple(own, row));
                    (PyBytes::new(py, tree.xml.as_bytes()), rows.collect())
                };
                let counts = (unknown, held, summary_tuple(summary));
                (trees.iter().map(tree).collect(), Some(counts), None)
            }
        })
    }

    /// The parts of a document at these ranges, each once, in the order of the document.
    fn cut(
        &self,
        py: Python<'_>,
        document: PyBuffer<u8>,
        wanted: Vec<WantedTuple>,
    ) -> PyResult<(
        Vec<FragmentTuple>,
        Option<SummaryTuple>,
        Option<RefusalTuple>,
    )> {
        let bytes = bytes_of(&document)?;
        let wanted = wanted
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
        let mut cutter = FragmentExtractor::new(wanted.collect());
        let read =
            py.detach(|| self.with_work(|work| work.reader.reader.read_slice(bytes, &mut cutter)));
        Ok(match read {
            Err(refusal) => (Vec::new(), None, Some(refusal_tuple(refusal))),
            Ok(summary) => {
                let fragments = cutter.finish();
                let tuples = fragments.iter().map(fragment_tuple).collect();
                (tuples, Some(summary_tuple(summary)), None)
            }
        })
    }
}
