//! Reads event sources into handlers, for matching, exact evaluation and fragment cutting.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::dispatch::document_source::DocumentSource;
use crate::dispatch::event_source::EventSource;
use crate::dispatch::fanout::{DynHandler, Fanout};
use crate::dispatch::header_injector::HeaderInjector;
use crate::dispatch::offset_observer::{OffsetObserver, PREFIX_READ};
use crate::dispatch::outcome::MatchError;
use crate::dispatch::worker_pool::WorkerState;
use crate::events::{ExpandedName, Handler, NameId, Refusal, Stop};
use crate::label_paths::collector::{LabelPathCollector, LabelPathRequest};
use crate::reader::{Reader, ReaderOptions, Summary};
use crate::rewriting::fragment_extractor::{fragments_for, FragmentExtractor, FragmentRequest};
use crate::rewriting::{ForestSelection, Mapping, Rewriter, RewriterBuffers, Rewritten};
use crate::select::{
    QueryResult, QuerySteps, SelectedNode, Selection, SelectionOptions, SelectionResult,
};
use crate::subscription_store::header_tests::{HeaderField, HEADER_URI};
use crate::xpath::ast::Kind;

pub use crate::rewriting::fragment_extractor::Fragment;

/// The summary of one reading.
#[derive(Clone, Copy)]
pub(crate) struct ReadSummary {
    pub summary: Summary,
    /// Elements that are not in the mapping's local schema.
    pub unknown_elements: u64,
    /// Peak size of the rewriter's buffers.
    pub held_bytes: u64,
}

impl ReadSummary {
    /// The summary of a document that was read without a mapping.
    pub fn unmapped(summary: Summary) -> ReadSummary {
        ReadSummary {
            summary,
            unknown_elements: 0,
            held_bytes: 0,
        }
    }
}

/// How the evaluation of queries ended.
#[derive(Clone, Copy)]
pub(crate) enum Evaluated {
    /// The document was read to its end.
    Complete(Summary),
    /// The work budget was spent at this offset of the original.
    Interrupted { offset: u64 },
}

impl Evaluated {
    fn of(read: Result<Summary, MatchError>) -> Result<Evaluated, MatchError> {
        match read {
            Ok(summary) => Ok(Evaluated::Complete(summary)),
            Err(error) => match error.work_spent_at() {
                Some(offset) => Ok(Evaluated::Interrupted { offset }),
                None => Err(error),
            },
        }
    }
}

/// Identifies a reader across the process, so that caches keyed by name ids can tell tables of
/// names apart.
static READERS_MADE: AtomicU64 = AtomicU64::new(0);

/// One thread's reader and rewriting buffers, reused across documents.
pub struct EventReader {
    number: u64,
    reader: Reader,
    rewriting: RewriterBuffers,
    label_paths: LabelPathCollector,
    /// Maximum depth of a rewritten document.
    depth_max: u64,
}

impl WorkerState for EventReader {
    type Options = ReaderOptions;

    fn new(options: &ReaderOptions) -> EventReader {
        EventReader {
            number: READERS_MADE.fetch_add(1, Ordering::Relaxed) + 1,
            reader: Reader::new(options.clone()),
            rewriting: RewriterBuffers::default(),
            label_paths: LabelPathCollector::default(),
            depth_max: options.limits.depth as u64,
        }
    }
}

impl EventReader {
    /// Identifies the table of names that the reader will use for the next document.
    pub fn names_table(&self) -> u64 {
        self.number << 32 | (self.reader.names_generation() + 1)
    }

    /// Reads a document into a handler, through its mapping if it has one. The handler also receives
    /// these header fields, as attributes of the root element. A second handler may receive the
    /// events of the original document, without them, from the same reading.
    pub(crate) fn read_with_header<H: Handler>(
        &mut self,
        source: &mut EventSource<'_, '_>,
        header: &[&HeaderField],
        handler: H,
        original: Option<&mut dyn DynHandler>,
    ) -> Result<ReadSummary, MatchError> {
        if header.is_empty() {
            return self.read(source, handler, original);
        }
        let names = self.reader.names_mut();
        let fields: Vec<(NameId, &str)> = header
            .iter()
            .map(|(field, value)| (names.intern(HEADER_URI, field), value.as_str()))
            .collect();
        self.read(source, HeaderInjector::new(handler, &fields), original)
    }

    fn read<H: Handler>(
        &mut self,
        source: &mut EventSource<'_, '_>,
        handler: H,
        original: Option<&mut dyn DynHandler>,
    ) -> Result<ReadSummary, MatchError> {
        let Some(mapping) = source.mapping else {
            let mut fanout = Fanout {
                primary: handler,
                secondary: original,
            };
            let summary = self.read_unmapped(source, &mut fanout)?;
            return Ok(ReadSummary::unmapped(summary));
        };
        self.begin_rewriting(mapping);
        let mut fanout = Fanout {
            primary: Rewriter::new(mapping, &mut self.rewriting, self.depth_max, handler),
            secondary: original,
        };
        let summary = source.document.read(&mut self.reader, &mut fanout)?;
        let rewritten = fanout.primary.finish();
        Ok(ReadSummary {
            summary,
            unknown_elements: rewritten.unknown_elements,
            held_bytes: rewritten.held_bytes_peak,
        })
    }

    /// Reads the original document into a handler.
    pub(crate) fn read_original<H: Handler>(
        &mut self,
        document: &mut DocumentSource<'_>,
        handler: &mut H,
    ) -> Result<Summary, MatchError> {
        Ok(document.read(&mut self.reader, handler)?)
    }

