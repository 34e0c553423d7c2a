//! Start tags: attributes, namespace declarations and attribute defaults.

use crate::events::{Attribute, Handler, StartElement};

use super::attribute_value::{collapse, is_special, ValueNormaliser};
use super::char_classes::is_space;
use super::document_parser::{DocumentParser, OpenElement};
use super::error_codes;
use super::input_window::InputWindow;
use super::name_table::QNameId;
use super::parse_error::{quote, refuse, ParseError, ParseResult};

/// An attribute of the current tag.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawAttribute {
    name: QNameId,
    /// Its position in the window: `name="value"`, or the complete tag for a default.
    start: usize,
    end: usize,
    value: Value,
}

/// The location of an attribute value.
#[derive(Clone, Copy, Debug)]
enum Value {
    /// In the window.
    Source(usize, usize),
    /// In [`DocumentParser::values`], because it is not literally in the source text.
    Expanded(usize, usize),
}

impl DocumentParser {
    /// Parses the start tag at `start..end` of the window.
    #[inline]
    pub(super) fn start_tag<H: Handler>(
        &mut self,
        window: &InputWindow<'_>,
        start: usize,
        end: usize,
        is_empty: bool,
        handler: &mut H,
    ) -> ParseResult<()> {
        let content_end = end - if is_empty { 2 } else { 1 };
        let content = &window.text[start + 1..content_end];
        self.check_tag_len(end - start, start)?;
        let name_len = content.bytes().position(is_space).unwrap_or(content.len());
        let qname = self
            .name_table
            .intern(&content[..name_len])
            .map_err(|error| error.shifted(start + 1))?;
        if self.open.len() == self.options.limits.depth {
            let message = format!(
                "elements are nested deeper than {}",
                self.options.limits.depth
            );
            return refuse(error_codes::LIMIT_DEPTH, start, message);
        }
        let mark = self.name_table.enter();
        self.attributes.clear();
        if name_len < content.len() || self.has_defaults(&content[..name_len]) {
            self.attributes(window, start, end, start + 1 + name_len, content_end, qname)?;
        }
        let name = self
            .name_table
            .element_name(qname)
            .map_err(|error| error.at(start + 1))?;
        self.summary.elements += 1;
        if H::LEXICAL {
            self.send_prefixes(qname, handler);
        }
        let span = window.span_for::<H>(start, end);
        self.send_start(
            window,
            StartElement {
                name,
                attributes: &[],
                span,
            },
            start,
            handler,
        )?;
        if is_empty {
            handler
                .end_element(window.element_span_for::<H>(span.start, end), span.after())
                .map_err(|stop| ParseError::stop(stop, start))?;
            self.name_table.leave(mark);
        } else {
            self.open.push(OpenElement {
                name: qname,
                mark,
                start: span.start,
            });
        }
        Ok(())
    }

    /// Sends the prefixes of the tag and of its attributes to the handler.
    fn send_prefixes<H: Handler>(&self, element: QNameId, handler: &mut H) {
        handler.prefix(self.name_table.prefix_of(element));
        for attribute in &self.attributes {
            if !self.name_table.is_declaration(attribute.name) {
                handler.prefix(self.name_table.prefix_of(attribute.name));
            }
        }
    }

    #[inline]
    pub(super) fn check_tag_len(&self, len: usize, at: usize) -> ParseResult<()> {
        let max = self.options.limits.tag_bytes;
        if len > max {
            return refuse(
                error_codes::LIMIT_TAG_BYTES,
                at,
                format!("a tag is longer than {max} bytes"),
            );
        }
        Ok(())
    }

