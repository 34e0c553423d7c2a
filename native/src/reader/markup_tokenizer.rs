//! Splits the text of a window into markup tokens.
//!
//! The tokenizer only finds where tokens start and end; its callers check their contents. quick-xml's
//! scanner finds the ends of tags. Its reader is not used: it validates the UTF-8 of each token again
//! and stores the names of open elements again, which together were half of the cost of reading.

use memchr::{memchr, memchr2, memmem};
use quick_xml::parser::{ElementParser, Parser};

/// One token, without its delimiters.
#[derive(Debug)]
pub(super) enum Token<'w> {
    Text(&'w str),
    /// `&name;`
    Reference(&'w str),
    Start,
    Empty,
    End(&'w str),
    Comment(&'w str),
    CData(&'w str),
    Instruction(&'w str),
    /// The window ends inside this token.
    Incomplete(Incomplete),
    /// The end of the window.
    Ended,
}

/// The start of a token that does not end in the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Incomplete {
    Tag,
    Reference,
    Comment,
    CData,
    Instruction,
    /// Too short to identify.
    Prefix,
    /// `<!` followed by something that is not allowed in content.
    Declaration,
}

/// Iterates over the tokens of a window.
pub(super) struct MarkupTokenizer<'w> {
    text: &'w str,
    at: usize,
}

impl<'w> MarkupTokenizer<'w> {
    /// The tokens of `text` from `at` on.
    pub(super) fn new(text: &'w str, at: usize) -> Self {
        Self { text, at }
    }

    /// Offset of the next token.
    #[inline]
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Consumes the end tag of `name` if it is next and has no white space.
    #[inline(always)]
    pub(super) fn consume_end_tag(&mut self, name: &str) -> bool {
        let rest = &self.text.as_bytes()[self.at..];
        let end = name.len() + 2;
        let found = rest.starts_with(b"</")
            && rest.get(2..end) == Some(name.as_bytes())
            && rest.get(end) == Some(&b'>');
        if found {
            self.at += end + 1;
        }
        found
    }

    /// The next token. [`Token::Incomplete`] and [`Token::Ended`] consume nothing.
    // The reader is instantiated for each handler. Without `inline(always)` the compiler shares this and
    // similar functions between all but the smallest handlers, which costs a tenth more instructions.
    #[inline(always)]
    pub(super) fn next(&mut self) -> Token<'w> {
        let rest = &self.text.as_bytes()[self.at..];
        match rest.first() {
            None => Token::Ended,
            Some(b'<') => self.markup(rest),
            Some(b'&') => match memchr(b';', rest) {
                Some(end) => Token::Reference(self.consume(1, end, 1)),
                None => Token::Incomplete(Incomplete::Reference),
            },
            Some(_) => {
                Token::Text(self.consume(0, memchr2(b'<', b'&', rest).unwrap_or(rest.len()), 0))
            }
        }
    }

    #[inline(always)]
    fn markup(&mut self, rest: &'w [u8]) -> Token<'w> {
        match rest.get(1) {
            None => Token::Incomplete(Incomplete::Prefix),
            Some(b'/') => match memchr(b'>', rest) {
                Some(end) => Token::End(self.consume(2, end, 1)),
                None => Token::Incomplete(Incomplete::Tag),
            },
            Some(b'?') => match memmem::find(&rest[2..], b"?>") {
                Some(len) => Token::Instruction(self.consume(2, 2 + len, 2)),
                None => Token::Incomplete(Incomplete::Instruction),
            },
            Some(b'!') => self.declaration_or_comment(rest),
            Some(_) => match ElementParser::Outside.feed(rest) {
                Some(close) => {
                    self.at += close + 1;
                    if rest[close - 1] == b'/' {
                        Token::Empty
                    } else {
                        Token::Start
                    }
                }
                None => Token::Incomplete(Incomplete::Tag),
            },
        }
    }

    fn declaration_or_comment(&mut self, rest: &'w [u8]) -> Token<'w> {
        const COMMENT: &[u8] = b"<!--";
        const CDATA: &[u8] = b"<![CDATA[";
        if let Some(content) = rest.strip_prefix(COMMENT) {
            match memmem::find(content, b"-->") {
                Some(len) => Token::Comment(self.consume(COMMENT.len(), COMMENT.len() + len, 3)),
                None => Token::Incomplete(Incomplete::Comment),
            }
        } else if let Some(content) = rest.strip_prefix(CDATA) {
            match memmem::find(content, b"]]>") {
                Some(len) => Token::CData(self.consume(CDATA.len(), CDATA.len() + len, 3)),
                None => Token::Incomplete(Incomplete::CData),
            }
        } else if COMMENT.starts_with(rest) || CDATA.starts_with(rest) {
            Token::Incomplete(Incomplete::Prefix)
        } else {
            Token::Incomplete(Incomplete::Declaration)
        }
    }

    /// Consumes a token with `head` bytes of delimiter before its content, which ends at `end`, and
    /// `tail` bytes of delimiter after it; returns the content.
    #[inline(always)]
    fn consume(&mut self, head: usize, end: usize, tail: usize) -> &'w str {
        let content = &self.text[self.at + head..self.at + end];
        self.at += end + tail;
        content
    }
}
