//! Reading by hand: the XML declaration, the document type declaration, what stands beside the root.

use super::char_classes::{is_space, name_len};
use super::error_codes;
use super::name_table::qualified;
use super::parse_error::{refuse, ParseError, ParseResult};

/// A place in a text that may go on.
#[derive(Clone, Debug)]
pub(super) struct TextCursor<'t> {
    pub text: &'t str,
    pub at: usize,
    /// Whether nothing follows the text.
    pub complete: bool,
    /// What is being read, for messages.
    pub what: &'static str,
    pub name_bytes_max: usize,
}

impl<'t> TextCursor<'t> {
    pub(super) fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    /// The next byte; the end of the text is a failure.
    pub(super) fn peek(&self) -> ParseResult<u8> {
        self.text
            .as_bytes()
            .get(self.at)
            .copied()
            .ok_or_else(|| self.ended())
    }

    /// The failure to find more text.
    pub(super) fn ended(&self) -> ParseError {
        ParseError::ended(self.complete, self.text.len(), self.what)
    }

    /// Whether `literal` is next; then it is passed.
    pub(super) fn take(&mut self, literal: &str) -> ParseResult<bool> {
        let rest = self.rest();
        if rest.starts_with(literal) {
            self.at += literal.len();
            Ok(true)
        } else if literal.starts_with(rest) && !self.complete {
            Err(ParseError::More)
        } else {
            Ok(false)
        }
    }

    /// Passes `literal`, which must be next.
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

    /// Passes white space; whether there was any.
    pub(super) fn skip_space(&mut self) -> bool {
        let bytes = &self.text.as_bytes()[self.at..];
        let passed = bytes
            .iter()
            .position(|&b| !is_space(b))
            .unwrap_or(bytes.len());
        self.at += passed;
        passed > 0
    }

    /// Passes white space, of which there must be some.
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

    /// Passes name characters, of which there must be some.
    pub(super) fn name_token(&mut self) -> ParseResult<&'t str> {
        let rest = self.rest();
        let len = name_len(rest);
        if len == rest.len() {
            if len > self.name_bytes_max {
                qualified(rest, self.name_bytes_max).map_err(|fail| fail.shifted(self.at))?;
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

    /// Passes a qualified name.
    pub(super) fn qualified_name(&mut self) -> ParseResult<&'t str> {
        let start = self.at;
        let name = self.name_token()?;
        qualified(name, self.name_bytes_max).map_err(|fail| fail.shifted(start))?;
        Ok(name)
    }

    /// Passes a name without a colon.
    pub(super) fn plain_name(&mut self) -> ParseResult<&'t str> {
        let start = self.at;
        let name = self.qualified_name()?;
        if name.contains(':') {
            return refuse(
                error_codes::NAMESPACE_COLON,
                start,
                format!("{name} may not have a colon"),
            );
        }
        Ok(name)
    }

    /// Passes a literal in quotes of either kind, and gives what is between them.
    pub(super) fn quoted(&mut self, code: &'static str) -> ParseResult<&'t str> {
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
