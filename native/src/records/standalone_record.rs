//! From a record's bytes to a document that stands alone.
//!
//! What `Fragment.to_xml` in Python says by definition, and a test compares the two.

use std::borrow::Cow;
use std::sync::Arc;

use hashbrown::HashMap;

use crate::events::{NamespaceScope, Refusal};
use crate::reader::{decode, Limits, Reader, ReaderOptions};

use super::xml_writer::{push_attribute_quoted, XmlWriter};

const PREDEFINED: [&str; 5] = ["amp;", "lt;", "gt;", "quot;", "apos;"];

/// What the document around lends to its records.
pub(super) struct StandaloneRecordWriter {
    encoding: &'static str,
    /// A document type declaration with the document's own internal subset; empty without one.
    doctype: String,
    /// Whether the subset may say something of elements that refer to nothing: attribute defaults.
    lends_to_all: bool,
    reader: Reader,
    writer: XmlWriter,
    text: String,
}

impl StandaloneRecordWriter {
    pub(super) fn new(entities: &HashMap<String, Arc<str>>) -> Self {
        let options = ReaderOptions {
            limits: Limits {
                // The whole document was within its limits; a short piece only looks worse.
                entity_amplification: u64::MAX,
                ..Limits::default()
            },
            entities: entities.clone(),
            ..ReaderOptions::default()
        };
        Self {
            encoding: "utf-8",
            doctype: String::new(),
            lends_to_all: false,
            reader: Reader::new(options),
            writer: XmlWriter::default(),
            text: String::new(),
        }
    }

    /// The document's encoding.
    pub(super) fn set_encoding(&mut self, encoding: &'static str) {
        self.encoding = encoding;
    }

    /// The document type declaration, as written in the document.
    pub(super) fn set_doctype(&mut self, declaration: &[u8]) {
        let text = decode(declaration, self.encoding).expect("what was read is text");
        let before_end = text
            .strip_suffix('>')
            .map_or("", |text| text.trim_end_matches([' ', '\t', '\n', '\r']));
        if let (Some(start), true) = (text.find('['), before_end.ends_with(']')) {
            let subset = &text[start..];
            // Parameter entities may declare attributes without saying so in plain words.
            self.lends_to_all = subset.contains("ATTLIST") || subset.contains('%');
            self.doctype = format!("<!DOCTYPE fragment {subset}");
        }
    }

    /// Writes to `out` the document that the record `raw`, with the namespaces `scope`, is.
    pub(super) fn lend(
        &mut self,
        raw: &[u8],
        scope: &NamespaceScope,
        out: &mut Vec<u8>,
    ) -> Result<(), Box<Refusal>> {
        let text: Cow<'_, str> = match self.encoding {
            "utf-8" | "us-ascii" => {
                Cow::Borrowed(simdutf8::basic::from_utf8(raw).expect("what was read is UTF-8"))
            }
            encoding => Cow::Owned(decode(raw, encoding).expect("what was read is text")),
        };
        let refers = self.lends_to_all || has_named_reference(&text);
        if scope.is_empty() && !refers {
            out.extend_from_slice(text.as_bytes());
            return Ok(());
        }
        self.text.clear();
        if refers {
            self.text.push_str(&self.doctype);
        }
        push_declared(&text, scope, &mut self.text);
        if refers {
            self.writer.begin();
            self.reader
                .read_slice(self.text.as_bytes(), &mut self.writer)
                .map_err(Box::new)?;
            out.extend_from_slice(self.writer.text.as_bytes());
        } else {
            out.extend_from_slice(self.text.as_bytes());
        }
        Ok(())
    }
}

/// Whether there may be a reference to an entity that XML does not know by itself.
fn has_named_reference(text: &str) -> bool {
    memchr::memchr_iter(b'&', text.as_bytes()).any(|at| {
        let body = &text[at + 1..];
        !body.starts_with('#') && !PREDEFINED.iter().any(|known| body.starts_with(known))
    })
}

/// Writes the element with the declarations that it inherits and does not make itself.
fn push_declared(element: &str, scope: &NamespaceScope, out: &mut String) {
    let is_space = |c: char| matches!(c, ' ' | '\t' | '\n' | '\r');
    let name_end = element
        .find(|c: char| is_space(c) || c == '/' || c == '>')
        .expect("a start tag ends");
    let own = own_declarations(&element[name_end..]);
    out.push_str(&element[..name_end]);
    for (prefix, uri) in scope.iter().filter(|(prefix, _)| !own.contains(&&**prefix)) {
        out.push_str(if prefix.is_empty() {
            " xmlns"
        } else {
            " xmlns:"
        });
        out.push_str(prefix);
        out.push('=');
        push_attribute_quoted(uri, out);
    }
    out.push_str(&element[name_end..]);
}

/// The prefixes that a start tag declares; `rest` is what follows its name.
fn own_declarations(rest: &str) -> Vec<&str> {
    let mut own = Vec::new();
    let mut rest = rest;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\n', '\r']);
        if rest.starts_with(['>', '/']) {
            return own;
        }
        let (name, after) = rest.split_once('=').expect("an attribute has a value");
        let name = name.trim_end_matches([' ', '\t', '\n', '\r']);
        match name.strip_prefix("xmlns") {
            Some("") => own.push(""),
            Some(prefix) => own.extend(prefix.strip_prefix(':')),
            None => {}
        }
        let value = after.trim_start_matches([' ', '\t', '\n', '\r']);
        let quote = value.as_bytes()[0];
        let end = memchr::memchr(quote, &value.as_bytes()[1..]).expect("a value ends");
        rest = &value[end + 2..];
    }
}
