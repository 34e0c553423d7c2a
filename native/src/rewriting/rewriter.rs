//! The rewriter: a handler of the document that is read, which drives a handler of the global document.

use std::sync::Arc;

use super::bound_mapping::BoundMapping;
use super::downstream::Downstream;
use super::mapping::{Destination, Mapping, SchemaNodeId, UNKNOWN, VIRTUAL_ROOT};
use super::provenance::Provenance;
use super::replay::Task;
use super::rewriter_buffers::{Frame, RewriterBuffers, NO_STATE};
use super::tree_buffer::{Mark, NodeId};
use crate::events::{Context, Handler, Span, StartElement, Stop};

/// Rewrites one document.
pub struct Rewriter<'m, H> {
    pub(super) mapping: &'m Mapping,
    pub(super) memory: &'m mut RewriterBuffers,
    pub(super) bound: Arc<BoundMapping>,
    pub(super) output: Downstream<H>,
    /// While a tree is kept: what for.
    keeping: Option<Keeping>,
    unknown: u64,
    held_bytes_peak: usize,
    pub(super) copied: u64,
}

/// Why a tree is kept.
#[derive(Clone, Copy)]
struct Keeping {
    /// Where it goes; not known before it was seen whether it changes places with a child.
    way: Option<Destination>,
    /// What was kept before it.
    mark: Mark,
}

/// What rewriting a document gave beside its events.
#[derive(Debug)]
pub struct Rewritten<H> {
    /// The handler that heard the global document.
    pub inner: H,
    /// What the ranges that it was given stand for.
    pub provenance: Provenance,
    /// Elements that the local schema does not have.
    pub unknown: u64,
    /// What was kept at once, at most.
    pub held_bytes_peak: u64,
}

impl<'m, H: Handler> Rewriter<'m, H> {
    /// A rewriter for the document that `memory` was prepared for; `inner` hears the global document,
    /// which may be `depth_max` elements deep.
    pub fn new(
        mapping: &'m Mapping,
        memory: &'m mut RewriterBuffers,
        depth_max: u64,
        inner: H,
    ) -> Rewriter<'m, H> {
        let bound = memory.bound(mapping);
        let mut rewriter = Rewriter {
            mapping,
            memory,
            bound,
            output: Downstream::new(inner, depth_max),
            keeping: None,
            unknown: 0,
            held_bytes_peak: 0,
            copied: 0,
        };
        rewriter.open_frame(VIRTUAL_ROOT, None);
        // It is no element, so whoever hears is told of no end.
        if let Some(state) = rewriter.memory.states[..rewriter.memory.states_open].last_mut() {
            state.ended = true;
        }
        rewriter
    }

    /// Ends the rewriting.
    pub fn finish(self) -> Rewritten<H> {
        Rewritten {
            inner: self.output.inner,
            provenance: self.output.provenance,
            unknown: self.unknown,
            held_bytes_peak: self.held_bytes_peak as u64,
        }
    }

    #[inline]
    pub(super) fn top(&self) -> Frame {
        let top = self.memory.frames.last();
        *top.expect("that above the root is always open")
    }

    fn place_of_child(&mut self, parent: SchemaNodeId, element: &StartElement<'_>) -> SchemaNodeId {
        let place = self.bound.child(self.mapping, parent, element.name);
        self.unknown += u64::from(place == UNKNOWN);
        place
    }

    /// Keeps an element from its start tag on.
    fn keep(&mut self, context: &dyn Context, place: SchemaNodeId, element: &StartElement<'_>) {
        self.memory.names.follow(context.names());
        self.memory
            .trees
            .start(place, element.name, element.attributes, H::SPANS);
    }

    /// Stops the document where too much is held.
    pub(super) fn check_held(&mut self) -> Result<(), Stop> {
        let bytes = self.memory.trees.bytes();
        self.held_bytes_peak = self.held_bytes_peak.max(bytes);
        let most = self.mapping.limits.held_bytes_max;
        if bytes <= most {
            return Ok(());
        }
        Err(Stop {
            code: "mapping.held",
            message: format!("more than {most} bytes wait for an element's end"),
        })
    }

    /// Stops the document where too much is copied.
    pub(super) fn count_copies(&mut self, copies: usize, weight: u32) -> Result<(), Stop> {
        let nodes = (copies as u64).saturating_mul(u64::from(weight));
        self.copied = self.copied.saturating_add(nodes);
        let most = self.mapping.limits.copies_max;
        if self.copied <= most {
            return Ok(());
        }
        Err(Stop {
            code: "mapping.copies",
            message: format!("more than {most} nodes would be copied"),
        })
    }

    /// A tree is kept to its end.
    fn kept(&mut self, node: NodeId) -> Result<(), Stop> {
        let keeping = self.keeping.take().expect("a tree was kept");
        if let (Some(way), true) = (keeping.way, self.mapping.exchanges.is_empty()) {
            self.set_aside(way, node);
            return self.check_held();
        }
        let mut nodes = vec![node];
        self.exchange(&mut nodes)?;
        self.check_held()?;
        if let Some(way) = keeping.way {
            self.set_aside(way, nodes[0]);
            return Ok(());
        }
        if self.top().state == NO_STATE {
            // No operator of the parent can want them later.
            self.memory.tasks.push(Task::Drop(keeping.mark));
        }
        let children = nodes.into_iter().rev().map(Task::Child);
        self.memory.tasks.extend(children);
        self.run()
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
        if self.keeping.is_some() {
            let parent = self.memory.trees.open_place();
            let place = self.place_of_child(parent, element);
            self.keep(context, place, element);
            return self.check_held();
        }
        let parent = self.top();
        let place = self.place_of_child(parent.place, element);
        if place != UNKNOWN && self.mapping.places[place as usize].exchanges {
            let mark = self.memory.trees.mark();
            self.keeping = Some(Keeping { way: None, mark });
            self.keep(context, place, element);
            return Ok(());
        }
        if parent.state != NO_STATE {
            match self.way_of(place) {
                Destination::Stays => {}
                Destination::Passes => self.prepare_to_pass(context)?,
                way => {
                    let mark = self.memory.trees.mark();
                    let way = Some(way);
                    self.keeping = Some(Keeping { way, mark });
                    self.keep(context, place, element);
                    return Ok(());
                }
            }
        }
        self.enter(
            context,
            place,
            element.name,
            element.attributes,
            element.span,
            None,
        )
    }

    #[inline]
    fn end_element(&mut self, span: Span, _end_tag: Span) -> Result<(), Stop> {
        if self.keeping.is_some() {
            let (node, is_outermost) = self.memory.trees.end(span);
            if !is_outermost {
                return Ok(());
            }
            self.kept(node)?;
        } else {
            self.leave(span)?;
            if !self.memory.tasks.is_empty() {
                self.run()?;
            }
        }
        if self.memory.frames.len() == 1 && self.top().state != NO_STATE {
            self.leave(Span::default())?;
            self.run()?;
        }
        Ok(())
    }

    #[inline]
    fn text(&mut self, text: &str, span: Span) -> Result<(), Stop> {
        if self.keeping.is_some() {
            let span = H::SPANS.then_some(span);
            self.memory.trees.text_inside(text, span);
            return self.check_held();
        }
        if self.is_waiting() {
            self.wait_with_text(text, span);
            return self.check_held();
        }
        self.output.text(text, span)
    }

    fn text_break(&mut self) -> Result<(), Stop> {
        if self.keeping.is_some() {
            self.memory.trees.break_inside(H::SPANS);
        } else if self.is_waiting() {
            self.wait_with_break();
        } else {
            self.output.text_break()?;
        }
        Ok(())
    }
}
