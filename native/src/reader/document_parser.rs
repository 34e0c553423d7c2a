//! The parser of a document: its state and the parts outside the root element.

use crate::events::{Attribute, Handler};

use super::char_classes::floor_char_boundary;
use super::doctype::{self, Doctype};
use super::element_path::element_path;
use super::input::Encoding;
use super::input_window::InputWindow;
use super::name_table::{NameTable, QNameId};
use super::parse_error::{refuse, Fault, ParseError, ParseResult};
use super::partial_token::PartialToken;
use super::start_tag::RawAttribute;
use super::text_cursor::TextCursor;
use super::xml_declaration;
use super::{error_codes, DoctypePolicy, ReaderOptions, Summary};

/// The part of a document that is being parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// The start, where an XML declaration may be.
    Declaration,
    /// Before the root element.
    Prolog,
    /// Inside the root element.
    Content,
    /// After the root element.
    Epilog,
    /// After the end.
    Done,
}

/// An open element.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenElement {
    pub name: QNameId,
    /// Mark in the name table from before its namespace declarations.
    pub mark: usize,
    /// Original offset of its start tag.
    pub start: u64,
}

/// Parses documents one after the other and reuses its allocations.
#[derive(Debug)]
pub(super) struct DocumentParser {
    pub options: ReaderOptions,
    pub name_table: NameTable,
    pub doctype: Doctype,
    pub open: Vec<OpenElement>,
    pub partial_token: Option<PartialToken>,
    pub summary: Summary,
    /// The attributes of the current tag.
    pub attributes: Vec<RawAttribute>,
    /// The attribute values of the current tag that differ from the source text.
    pub values: String,
    /// Text with normalised line ends.
    pub normalised: String,
    /// Allocation for the attributes sent to the handler.
    pub event_attributes: Vec<Attribute<'static>>,
    phase: Phase,
    encoding: Encoding,
}

impl DocumentParser {
    pub(super) fn new(options: ReaderOptions) -> Self {
        Self {
            name_table: NameTable::new(&options.limits),
            options,
            doctype: Doctype::default(),
            open: Vec::new(),
            partial_token: None,
            summary: Summary::default(),
            attributes: Vec::new(),
            values: String::new(),
            normalised: String::new(),
            event_attributes: Vec::new(),
            phase: Phase::Declaration,
            encoding: Encoding::Utf8,
        }
    }

    /// Starts a document; with the declarations of the previous one if `keeps_declarations` is set.
    pub(super) fn begin(&mut self, encoding: Encoding, keeps_declarations: bool) {
        self.name_table.begin();
        if keeps_declarations {
            self.doctype.reuse();
        } else {
            self.doctype.clear();
        }
        self.doctype.is_standalone = false;
        self.open.clear();
        self.partial_token = None;
        self.summary = Summary {
            encoding: encoding.label(),
            ..Summary::default()
        };
        self.phase = Phase::Declaration;
        self.encoding = encoding;
    }

    /// The open elements as a path, for errors.
    pub(super) fn path(&self) -> String {
        let names = self.open.iter();
        element_path(names.map(|open| self.name_table.text(open.name)))
    }

    /// Parses as much of the window as possible; returns how many bytes that is.
    pub(super) fn advance<H: Handler>(
        &mut self,
        window: &InputWindow<'_>,
        handler: &mut H,
    ) -> Result<usize, Box<Fault>> {
        let mut at = 0;
        while self.phase != Phase::Done {
            match self.step(window, &mut at, handler) {
                Ok(()) => {}
                Err(ParseError::NeedMore) => break,
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
            Phase::Prolog => self.outside_root(window, at, handler, Phase::Content),
            Phase::Content => {
                self.content(window, at, 0, handler)?;
                self.phase = Phase::Epilog;
                Ok(())
            }
            Phase::Epilog => self.outside_root(window, at, handler, Phase::Done),
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
        let start = *at;
        let mut cursor = self.cursor(window, start, "the XML declaration");
        let max = self.options.limits.xml_declaration_bytes;
        let is_cut = limit(&mut cursor, start, max);
        match xml_declaration::parse(&mut cursor) {
            Err(ParseError::NeedMore) if is_cut => {
                let message = format!("the XML declaration is longer than {max} bytes");
                refuse(error_codes::LIMIT_XML_DECLARATION_BYTES, start, message)
            }
            declaration => {
                let declaration = declaration?;
                self.encoding.check_declared(declaration.encoding)?;
                self.doctype.is_standalone = declaration.is_standalone;
                *at = cursor.at;
                self.phase = Phase::Prolog;
                Ok(())
            }
        }
    }

    /// Parses white space, comments and processing instructions outside the root element, and before it
    /// the document type declaration. `after` is the next phase.
    fn outside_root<H: Handler>(
        &mut self,
        window: &InputWindow<'_>,
        at: &mut usize,
        handler: &mut H,
        after: Phase,
    ) -> ParseResult<()> {
        loop {
            if self.partial_token.is_some() {
                self.continue_partial_token(window, at, handler)?;
            }
            let mut cursor = self.cursor(window, *at, "markup outside the root element");
            cursor.skip_space();
            *at = cursor.at;
            let Some(&next) = window.text.as_bytes().get(*at) else {
                return self.end_outside_root(window, *at, after);
            };
            if next != b'<' {
                return refuse(
                    error_codes::ROOT,
                    *at,
                    "there is text outside the root element",
                );
            }
            if cursor.take("<!--")? {
                self.partial_token = Some(PartialToken::Comment);
                *at = cursor.at;
            } else if cursor.take("<?")? {
                *at = cursor.at;
                self.begin_instruction(window, at, handler)?;
            } else if after == Phase::Done {
                return refuse(
                    error_codes::ROOT,
                    *at,
                    "there is markup after the root element",
                );
            } else if cursor.take("<!DOCTYPE")? {
                self.doctype(window, at)?;
            } else if cursor.take("<!")? || cursor.take("</")? {
                return refuse(
                    error_codes::ROOT,
                    *at,
                    "this markup is not allowed before the root element",
                );
            } else {
                self.phase = after;
                return Ok(());
            }
        }
    }

    fn end_outside_root(
        &mut self,
        window: &InputWindow<'_>,
        at: usize,
        after: Phase,
    ) -> ParseResult<()> {
        if !window.complete {
            return Err(ParseError::NeedMore);
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
            let message = "document type declarations are not allowed";
            return refuse(error_codes::DOCTYPE_REFUSED, start, message);
        }
        let mut cursor = self.cursor(window, start + OPENING, "the document type declaration");
        let max = self.options.limits.doctype_bytes;
        let is_cut = limit(&mut cursor, start, max);
        // An incomplete declaration is parsed again from its start.
        self.doctype.clear();
        let document_offset = window.original(start);
        match doctype::parse(
            &mut cursor,
            &mut self.doctype,
            &self.options,
            document_offset,
        ) {
            Err(ParseError::NeedMore) if is_cut => {
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

/// Restricts the cursor to `max` bytes from `start` on, however much text is in memory; whether there is
/// more.
fn limit(cursor: &mut TextCursor<'_>, start: usize, max: usize) -> bool {
    let end = floor_char_boundary(cursor.text, start.saturating_add(max));
    let is_cut = end < cursor.text.len();
    cursor.text = &cursor.text[..end];
    cursor.complete &= !is_cut;
    is_cut
}
