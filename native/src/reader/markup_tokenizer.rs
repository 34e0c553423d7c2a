//! A window's text cut into tokens.
//!
//! Here only where tokens begin and end is found; whether what is in them is right is checked by
//! those who use them. Tags are cut by quick-xml's scanner. Its whole reader is not used: it checks
//! once more that each token is UTF-8 and keeps the names of open elements once more, which
//! together made half the cost of reading.

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
    /// No token ends here.
    Incomplete(Incomplete),
    /// The window ends.
    Ended,
}

/// What begins where no token ends. The window may simply end too early, and long comments, CDATA
/// sections and instructions are read in pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Incomplete {
    Tag,
    Reference,
    Comment,
    CData,
    Instruction,
    /// Too short to tell.
    Prefix,
    /// `<!` and something that content does not have.
    Declaration,
}

pub(super) struct MarkupTokenizer<'w> {
    text: &'w str,
    at: usize,
}

impl<'w> MarkupTokenizer<'w> {
    /// The tokens of `text` from `at` on.
    pub(super) fn new(text: &'w str, at: usize) -> Self {
        Self { text, at }
    }

    /// Where the next token begins.
    #[inline]
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Passes the end tag of `name` if it is next, written without white space.
    #[inline(always)]
    pub(super) fn pass_end_tag(&mut self, name: &str) -> bool {
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

    /// The next token. [`Token::Incomplete`] and [`Token::Ended`] pass nothing.
    // Reading is compiled once for each handler. Left to itself, the compiler makes this and its like one
    // function for all but the smallest handlers, and the others pay a tenth more.
    #[inline(always)]
    pub(super) fn next(&mut self) -> Token<'w> {
        let rest = &self.text.as_bytes()[self.at..];
        match rest.first() {
            None => Token::Ended,
            Some(b'<') => self.markup(rest),
            Some(b'&') => match memchr(b';', rest) {
                Some(end) => Token::Reference(self.pass(1, end, 1)),
                None => Token::Incomplete(Incomplete::Reference),
            },
            Some(_) => {
                Token::Text(self.pass(0, memchr2(b'<', b'&', rest).unwrap_or(rest.len()), 0))
            }
        }
    }

    #[inline(always)]
    fn markup(&mut self, rest: &'w [u8]) -> Token<'w> {
        match rest.get(1) {
            None => Token::Incomplete(Incomplete::Prefix),
            Some(b'/') => match memchr(b'>', rest) {
                Some(end) => Token::End(self.pass(2, end, 1)),
                None => Token::Incomplete(Incomplete::Tag),
            },
            Some(b'?') => match memmem::find(&rest[2..], b"?>") {
                Some(len) => Token::Instruction(self.pass(2, 2 + len, 2)),
                None => Token::Incomplete(Incomplete::Instruction),
            },
            Some(b'!') => self.bang(rest),
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

    fn bang(&mut self, rest: &'w [u8]) -> Token<'w> {
        const COMMENT: &[u8] = b"<!--";
        const CDATA: &[u8] = b"<![CDATA[";
        if let Some(content) = rest.strip_prefix(COMMENT) {
            match memmem::find(content, b"-->") {
                Some(len) => Token::Comment(self.pass(COMMENT.len(), COMMENT.len() + len, 3)),
                None => Token::Incomplete(Incomplete::Comment),
            }
        } else if let Some(content) = rest.strip_prefix(CDATA) {
            match memmem::find(content, b"]]>") {
                Some(len) => Token::CData(self.pass(CDATA.len(), CDATA.len() + len, 3)),
                None => Token::Incomplete(Incomplete::CData),
            }
        } else if COMMENT.starts_with(rest) || CDATA.starts_with(rest) {
            Token::Incomplete(Incomplete::Prefix)
        } else {
            Token::Incomplete(Incomplete::Declaration)
        }
    }

    /// Passes a token that begins with `head` bytes of delimiter, whose content ends at `end`, and
    /// that ends with `tail` bytes of delimiter. Gives the content.
    #[inline(always)]
    fn pass(&mut self, head: usize, end: usize, tail: usize) -> &'w str {
        let content = &self.text[self.at + head..self.at + end];
        self.at += end + tail;
        content
    }
}
