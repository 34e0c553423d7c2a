//! Another that hears the same reading of a document.

use crate::events::{Context, Handler, Span, StartElement, Stop};

/// A handler that needs no spans, whatever it is: so that the engines are compiled once for all.
pub trait Beside {
    /// See [`Handler::start_element`].
    fn hear_start(&mut self, context: &dyn Context, element: &StartElement<'_>)
        -> Result<(), Stop>;
    /// See [`Handler::end_element`].
    fn hear_end(&mut self) -> Result<(), Stop>;
    /// See [`Handler::text`].
    fn hear_text(&mut self, text: &str) -> Result<(), Stop>;
    /// See [`Handler::text_break`].
    fn hear_break(&mut self) -> Result<(), Stop>;
}

impl<H: Handler> Beside for H {
    fn hear_start(
        &mut self,
        context: &dyn Context,
        element: &StartElement<'_>,
    ) -> Result<(), Stop> {
        const { assert!(!H::SPANS) };
        self.start_element(context, element)
    }

    fn hear_end(&mut self) -> Result<(), Stop> {
        self.end_element(Span::default(), Span::default())
    }

    fn hear_text(&mut self, text: &str) -> Result<(), Stop> {
        self.text(text, Span::default())
    }

    fn hear_break(&mut self) -> Result<(), Stop> {
        self.text_break()
    }
}

/// An engine, and who else hears the document, if anyone does.
pub(crate) struct Joined<'a, 'b, E> {
    pub engine: E,
    pub beside: &'a mut Option<&'b mut dyn Beside>,
}

impl<E: Handler> Handler for Joined<'_, '_, E> {
    const SPANS: bool = E::SPANS;

    #[inline]
    fn start_element(
        &mut self,
        context: &dyn Context,
        element: &StartElement<'_>,
    ) -> Result<(), Stop> {
        if let Some(beside) = self.beside {
            beside.hear_start(context, element)?;
        }
        self.engine.start_element(context, element)
    }

    #[inline]
    fn end_element(&mut self, span: Span, end_tag: Span) -> Result<(), Stop> {
        if let Some(beside) = self.beside {
            beside.hear_end()?;
        }
        self.engine.end_element(span, end_tag)
    }

    #[inline]
    fn text(&mut self, text: &str, span: Span) -> Result<(), Stop> {
        if let Some(beside) = self.beside {
            beside.hear_text(text)?;
        }
        self.engine.text(text, span)
    }

    fn text_break(&mut self) -> Result<(), Stop> {
        if let Some(beside) = self.beside {
            beside.hear_break()?;
        }
        self.engine.text_break()
    }
}
