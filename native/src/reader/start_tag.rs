//! Start tags: attributes, namespace declarations, defaults.

use crate::events::{Attribute, Handler, StartElement};

use super::attribute_value::{collapse, is_special, ValueNormaliser};
use super::char_classes::is_space;
use super::doctype::AttributeRule;
use super::document_parser::{DocumentParser, Open};
use super::error_codes;
use super::input_window::InputWindow;
use super::name_table::RawId;
use super::parse_error::{refuse, shown, ParseError, ParseResult};

/// An attribute of the tag being read.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawAttribute {
    name: RawId,
    /// Where it stands in the window: `name="value"`, or for a default the whole tag.
    start: usize,
    end: usize,
    value: Value,
}

/// Where a value is.
#[derive(Clone, Copy, Debug)]
enum Value {
    /// In the window, as written.
    Written(usize, usize),
    /// In [`DocumentParser::values`].
    Made(usize, usize),
}

impl DocumentParser {
    /// Reads the start tag at `start..end` of the window.
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
        let raw = self
            .name_table
            .raw(&content[..name_len])
            .map_err(|fail| fail.shifted(start + 1))?;
        if self.stack.len() == self.options.limits.depth {
            let message = format!(
                "elements are nested deeper than {}",
                self.options.limits.depth
            );
            return refuse(error_codes::LIMIT_DEPTH, start, message);
        }
        let mark = self.name_table.mark();
        self.attributes.clear();
        if name_len < content.len() || !self.doctype.rules(&content[..name_len]).is_empty() {
            self.read_attributes(window, start, end, start + 1 + name_len, content_end, raw)?;
        }
        let name = self
            .name_table
            .element_name(raw)
            .map_err(|fail| fail.placed(start + 1))?;
        self.summary.elements += 1;
        let span = window.span_for::<H>(start, end);
        self.pass_on(
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
                .end_element(span, span.after())
                .map_err(|stop| ParseError::stop(stop, start))?;
            self.name_table.leave(mark);
        } else {
            self.stack.push(Open {
                name: raw,
                mark,
                start: span.start,
            });
        }
        Ok(())
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

    /// Gives the tag to the handler, attributes resolved.
    #[inline]
    fn pass_on<H: Handler>(
        &mut self,
        window: &InputWindow<'_>,
        bare: StartElement<'_>,
        start: usize,
        handler: &mut H,
    ) -> ParseResult<()> {
        if self.attributes.is_empty() {
            return handler
                .start_element(&self.name_table, &bare)
                .map_err(|stop| ParseError::stop(stop, start));
        }
        let mut seen = recycled(std::mem::take(&mut self.seen));
        for attribute in &self.attributes {
            if self.name_table.is_declaration(attribute.name) {
                continue;
            }
            let name = self
                .name_table
                .attribute_name(attribute.name)
                .map_err(|fail| fail.placed(attribute.start))?;
            if !self.name_table.is_new_in_tag_expanded(attribute.name, name) {
                let message = format!(
                    "{} is another name of an attribute given before",
                    self.name_table.text(attribute.name)
                );
                return refuse(
                    error_codes::NAMESPACE_ATTRIBUTE_TWICE,
                    attribute.start,
                    message,
                );
            }
            let value = text_of(attribute.value, window.text, &self.values);
            seen.push(Attribute {
                name,
                value,
                span: window.span_for::<H>(attribute.start, attribute.end),
            });
        }
        self.summary.attributes += seen.len() as u64;
        let element = StartElement {
            attributes: &seen,
            ..bare
        };
        let result = handler.start_element(&self.name_table, &element);
        self.seen = recycled(seen);
        result.map_err(|stop| ParseError::stop(stop, start))
    }

    /// Reads the attributes at `from..to`, adds defaults, and puts declarations into effect.
    fn read_attributes(
        &mut self,
        window: &InputWindow<'_>,
        start: usize,
        end: usize,
        from: usize,
        to: usize,
        element: RawId,
    ) -> ParseResult<()> {
        self.values.clear();
        self.name_table.begin_tag();
        self.written_attributes(window, from, to, element)?;
        self.default_attributes(window, start, end, element)?;
        for attribute in &self.attributes {
            if self.name_table.is_declaration(attribute.name) {
                let uri = text_of(attribute.value, window.text, &self.values);
                self.name_table
                    .declare(attribute.name, uri)
                    .map_err(|fail| fail.placed(attribute.start))?;
            }
        }
        Ok(())
    }

