//! Fan-out: one reading of a document drives two handlers.

use crate::events::{Context, Handler, Span, StartElement, Stop};

/// An object-safe [`Handler`] that reads no spans.
///
/// The second handler of a [`Fanout`] is called through this trait, so that the reader is compiled
/// once for each primary handler, not for each pair.
pub trait DynHandler {
    /// See [`Handler::start_element`].
    fn dyn_start_element(
        &mut self,
        context: &dyn Context,
        element: &StartElement<'_>,
    ) -> Result<(), Stop>;
    /// See [`Handler::end_element`].
    fn dyn_end_element(&mut self) -> Result<(), Stop>;
    /// See [`Handler::text`].
    fn dyn_text(&mut self, text: &str) -> Result<(), Stop>;
    /// See [`Handler::text_break`].
    fn dyn_text_break(&mut self) -> Result<(), Stop>;
}

impl<H: Handler> DynHandler for H {
    fn dyn_start_element(
        &mut self,
        context: &dyn Context,
        element: &StartElement<'_>,
    ) -> Result<(), Stop> {
        const { assert!(!H::SPANS) };
        self.start_element(context, element)
    }

    fn dyn_end_element(&mut self) -> Result<(), Stop> {
        self.end_element(Span::default(), Span::default())
    }

    fn dyn_text(&mut self, text: &str) -> Result<(), Stop> {
        self.text(text, Span::default())
    }

    fn dyn_text_break(&mut self) -> Result<(), Stop> {
        self.text_break()
    }
}

/// Forwards each event to a second handler, if there is one, and then to the primary handler.
pub(super) struct Fanout<'a, H> {
    pub primary: H,
    pub secondary: Option<&'a mut dyn DynHandler>,
}

impl<H: Handler> Handler for Fanout<'_, H> {
    const SPANS: bool = H::SPANS;

    #[inline]
    fn start_element(
        &mut self,
        context: &dyn Context,
        element: &StartElement<'_>,
    ) -> Result<(), Stop> {
        if let Some(secondary) = &mut self.secondary {
            secondary.dyn_start_element(context, element)?;
        }
        self.primary.start_element(context, element)
    }

    #[inline]
    fn end_element(&mut self, span: Span, end_tag: Span) -> Result<(), Stop> {
        if let Some(secondary) = &mut self.secondary {
            secondary.dyn_end_element()?;
        }
        self.primary.end_element(span, end_tag)
    }

    #[inline]
    fn text(&mut self, text: &str, span: Span) -> Result<(), Stop> {
        if let Some(secondary) = &mut self.secondary {
            secondary.dyn_text(text)?;
        }
        self.primary.text(text, span)
    }

    fn text_break(&mut self) -> Result<(), Stop> {
        if let Some(secondary) = &mut self.secondary {
            secondary.dyn_text_break()?;
        }
        self.primary.text_break()
    }
}
