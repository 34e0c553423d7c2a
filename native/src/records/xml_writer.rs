//! Writes events as XML, in the same form as `documents/writing.py`.

use std::collections::BTreeSet;

use hashbrown::HashMap;

use crate::events::{Context, Handler, NameId, Names, Span, StartElement, Stop};

const XML_URI: &str = "http://www.w3.org/XML/1998/namespace";

/// The namespaces in scope. Its cost does not depend on how many there are.
#[derive(Default)]
struct PrefixMap {
    /// For each prefix, the URIs that the open elements declare, innermost last.
    uris: HashMap<String, Vec<String>>,
    /// For each URI, the prefixes that are bound to it.
    prefixes: HashMap<String, BTreeSet<String>>,
}

impl PrefixMap {
    fn clear(&mut self) {
        self.uris.clear();
        self.prefixes.clear();
    }

    /// The URI of a prefix; empty if it is not bound.
    fn uri(&self, prefix: &str) -> &str {
        let uris = self.uris.get(prefix);
        uris.and_then(|uris| uris.last()).map_or("", String::as_str)
    }

    fn bind(&mut self, prefix: &str, uri: &str) {
        self.set_bound(prefix, false);
        let uris = self.uris.entry(prefix.to_owned()).or_default();
        uris.push(uri.to_owned());
        self.set_bound(prefix, true);
    }

    fn unbind(&mut self, prefix: &str) {
        self.set_bound(prefix, false);
        let uris = self.uris.get_mut(prefix).expect("bound before");
        uris.pop();
        self.set_bound(prefix, true);
    }

    /// Adds the prefix to those of its URI, or removes it.
    fn set_bound(&mut self, prefix: &str, is_bound: bool) {
        let uri = self.uri(prefix).to_owned();
        let prefixes = self.prefixes.entry(uri).or_default();
        if is_bound {
            prefixes.insert(prefix.to_owned());
        } else {
            prefixes.remove(prefix);
        }
    }

    /// The name with a prefix for its namespace; the document used one, so one is in scope.
    fn qualified(&self, names: &Names, name: NameId, is_attribute: bool) -> String {
        let (uri, local) = names.get(name);
        if uri.is_empty() {
            return local.to_owned();
        }
        if uri == XML_URI {
            return format!("xml:{local}");
        }
        let prefix = self
            .prefixes
            .get(uri)
            .and_then(|prefixes| prefixes.iter().find(|p| !(is_attribute && p.is_empty())))
            .expect("a namespace in scope");
        if prefix.is_empty() {
            local.to_owned()
        } else {
            format!("{prefix}:{local}")
        }
    }
}

/// An open element.
struct OpenElement {
    name: String,
    /// The prefixes that it declares.
    declared: Vec<String>,
}

/// Writes the events of a document as XML.
#[derive(Default)]
pub(super) struct XmlWriter {
    pub text: String,
    open: Vec<OpenElement>,
    scope: PrefixMap,
    /// Whether the last node was a text node.
    is_after_text: bool,
    /// Whether a text break came after it.
    is_broken: bool,
}

impl XmlWriter {
    /// Starts a document.
    pub(super) fn begin(&mut self) {
        self.text.clear();
        self.open.clear();
        self.scope.clear();
        self.end_text();
    }

    fn end_text(&mut self) {
        (self.is_after_text, self.is_broken) = (false, false);
    }

    /// Binds the prefixes that an element declares, except those already bound to the same URI; returns
    /// them in order.
    fn declare(&mut self, context: &dyn Context) -> Vec<String> {
        let mut changed = Vec::new();
        context.namespace_declarations(&mut |prefix, uri| {
            if self.scope.uri(prefix) != uri {
                changed.push((prefix.to_owned(), uri.to_owned()));
            }
        });
        changed.sort_unstable();
        for (prefix, uri) in &changed {
            self.scope.bind(prefix, uri);
        }
        changed.into_iter().map(|(prefix, _)| prefix).collect()
    }

    fn push_declarations(&mut self, declared: &[String]) {
        for prefix in declared {
            let uri = self.scope.uri(prefix);
            self.text.push_str(if prefix.is_empty() {
                " xmlns"
            } else {
                " xmlns:"
            });
            self.text.push_str(prefix);
            self.text.push_str("=\"");
            push_value(uri, &mut self.text);
            self.text.push('"');
        }
    }
}

impl Handler for XmlWriter {
    const SPANS: bool = false;

    fn start_element(
        &mut self,
        context: &dyn Context,
        element: &StartElement<'_>,
    ) -> Result<(), Stop> {
        let declared = self.declare(context);
        let names = context.names();
        let name = self.scope.qualified(names, element.name, false);
        self.text.push('<');
        self.text.push_str(&name);
        self.push_declarations(&declared);
        for attribute in element.attributes {
            self.text.push(' ');
            self.text
                .push_str(&self.scope.qualified(names, attribute.name, true));
            self.text.push_str("=\"");
            push_value(attribute.value, &mut self.text);
            self.text.push('"');
        }
        self.text.push('>');
        self.open.push(OpenElement { name, declared });
        self.end_text();
        Ok(())
    }

    fn end_element(&mut self, _: Span, _: Span) -> Result<(), Stop> {
        let element = self.open.pop().expect("an open element");
        self.text.extend(["</", &element.name, ">"]);
        for prefix in &element.declared {
            self.scope.unbind(prefix);
        }
        self.end_text();
        Ok(())
    }

    fn text(&mut self, text: &str, _: Span) -> Result<(), Stop> {
        if self.is_after_text && self.is_broken {
            self.text.push_str("<!---->"); // keeps the text nodes separate
        }
        push_escaped(text, "&<>\r", &mut self.text);
        (self.is_after_text, self.is_broken) = (true, false);
        Ok(())
    }

    fn text_break(&mut self) -> Result<(), Stop> {
        self.is_broken = true;
        Ok(())
    }
}

/// Writes an attribute value for double quotes.
fn push_value(value: &str, out: &mut String) {
    push_escaped(value, "&<>\"\t\n\r", out);
}

/// Writes a value in the quotes that need the least escaping, as Python's `quoteattr` does.
pub(super) fn push_attribute_quoted(value: &str, out: &mut String) {
    let has_double = value.contains('"');
    let (quote, special) = match (has_double, value.contains('\'')) {
        (true, false) => ('\'', "&<>\t\n\r"),
        (true, true) => ('"', "&<>\"\t\n\r"),
        _ => ('"', "&<>\t\n\r"),
    };
    out.push(quote);
    push_escaped(value, special, out);
    out.push(quote);
}

/// Writes `text` with the characters in `special` as references.
fn push_escaped(text: &str, special: &str, out: &mut String) {
    for character in text.chars() {
        if !special.contains(character) {
            out.push(character);
            continue;
        }
        out.push_str(match character {
            '&' => "&amp;",
            '<' => "&lt;",
            '>' => "&gt;",
            '"' => "&quot;",
            '\t' => "&#9;",
            '\n' => "&#10;",
            '\r' => "&#13;",
            other => unreachable!("{other:?} is never escaped"),
        });
    }
}
