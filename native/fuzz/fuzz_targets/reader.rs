//! The reader on anything: no panic, spans inside the bytes and nested, and the same result however
//! the document is cut into chunks and windows.
//!
//! The first two bytes choose how; the rest is the document.

#![no_main]

use std::io::{self, Read};

use libfuzzer_sys::fuzz_target;
use penstock_native::events::{Context, Handler, Refusal, Span, StartElement, Stop};
use penstock_native::reader::{Limits, ReadError, Reader, ReaderOptions, Summary};

/// Low limits, so that they are met.
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

/// What was told, pieces of text joined.
#[derive(Debug, PartialEq, Eq)]
enum Told {
    Start(String, Vec<(String, String, Span)>, Span),
    End(Span),
    Text(String, Span),
    Break,
}

/// Listens, and checks each span.
struct Listener {
    told: Vec<Told>,
    bytes: u64,
    open: Vec<u64>,
    last: u64,
}

impl Listener {
    fn new(bytes: usize) -> Self {
        Self { told: Vec::new(), bytes: bytes as u64, open: Vec::new(), last: 0 }
    }

    /// Spans come in order; what comes out of one reference has one span.
    fn check(&mut self, span: Span) {
        assert!(span.start < span.end && span.end <= self.bytes, "{span:?} in {}", self.bytes);
        assert!(span.start >= self.last || span.from_entity, "{span:?} after {}", self.last);
        self.last = if span.from_entity { span.start } else { span.end };
    }
}

impl Handler for Listener {
    const SPANS: bool = true;

    fn start_element(&mut self, context: &dyn Context, element: &StartElement<'_>) -> Result<(), Stop> {
        self.check(element.span);
        let name = |id| format!("{:?}", context.names().get(id));
        let attributes = element.attributes.iter().map(|attribute| {
            let (own, whole) = (attribute.span, element.span);
            assert!(whole.start <= own.start && own.start < own.end && own.end <= whole.end);
            (name(attribute.name), attribute.value.to_owned(), own)
        });
        let attributes = attributes.collect();
        self.open.push(element.span.start);
        self.told.push(Told::Start(name(element.name), attributes, element.span));
        Ok(())
    }

    fn end_element(&mut self, span: Span, end_tag: Span) -> Result<(), Stop> {
        assert_eq!(span.end, end_tag.end, "an element ends where its end tag does");
        assert!(span.start <= end_tag.start && end_tag.start <= end_tag.end);
        assert_eq!(self.open.pop(), Some(span.start), "an element ends where it began");
        assert!(span.end >= self.last && span.end <= self.bytes);
        self.last = if span.from_entity { span.start } else { span.end };
        self.told.push(Told::End(span));
        Ok(())
    }

    fn text(&mut self, text: &str, span: Span) -> Result<(), Stop> {
        assert!(!text.is_empty(), "text is never empty");
        self.check(span);
        if let Some(Told::Text(before, whole)) = self.told.last_mut() {
            before.push_str(text);
            whole.end = span.end;
            whole.from_entity |= span.from_entity;
        } else {
            self.told.push(Told::Text(text.to_owned(), span));
        }
        Ok(())
    }

    fn text_break(&mut self) -> Result<(), Stop> {
        self.told.push(Told::Break);
        Ok(())
    }
}

/// Gives a few bytes at a time.
struct Trickle<'b>(&'b [u8], usize);

impl Read for Trickle<'_> {
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
    let mut whole = Listener::new(document.len());
    let mut reader_of_slices = reader(1);
    let result = reader_of_slices.read_slice(document, &mut whole);
    if let Err(refusal) = &result {
        assert!(refusal.offset <= document.len() as u64 && refusal.line >= 1 && refusal.column >= 1);
    }
    // A reader that has read before reads the same.
    let mut again = Listener::new(document.len());
    assert_eq!(reader_of_slices.read_slice(document, &mut again), result);
    assert_eq!(again.told, whole.told);

    let mut pieces = Listener::new(document.len());
    let in_chunks = streamed(reader(window).read_stream(Trickle(document, chunk), &mut pieces));
    assert_eq!(in_chunks, result);
    if result.is_ok() {
        assert_eq!(pieces.told, whole.told);
        assert!(whole.open.is_empty(), "every element was closed");
    }
});
