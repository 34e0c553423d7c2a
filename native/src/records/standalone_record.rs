//! Turns the bytes of a record into a document of its own.
//!
//! `Fragment.to_xml` in Python is the reference; a test compares the two.

use std::borrow::Cow;
use std::collections::BTreeSet;

use hashbrown::HashSet;

use crate::events::Refusal;
use crate::reader::{decode, error_codes, Limits, Reader, ReaderOptions};

use super::inherited_scope::InheritedScope;
use super::xml_writer::{push_attribute_quoted, XmlWriter};
use crate::reader::visit_prefixes;

const PREDEFINED: [&str; 5] = ["amp;", "lt;", "gt;", "quot;", "apos;"];

/// Writes records as standalone documents, with what they need from the enclosing document.
pub(super) struct StandaloneRecordWriter {
    encoding: &'static str,
    /// Whether the internal subset may declare attribute defaults, which affect records without
    /// references too.
    affects_all: bool,
    /// The prefixes that the internal subset may use.
    subset_prefixes: BTreeSet<Box<str>>,
    /// Why the internal subset was refused, if it was.
    subset_refusal: Option<Box<Refusal>>,
    /// Has read the document type declaration: its declarations apply to the records.
    reader: Reader,
    writer: XmlWriter,
    text: String,
    /// By how many bytes the records written so far exceed their originals.
    inherited_bytes: u64,
    amplification_max: u64,
}

impl StandaloneRecordWriter {
    pub(super) fn new(options: &ReaderOptions) -> Self {
        let limits = Limits {
            // The document was within its limits; in a short part of it the ratio may be larger, and the
            // namespaces that a record inherits make it longer.
            entity_amplification: u64::MAX,
            document_bytes: u64::MAX,
            doctype_bytes: usize::MAX,
            tag_bytes: usize::MAX,
            ..options.limits.clone()
        };
        Self {
            encoding: "utf-8",
            affects_all: false,
            subset_prefixes: BTreeSet::new(),
            subset_refusal: None,
            reader: Reader::new(ReaderOptions {
                limits,
                ..options.clone()
            }),
            writer: XmlWriter::default(),
            text: String::new(),
            inherited_bytes: 0,
            amplification_max: options.limits.entity_amplification,
        }
    }

    /// Sets the encoding of the document.
    pub(super) fn set_encoding(&mut self, encoding: &'static str) {
        self.encoding = encoding;
    }

    /// Sets the document type declaration, given in the document's encoding.
    pub(super) fn set_doctype(&mut self, declaration: &[u8]) {
        let text = decode(declaration, self.encoding).expect("the reader has validated it");
        let Some(subset) = internal_subset(&text) else {
            return;
        };
        // Parameter entities may declare attributes without the word ATTLIST.
        self.affects_all = subset.contains("ATTLIST") || subset.contains('%');
        visit_prefixes(subset, &mut |prefix| {
            if !self.subset_prefixes.contains(prefix) {
                self.subset_prefixes.insert(prefix.into());
            }
        });
        let document = format!("<!DOCTYPE fragment {subset}<fragment/>");
        self.writer.begin();
        let result = self
            .reader
            .read_slice(document.as_bytes(), &mut self.writer);
        self.subset_refusal = result.err().map(Box::new);
    }

    /// Appends the record `raw` to `out` as a standalone document. It inherits the namespaces `scope`
    /// and ends at offset `end` of the document.
    pub(super) fn write(
        &mut self,
        raw: &[u8],
        scope: &InheritedScope,
        end: u64,
        out: &mut Vec<u8>,
    ) -> Result<(), Box<Refusal>> {
        let before = out.len();
        self.append(raw, scope, end, out)?;
        let added = (out.len() - before).saturating_sub(raw.len()) as u64;
        let result = self.check_inherited(added, end);
        if result.is_err() {
            out.truncate(before);
        } else {
            self.inherited_bytes += added;
        }
        result
    }

