//! Writes events as XML, in the same form as `documents/writing.py`.

use std::collections::BTreeMap;

use crate::events::{Context, Handler, NameId, Names, Span, StartElement, Stop};

const XML_URI: &str = "http://www.w3.org/XML/1998/namespace";

type PrefixMap = BTreeMap<String, String>;

/// Writes the events of a document as XML.
#[derive(Default)]
pub(super) struct XmlWriter {
    pub text: String,
    names: Vec<String>,
    scopes: Vec<PrefixMap>,
    /// Whether the last node was a text node.
    is_after_text: bool,
    /// Whether a text break came after it.
    is_broken: bool,
}

impl XmlWriter {
    /// Starts a document.
    pub(super) fn begin(&mut self) {
        self.text.clear();
        self.names.clear();
        self.scopes.clear();
        self.scopes.push(PrefixMap::new());
        self.end_text();
    }

    fn end_text(&mut self) {
        (self.is_after_text, self.is_broken) = (false, false);
    }

    /// Writes the declarations of `scope` that differ from the enclosing scope.
    fn push_declarations(&mut self, scope: &PrefixMap) {
        let outer = self.scopes.last().expect("a document was started");
        let undeclared = outer.contains_key("") && !scope.contains_key("");
        let changed = scope
            .iter()
            .filter(|(prefix, uri)| outer.get(*prefix) != Some(uri))
            .map(|(prefix, uri)| (prefix.as_str(), uri.as_str()));
        for (prefix, uri) in undeclared.then_some(("", "")).into_iter().chain(changed) {
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
        let mut scope = PrefixMap::new();
        context.namespaces_in_scope(&mut |prefix, uri| {
            scope.insert(prefix.to_owned(), uri.to_owned());
        });
        let names = context.names();
        let name = qualified(names, element.name, &scope, false);
        self.text.push('<');
        self.text.push_str(&name);
        self.push_declarations(&scope);
        for attribute in element.attributes {
            self.text.push(' ');
            self.text
                .push_str(&qualified(names, attribute.name, &scope, true));
            self.text.push_str("=\"");
            push_value(attribute.value, &mut self.text);
            self.text.push('"');
        }
        self.text.push('>');
        self.names.push(name);
        self.scopes.push(scope);
        self.end_text();
        Ok(())
    }

    fn end_element(&mut self, _: Span, _: Span) -> Result<(), Stop> {
        let name = self.names.pop().expect("an open element");
        self.text.extend(["</", &name, ">"]);
        self.scopes.pop();
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

/// The name with a prefix for its namespace; the document used one, so one is in scope.
fn qualified(names: &Names, name: NameId, scope: &PrefixMap, is_attribute: bool) -> String {
    let (uri, local) = names.get(name);
    if uri.is_empty() {
        return local.to_owned();
    }
    if uri == XML_URI {
        return format!("xml:{local}");
    }
    let prefix = scope
        .iter()
        .find(|(prefix, bound)| *bound == uri && !(is_attribute && prefix.is_empty()))
        .map(|(prefix, _)| prefix.as_str())
        .expect("a namespace in scope");
    if prefix.is_empty() {
        local.to_owned()
    } else {
        format!("{prefix}:{local}")
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
