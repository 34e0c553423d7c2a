//! Writes a rewritten document as XML, for matchers without a mapping.
//!
//! On request, it also writes a table with the provenance of each node.

use super::mapping::Symbol;
use super::provenance::Provenance;
use crate::events::{Attribute, Context, Handler, NameId, Span, StartElement, Stop};
use crate::xpath::ast::Kind;

const XML_URI: &str = "http://www.w3.org/XML/1998/namespace";

/// A node of a written tree and its provenance.
#[derive(Clone, Debug, PartialEq)]
pub struct ProvenanceRow {
    /// Element, attribute or text.
    pub kind: Kind,
    /// Index of its first byte in the tree.
    pub start: usize,
    /// Index past its last byte.
    pub end: usize,
    /// Byte spans of the original.
    pub spans: Vec<Span>,
    /// The original name of a renamed attribute.
    pub name: Option<Symbol>,
}

/// A tree of the global document.
#[derive(Debug, Default, PartialEq)]
pub struct WrittenTree {
    /// The tree as XML in UTF-8.
    pub xml: String,
    /// Its table; empty unless requested.
    pub rows: Vec<ProvenanceRow>,
}

struct OpenElement {
    /// Index of its start tag.
    start: usize,
    /// Index past the name in its start tag.
    name_end: usize,
    /// The number of prefixes in scope before it.
    prefixes: usize,
    /// Its namespace, which is the default namespace inside it.
    default_namespace: Box<str>,
}

/// Writes the events it receives; with the table if `TABLE`.
#[derive(Default)]
pub struct TreeWriter<const TABLE: bool> {
    trees: Vec<WrittenTree>,
    tree: WrittenTree,
    open: Vec<OpenElement>,
    /// The namespaces of the prefixes in scope, which are `g0`, `g1` and so on.
    prefixes: Vec<Box<str>>,
    /// Index of the open text node.
    text_start: Option<usize>,
    text_spans: Vec<Span>,
    /// Whether the last node was a text node; text breaks are not nodes.
    is_after_text: bool,
}

impl<const TABLE: bool> TreeWriter<TABLE> {
    /// The trees; `provenance` resolves the placeholders that the rewriter sent.
    pub fn finish(mut self, provenance: &Provenance) -> Vec<WrittenTree> {
        for row in self.trees.iter_mut().flat_map(|tree| &mut tree.rows) {
            row.name = provenance.original_name(row.spans[0]);
            row.spans = provenance.resolve(&row.spans);
        }
        self.trees
    }

    fn push_row(&mut self, kind: Kind, start: usize, spans: Vec<Span>) {
        let end = self.tree.xml.len();
        self.tree.rows.push(ProvenanceRow {
            kind,
            start,
            end,
            spans,
            name: None,
        });
    }

    fn end_text(&mut self) {
        if let Some(start) = self.text_start.take() {
            if TABLE {
                let spans = std::mem::take(&mut self.text_spans);
                self.push_row(Kind::Text, start, spans);
            }
        }
    }

    fn write_attribute(&mut self, context: &dyn Context, attribute: &Attribute<'_>) {
        let (uri, local) = context.names().get(attribute.name);
        let prefix = match uri {
            "" => String::new(),
            XML_URI => "xml:".to_owned(),
            _ => format!("g{}:", self.prefix_number(uri)),
        };
        self.tree.xml.push(' ');
        let start = self.tree.xml.len();
        self.tree.xml.push_str(&prefix);
        self.tree.xml.push_str(local);
        self.tree.xml.push_str("=\"");
        escape(&mut self.tree.xml, attribute.value, true);
        self.tree.xml.push('"');
        if TABLE {
            self.push_row(Kind::Attribute, start, vec![attribute.span]);
        }
    }

    /// The number of a namespace's prefix; a new one is declared in the current start tag.
    fn prefix_number(&mut self, uri: &str) -> usize {
        if let Some(number) = self.prefixes.iter().position(|known| **known == *uri) {
            return number;
        }
        let number = self.prefixes.len();
        self.prefixes.push(uri.into());
        self.tree.xml.push_str(&format!(" xmlns:g{number}=\""));
        escape(&mut self.tree.xml, uri, true);
        self.tree.xml.push('"');
        number
    }

    /// Writes the name of a start tag; returns the default namespace inside it.
    fn write_tag_name(&mut self, context: &dyn Context, name: NameId) -> Box<str> {
        let (uri, local) = context.names().get(name);
        if uri == XML_URI {
            self.tree.xml.push_str("xml:");
        }
        self.tree.xml.push_str(local);
        let outer = self.open.last().map_or("", |open| &open.default_namespace);
        if uri == XML_URI { outer } else { uri }.into()
    }
}

impl<const TABLE: bool> Handler for TreeWriter<TABLE> {
    const SPANS: bool = TABLE;

