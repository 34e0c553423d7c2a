//! The reader as its users see it.

use super::*;
use crate::events::{Context, Span, StartElement, Stop};

pub(crate) mod allocations;

#[derive(Default)]
struct Told(Vec<String>);

impl Handler for Told {
    const SPANS: bool = true;

    fn start_element(
        &mut self,
        context: &dyn Context,
        element: &StartElement<'_>,
    ) -> Result<(), Stop> {
        let mut line = format!("<{}", shown(context, element.name, element.span));
        for attribute in element.attributes {
            line += &format!(
                " {}={:?}",
                shown(context, attribute.name, attribute.span),
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

fn shown(context: &dyn Context, name: crate::events::NameId, span: Span) -> String {
    let (uri, local) = context.names().get(name);
    format!("{{{uri}}}{local} {}..{}", span.start, span.end)
}

fn told(document: &[u8]) -> Vec<String> {
    let mut reader = Reader::new(ReaderOptions::default());
    let mut handler = Told::default();
    reader.read_slice(document, &mut handler).unwrap();
    handler.0
}

#[test]
fn a_document_is_told_in_events_with_spans() {
    let document =
        br#"<?xml version="1.0"?><a xmlns="u" x:y="1&amp;2" xmlns:x="v">t&lt;<!--c--><b/></a>"#;
    assert_eq!(
        told(document),
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

/// Adjacent pieces of text joined: where they are cut is nobody's business.
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

fn utf16(text: &str) -> Vec<u8> {
    "\u{FEFF}"
        .chars()
        .chain(text.chars())
        .collect::<String>()
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect()
}

/// Reads `document` whole and in many ways cut, and gives the one result they must have.
fn read(document: &[u8]) -> (Vec<String>, Result<Summary, Refusal>) {
    let mut whole = Told::default();
    let result = Reader::new(ReaderOptions::default()).read_slice(document, &mut whole);
    let whole = joined(whole.0);
    for (chunk, window_bytes) in [(1, 1), (1, 7), (3, 2), (5, 64), (1000, 16)] {
        let limits = Limits {
            window_bytes,
            ..Limits::default()
        };
        let mut reader = Reader::new(ReaderOptions {
            limits,
            ..ReaderOptions::default()
        });
        let mut handler = Told::default();
        let streamed = match reader.read_stream(Trickle(document, chunk), &mut handler) {
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
                events, whole,
                "chunks of {chunk}, windows of {window_bytes}"
            );
        }
    }
    (whole, result)
}

const VARIED: &str = "<?xml version='1.0'?>\r\n<!DOCTYPE a [<!ENTITY e 'x<b y=\"&#38;lt;\">é</b>'>\n\
    <!ATTLIST b z CDATA 'deflt' n NMTOKEN #IMPLIED>]>\r\n<!-- c - d --><?pi some thing??>\n\
    <a xmlns:p='urn:p' p:q=' 1\r\n2 '>t]]\r\n\r<![CDATA[]]]>&e;&#x1F600;<b n='  k  l '>日本</b ><!---->\
    <![CDATA[<&]]]]>>ü<?x?></a>\r<!-- end -->\n";

#[test]
fn however_a_document_is_cut_its_events_are_the_same() {
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
fn however_a_document_is_cut_its_refusal_is_the_same() {
    for end in 0..VARIED.len() - 30 {
        let cut = &VARIED.as_bytes()[..end];
        assert!(read(cut).1.is_err(), "cut at {end}");
    }
}

#[test]
fn a_line_end_at_a_cdata_sections_end_is_one_however_it_is_cut() {
    let (events, result) = read(b"<a><![CDATA[0\r\n]]></a>");
    assert!(result.is_ok());
    assert_eq!(events[1], "\"0\\n\" 3..18");
}
