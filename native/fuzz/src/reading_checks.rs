//! Reads a document in several ways that must give the same events.

use std::io::{self, Read};

use penstock_native::events::Refusal;
use penstock_native::reader::{Limits, ReadError, Reader, ReaderOptions, Summary};

use crate::event_recorder::{Event, EventRecorder};

/// Low limits, so that inputs reach them. The ratio of expansions to bytes read is not among them: it
/// applies only beyond [`Limits::AMPLIFICATION_FREE_BYTES`], and bytes read depend on the encoding.
fn limits(window_bytes: usize) -> Limits {
    Limits {
        document_bytes: 100_000,
        depth: 40,
        attributes: 20,
        name_bytes: 100,
        value_bytes: 2_000,
        tag_bytes: 5_000,
        doctype_bytes: 20_000,
        entity_bytes: Limits::AMPLIFICATION_FREE_BYTES,
        names_bytes: 20_000,
        window_bytes,
        ..Limits::default()
    }
}

/// A reader with low limits, which knows the entity `known`.
pub fn reader(window_bytes: usize) -> Reader {
    let entities = [("known".to_owned(), "a < b & c".into())]
        .into_iter()
        .collect();
    Reader::new(ReaderOptions {
        limits: limits(window_bytes),
        entities,
        ..ReaderOptions::default()
    })
}

/// A stream that returns at most the given number of bytes at a time.
pub struct SmallReads<'b>(pub &'b [u8], pub usize);

impl Read for SmallReads<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.1.min(buffer.len()).min(self.0.len());
        buffer[..len].copy_from_slice(&self.0[..len]);
        self.0 = &self.0[len..];
        Ok(len)
    }
}

fn streamed(result: Result<Summary, ReadError>) -> Result<Summary, Refusal> {
    match result {
        Ok(summary) => Ok(summary),
        Err(ReadError::Refusal(refusal)) => Err(refusal),
        Err(ReadError::Io(error)) => panic!("{error}"),
    }
}

/// The result and the events of reading a document from memory.
fn read(document: &[u8]) -> (Result<Summary, Refusal>, Vec<Event>) {
    let mut recorder = EventRecorder::new(document.len());
    let mut reader = reader(1);
    let result = reader.read_slice(document, &mut recorder);
    match &result {
        Ok(_) => assert!(recorder.is_balanced(), "every element was closed"),
        Err(refusal) => {
            assert!(refusal.offset <= document.len() as u64);
            assert!(refusal.line >= 1 && refusal.column >= 1);
        }
    }
    // A reader that is used again gives the same result.
    let mut again = EventRecorder::new(document.len());
    assert_eq!(reader.read_slice(document, &mut again), result);
    assert_eq!(again.events, recorder.events);
    (result, recorder.events)
}

/// Reads a document from memory and as a stream of `chunk` bytes at a time into windows of `window`
/// bytes; and if it is UTF-8 without a declaration, in UTF-16 too.
pub fn check_reading(document: &[u8], chunk: usize, window: usize) {
    let (result, events) = read(document);
    let mut in_chunks = EventRecorder::new(document.len());
    let chunked_result =
        streamed(reader(window).read_stream(SmallReads(document, chunk), &mut in_chunks));
    assert_eq!(chunked_result, result);
    if result.is_ok() {
        assert_eq!(in_chunks.events, events);
    }
    let is_declared = document.starts_with(b"<?xml") || document.starts_with(b"\xef\xbb\xbf");
    // A NUL among the first characters looks like an encoding with wider characters.
    let is_wide = document.iter().take(4).any(|&byte| byte == 0);
    if let (Ok(text), false) = (std::str::from_utf8(document), is_declared || is_wide) {
        check_encodings(text, &result, &events);
    }
}

/// Events, codes and positions do not depend on the encoding.
fn check_encodings(text: &str, expected: &Result<Summary, Refusal>, expected_events: &[Event]) {
    let units = || std::iter::once(0xfeff).chain(text.encode_utf16());
    let little: Vec<u8> = units().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = units().flat_map(u16::to_be_bytes).collect();
    for document in [little, big] {
        match (read(&document), expected) {
            ((Ok(found), events), Ok(expected)) => {
                assert_eq!(
                    (found.elements, found.attributes),
                    (expected.elements, expected.attributes)
                );
                let events = events.iter().map(Event::without_spans);
                assert!(events.eq(expected_events.iter().map(Event::without_spans)));
            }
            ((Err(found), _), Err(expected)) => {
                let place = |refusal: &Refusal| (refusal.code, refusal.line, refusal.column);
                assert_eq!(place(&found), place(expected));
            }
            ((found, _), expected) => panic!("{found:?} in UTF-16, {expected:?} in UTF-8"),
        }
    }
}