    fn written_attributes(
        &mut self,
        window: &InputWindow<'_>,
        from: usize,
        to: usize,
        element: RawId,
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
            let quote = bytes.get(quote_at).copied();
            if bytes.get(equals) != Some(&b'=') || !matches!(quote, Some(b'"' | b'\'')) {
                let message = format!("{} is not followed by = and a value in quotes", shown(name));
                return refuse(error_codes::ATTRIBUTE, begin, message);
            }
            let value_start = quote_at + 1;
            let Some((value_end, is_plain)) = value_end(bytes, value_start, bytes[quote_at]) else {
                return refuse(
                    error_codes::ATTRIBUTE,
                    begin,
                    format!("the value of {} has no end", shown(name)),
                );
            };
            at = value_end + 1;
            let raw = self
                .name_table
                .raw(name)
                .map_err(|fail| fail.shifted(begin))?;
            self.check_new(raw, begin)?;
            let value = self.value(window, value_start, value_end, is_plain, name, element)?;
            self.attributes.push(RawAttribute {
                name: raw,
                start: begin,
                end: at,
                value,
            });
        }
    }

    fn check_new(&mut self, name: RawId, at: usize) -> ParseResult<()> {
        if !self.name_table.is_new_in_tag(name) {
            let message = format!(
                "the attribute {} is given twice",
                self.name_table.text(name)
            );
            return refuse(error_codes::ATTRIBUTE_TWICE, at, message);
        }
        let max = self.options.limits.attributes;
        if self.attributes.len() == max {
            let message = format!("an element has more than {max} attributes");
            return refuse(error_codes::LIMIT_ATTRIBUTES, at, message);
        }
        Ok(())
    }

    #[inline]
    fn value(
        &mut self,
        window: &InputWindow<'_>,
        start: usize,
        end: usize,
        is_plain: bool,
        name: &str,
        element: RawId,
    ) -> ParseResult<Value> {
        let rules = self.doctype.rules(self.name_table.text(element));
        let is_tokens = rules.iter().any(|rule| rule.tokens && *rule.name == *name);
        if is_plain && !is_tokens {
            if end - start > self.options.limits.value_bytes {
                let max = self.options.limits.value_bytes;
                let message = format!("an attribute's value is longer than {max} bytes");
                return refuse(error_codes::LIMIT_VALUE_BYTES, start, message);
            }
            return Ok(Value::Written(start, end));
        }
        let from = self.values.len();
        ValueNormaliser {
            doctype: &mut self.doctype,
            options: &self.options,
            read: window.original(start),
        }
        .append(
            &window.text[start..end],
            window.fold_line_ends,
            &mut self.values,
        )
        .map_err(|fail| fail.shifted(start))?;
        if is_tokens {
            collapse(&mut self.values, from);
        }
        Ok(Value::Made(from, self.values.len()))
    }

    fn default_attributes(
        &mut self,
        window: &InputWindow<'_>,
        start: usize,
        end: usize,
        element: RawId,
    ) -> ParseResult<()> {
        let rules: &[AttributeRule] = self.doctype.rules(self.name_table.text(element));
        for at in 0..rules.len() {
            let rule = &self.doctype.rules(self.name_table.text(element))[at];
            let Some(default) = &rule.default else {
                continue;
            };
            let name = self
                .name_table
                .raw(&rule.name)
                .map_err(|fail| fail.placed(start))?;
            if !self.name_table.is_new_in_tag(name) {
                continue;
            }
            let from = self.values.len();
            self.values.push_str(default);
            let value = Value::Made(from, self.values.len());
            let bytes = default.len();
            self.doctype
                .expansion
                .charge(bytes, window.original(start), &self.options.limits)
                .map_err(|fail| fail.placed(start))?;
            self.attributes.push(RawAttribute {
                name,
                start,
                end,
                value,
            });
        }
        Ok(())
    }
}

fn text_of<'t>(value: Value, window: &'t str, values: &'t str) -> &'t str {
    match value {
        Value::Written(start, end) => &window[start..end],
        Value::Made(start, end) => &values[start..end],
    }
}

#[inline]
fn skip_space(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() && is_space(bytes[at]) {
        at += 1;
    }
    at
}

/// Where the value that begins at `start` ends, and whether it is simply what is written.
#[inline]
fn value_end(bytes: &[u8], start: usize, quote: u8) -> Option<(usize, bool)> {
    let mut is_plain = true;
    for (len, &byte) in bytes[start..].iter().enumerate() {
        if byte == quote {
            return Some((start + len, is_plain));
        }
        is_plain &= !is_special(byte);
    }
    None
}

/// An empty vector of another lifetime in the same allocation.
fn recycled<'b>(mut vector: Vec<Attribute<'_>>) -> Vec<Attribute<'b>> {
    vector.clear();
    vector
        .into_iter()
        .map(|_| unreachable!("it was cleared"))
        .collect()
}
