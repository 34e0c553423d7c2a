//! The state of a document being read: what came before, what may come next.

use crate::events::{Attribute, Handler};

use super::char_classes::char_start;
use super::doctype::{self, Doctype};
use super::input::Encoding;
use super::input_window::InputWindow;
use super::name_table::{NameTable, RawId};
use super::parse_error::{refuse, Fault, ParseError, ParseResult};
use super::partial_token::PartialToken;
use super::start_tag::RawAttribute;
use super::text_cursor::TextCursor;
use super::xml_declaration;
use super::{error_codes, DoctypePolicy, ReaderOptions, Summary};

/// Where in a document the reader is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// At the very beginning, where an XML declaration may be.
    Declaration,
    /// Before the root element.
    Prolog,
    /// PartialToken it.
    Content,
    /// After it.
    Epilog,
    /// Nothing more can come.
    Done,
}

/// An open element.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    pub name: RawId,
    /// The name_table's mark from before its namespace declarations.
    pub mark: usize,
    /// Original offset of its start tag.
    pub start: u64,
}

/// A document being read. What is allocated is kept for the next one.
#[derive(Debug)]
pub(super) struct DocumentParser {
    pub options: ReaderOptions,
    pub name_table: NameTable,
    pub doctype: Doctype,
    pub stack: Vec<Open>,
    pub inside: Option<PartialToken>,
    pub summary: Summary,
    /// The attributes of the tag being read, and the values that are not simply what is written.
    pub attributes: Vec<RawAttribute>,
    pub values: String,
    /// Text with its line ends folded.
    pub folded: String,
    /// Allocation for the attributes that the handler sees.
    pub seen: Vec<Attribute<'static>>,
    phase: Phase,
    encoding: Encoding,
}

impl DocumentParser {
    pub(super) fn new(options: ReaderOptions) -> Self {
        Self {
            name_table: NameTable::new(&options.limits),
            options,
            doctype: Doctype::default(),
            stack: Vec::new(),
            inside: None,
            summary: Summary::default(),
            attributes: Vec::new(),
            values: String::new(),
            folded: String::new(),
            seen: Vec::new(),
            phase: Phase::Declaration,
            encoding: Encoding::Utf8,
        }
    }

    /// Begins a document.
    pub(super) fn begin(&mut self, encoding: Encoding) {
        self.name_table.begin();
        self.doctype.clear();
        self.stack.clear();
        self.inside = None;
        self.summary = Summary {
            encoding: encoding.label(),
            ..Summary::default()
        };
        self.phase = Phase::Declaration;
        self.encoding = encoding;
    }

    /// Reads as much of the window as can be read, and gives how much that was.
    pub(super) fn advance<H: Handler>(
        &mut self,
        window: &InputWindow<'_>,
        handler: &mut H,
    ) -> Result<usize, Box<Fault>> {
        let mut at = 0;
        while self.phase != Phase::Done {
            match self.step(window, &mut at, handler) {
                Ok(()) => {}
                Err(ParseError::More) => break,
                Err(ParseError::Refused(fault)) => return Err(fault),
            }
        }
        Ok(at)
    }

    fn step<H: Handler>(
        &mut self,
        window: &InputWindow<'_>,
        at: &mut usize,
        handler: &mut H,
    ) -> ParseResult<()> {
        match self.phase {
            Phase::Declaration => self.declaration(window, at),
            Phase::Prolog => self.beside_root(window, at, handler, Phase::Content),
            Phase::Content => {
                self.content(window, at, 0, handler)?;
                self.phase = Phase::Epilog;
                Ok(())
            }
            Phase::Epilog => self.beside_root(window, at, handler, Phase::Done),
            Phase::Done => Ok(()),
        }
    }