    fn start_element(
        &mut self,
        context: &dyn Context,
        element: &StartElement<'_>,
    ) -> Result<(), Stop> {
        self.end_text();
        self.is_after_text = false;
        let prefixes = self.prefixes.len();
        let start = self.tree.xml.len();
        self.tree.xml.push('<');
        let default_namespace = self.write_tag_name(context, element.name);
        let name_end = self.tree.xml.len();
        let outer = self.open.last().map_or("", |open| &open.default_namespace);
        if *default_namespace != *outer {
            self.tree.xml.push_str(" xmlns=\"");
            escape(&mut self.tree.xml, &default_namespace, true);
            self.tree.xml.push('"');
        }
        for attribute in element.attributes {
            self.write_attribute(context, attribute);
        }
        self.tree.xml.push('>');
        self.open.push(OpenElement {
            start,
            name_end,
            prefixes,
            default_namespace,
        });
        Ok(())
    }

    fn end_element(&mut self, span: Span, _end_tag: Span) -> Result<(), Stop> {
        self.end_text();
        self.is_after_text = false;
        let open = self.open.pop().expect("tags are balanced");
        self.prefixes.truncate(open.prefixes);
        self.tree.xml.push_str("</");
        let name = open.start + 1..open.name_end;
        let name = self.tree.xml[name].to_owned();
        self.tree.xml.push_str(&name);
        self.tree.xml.push('>');
        if TABLE {
            self.push_row(Kind::Element, open.start, vec![span]);
        }
        if self.open.is_empty() {
            self.trees.push(std::mem::take(&mut self.tree));
        }
        Ok(())
    }

    fn text(&mut self, text: &str, span: Span) -> Result<(), Stop> {
        if self.text_start.is_none() {
            if self.is_after_text {
                self.tree.xml.push_str("<!---->"); // keeps the text nodes separate
            }
            self.text_start = Some(self.tree.xml.len());
        }
        self.is_after_text = true;
        escape(&mut self.tree.xml, text, false);
        if TABLE {
            self.text_spans.push(span);
        }
        Ok(())
    }

    fn text_break(&mut self) -> Result<(), Stop> {
        self.end_text();
        Ok(())
    }
}

fn escape(xml: &mut String, text: &str, is_attribute: bool) {
    let mut rest = text;
    let special = |c: char| {
        matches!(c, '&' | '<' | '>' | '\r') || (is_attribute && matches!(c, '"' | '\t' | '\n'))
    };
    while let Some(at) = rest.find(special) {
        xml.push_str(&rest[..at]);
        xml.push_str(match rest.as_bytes()[at] {
            b'&' => "&amp;",
            b'<' => "&lt;",
            b'>' => "&gt;",
            b'"' => "&quot;",
            b'\t' => "&#9;",
            b'\n' => "&#10;",
            _ => "&#13;",
        });
        rest = &rest[at + 1..];
    }
    xml.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::{Reader, ReaderOptions};

    fn written(document: &str) -> Vec<WrittenTree> {
        let mut writer = TreeWriter::<true>::default();
        let mut reader = Reader::new(ReaderOptions::default());
        let read = reader.read_slice(document.as_bytes(), &mut writer);
        read.expect("a well-formed document");
        writer.finish(&Provenance::default())
    }

    #[test]
    fn the_written_tree_is_equivalent() {
        let document =
            "<a x='1 &lt; &quot;2&quot;'>t&amp;<b xmlns='urn:b' xmlns:p='urn:p' p:y='z'>\
                        <c xmlns=''/></b><![CDATA[<]]>u<!-- -->v</a>";
        let [tree] = &written(document)[..] else {
            panic!("one document is one tree");
        };
        assert_eq!(
            tree.xml,
            "<a x=\"1 &lt; &quot;2&quot;\">t&amp;<b xmlns=\"urn:b\" xmlns:g0=\"urn:p\" \
             g0:y=\"z\"><c xmlns=\"\"></c></b>&lt;u<!---->v</a>"
        );
    }

    #[test]
    fn the_table_has_written_and_original_positions() {
        let [tree] = &written("<a><b k = 'v'/>t</a>")[..] else {
            panic!("one document is one tree");
        };
        let rows = tree.rows.iter().map(|row| {
            let original = (row.spans[0].start, row.spans[0].end);
            (row.kind, &tree.xml[row.start..row.end], original)
        });
        assert_eq!(
            rows.collect::<Vec<_>>(),
            [
                (Kind::Attribute, "k=\"v\"", (6, 13)),
                (Kind::Element, "<b k=\"v\"></b>", (3, 15)),
                (Kind::Text, "t", (15, 16)),
                (Kind::Element, "<a><b k=\"v\"></b>t</a>", (0, 20)),
            ]
        );
    }
}
