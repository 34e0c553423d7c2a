//! How a document reaches those who match it: as it is, or rewritten by a mapping.

use crate::dispatch::document_source::{MatchError, Source};
use crate::dispatch::fanout::{Beside, Joined};
use crate::dispatch::worker_pool::NumberedReader;
use crate::events::{ExpandedName, Handler};
use crate::reader::Summary;
use crate::rewriting::fragment_extractor::{
    fragments_for, Fragment, FragmentExtractor, FragmentRequest,
};
use crate::rewriting::{ForestSelection, Mapping, Rewriter, RewriterBuffers};
use crate::select::{QueryResult, SelectedNode, Selection, SelectionOptions, Selector};
use crate::xpath::ast::Kind;

/// A document, and what it is rewritten by.
pub struct Through<'a, 's> {
    /// The document.
    pub source: &'a mut Source<'s>,
    /// From its schema to the global one; without a mapping it is matched as it is.
    pub mapping: Option<&'a Mapping>,
    /// Whether the matcher takes subtrees once that the mapping repeats.
    pub takes_once: bool,
}

impl<'a, 's> Through<'a, 's> {
    /// A document that is matched as it is.
    pub fn plain(source: &'a mut Source<'s>) -> Through<'a, 's> {
        Through {
            source,
            mapping: None,
            takes_once: false,
        }
    }
}

/// What reading a document gave.
#[derive(Clone, Copy)]
pub(crate) struct Read {
    pub summary: Summary,
    /// Elements that the mapping's local schema does not have.
    pub unknown: u64,
    /// What the rewriter held at once, at most.
    pub held_bytes: u64,
}

/// Reads documents, and rewrites them.
pub(crate) struct Passage<'w> {
    pub reader: &'w mut NumberedReader,
    pub memory: &'w mut RewriterBuffers,
    /// How deep the global document may be.
    pub depth_max: u64,
}

impl Passage<'_> {
    /// Reads a document for an engine; another may hear it as it is.
    pub fn read<E: Handler>(
        &mut self,
        through: &mut Through<'_, '_>,
        engine: E,
        beside: &mut Option<&mut dyn Beside>,
    ) -> Result<Read, MatchError> {
        let Some(mapping) = through.mapping else {
            let mut joined = Joined { engine, beside };
            let summary = through.source.read(&mut self.reader.reader, &mut joined)?;
            return Ok(Read {
                summary,
                unknown: 0,
                held_bytes: 0,
            });
        };
        self.begin(mapping);
        let engine = Rewriter::new(mapping, self.memory, self.depth_max, engine);
        let mut joined = Joined { engine, beside };
        let summary = through.source.read(&mut self.reader.reader, &mut joined)?;
        let rewritten = joined.engine.finish();
        Ok(Read {
            summary,
            unknown: rewritten.unknown,
            held_bytes: rewritten.held_bytes_peak,
        })
    }

    fn begin(&mut self, mapping: &Mapping) {
        let table = self.reader.names_table();
        let names = self.reader.reader.names_mut();
        self.memory.begin(mapping, table, names);
    }

    /// Evaluates queries exactly.
    pub fn evaluate(
        &mut self,
        through: &mut Through<'_, '_>,
        selectors: &[&Selector],
        options: SelectionOptions,
    ) -> Result<(Vec<QueryResult>, Summary), MatchError> {
        let Some(mapping) = through.mapping else {
            let mut selection = Selection::new(selectors, options);
            let summary = through
                .source
                .read(&mut self.reader.reader, &mut selection)?;
            return Ok((selection.finish(), summary));
        };
        self.begin(mapping);
        let forest = ForestSelection::new(selectors, options);
        let mut rewriter = Rewriter::new(mapping, self.memory, self.depth_max, forest);
        let summary = through
            .source
            .read(&mut self.reader.reader, &mut rewriter)?;
        let rewritten = rewriter.finish();
        let mut outcomes = rewritten.inner.finish();
        for node in outcomes.iter_mut().flat_map(|outcome| &mut outcome.nodes) {
            if let Some(name) = rewritten.provenance.name(node.spans[0]) {
                let (uri, local) = mapping.name(name);
                node.name = Some(ExpandedName::new((uri.into(), local.into())));
            }
            node.spans = rewritten.provenance.resolve(&node.spans);
        }
        Ok((outcomes, summary))
    }

    /// Cuts what the nodes of each query stand for out of the original: one fragment a range, each once.
    pub fn cut(
        &mut self,
        source: &mut Source<'_>,
        selected: &[QueryResult],
    ) -> Result<Vec<Vec<Fragment>>, MatchError> {
        let wanted: Vec<Vec<FragmentRequest>> = selected.iter().map(wanted_of).collect();
        let mut cutter = FragmentExtractor::new(wanted.concat());
        source.read(&mut self.reader.reader, &mut cutter)?;
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