    /// Checks that records may inherit `bytes` more, `end` bytes into the document.
    fn check_inherited(&self, bytes: u64, end: u64) -> Result<(), Box<Refusal>> {
        let total = self.inherited_bytes.saturating_add(bytes);
        let counted = total.saturating_sub(Limits::AMPLIFICATION_FREE_BYTES);
        if counted <= end.saturating_mul(self.amplification_max) {
            return Ok(());
        }
        let times = self.amplification_max;
        Err(Box::new(Refusal {
            code: error_codes::LIMIT_ENTITY_AMPLIFICATION,
            message: format!(
                "the records inherit more than {times} times the size of the document so far"
            ),
            offset: end,
            line: 1,
            column: 1,
            path: String::new(),
        }))
    }

    fn append(
        &mut self,
        raw: &[u8],
        scope: &InheritedScope,
        end: u64,
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
        if let (true, Some(refusal)) = (needs_doctype, &self.subset_refusal) {
            return Err(refusal.clone());
        }
        let mut used = BTreeSet::from([""]);
        visit_prefixes(&text, &mut |prefix| {
            used.insert(prefix);
        });
        if needs_doctype {
            used.extend(self.subset_prefixes.iter().map(|prefix| &**prefix));
        }
        let name_end = name_end(&text);
        for own in own_declarations(&text[name_end..]) {
            used.remove(own);
        }
        let inherited = used
            .into_iter()
            .filter_map(|prefix| Some((prefix, scope.uri(prefix)?)));
        let inherited: Vec<(&str, &str)> = inherited.collect();
        // Checked before anything is written: a record may be much shorter than what it inherits.
        let bytes = inherited
            .iter()
            .map(|(prefix, uri)| prefix.len() + uri.len());
        self.check_inherited(bytes.sum::<usize>() as u64, end)?;
        self.text.clear();
        self.text.push_str(&text[..name_end]);
        for (prefix, uri) in inherited {
            push_declaration(prefix, uri, &mut self.text);
        }
        self.text.push_str(&text[name_end..]);
        if needs_doctype {
            self.writer.begin();
            self.reader
                .read_part(self.text.as_bytes(), &mut self.writer)
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

/// The internal subset in a document type declaration, from its bracket to the end of the declaration.
fn internal_subset(declaration: &str) -> Option<&str> {
    let mut open_quote = None;
    let start = declaration.find(|c| {
        match (open_quote, c) {
            (None, '"' | '\'') => open_quote = Some(c),
            (Some(quote), _) if quote == c => open_quote = None,
            (None, '[') => return true,
            _ => {}
        }
        false
    })?;
    Some(&declaration[start..])
}

/// The end of the name in the start tag that `element` begins with.
fn name_end(element: &str) -> usize {
    element
        .find([' ', '\t', '\n', '\r', '/', '>'])
        .expect("a start tag has an end")
}

/// Appends a namespace declaration.
fn push_declaration(prefix: &str, uri: &str, out: &mut String) {
    out.push_str(if prefix.is_empty() {
        " xmlns"
    } else {
        " xmlns:"
    });
    out.push_str(prefix);
    out.push('=');
    push_attribute_quoted(uri, out);
}

/// The prefixes that a start tag declares; `rest` is the text after its name.
fn own_declarations(rest: &str) -> HashSet<&str> {
    let mut own = HashSet::new();
    let mut rest = rest;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\n', '\r']);
        if rest.starts_with(['>', '/']) {
            return own;
        }
        let (name, after) = rest.split_once('=').expect("an attribute has a value");
        let name = name.trim_end_matches([' ', '\t', '\n', '\r']);
        match name.strip_prefix("xmlns") {
            Some("") => drop(own.insert("")),
            Some(prefix) => own.extend(prefix.strip_prefix(':')),
            None => {}
        }
        let value = after.trim_start_matches([' ', '\t', '\n', '\r']);
        let quote = value.as_bytes()[0];
        let end = memchr::memchr(quote, &value.as_bytes()[1..]).expect("a value has an end");
        rest = &value[end + 2..];
    }
}
