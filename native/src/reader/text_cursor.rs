//! A cursor for the hand-written parsers: declarations, and markup outside the root element.

use super::char_classes::{is_space, name_len};
use super::error_codes;
use super::name_table::check_qname;
use super::parse_error::{refuse, ParseError, ParseResult};

/// A position in a text that may continue beyond the window.
#[derive(Clone, Debug)]
pub(super) struct TextCursor<'t> {
    pub text: &'t str,
    pub at: usize,
    /// Whether the text ends here.
    pub complete: bool,
    /// What is being parsed, for messages.
    pub what: &'static str,
    pub name_bytes_max: usize,
}

impl<'t> TextCursor<'t> {
    pub(super) fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    /// The next byte; an error at the end of the text.
    pub(super) fn peek(&self) -> ParseResult<u8> {
        self.text
            .as_bytes()
            .get(self.at)
            .copied()
            .ok_or_else(|| self.ended())
    }

    /// The error at the end of the text.
    pub(super) fn ended(&self) -> ParseError {
        ParseError::ended(self.complete, self.text.len(), self.what)
    }

    /// Consumes `literal` if it is next; whether it was.
    pub(super) fn take(&mut self, literal: &str) -> ParseResult<bool> {
        let rest = self.rest();
        if rest.starts_with(literal) {
            self.at += literal.len();
            Ok(true)
        } else if literal.starts_with(rest) && !self.complete {
            Err(ParseError::NeedMore)
        } else {
            Ok(false)
        }
    }

    /// Consumes `literal`, which must be next.
    pub(super) fn expect(&mut self, literal: &str, code: &'static str) -> ParseResult<()> {
        if self.at == self.text.len() {
            return Err(self.ended());
        }
        if self.take(literal)? {
            return Ok(());
        }
        refuse(
            code,
            self.at,
            format!("{literal:?} is missing in {}", self.what),
        )
    }

    /// Consumes white space; whether there was any.
    pub(super) fn skip_space(&mut self) -> bool {
        let bytes = &self.text.as_bytes()[self.at..];
        let length = bytes
            .iter()
            .position(|&b| !is_space(b))
            .unwrap_or(bytes.len());
        self.at += length;
        length > 0
    }

    /// Consumes at least one white-space character.
    pub(super) fn expect_space(&mut self, code: &'static str) -> ParseResult<()> {
        if self.skip_space() {
            return Ok(());
        }
        self.peek()?;
        refuse(
            code,
            self.at,
            format!("white space is missing in {}", self.what),
        )
    }

    /// Consumes one or more name characters.
    pub(super) fn name_token(&mut self) -> ParseResult<&'t str> {
        let rest = self.rest();
        let len = name_len(rest);
        if len == rest.len() {
            if len > self.name_bytes_max {
                check_qname(rest, self.name_bytes_max).map_err(|error| error.shifted(self.at))?;
            }
            return Err(self.ended());
        }
        if len == 0 {
            return refuse(
                error_codes::NAME,
                self.at,
                format!("a name is missing in {}", self.what),
            );
        }
        self.at += len;
        Ok(&rest[..len])
    }

    /// Consumes a qualified name.
    pub(super) fn qualified_name(&mut self) -> ParseResult<&'t str> {
        let start = self.at;
        let name = self.name_token()?;
        check_qname(name, self.name_bytes_max).map_err(|error| error.shifted(start))?;
        Ok(name)
    }

    /// Consumes a name without a colon.
    pub(super) fn ncname(&mut self) -> ParseResult<&'t str> {
        let start = self.at;
        let name = self.qualified_name()?;
        if name.contains(':') {
            return refuse(
                error_codes::NAMESPACE_COLON,
                start,
                format!("{name} must not contain a colon"),
            );
        }
        Ok(name)
    }

    /// Consumes a literal in single or double quotes; returns the text between them.
    pub(super) fn quoted_literal(&mut self, code: &'static str) -> ParseResult<&'t str> {
        let quote = self.peek()?;
        if quote != b'"' && quote != b'\'' {
            return refuse(
                code,
                self.at,
                format!("a quote is missing in {}", self.what),
            );
        }
        let start = self.at + 1;
        match memchr::memchr(quote, &self.text.as_bytes()[start..]) {
            Some(len) => {
                self.at = start + len + 1;
                Ok(&self.text[start..start + len])
            }
            None => Err(self.ended()),
        }
    }
}