    /// Sends the tag with its resolved attributes to the handler.
    #[inline]
    fn send_start<H: Handler>(
        &mut self,
        window: &InputWindow<'_>,
        without_attributes: StartElement<'_>,
        start: usize,
        handler: &mut H,
    ) -> ParseResult<()> {
        if self.attributes.is_empty() {
            return handler
                .start_element(&self.name_table, &without_attributes)
                .map_err(|stop| ParseError::stop(stop, start));
        }
        let mut resolved = recycled(std::mem::take(&mut self.event_attributes));
        for attribute in &self.attributes {
            if self.name_table.is_declaration(attribute.name) {
                continue;
            }
            let name = self
                .name_table
                .attribute_name(attribute.name)
                .map_err(|error| error.at(attribute.start))?;
            if !self.name_table.is_new_in_tag_expanded(attribute.name, name) {
                let message = format!(
                    "{} has the same expanded name as another attribute",
                    self.name_table.text(attribute.name)
                );
                return refuse(
                    error_codes::NAMESPACE_ATTRIBUTE_TWICE,
                    attribute.start,
                    message,
                );
            }
            let value = text_of(attribute.value, window.text, &self.values);
            resolved.push(Attribute {
                name,
                value,
                span: window.span_for::<H>(attribute.start, attribute.end),
            });
        }
        self.summary.attributes += resolved.len() as u64;
        let element = StartElement {
            attributes: &resolved,
            ..without_attributes
        };
        let result = handler.start_element(&self.name_table, &element);
        self.event_attributes = recycled(resolved);
        result.map_err(|stop| ParseError::stop(stop, start))
    }

    /// Parses the attributes at `from..to`, adds defaults and applies namespace declarations.
    fn attributes(
        &mut self,
        window: &InputWindow<'_>,
        start: usize,
        end: usize,
        from: usize,
        to: usize,
        element: QNameId,
    ) -> ParseResult<()> {
        self.values.clear();
        self.name_table.begin_tag();
        self.parse_attributes(window, from, to, element)?;
        self.add_defaults(window, start, end, element)?;
        for attribute in &self.attributes {
            if self.name_table.is_declaration(attribute.name) {
                let uri = text_of(attribute.value, window.text, &self.values);
                self.name_table
                    .declare(attribute.name, uri)
                    .map_err(|error| error.at(attribute.start))?;
            }
        }
        Ok(())
    }

    fn parse_attributes(
        &mut self,
        window: &InputWindow<'_>,
        from: usize,
        to: usize,
        element: QNameId,
    ) -> ParseResult<()> {
        let bytes = &window.text.as_bytes()[..to];
        let mut at = from;
        loop {
            let begin = skip_space(bytes, at);
            if begin == to {
                return Ok(());
            }
            if begin == at {
                return refuse(
                    error_codes::ATTRIBUTE,
                    at,
                    "white space is missing before an attribute",
                );
            }
            let name_end = begin
                + bytes[begin..]
                    .iter()
                    .position(|&b| b == b'=' || is_space(b))
                    .unwrap_or(to - begin);
            let name = &window.text[begin..name_end];
            let equals = skip_space(bytes, name_end);
            let quote_at = skip_space(bytes, (equals + 1).min(to));
            let quote_mark = bytes.get(quote_at).copied();
            if bytes.get(equals) != Some(&b'=') || !matches!(quote_mark, Some(b'"' | b'\'')) {
                let message = format!("{} is not followed by = and a value in quotes", quote(name));
                return refuse(error_codes::ATTRIBUTE, begin, message);
            }
            let value_start = quote_at + 1;
            let Some((value_end, is_literal)) = value_end(bytes, value_start, bytes[quote_at])
            else {
                return refuse(
                    error_codes::ATTRIBUTE,
                    begin,
                    format!("the value of {} is not terminated", quote(name)),
                );
            };
            at = value_end + 1;
            let qname = self
                .name_table
                .intern(name)
                .map_err(|error| error.shifted(begin))?;
            self.check_new(qname, begin)?;
            let value = self.value(window, value_start, value_end, is_literal, name, element)?;
            self.attributes.push(RawAttribute {
                name: qname,
                start: begin,
                end: at,
                value,
            });
        }
    }