    /// Reads the original document into a handler, up to the offset at which the source stops, and
    /// records its label paths if they are requested.
    pub(crate) fn read_unmapped<H: Handler>(
        &mut self,
        source: &mut EventSource<'_, '_>,
        handler: &mut H,
    ) -> Result<Summary, MatchError> {
        let label_paths = source.label_paths.as_deref_mut();
        self.read_prefix(source.document, source.stop_at, label_paths, handler)
    }

    fn read_prefix<H: Handler>(
        &mut self,
        document: &mut DocumentSource<'_>,
        stop_at: Option<u64>,
        request: Option<&mut LabelPathRequest>,
        handler: &mut H,
    ) -> Result<Summary, MatchError> {
        let Some(request) = request else {
            return match stop_at {
                None => self.read_original(document, handler),
                Some(_) => {
                    let observer = OffsetObserver::new(handler, None, stop_at);
                    read_observed(&mut self.reader, document, observer)
                }
            };
        };
        let names_table = self.names_table();
        self.label_paths.begin(names_table, request.paths_max);
        let observer = OffsetObserver::new(handler, Some(&mut self.label_paths), stop_at);
        let summary = read_observed(&mut self.reader, document, observer)?;
        request.found = self.label_paths.finish();
        Ok(summary)
    }

    /// Reads a document through a mapping into a handler; returns the handler with the provenance
    /// of what it received.
    pub fn rewrite<H: Handler>(
        &mut self,
        document: &mut DocumentSource<'_>,
        mapping: &Mapping,
        handler: H,
    ) -> Result<(Rewritten<H>, Summary), MatchError> {
        self.begin_rewriting(mapping);
        let mut rewriter = Rewriter::new(mapping, &mut self.rewriting, self.depth_max, handler);
        let summary = document.read(&mut self.reader, &mut rewriter)?;
        Ok((rewriter.finish(), summary))
    }

    fn begin_rewriting(&mut self, mapping: &Mapping) {
        let table = self.names_table();
        let names = self.reader.names_mut();
        self.rewriting.begin(mapping, table, names);
    }

    /// Evaluates queries exactly.
    pub(crate) fn evaluate(
        &mut self,
        source: &mut EventSource<'_, '_>,
        steps: &QuerySteps<'_>,
        options: SelectionOptions,
    ) -> Result<(SelectionResult, Evaluated), MatchError> {
        let Some(mapping) = source.mapping else {
            let mut selection = Selection::new(steps, options);
            let read = self.read_prefix(source.document, source.stop_at, None, &mut selection);
            return match Evaluated::of(read)? {
                complete @ Evaluated::Complete(_) => Ok((selection.finish_with_steps(), complete)),
                interrupted => Ok((selection.interrupt(), interrupted)),
            };
        };
        let forest = ForestSelection::new(steps, options);
        self.begin_rewriting(mapping);
        let mut rewriter = Rewriter::new(mapping, &mut self.rewriting, self.depth_max, forest);
        let read = source.document.read(&mut self.reader, &mut rewriter);
        let evaluated = Evaluated::of(read.map_err(MatchError::from))?;
        let rewritten = rewriter.finish();
        if let Evaluated::Interrupted { .. } = evaluated {
            return Ok((rewritten.handler.interrupt(), evaluated));
        }
        let mut selected = rewritten.handler.finish();
        let outcomes = selected.queries.iter_mut();
        for node in outcomes.flat_map(|outcome| &mut outcome.nodes) {
            if let Some(name) = rewritten.provenance.original_name(node.spans[0]) {
                let (uri, local) = mapping.name(name);
                node.name = Some(ExpandedName::new((uri.into(), local.into())));
            }
            node.spans = rewritten.provenance.resolve(&node.spans);
        }
        Ok((selected, evaluated))
    }

    /// Cuts the selected nodes of each query out of the original: one fragment for each distinct
    /// span.
    pub(crate) fn cut(
        &mut self,
        document: &mut DocumentSource<'_>,
        selected: &[QueryResult],
    ) -> Result<Vec<Vec<Fragment>>, MatchError> {
        let wanted: Vec<Vec<FragmentRequest>> = selected.iter().map(wanted_of).collect();
        let mut cutter = FragmentExtractor::new(wanted.concat());
        document.read(&mut self.reader, &mut cutter)?;
        let fragments = cutter.finish();
        let own = |wanted| {
            fragments_for(&fragments, wanted)
                .into_iter()
                .cloned()
                .collect()
        };
        Ok(wanted.into_iter().map(own).collect())
    }
}

/// Reads a document into an observed handler, until its end or until the observer stops the reader.
fn read_observed<H: Handler>(
    reader: &mut Reader,
    document: &mut DocumentSource<'_>,
    mut observer: OffsetObserver<'_, '_, H>,
) -> Result<Summary, MatchError> {
    let refusal = match document
        .read(reader, &mut observer)
        .map_err(MatchError::from)
    {
        Err(MatchError::Refused(refusal)) if refusal.code == PREFIX_READ => refusal,
        read => return read,
    };
    let end = observer.close_prefix().map_err(|Stop { code, message }| {
        MatchError::Refused(Refusal {
            code,
            message,
            ..refusal
        })
    })?;
    Ok(Summary {
        bytes: end,
        ..reader.summary()
    })
}

fn wanted_of(outcome: &QueryResult) -> Vec<FragmentRequest> {
    let of_node = |node: &SelectedNode| {
        let (kind, name) = (node.kind, node.name.clone());
        let name = name.filter(|_| kind == Kind::Attribute);
        let spans = node.spans.clone().into_iter();
        spans.map(move |span| FragmentRequest {
            span,
            kind,
            name: name.clone(),
        })
    };
    outcome.nodes.iter().flat_map(of_node).collect()
}
