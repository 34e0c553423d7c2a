//! Path returns as XML that stands alone.
//!
//! `Fragment.to_xml` in Python defines the result; this is the same for the common case, many times
//! faster: an element of a document whose entities need not be expanded.

use std::borrow::Cow;

use crate::events::{NamespaceScope, Span};
use crate::reader::{decode, visit_prefixes};

/// Separates texts between which something was omitted.
const SEPARATOR: &str = "<!---->";

/// Merges spans in document order that touch or overlap. Spans overlap where several nodes come from
/// one entity: each has the span of the reference.
pub(crate) fn merged(spans: &[Span]) -> Vec<Span> {
    let mut result: Vec<Span> = Vec::with_capacity(spans.len());
    for &span in spans {
        match result.last_mut() {
            Some(last) if span.start <= last.end => {
                last.end = last.end.max(span.end);
                last.from_entity |= span.from_entity;
            }
            _ => result.push(span),
        }
    }
    result
}

/// Appends the concatenated parts of a document, with the namespace declarations that the first element
/// inherits and uses. `None` if the parts do not begin with an element.
pub(crate) fn append_standalone_xml(
    xml: &mut String,
    document: &[u8],
    encoding: &str,
    spans: &[Span],
    scope: &NamespaceScope,
) -> Option<()> {
    let start = xml.len();
    for (number, span) in spans.iter().enumerate() {
        let part = document.get(span.start as usize..span.end as usize)?;
        let text = if encoding == "utf-8" {
            Cow::Borrowed(std::str::from_utf8(part).ok()?)
        } else {
            Cow::Owned(decode(part, encoding)?)
        };
        if number > 0 && ends_in_text(&xml[start..]) && begins_with_text(&text) {
            xml.push_str(SEPARATOR);
        }
        xml.push_str(&text);
    }
    if !xml[start..].starts_with('<') {
        return None;
    }
    if !scope.is_empty() {
        let (name_end, declarations) = inherited_declarations(&xml[start..], scope);
        xml.insert_str(start + name_end, &declarations);
    }
    Some(())
}

fn ends_in_text(xml: &str) -> bool {
    let last = xml.chars().next_back();
    last.is_some_and(|c| c != '>' && !c.is_whitespace()) || xml.ends_with("]]>")
}

fn begins_with_text(xml: &str) -> bool {
    let first = xml.chars().next();
    first.is_some_and(|c| c != '<' && !c.is_whitespace()) || xml.starts_with("<![CDATA[")
}

/// The end of the element's name, and the declarations that it inherits and uses.
fn inherited_declarations(element: &str, scope: &NamespaceScope) -> (usize, String) {
    let is_end = |c: char| c.is_ascii_whitespace() || c == '/' || c == '>';
    let name_end = element.find(is_end).unwrap_or(element.len());
    let own = own_declarations(&element[name_end..]);
    let mut used = vec![""];
    if scope.iter().any(|(prefix, _)| !prefix.is_empty()) {
        visit_prefixes(element, &mut |prefix| {
            if !used.contains(&prefix) {
                used.push(prefix);
            }
        });
    }
    let mut declarations = String::new();
    for (prefix, uri) in scope.iter() {
        if used.contains(&&**prefix) && !own.contains(&&**prefix) {
            let colon = if prefix.is_empty() { "" } else { ":" };
            declarations.push_str(" xmlns");
            declarations.push_str(colon);
            declarations.push_str(prefix);
            declarations.push('=');
            push_quoted(&mut declarations, uri);
        }
    }
    (name_end, declarations)
}

/// The prefixes that a start tag declares; `rest` begins after its name.
fn own_declarations(rest: &str) -> Vec<&str> {
    let mut declared = Vec::new();
    let mut rest = rest.trim_start();
    while let Some(equals) = rest.find(['=', '>']) {
        if rest.as_bytes()[equals] == b'>' {
            break;
        }
        let name = rest[..equals].trim();
        if let Some(prefix) = name.strip_prefix("xmlns") {
            if prefix.is_empty() {
                declared.push(prefix);
            } else if let Some(prefix) = prefix.strip_prefix(':') {
                declared.push(prefix);
            }
        }
        let value = rest[equals + 1..].trim_start();
        let Some(quote) = value.chars().next().filter(|&c| c == '"' || c == '\'') else {
            break;
        };
        let Some(end) = value[1..].find(quote) else {
            break;
        };
        rest = value[end + 2..].trim_start();
    }
    declared
}

/// Appends an attribute value in quotes.
fn push_quoted(xml: &mut String, value: &str) {
    let quote = if value.contains('"') && !value.contains('\'') {
        '\''
    } else {
        '"'
    };
    xml.push(quote);
    for c in value.chars() {
        match c {
            '&' => xml.push_str("&amp;"),
            '<' => xml.push_str("&lt;"),
            '>' => xml.push_str("&gt;"),
            '\n' => xml.push_str("&#10;"),
            '\r' => xml.push_str("&#13;"),
            '\t' => xml.push_str("&#9;"),
            '"' if quote == '"' => xml.push_str("&quot;"),
            c => xml.push(c),
        }
    }
    xml.push(quote);
}