    fn check_new(&mut self, name: QNameId, at: usize) -> ParseResult<()> {
        if !self.name_table.is_new_in_tag(name) {
            let message = format!("the attribute {} occurs twice", self.name_table.text(name));
            return refuse(error_codes::ATTRIBUTE_TWICE, at, message);
        }
        self.check_attribute_count(at)
    }

    /// Checks that the tag may have one more attribute.
    #[inline]
    fn check_attribute_count(&self, at: usize) -> ParseResult<()> {
        let max = self.options.limits.attributes;
        if self.attributes.len() == max {
            let message = format!("an element has more than {max} attributes");
            return refuse(error_codes::LIMIT_ATTRIBUTES, at, message);
        }
        Ok(())
    }

    #[inline]
    fn has_defaults(&self, element: &str) -> bool {
        let rules = self.doctype.rules(element);
        rules.is_some_and(|rules| !rules.defaults().is_empty())
    }

    #[inline]
    fn value(
        &mut self,
        window: &InputWindow<'_>,
        start: usize,
        end: usize,
        is_literal: bool,
        name: &str,
        element: QNameId,
    ) -> ParseResult<Value> {
        let rules = self.doctype.rules(self.name_table.text(element));
        let is_tokenized = rules.is_some_and(|rules| rules.is_tokenized(name));
        if is_literal && !is_tokenized {
            if end - start > self.options.limits.value_bytes {
                let max = self.options.limits.value_bytes;
                let message = format!("an attribute value is longer than {max} bytes");
                return refuse(error_codes::LIMIT_VALUE_BYTES, start, message);
            }
            return Ok(Value::Source(start, end));
        }
        let from = self.values.len();
        ValueNormaliser {
            doctype: &mut self.doctype,
            options: &self.options,
            document_offset: window.original(start),
        }
        .append(
            &window.text[start..end],
            window.has_carriage_returns,
            &mut self.values,
        )
        .map_err(|error| error.shifted(start))?;
        if is_tokenized {
            collapse(&mut self.values, from);
        }
        Ok(Value::Expanded(from, self.values.len()))
    }

    fn add_defaults(
        &mut self,
        window: &InputWindow<'_>,
        start: usize,
        end: usize,
        element: QNameId,
    ) -> ParseResult<()> {
        let Some(rules) = self.doctype.rules(self.name_table.text(element)) else {
            return Ok(());
        };
        let mut bytes = 0;
        for default in rules.defaults() {
            let name = self
                .name_table
                .intern(&default.name)
                .map_err(|error| error.at(start))?;
            if !self.name_table.is_new_in_tag(name) {
                continue;
            }
            self.check_attribute_count(start)?;
            bytes += default.written_bytes();
            let from = self.values.len();
            self.values.push_str(&default.value);
            let value = Value::Expanded(from, self.values.len());
            self.attributes.push(RawAttribute {
                name,
                start,
                end,
                value,
            });
        }
        self.doctype
            .expansion
            .charge(bytes, window.original(start), &self.options.limits)
            .map_err(|error| error.at(start))
    }
}

fn text_of<'t>(value: Value, window: &'t str, values: &'t str) -> &'t str {
    match value {
        Value::Source(start, end) => &window[start..end],
        Value::Expanded(start, end) => &values[start..end],
    }
}

#[inline]
fn skip_space(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() && is_space(bytes[at]) {
        at += 1;
    }
    at
}

/// The end of the value that starts at `start`, and whether the value is literally the source text.
#[inline]
fn value_end(bytes: &[u8], start: usize, quote: u8) -> Option<(usize, bool)> {
    let mut is_literal = true;
    for (len, &byte) in bytes[start..].iter().enumerate() {
        if byte == quote {
            return Some((start + len, is_literal));
        }
        is_literal &= !is_special(byte);
    }
    None
}

/// An empty vector with another lifetime that reuses the allocation.
fn recycled<'b>(mut vector: Vec<Attribute<'_>>) -> Vec<Attribute<'b>> {
    vector.clear();
    vector
        .into_iter()
        .map(|_| unreachable!("the vector is empty"))
        .collect()
}
