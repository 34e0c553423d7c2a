//! Reads arbitrary bytes: the reader must not panic, spans must be in range and nested, and the result
//! must not depend on the chunk and window sizes.
//!
//! The first two bytes choose these sizes; the rest is the document.

#![no_main]

use std::io::{self, Read};

use libfuzzer_sys::fuzz_target;
use penstock_native::events::{Context, Handler, Refusal, Span, StartElement, Stop};
use penstock_native::reader::{Limits, ReadError, Reader, ReaderOptions, Summary};

/// Low limits, so that inputs reach them.
fn limits(window_bytes: usize) -> Limits {
    Limits {
        document_bytes: 100_000,
        depth: 40,
        attributes: 20,
        name_bytes: 100,
        value_bytes: 2_000,
        tag_bytes: 5_000,
        doctype_bytes: 20_000,
        entity_bytes: 100_000,
        names_bytes: 20_000,
        window_bytes,
        ..Limits::default()
    }
}

/// An event; chunks of text are joined.
#[derive(Debug, PartialEq, Eq)]
enum Event {
    Start(String, Vec<(String, String, Span)>, Span),
    End(Span),
    Text(String, Span),
    Break,
}

/// Records events and checks each span.
struct Recorder {
    events: Vec<Event>,
    bytes: u64,
    open: Vec<u64>,
    last: u64,
}

impl Recorder {
    fn new(bytes: usize) -> Self {
        Self { events: Vec::new(), bytes: bytes as u64, open: Vec::new(), last: 0 }
    }

    /// Spans are in order; all nodes from one entity reference have the same span.
    fn check(&mut self, span: Span) {
        assert!(span.start < span.end && span.end <= self.bytes, "{span:?} in {}", self.bytes);
        assert!(span.start >= self.last || span.from_entity, "{span:?} after {}", self.last);
        self.last = if span.from_entity { span.start } else { span.end };
    }
}

impl Handler for Recorder {
    const SPANS: bool = true;

    fn start_element(&mut self, context: &dyn Context, element: &StartElement<'_>) -> Result<(), Stop> {
        self.check(element.span);
        let name = |id| format!("{:?}", context.names().get(id));
        let attributes = element.attributes.iter().map(|attribute| {
            let (own, tag) = (attribute.span, element.span);
            assert!(tag.start <= own.start && own.start < own.end && own.end <= tag.end);
            (name(attribute.name), attribute.value.to_owned(), own)
        });
        let attributes = attributes.collect();
        self.open.push(element.span.start);
        self.events.push(Event::Start(name(element.name), attributes, element.span));
        Ok(())
    }

    fn end_element(&mut self, span: Span, end_tag: Span) -> Result<(), Stop> {
        assert_eq!(span.end, end_tag.end, "an element ends where its end tag does");
        assert!(span.start <= end_tag.start && end_tag.start <= end_tag.end);
        assert_eq!(self.open.pop(), Some(span.start), "an element ends where it began");
        assert!(span.end >= self.last && span.end <= self.bytes);
        self.last = if span.from_entity { span.start } else { span.end };
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

/// A stream that returns a few bytes at a time.
struct SmallReads<'b>(&'b [u8], usize);

impl Read for SmallReads<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.1.min(buffer.len()).min(self.0.len());
        buffer[..len].copy_from_slice(&self.0[..len]);
        self.0 = &self.0[len..];
        Ok(len)
    }
}

fn reader(window_bytes: usize) -> Reader {
    let entities = [("known".to_owned(), "a < b & c".into())].into_iter().collect();
    Reader::new(ReaderOptions { limits: limits(window_bytes), entities, ..ReaderOptions::default() })
}

fn streamed(result: Result<Summary, ReadError>) -> Result<Summary, Refusal> {
    match result {
        Ok(summary) => Ok(summary),
        Err(ReadError::Refusal(refusal)) => Err(refusal),
        Err(ReadError::Io(error)) => panic!("{error}"),
    }
}

fuzz_target!(|data: &[u8]| {
    let [chunk, window, document @ ..] = data else { return };
    let (chunk, window) = (usize::from(*chunk) + 1, usize::from(*window) + 1);
    let mut in_memory = Recorder::new(document.len());
    let mut reader_of_slices = reader(1);
    let result = reader_of_slices.read_slice(document, &mut in_memory);
    if let Err(refusal) = &result {
        assert!(refusal.offset <= document.len() as u64 && refusal.line >= 1 && refusal.column >= 1);
    }
    // A reader that is used again gives the same result.
    let mut again = Recorder::new(document.len());
    assert_eq!(reader_of_slices.read_slice(document, &mut again), result);
    assert_eq!(again.events, in_memory.events);

    let mut in_chunks = Recorder::new(document.len());
    let chunked_result = streamed(reader(window).read_stream(SmallReads(document, chunk), &mut in_chunks));
    assert_eq!(chunked_result, result);
    if result.is_ok() {
        assert_eq!(in_chunks.events, in_memory.events);
        assert!(in_memory.open.is_empty(), "every element was closed");
    }
});
