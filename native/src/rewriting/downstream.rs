//! Sends the events of the rewritten document to the next handler.

use super::bound_mapping::BoundMapping;
use super::mapping::Symbol;
use super::provenance::{Placeholder, Provenance};
use crate::events::{Attribute, Context, Handler, NameId, Span, StartElement, Stop};

/// Sends events to a handler and records the provenance of inserted elements.
pub(super) struct Downstream<H> {
    pub handler: H,
    pub provenance: Provenance,
    depth: u64,
    depth_max: u64,
    /// The open inserted elements: the depth and the placeholder of each.
    inserted: Vec<(u64, Placeholder)>,
}

impl<H: Handler> Downstream<H> {
    pub fn new(handler: H, depth_max: u64) -> Downstream<H> {
        Downstream {
            handler,
            provenance: Provenance::default(),
            depth: 0,
            depth_max,
            inserted: Vec::new(),
        }
    }

    /// Whether no element is open, so that the next one is the root of a tree.
    #[inline]
    pub fn is_outside(&self) -> bool {
        self.depth == 0
    }

    #[inline]
    pub fn start(
        &mut self,
        context: &dyn Context,
        name: NameId,
        attributes: &[Attribute<'_>],
        span: Span,
    ) -> Result<(), Stop> {
        self.depth += 1;
        if self.depth > self.depth_max {
            return Err(self.too_deep());
        }
        let element = StartElement {
            name,
            attributes,
            span,
        };
        self.handler.start_element(context, &element)
    }

    #[cold]
    fn too_deep(&self) -> Stop {
        let max = self.depth_max;
        Stop {
            code: "mapping.depth",
            message: format!("the global document is more than {max} elements deep"),
        }
    }

    #[inline]
    pub fn end(&mut self, span: Span) -> Result<(), Stop> {
        self.depth -= 1;
        if H::SPANS {
            self.record(span);
        }
        self.handler.end_element(span, Span::default())
    }

    #[inline]
    pub fn text(&mut self, text: &str, span: Span) -> Result<(), Stop> {
        if H::SPANS {
            self.record(span);
        }
        self.handler.text(text, span)
    }

    #[inline]
    pub fn text_break(&mut self) -> Result<(), Stop> {
        self.handler.text_break()
    }

    /// Starts the elements of an inserted path.
    pub fn start_path(
        &mut self,
        context: &dyn Context,
        bound: &BoundMapping,
        path: &[Symbol],
    ) -> Result<(), Stop> {
        for &symbol in path {
            self.start(context, bound.name(symbol), &[], Span::default())?;
            if H::SPANS {
                let placeholder = self.provenance.add(Vec::new(), None);
                self.inserted.push((self.depth, placeholder));
            }
        }
        Ok(())
    }

    /// Ends the innermost elements of an inserted path.
    pub fn end_path(&mut self, path: &[Symbol]) -> Result<(), Stop> {
        path.iter().try_for_each(|_| {
            let inserted = self.inserted.pop();
            self.end(inserted.map_or(Span::default(), |(_, placeholder)| placeholder.span()))
        })
    }

    /// Adds a child of the innermost inserted element to what that stands for.
    #[inline]
    fn record(&mut self, span: Span) {
        if let Some(&(depth, placeholder)) = self.inserted.last() {
            if depth == self.depth {
                self.provenance.extend(placeholder, span);
            }
        }
    }
}
