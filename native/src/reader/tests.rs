//! Tests of the reader's public interface.

use super::*;
use crate::events::{Context, Span, StartElement, Stop};

pub(crate) mod allocations;

/// Records events as text.
#[derive(Default)]
struct Recorder(Vec<String>);

impl Handler for Recorder {
    const SPANS: bool = true;

    fn start_element(
        &mut self,
        context: &dyn Context,
        element: &StartElement<'_>,
    ) -> Result<(), Stop> {
        let mut line = format!("<{}", name_and_span(context, element.name, element.span));
        for attribute in element.attributes {
            line += &format!(
                " {}={:?}",
                name_and_span(context, attribute.name, attribute.span),
                attribute.value
            );
        }
        self.0.push(line);
        Ok(())
    }

    fn end_element(&mut self, span: Span, end_tag: Span) -> Result<(), Stop> {
        let (start, end) = (end_tag.start, end_tag.end);
        self.0
            .push(format!("/ {}..{} {start}..{end}", span.start, span.end));
        Ok(())
    }

    fn text(&mut self, text: &str, span: Span) -> Result<(), Stop> {
        let flag = if span.from_entity { "!" } else { "" };
        self.0
            .push(format!("{text:?} {}..{}{flag}", span.start, span.end));
        Ok(())
    }

    fn text_break(&mut self) -> Result<(), Stop> {
        self.0.push("--".to_owned());
        Ok(())
    }
}

fn name_and_span(context: &dyn Context, name: crate::events::NameId, span: Span) -> String {
    let (uri, local) = context.names().get(name);
    format!("{{{uri}}}{local} {}..{}", span.start, span.end)
}

fn events(document: &[u8]) -> Vec<String> {
    let mut reader = Reader::new(ReaderOptions::default());
    let mut handler = Recorder::default();
    reader.read_slice(document, &mut handler).unwrap();
    handler.0
}

#[test]
fn events_have_spans() {
    let document =
        br#"<?xml version="1.0"?><a xmlns="u" x:y="1&amp;2" xmlns:x="v">t&lt;<!--c--><b/></a>"#;
    assert_eq!(
        events(document),
        [
            "<{u}a 21..60 {v}y 34..47=\"1&2\"",
            "\"t\" 60..61",
            "\"<\" 61..65",
            "--",
            "<{u}b 73..77",
            "/ 73..77 77..77",
            "/ 21..81 77..81",
        ]
    );
}

/// Joins adjacent chunks of text, whose boundaries depend on the windows.
fn joined(events: Vec<String>) -> Vec<String> {
    let mut joined: Vec<String> = Vec::new();
    for event in events {
        match joined.last_mut() {
            Some(last) if last.starts_with('"') && event.starts_with('"') => {
                let (text, span) = last.rsplit_once(' ').unwrap();
                let (more, more_span) = event.rsplit_once(' ').unwrap();
                let start = span.split_once("..").unwrap().0;
                let end = more_span.split_once("..").unwrap().1;
                *last = format!("{}{} {start}..{end}", &text[..text.len() - 1], &more[1..]);
            }
            _ => joined.push(event),
        }
    }
    joined
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

fn utf16(text: &str) -> Vec<u8> {
    "\u{FEFF}"
        .chars()
        .chain(text.chars())
        .collect::<String>()
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect()
}

/// Reads `document` from memory and as streams with various chunk and window sizes; checks that the
/// results agree.
fn read(document: &[u8]) -> (Vec<String>, Result<Summary, Refusal>) {
    let mut in_memory = Recorder::default();
    let result = Reader::new(ReaderOptions::default()).read_slice(document, &mut in_memory);
    let in_memory = joined(in_memory.0);
    for (chunk, window_bytes) in [(1, 1), (1, 7), (3, 2), (5, 64), (1000, 16)] {
        let limits = Limits {
            window_bytes,
            ..Limits::default()
        };
        let mut reader = Reader::new(ReaderOptions {
            limits,
            ..ReaderOptions::default()
        });
        let mut handler = Recorder::default();
        let streamed = match reader.read_stream(SmallReads(document, chunk), &mut handler) {
            Ok(summary) => Ok(summary),
            Err(ReadError::Refusal(refusal)) => Err(refusal),
            Err(ReadError::Io(error)) => panic!("{error}"),
        };
        let events = joined(handler.0);
        assert_eq!(
            streamed, result,
            "chunks of {chunk}, windows of {window_bytes}"
        );
        if result.is_ok() {
            assert_eq!(
                events, in_memory,
                "chunks of {chunk}, windows of {window_bytes}"
            );
        }
    }
    (in_memory, result)
}

const VARIED: &str = "<?xml version='1.0'?>\r\n<!DOCTYPE a [<!ENTITY e 'x<b y=\"&#38;lt;\">é</b>'>\n\
    <!ATTLIST b z CDATA 'deflt' n NMTOKEN #IMPLIED>]>\r\n<!-- c - d --><?pi some thing??>\n\
    <a xmlns:p='urn:p' p:q=' 1\r\n2 '>t]]\r\n\r<![CDATA[]]]>&e;&#x1F600;<b n='  k  l '>日本</b ><!---->\
    <![CDATA[<&]]]]>>ü<?x?></a>\r<!-- end -->\n";

#[test]
fn events_do_not_depend_on_chunk_and_window_sizes() {
    let (events, result) = read(VARIED.as_bytes());
    assert_eq!(result.unwrap().elements, 3);
    assert!(
        events
            .iter()
            .any(|event| event.contains("z") && event.contains("deflt")),
        "{events:?}"
    );
    let (in_utf16, result) = read(&utf16(VARIED));
    assert_eq!(result.unwrap().elements, 3);
    assert_eq!(events.len(), in_utf16.len());
}

#[test]
fn refusals_do_not_depend_on_chunk_and_window_sizes() {
    for end in 0..VARIED.len() - 30 {
        let cut = &VARIED.as_bytes()[..end];
        assert!(read(cut).1.is_err(), "cut at {end}");
    }
}

#[test]
fn a_line_end_at_the_end_of_a_cdata_section_is_normalised_in_any_window() {
    let (events, result) = read(b"<a><![CDATA[0\r\n]]></a>");
    assert!(result.is_ok());
    assert_eq!(events[1], "\"0\\n\" 3..18");
}
