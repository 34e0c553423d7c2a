//! Where the rewritten document goes: to another handler, which takes it for what was read.

use super::bound_mapping::BoundMapping;
use super::mapping::Symbol;
use super::provenance::{PlaceholderId, Provenance};
use crate::events::{Attribute, Context, Handler, NameId, Span, StartElement, Stop};

/// Hands events on, and notes what inserted elements stand for.
pub(super) struct Downstream<H> {
    pub inner: H,
    pub provenance: Provenance,
    depth: u64,
    depth_max: u64,
    /// The open inserted paths, each with the depth of its innermost element.
    inserted: Vec<(u64, PlaceholderId)>,
}

impl<H: Handler> Downstream<H> {
    pub fn new(inner: H, depth_max: u64) -> Downstream<H> {
        Downstream {
            inner,
            provenance: Provenance::default(),
            depth: 0,
            depth_max,
            inserted: Vec::new(),
        }
    }

    /// Whether the next element would be the root of a tree.
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
        self.inner.start_element(context, &element)
    }

    #[cold]
    fn too_deep(&self) -> Stop {
        let most = self.depth_max;
        Stop {
            code: "mapping.depth",
            message: format!("the global document is more than {most} elements deep"),
        }
    }

    #[inline]
    pub fn end(&mut self, span: Span) -> Result<(), Stop> {
        self.depth -= 1;
        if H::SPANS {
            self.note(span);
        }
        self.inner.end_element(span, Span::default())
    }

    #[inline]
    pub fn text(&mut self, text: &str, span: Span) -> Result<(), Stop> {
        if H::SPANS {
            self.note(span);
        }
        self.inner.text(text, span)
    }

    #[inline]
    pub fn text_break(&mut self) -> Result<(), Stop> {
        self.inner.text_break()
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
        }
        if H::SPANS {
            let sign = self.provenance.add(Vec::new(), None);
            self.inserted.push((self.depth, sign));
        }
        Ok(())
    }

    /// Ends the elements of the innermost inserted path.
    pub fn end_path(&mut self, path: &[Symbol]) -> Result<(), Stop> {
        let sign = self.inserted.pop();
        let span = sign.map_or(Span::default(), |(_, sign)| Provenance::sign(sign));
        path.iter().try_for_each(|_| self.end(span))
    }

    /// What passed directly in the innermost inserted element is part of what that stands for.
    fn note(&mut self, span: Span) {
        if let Some(&(depth, sign)) = self.inserted.last() {
            if depth == self.depth {
                self.provenance.note(sign, span);
            }
        }
    }
}
