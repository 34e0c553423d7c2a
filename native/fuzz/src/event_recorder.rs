//! Records events and checks their spans.

use penstock_native::events::{Context, Handler, Span, StartElement, Stop};

/// An event; chunks of text are joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Name, attributes with their spans, and the span of the start tag.
    Start(String, Vec<(String, String, Span)>, Span),
    /// The span of the element.
    End(Span),
    /// Text and its span.
    Text(String, Span),
    /// The end of a text node.
    Break,
}

impl Event {
    /// The event without its spans, which depend on the encoding.
    pub fn without_spans(&self) -> Event {
        let none = Span::default();
        match self {
            Event::Start(name, attributes, _) => {
                let attributes = attributes.iter();
                let attributes =
                    attributes.map(|(name, value, _)| (name.clone(), value.clone(), none));
                Event::Start(name.clone(), attributes.collect(), none)
            }
            Event::End(_) => Event::End(none),
            Event::Text(text, _) => Event::Text(text.clone(), none),
            Event::Break => Event::Break,
        }
    }
}

/// Records the events of a document of a known size.
pub struct EventRecorder {
    /// The events so far.
    pub events: Vec<Event>,
    bytes: u64,
    open: Vec<u64>,
    last: u64,
}

impl EventRecorder {
    /// A recorder for a document of this size in bytes.
    pub fn new(bytes: usize) -> Self {
        Self {
            events: Vec::new(),
            bytes: bytes as u64,
            open: Vec::new(),
            last: 0,
        }
    }

    /// Whether every element was closed.
    pub fn is_balanced(&self) -> bool {
        self.open.is_empty()
    }

    /// Spans are in order; all nodes from one entity reference have the same span.
    fn check(&mut self, span: Span) {
        assert!(
            span.start < span.end && span.end <= self.bytes,
            "{span:?} in {}",
            self.bytes
        );
        assert!(
            span.start >= self.last || span.from_entity,
            "{span:?} after {}",
            self.last
        );
        self.last = if span.from_entity {
            span.start
        } else {
            span.end
        };
    }
}

impl Handler for EventRecorder {
    const SPANS: bool = true;

    fn start_element(
        &mut self,
        context: &dyn Context,
        element: &StartElement<'_>,
    ) -> Result<(), Stop> {
        self.check(element.span);
        let name = |id| format!("{:?}", context.names().get(id));
        let attributes = element.attributes.iter().map(|attribute| {
            let (own, tag) = (attribute.span, element.span);
            assert!(tag.start <= own.start && own.start < own.end && own.end <= tag.end);
            (name(attribute.name), attribute.value.to_owned(), own)
        });
        let attributes = attributes.collect();
        self.open.push(element.span.start);
        self.events
            .push(Event::Start(name(element.name), attributes, element.span));
        Ok(())
    }

    fn end_element(&mut self, span: Span, end_tag: Span) -> Result<(), Stop> {
        assert_eq!(
            span.end, end_tag.end,
            "an element ends where its end tag does"
        );
        assert!(span.start <= end_tag.start && end_tag.start <= end_tag.end);
        assert_eq!(
            self.open.pop(),
            Some(span.start),
            "an element ends where it began"
        );
        assert!(span.end >= self.last && span.end <= self.bytes);
        self.last = if span.from_entity {
            span.start
        } else {
            span.end
        };
        self.events.push(Event::End(span));
        Ok(())
    }

    fn text(&mut self, text: &str, span: Span) -> Result<(), Stop> {
        assert!(!text.is_empty(), "text is never empty");
        self.check(span);
        if let Some(Event::Text(before, joined)) = self.events.last_mut() {
            before.push_str(text);
            joined.end = span.end;
            joined.from_entity |= span.from_entity;
        } else {
            self.events.push(Event::Text(text.to_owned(), span));
        }
        Ok(())
    }

    fn text_break(&mut self) -> Result<(), Stop> {
        self.events.push(Event::Break);
        Ok(())
    }
}
