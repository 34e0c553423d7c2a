//! A window's text cut into tokens by quick-xml.
//!
//! quick-xml finds where tokens begin and end; whether what is in them is right is checked by those
//! who use them. Where it finds no end, [`Cut`] says what began there: the window may simply end
//! too early, and long comments, CDATA sections and instructions are read in pieces.

use quick_xml::events::Event;
use quick_xml::reader::Reader as Tokeniser;

/// U+FEFF, which quick-xml would drop at the start of what it is given.
const MARK: &str = "\u{FEFF}";

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
    Cut(Cut),
    /// The window ends.
    Ended,
}

/// What begins where no token ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
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

pub(super) struct Tokens<'w> {
    text: &'w str,
    tokeniser: Tokeniser<&'w [u8]>,
    /// Where quick-xml's part of the text begins.
    base: usize,
    marked: bool,
}

impl<'w> Tokens<'w> {
    /// The tokens of `text` from `at` on.
    pub(super) fn new(text: &'w str, at: usize) -> Self {
        let marked = text[at..].starts_with(MARK);
        let base = if marked { at + MARK.len() } else { at };
        let mut tokeniser = Tokeniser::from_reader(&text.as_bytes()[base..]);
        let config = tokeniser.config_mut();
        config.check_end_names = false;
        config.allow_unmatched_ends = true;
        config.trim_markup_names_in_closing_tags = false;
        Self {
            text,
            tokeniser,
            base,
            marked,
        }
    }

    /// Where the next token begins; after [`Token::Cut`], anywhere.
    #[inline]
    pub(super) fn at(&self) -> usize {
        if self.marked {
            self.base - MARK.len()
        } else {
            self.base + self.tokeniser.buffer_position() as usize
        }
    }

    /// The next token. After [`Token::Cut`] and [`Token::Ended`] there is none.
    #[inline]
    pub(super) fn next(&mut self) -> Token<'w> {
        let start = self.at();
        if self.marked {
            self.marked = false;
            return Token::Text(MARK);
        }
        let event = self.tokeniser.read_event();
        let whole = |head: usize, tail: usize| &self.text[start + head..self.at() - tail];
        match event {
            Ok(Event::Text(_)) => Token::Text(whole(0, 0)),
            Ok(Event::Start(_)) => Token::Start,
            Ok(Event::End(_)) => Token::End(whole(2, 1)),
            Ok(Event::Empty(_)) => Token::Empty,
            Ok(Event::GeneralRef(_)) => Token::Reference(whole(1, 1)),
            Ok(Event::CData(_)) => Token::CData(whole(9, 3)),
            Ok(Event::Comment(_)) => Token::Comment(whole(4, 3)),
            Ok(Event::PI(_) | Event::Decl(_)) => Token::Instruction(whole(2, 2)),
            Ok(Event::Eof) => Token::Ended,
            Ok(Event::DocType(_)) | Err(_) => Token::Cut(cut(&self.text.as_bytes()[start..])),
        }
    }
}

/// What begins with `rest`.
fn cut(rest: &[u8]) -> Cut {
    match rest {
        [b'&', ..] => Cut::Reference,
        [b'<'] => Cut::Prefix,
        [b'<', b'?', ..] => Cut::Instruction,
        [b'<', b'!', ..] if rest.starts_with(b"<!--") => Cut::Comment,
        [b'<', b'!', ..] if rest.starts_with(b"<![CDATA[") => Cut::CData,
        [b'<', b'!', ..] if b"<!--".starts_with(rest) || b"<![CDATA[".starts_with(rest) => {
            Cut::Prefix
        }
        [b'<', b'!', ..] => Cut::Declaration,
        _ => Cut::Tag,
    }
}
