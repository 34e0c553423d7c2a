//! Writes a rewritten document as XML, for those who match it without a mapping.
//!
//! Where it is wanted, a table tells what each node of the written trees stands for.

use super::mapping::Symbol;
use super::provenance::Provenance;
use crate::events::{Attribute, Context, Handler, NameId, Span, StartElement, Stop};
use crate::xpath::ast::Kind;

const XML_URI: &str = "http://www.w3.org/XML/1998/namespace";

/// A node of a written tree, and what it stands for.
#[derive(Clone, Debug, PartialEq)]
pub struct ProvenanceRow {
    /// Element, attribute or text.
    pub kind: Kind,
    /// Its first byte in the tree.
    pub start: usize,
    /// One past its last byte.
    pub end: usize,
    /// Ranges of the original.
    pub spans: Vec<Span>,
    /// What an attribute is called in the original, where it has another name.
    pub name: Option<Symbol>,
}

/// A tree of the global document.
#[derive(Debug, Default, PartialEq)]
pub struct WrittenTree {
    /// As XML in UTF-8.
    pub xml: String,
    /// Empty unless the table was asked for.
    pub rows: Vec<ProvenanceRow>,
}

struct Open {
    /// Where its start tag begins, and the name in it ends.
    start: usize,
    name_end: usize,
    /// How many prefixes were in scope before it.
    prefixes: usize,
    /// Its namespace, which is the default one inside.
    default: Box<str>,
}

/// Writes what it hears; with the table if `TABLE`.
#[derive(Default)]
pub struct TreeWriter<const TABLE: bool> {
    trees: Vec<WrittenTree>,
    tree: WrittenTree,
    open: Vec<Open>,
    /// The namespaces of prefixes in scope: the first is that of `g0`.
    prefixes: Vec<Box<str>>,
    /// Where the open text node begins, and its ranges.
    text: Option<usize>,
    text_spans: Vec<Span>,
    /// Whether nothing but breaks came since the last text.
    is_behind_text: bool,
}

impl<const TABLE: bool> TreeWriter<TABLE> {
    /// The trees; `provenance` is what the rewriter tells of the ranges that it gave.
    pub fn finish(mut self, provenance: &Provenance) -> Vec<WrittenTree> {
        for row in self.trees.iter_mut().flat_map(|tree| &mut tree.rows) {
            row.name = provenance.name(row.spans[0]);
            row.spans = provenance.resolve(&row.spans);
        }
        self.trees
    }

    fn row(&mut self, kind: Kind, start: usize, spans: Vec<Span>) {
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
        if let Some(start) = self.text.take() {
            if TABLE {
                let spans = std::mem::take(&mut self.text_spans);
                self.row(Kind::Text, start, spans);
            }
        }
    }

    fn attribute(&mut self, context: &dyn Context, attribute: &Attribute<'_>) {
        let (uri, local) = context.names().get(attribute.name);
        let prefix = match uri {
            "" => String::new(),
            XML_URI => "xml:".to_owned(),
            _ => format!("g{}:", self.prefix_of(uri)),
        };
        self.tree.xml.push(' ');
        let start = self.tree.xml.len();
        self.tree.xml.push_str(&prefix);
        self.tree.xml.push_str(local);
        self.tree.xml.push_str("=\"");
        escape(&mut self.tree.xml, attribute.value, true);
        self.tree.xml.push('"');
        if TABLE {
            self.row(Kind::Attribute, start, vec![attribute.span]);
        }
    }

    /// The number of a namespace's prefix, declared here if it is new.
    fn prefix_of(&mut self, uri: &str) -> usize {
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

    fn tag_name(&mut self, context: &dyn Context, name: NameId) -> Box<str> {
        let (uri, local) = context.names().get(name);
        if uri == XML_URI {
            self.tree.xml.push_str("xml:");
        }
        self.tree.xml.push_str(local);
        let outer = self.open.last().map_or("", |open| &open.default);
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
        self.is_behind_text = false;
        let prefixes = self.prefixes.len();
        let start = self.tree.xml.len();
        self.tree.xml.push('<');
        let default = self.tag_name(context, element.name);
        let name_end = self.tree.xml.len();
        let outer = self.open.last().map_or("", |open| &open.default);
        if *default != *outer {
            self.tree.xml.push_str(" xmlns=\"");
            escape(&mut self.tree.xml, &default, true);
            self.tree.xml.push('"');
        }
        for attribute in element.attributes {
            self.attribute(context, attribute);
        }
        self.tree.xml.push('>');
        self.open.push(Open {
            start,
            name_end,
            prefixes,
            default,
        });
        Ok(())
    }

    fn end_element(&mut self, span: Span, _end_tag: Span) -> Result<(), Stop> {
        self.end_text();
        self.is_behind_text = false;
        let open = self.open.pop().expect("tags are balanced");
        self.prefixes.truncate(open.prefixes);
        self.tree.xml.push_str("</");
        let name = open.start + 1..open.name_end;
        let name = self.tree.xml[name].to_owned();
        self.tree.xml.push_str(&name);
        self.tree.xml.push('>');
        if TABLE {
            self.row(Kind::Element, open.start, vec![span]);
        }
        if self.open.is_empty() {
            self.trees.push(std::mem::take(&mut self.tree));
        }
        Ok(())
    }

    fn text(&mut self, text: &str, span: Span) -> Result<(), Stop> {
        if self.text.is_none() {
            if self.is_behind_text {
                self.tree.xml.push_str("<!---->"); // keeps apart what was apart
            }
            self.text = Some(self.tree.xml.len());
        }
        self.is_behind_text = true;
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

fn escape(xml: &mut String, text: &str, is_value: bool) {
    let mut rest = text;
    let special = |c: char| {
        matches!(c, '&' | '<' | '>' | '\r') || (is_value && matches!(c, '"' | '\t' | '\n'))
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
        read.expect("it is well-formed");
        writer.finish(&Provenance::default())
    }

    #[test]
    fn what_is_written_says_the_same() {
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
    fn the_table_tells_where_each_node_stands_and_stood() {
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
