//! Presents header fields of a document as attributes of its root element.

use crate::events::{Attribute, Context, Handler, NameId, Span, StartElement, Stop};

/// Adds attributes to the root element, or to each root of a forest, and forwards all events.
pub(super) struct HeaderInjector<'h, H> {
    inner: H,
    fields: &'h [(NameId, &'h str)],
    depth: usize,
}

impl<'h, H: Handler> HeaderInjector<'h, H> {
    /// Forwards events to `inner`.
    pub fn new(inner: H, fields: &'h [(NameId, &'h str)]) -> HeaderInjector<'h, H> {
        HeaderInjector {
            inner,
            fields,
            depth: 0,
        }
    }

    #[cold]
    fn start_root(
        &mut self,
        context: &dyn Context,
        element: &StartElement<'_>,
    ) -> Result<(), Stop> {
        let mut attributes = element.attributes.to_vec();
        attributes.extend(self.fields.iter().map(|&(name, value)| Attribute {
            name,
            value,
            span: element.span,
        }));
        let element = StartElement {
            attributes: &attributes,
            ..*element
        };
        self.inner.start_element(context, &element)
    }
}

impl<H: Handler> Handler for HeaderInjector<'_, H> {
    const SPANS: bool = H::SPANS;

    #[inline]
    fn start_element(
        &mut self,
        context: &dyn Context,
        element: &StartElement<'_>,
    ) -> Result<(), Stop> {
        self.depth += 1;
        if self.depth == 1 {
            return self.start_root(context, element);
        }
        self.inner.start_element(context, element)
    }

    #[inline]
    fn end_element(&mut self, span: Span, end_tag: Span) -> Result<(), Stop> {
        self.depth -= 1;
        self.inner.end_element(span, end_tag)
    }

    #[inline]
    fn text(&mut self, text: &str, span: Span) -> Result<(), Stop> {
        self.inner.text(text, span)
    }

    #[inline]
    fn text_break(&mut self) -> Result<(), Stop> {
        self.inner.text_break()
    }

    fn begin_repeated(&mut self, number: u32) -> Result<bool, Stop> {
        self.inner.begin_repeated(number)
    }

    fn end_repeated(&mut self, number: u32) {
        self.inner.end_repeated(number);
    }

    fn forget_repeated(&mut self) {
        self.inner.forget_repeated();
    }
}
