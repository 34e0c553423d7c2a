//! Scans the text of a query and enforces the limits.

use super::lexical_rules::{ncname_end, number_end, space_end};
use super::limits::{MAX_PREDICATES, MAX_STEPS};
use super::query_refusal::{refuse, Parsed};

/// A position in the text of a query, and counters for the limits.
pub(super) struct Scanner<'a> {
    pub text: &'a str,
    pub at: usize,
    pub predicates_open: usize,
    nesting: usize,
    max_nesting: usize,
    steps: usize,
    conditions: usize,
}

impl<'a> Scanner<'a> {
    pub fn new(text: &'a str, max_nesting: usize) -> Self {
        Self {
            text,
            at: 0,
            predicates_open: 0,
            nesting: 0,
            max_nesting,
            steps: 0,
            conditions: 0,
        }
    }

    /// The next byte; 0, which no query contains, at the end.
    #[inline]
    pub fn peek(&self) -> u8 {
        self.text.as_bytes().get(self.at).copied().unwrap_or(0)
    }

    /// Whether `token` is next.
    #[inline]
    pub fn next_is(&self, token: &str) -> bool {
        self.text.as_bytes()[self.at..].starts_with(token.as_bytes())
    }

    /// Consumes white space.
    #[inline]
    pub fn skip(&mut self) {
        self.at = space_end(self.text, self.at);
    }

    /// Consumes `token` if it is next; whether it was.
    #[inline]
    pub fn take(&mut self, token: &str) -> bool {
        let is_next = self.next_is(token);
        if is_next {
            self.at += token.len();
        }
        is_next
    }

    /// Consumes `word`, and white space before it, if it is next and not part of a longer name; whether
    /// it was.
    pub fn take_word(&mut self, word: &str) -> bool {
        self.skip();
        let is_next = self.next_is(word) && ncname_end(self.text, self.at) == self.at + word.len();
        if is_next {
            self.at += word.len();
        }
        is_next
    }

    /// Consumes `token`, and white space before it; refuses anything else.
    pub fn expect(&mut self, token: &str) -> Parsed<()> {
        self.skip();
        if self.take(token) {
            Ok(())
        } else {
            self.unexpected()
        }
    }

    /// Consumes a name without a colon; refuses anything else.
    pub fn ncname(&mut self) -> Parsed<&'a str> {
        let start = self.at;
        self.at = ncname_end(self.text, start);
        if self.at == start {
            return self.unexpected();
        }
        Ok(&self.text[start..self.at])
    }

    /// Whether a name is next.
    pub fn name_ahead(&self) -> bool {
        ncname_end(self.text, self.at) > self.at
    }

    /// Whether a number is next.
    pub fn number_ahead(&self) -> bool {
        matches!(self.peek(), b'0'..=b'9' | b'.') && number_end(self.text, self.at) > self.at
    }

    /// Consumes the number that is next.
    pub fn number(&mut self) -> f64 {
        let end = number_end(self.text, self.at);
        let digits = &self.text[self.at..end];
        self.at = end;
        // Rust parses everything that `number_end` accepts; numbers out of range are infinity, as in XPath.
        digits.parse().expect("a number")
    }

    /// Consumes the string in quotes that is next. If `doubled` is set, a doubled quote stands for one.
    pub fn literal(&mut self, quote: u8, doubled: bool) -> Parsed<Box<str>> {
        let start = self.at;
        self.at += 1;
        if doubled {
            return self.until_single(char::from(quote));
        }
        let rest = &self.text[self.at..];
        let Some(length) = memchr::memchr(quote, rest.as_bytes()) else {
            return refuse("query.syntax", "the string is not closed", start);
        };
        self.at += length + 1;
        Ok(rest[..length].into())
    }

    /// Consumes the text up to and including the next `end` that is not doubled; returns the text before
    /// it, in which a doubled `end` stands for one.
    pub fn until_single(&mut self, end: char) -> Parsed<Box<str>> {
        let start = self.at;
        let mut text = String::new();
        loop {
            let rest = &self.text[self.at..];
            let Some(length) = rest.find(end) else {
                return refuse("query.syntax", "the string is not closed", start);
            };
            text.push_str(&rest[..length]);
            self.at += length + 1;
            if !rest[length + 1..].starts_with(end) {
                return Ok(text.into());
            }
            text.push(end);
            self.at += 1;
        }
    }

    /// The name, with or without a prefix, that is next and followed by `token`. Consumes nothing.
    pub fn name_before(&self, token: &str) -> Option<&'a str> {
        let mut end = ncname_end(self.text, self.at);
        if end == self.at {
            return None;
        }
        if self.text.as_bytes().get(end) == Some(&b':') {
            let local_end = ncname_end(self.text, end + 1);
            end = if local_end > end + 1 { local_end } else { end };
        }
        let after = space_end(self.text, end);
        self.text.as_bytes()[after..]
            .starts_with(token.as_bytes())
            .then(|| &self.text[self.at..end])
    }

    /// Refuses the next character.
    #[cold]
    pub fn unexpected<T>(&self) -> Parsed<T> {
        let message = match self.text[self.at..].chars().next() {
            Some(found) => format!("unexpected `{found}`"),
            None => "unexpected end of the query".into(),
        };
        refuse("query.syntax", message, self.at)
    }

    /// Enters a nesting level, until [`Self::leave`]. Levels are not left after a refusal.
    pub fn enter(&mut self) -> Parsed<()> {
        if self.nesting == self.max_nesting {
            return refuse(
                "query.limit",
                format!("more than {} levels", self.max_nesting),
                self.at,
            );
        }
        self.nesting += 1;
        Ok(())
    }

    /// Leaves a nesting level.
    pub fn leave(&mut self) {
        self.nesting -= 1;
    }

    /// Counts a step that starts at `at`.
    pub fn count_step(&mut self, at: usize) -> Parsed<()> {
        if self.steps == MAX_STEPS {
            return refuse("query.limit", format!("more than {MAX_STEPS} steps"), at);
        }
        self.steps += 1;
        Ok(())
    }

    /// Counts `count` conditions that start at `at`.
    pub fn count_conditions(&mut self, at: usize, count: usize) -> Parsed<()> {
        self.conditions += count;
        if self.conditions > MAX_PREDICATES {
            return refuse(
                "query.limit",
                format!("more than {MAX_PREDICATES} conditions"),
                at,
            );
        }
        Ok(())
    }
}