    fn cursor<'w>(
        &self,
        window: &InputWindow<'w>,
        at: usize,
        what: &'static str,
    ) -> TextCursor<'w> {
        TextCursor {
            text: window.text,
            at,
            complete: window.complete,
            what,
            name_bytes_max: self.options.limits.name_bytes,
        }
    }

    fn declaration(&mut self, window: &InputWindow<'_>, at: &mut usize) -> ParseResult<()> {
        let mut cursor = self.cursor(window, *at, "the XML declaration");
        let declared = xml_declaration::parse(&mut cursor)?;
        self.encoding.check_declared(declared)?;
        *at = cursor.at;
        self.phase = Phase::Prolog;
        Ok(())
    }

    /// Passes white space, comments and instructions; before the root also the document type
    /// declaration. `after` is the phase that follows.
    fn beside_root<H: Handler>(
        &mut self,
        window: &InputWindow<'_>,
        at: &mut usize,
        handler: &mut H,
        after: Phase,
    ) -> ParseResult<()> {
        loop {
            if self.inside.is_some() {
                self.continue_inside(window, at, handler)?;
            }
            let mut cursor = self.cursor(window, *at, "what stands beside the root element");
            cursor.skip_space();
            *at = cursor.at;
            let Some(&next) = window.text.as_bytes().get(*at) else {
                return self.end_beside_root(window, *at, after);
            };
            if next != b'<' {
                return refuse(
                    error_codes::ROOT,
                    *at,
                    "there is text outside the root element",
                );
            }
            if cursor.take("<!--")? {
                self.inside = Some(PartialToken::Comment);
                *at = cursor.at;
            } else if cursor.take("<?")? {
                *at = cursor.at;
                self.begin_instruction(window, at)?;
            } else if after == Phase::Done {
                return refuse(
                    error_codes::ROOT,
                    *at,
                    "there is markup after the root element",
                );
            } else if cursor.take("<!DOCTYPE")? {
                self.doctype(window, at)?;
            } else if cursor.take("<!")? || cursor.take("</")? {
                return refuse(error_codes::ROOT, *at, "no element is open here");
            } else {
                self.phase = after;
                return Ok(());
            }
        }
    }

    fn end_beside_root(
        &mut self,
        window: &InputWindow<'_>,
        at: usize,
        after: Phase,
    ) -> ParseResult<()> {
        if !window.complete {
            return Err(ParseError::More);
        }
        if after == Phase::Content {
            return refuse(error_codes::ROOT, at, "there is no root element");
        }
        self.phase = Phase::Done;
        Ok(())
    }

    fn doctype(&mut self, window: &InputWindow<'_>, at: &mut usize) -> ParseResult<()> {
        const OPENING: usize = "<!DOCTYPE".len();
        let start = *at;
        if self.summary.doctype.is_some() {
            return refuse(
                error_codes::DOCTYPE,
                start,
                "there is a second document type declaration",
            );
        }
        if self.options.declarations == DoctypePolicy::Refuse {
            let message =
                "the document has a document type declaration, and these are refused here";
            return refuse(error_codes::DOCTYPE_REFUSED, start, message);
        }
        // Past the limit the declaration is never looked at, however much of it is in memory.
        let max = self.options.limits.doctype_bytes;
        let end = char_start(window.text, start.saturating_add(max));
        let mut cursor = self.cursor(window, start + OPENING, "the document type declaration");
        cursor.text = &window.text[..end];
        cursor.complete = window.complete && end == window.text.len();
        // A declaration cut short is read again from its beginning.
        self.doctype.clear();
        let read = window.original(start);
        match doctype::parse(&mut cursor, &mut self.doctype, &self.options, read) {
            Err(ParseError::More) if end < window.text.len() => {
                let message = format!("the document type declaration is longer than {max} bytes");
                refuse(error_codes::LIMIT_DOCTYPE_BYTES, start, message)
            }
            result => {
                result?;
                self.summary.doctype = Some(window.span(start, cursor.at));
                *at = cursor.at;
                Ok(())
            }
        }
    }
}
