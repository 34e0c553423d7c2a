//! Turns the bytes of a record into a document of its own.
//!
//! `Fragment.to_xml` in Python is the reference; a test compares the two.

use std::borrow::Cow;
use std::sync::Arc;

use hashbrown::HashMap;

use crate::events::{NamespaceScope, Refusal};
use crate::reader::{decode, Limits, Reader, ReaderOptions};

use super::xml_writer::{push_attribute_quoted, XmlWriter};

const PREDEFINED: [&str; 5] = ["amp;", "lt;", "gt;", "quot;", "apos;"];

/// Writes records as standalone documents, with what they need from the enclosing document.
pub(super) struct StandaloneRecordWriter {
    encoding: &'static str,
    /// A document type declaration with the document's internal subset; empty if it has none.
    doctype: String,
    /// Whether the subset may declare attribute defaults, which affect records without references too.
    affects_all: bool,
    reader: Reader,
    writer: XmlWriter,
    text: String,
}

impl StandaloneRecordWriter {
    pub(super) fn new(entities: &HashMap<String, Arc<str>>) -> Self {
        let options = ReaderOptions {
            limits: Limits {
                // The document was within its limits; in a short part of it the ratio may be larger.
                entity_amplification: u64::MAX,
                ..Limits::default()
            },
            entities: entities.clone(),
            ..ReaderOptions::default()
        };
        Self {
            encoding: "utf-8",
            doctype: String::new(),
            affects_all: false,
            reader: Reader::new(options),
            writer: XmlWriter::default(),
            text: String::new(),
        }
    }

    /// Sets the encoding of the document.
    pub(super) fn set_encoding(&mut self, encoding: &'static str) {
        self.encoding = encoding;
    }

    /// Sets the document type declaration, given in the document's encoding.
    pub(super) fn set_doctype(&mut self, declaration: &[u8]) {
        let text = decode(declaration, self.encoding).expect("the reader has validated it");
        let before_end = text
            .strip_suffix('>')
            .map_or("", |text| text.trim_end_matches([' ', '\t', '\n', '\r']));
        if let (Some(start), true) = (text.find('['), before_end.ends_with(']')) {
            let subset = &text[start..];
            // Parameter entities may declare attributes without the word ATTLIST.
            self.affects_all = subset.contains("ATTLIST") || subset.contains('%');
            self.doctype = format!("<!DOCTYPE fragment {subset}");
        }
    }

    /// Appends the record `raw` with the namespaces `scope` to `out` as a standalone document.
    pub(super) fn write(
        &mut self,
        raw: &[u8],
        scope: &NamespaceScope,
        out: &mut Vec<u8>,
    ) -> Result<(), Box<Refusal>> {
        let text: Cow<'_, str> = match self.encoding {
            "utf-8" | "us-ascii" => {
                Cow::Borrowed(simdutf8::basic::from_utf8(raw).expect("the reader has validated it"))
            }
            encoding => Cow::Owned(decode(raw, encoding).expect("the reader has validated it")),
        };
        let needs_doctype = self.affects_all || has_named_reference(&text);
        if scope.is_empty() && !needs_doctype {
            out.extend_from_slice(text.as_bytes());
            return Ok(());
        }
        self.text.clear();
        if needs_doctype {
            self.text.push_str(&self.doctype);
        }
        push_with_namespaces(&text, scope, &mut self.text);
        if needs_doctype {
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

/// Whether there may be a reference to an entity that is not predefined.
fn has_named_reference(text: &str) -> bool {
    memchr::memchr_iter(b'&', text.as_bytes()).any(|at| {
        let body = &text[at + 1..];
        !body.starts_with('#') && !PREDEFINED.iter().any(|known| body.starts_with(known))
    })
}

/// Appends the element with the namespace declarations that it inherits and does not override.
fn push_with_namespaces(element: &str, scope: &NamespaceScope, out: &mut String) {
    let is_space = |c: char| matches!(c, ' ' | '\t' | '\n' | '\r');
    let name_end = element
        .find(|c: char| is_space(c) || c == '/' || c == '>')
        .expect("a start tag has an end");
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

/// The prefixes that a start tag declares; `rest` is the text after its name.
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
        let end = memchr::memchr(quote, &value.as_bytes()[1..]).expect("a value has an end");
        rest = &value[end + 2..];
    }
}
