//! The rewriter: receives the local document and sends the global document to another handler.

use super::downstream::Downstream;
use super::element_placement::{ElementPlacement, PlacementTask};
use super::exchange::Exchanger;
use super::mapping::{Destination, Mapping, SchemaNodeId, UNKNOWN, VIRTUAL_ROOT};
use super::provenance::Provenance;
use super::rewrite_budget::RewriteBudget;
use super::rewriter_buffers::RewriterBuffers;
use super::tree_buffer::{BufferMark, NodeId};
use crate::events::{Context, Handler, Span, StartElement, Stop};

/// Rewrites one document.
pub struct Rewriter<'m, H> {
    placement: ElementPlacement<'m, H>,
    /// Set while an element is buffered.
    buffering: Option<Buffering>,
    unknown_elements: u64,
}

/// The outermost element being buffered.
#[derive(Clone, Copy)]
struct Buffering {
    /// Its destination; `None` if an Exchange may replace it.
    destination: Option<Destination>,
    /// What was buffered before it.
    mark: BufferMark,
}

/// The result of rewriting a document.
#[derive(Debug)]
pub struct Rewritten<H> {
    /// The handler that received the global document.
    pub handler: H,
    /// Resolves the placeholders among the spans that the handler received.
    pub provenance: Provenance,
    /// The number of elements that the local schema does not have.
    pub unknown_elements: u64,
    /// The peak size of the buffered trees.
    pub held_bytes_peak: u64,
}

impl<'m, H: Handler> Rewriter<'m, H> {
    /// A rewriter for the document that `buffers` were prepared for. `handler` receives the global
    /// document, which may be `depth_max` elements deep.
    pub fn new(
        mapping: &'m Mapping,
        buffers: &'m mut RewriterBuffers,
        depth_max: u64,
        handler: H,
    ) -> Rewriter<'m, H> {
        let mut placement = ElementPlacement {
            mapping,
            bound: buffers.mappings.get(mapping),
            buffers,
            downstream: Downstream::new(handler, depth_max),
            budget: RewriteBudget::new(mapping.limits),
        };
        placement.open_root(VIRTUAL_ROOT);
        Rewriter {
            placement,
            buffering: None,
            unknown_elements: 0,
        }
    }

    /// The result, once the document has been read to its end.
    pub fn finish(self) -> Rewritten<H> {
        Rewritten {
            handler: self.placement.downstream.handler,
            provenance: self.placement.downstream.provenance,
            unknown_elements: self.unknown_elements,
            held_bytes_peak: self.placement.budget.held_bytes_peak as u64,
        }
    }

    fn child_of(&mut self, parent: SchemaNodeId, element: &StartElement<'_>) -> SchemaNodeId {
        let placement = &self.placement;
        let child = placement
            .bound
            .child(placement.mapping, parent, element.name);
        self.unknown_elements += u64::from(child == UNKNOWN);
        child
    }

    fn buffer_start(
        &mut self,
        context: &dyn Context,
        schema_node: SchemaNodeId,
        element: &StartElement<'_>,
    ) {
        let buffers = &mut *self.placement.buffers;
        buffers.names.update(context.names());
        buffers
            .trees
            .start_element(schema_node, element.name, element.attributes, H::SPANS);
    }

    /// Buffers an element from its start tag on.
    fn start_buffering(
        &mut self,
        context: &dyn Context,
        destination: Option<Destination>,
        schema_node: SchemaNodeId,
        element: &StartElement<'_>,
    ) {
        let mark = self.placement.buffers.trees.mark();
        self.buffering = Some(Buffering { destination, mark });
        self.buffer_start(context, schema_node, element);
    }

    /// Ends the buffering of `node`: records it for later, or places what Exchanges make of it.
    fn end_buffering(&mut self, node: NodeId) -> Result<(), Stop> {
        let buffering = self.buffering.take().expect("an element was buffered");
        let placement = &mut self.placement;
        let mut nodes = vec![node];
        if !placement.mapping.exchanges.is_empty() {
            let mut exchanger = Exchanger {
                mapping: placement.mapping,
                trees: &mut placement.buffers.trees,
                budget: &mut placement.budget,
            };
            exchanger.apply(&mut nodes)?;
        }
        placement.check_held()?;
        if let Some(destination) = buffering.destination {
            placement.buffer_child(destination, nodes[0]);
            return Ok(());
        }
        let tasks = &mut placement.buffers.tasks;
        if !placement.buffers.elements.top().has_operators() {
            // No operator of the parent needs the trees later.
            tasks.push(PlacementTask::Truncate(buffering.mark));
        }
        tasks.extend(nodes.into_iter().rev().map(PlacementTask::Child));
        placement.run_tasks()
    }
}

impl<H: Handler> Handler for Rewriter<'_, H> {
    const SPANS: bool = H::SPANS;

    #[inline]
    fn start_element(
        &mut self,
        context: &dyn Context,
        element: &StartElement<'_>,
    ) -> Result<(), Stop> {
        if self.buffering.is_some() {
            let parent = self.placement.buffers.trees.open_schema_node();
            let child = self.child_of(parent, element);
            self.buffer_start(context, child, element);
            return self.placement.check_held();
        }
        let parent = self.placement.buffers.elements.top();
        let child = self.child_of(parent.schema_node, element);
        if child != UNKNOWN && self.placement.mapping.nodes[child as usize].has_exchange {
            self.start_buffering(context, None, child, element);
            return Ok(());
        }
        if parent.has_operators() {
            match self.placement.destination(child) {
                Destination::InPlace => {}
                Destination::Streamed => self.placement.prepare_stream(context)?,
                destination => {
                    self.start_buffering(context, Some(destination), child, element);
                    return Ok(());
                }
            }
        }
        self.placement.start(
            context,
            child,
            element.name,
            element.attributes,
            element.span,
            None,
        )
    }

    #[inline]
    fn end_element(&mut self, span: Span, _end_tag: Span) -> Result<(), Stop> {
        if self.buffering.is_some() {
            let (node, is_outermost) = self.placement.buffers.trees.end_element(span);
            if !is_outermost {
                return Ok(());
            }
            self.end_buffering(node)?;
        } else {
            self.placement.end(span)?;
            if !self.placement.buffers.tasks.is_empty() {
                self.placement.run_tasks()?;
            }
        }
        let elements = &self.placement.buffers.elements;
        if elements.is_at_root() && elements.top().has_operators() {
            self.placement.end(Span::default())?;
            self.placement.run_tasks()?;
        }
        Ok(())
    }

    #[inline]
    fn text(&mut self, text: &str, span: Span) -> Result<(), Stop> {
        if self.buffering.is_some() {
            let span = H::SPANS.then_some(span);
            self.placement.buffers.trees.push_text(text, span);
            return self.placement.check_held();
        }
        if self.placement.buffers.elements.collects() {
            self.placement.buffer_text(text, span);
            return self.placement.check_held();
        }
        self.placement.downstream.text(text, span)
    }

    fn text_break(&mut self) -> Result<(), Stop> {
        if self.buffering.is_some() {
            self.placement.buffers.trees.push_break(H::SPANS);
        } else if self.placement.buffers.elements.collects() {
            self.placement.buffer_break();
        } else {
            self.placement.downstream.text_break()?;
        }
        Ok(())
    }
}
