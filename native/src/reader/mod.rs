//! The one hardened XML reader.
//!
//! Bytes come in, whole or as a stream; events go to a [`Handler`]; or the document is refused with
//! a [`Refusal`] that says why and where. The way of a document:
//!
//! 1. [`input`] tells its encoding, decodes or checks it, and keeps a *window* of its text in memory
//!    with the way back from each character to the original bytes;
//! 2. [`tokens`] cuts the window into tokens with quick-xml; a token that the window ends inside of
//!    waits for more text, or, if it may be long (text, comments), is read in pieces;
//! 3. [`parser`] knows where in the document that is, and checks everything that XML and
//!    namespaces ask for: [`content`], [`pieces`], [`tag`], [`values`], [`doctype`];
//! 4. [`name_table`] turns names as written into expanded names.
//!
//! A whole document in UTF-8 is its own window and nothing of it is copied. However a document is
//! cut into chunks, the events (up to where text is cut into pieces), spans and refusals are the
//! same. Memory is bounded by depth and [`Limits`].

mod attribute_value;
mod char_classes;
mod content;
mod doctype;
mod document_parser;
mod document_stream;
mod entities;
pub mod error_codes;
mod input;
mod input_window;
mod limits;
mod markup_tokenizer;
mod name_table;
mod parse_error;
mod partial_token;
mod processing_instruction;
mod start_tag;
#[cfg(test)]
pub(crate) mod tests;
mod text_cursor;
mod text_position;
mod xml_declaration;

use std::io::{self, Read};
use std::sync::Arc;

use hashbrown::HashMap;

use crate::events::{Handler, Names, Refusal, Span};

use char_classes::char_start;
use document_parser::DocumentParser;
use input::{open_slice, Buffers, DocumentInput, Opened};
use input_window::{InputWindow, OffsetMapping};
use name_table::NameTable;
use parse_error::Fault;
use text_position::Place;

pub use document_stream::DocumentStream;
pub use input::decode;
pub use limits::Limits;

/// What to do with document type declarations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DoctypePolicy {
    /// Internal entities and attribute defaults are honoured, within the limits.
    #[default]
    Honour,
    /// A document that has one is refused.
    Refuse,
}

/// How to read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReaderOptions {
    /// What is too much.
    pub limits: Limits,
    /// Entities that a document may refer to without declaring them: name and plain text.
    pub entities: HashMap<String, Arc<str>>,
    /// What to do with document type declarations.
    pub declarations: DoctypePolicy,
}

/// What was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Elements.
    pub elements: u64,
    /// Attributes, defaults included, namespace declarations not.
    pub attributes: u64,
    /// Original bytes.
    pub bytes: u64,
    /// The encoding: `utf-8`, `utf-16le`, `utf-16be`, `us-ascii`, `iso-8859-1` or another's label.
    pub encoding: &'static str,
    /// The document type declaration, if there is one.
    pub doctype: Option<Span>,
}

/// Why a stream was not read to its end.
#[derive(Debug)]
pub enum ReadError {
    /// The document was refused.
    Refusal(Refusal),
    /// The stream failed.
    Io(io::Error),
}

impl std::fmt::Display for ReadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Refusal(refusal) => refusal.fmt(f),
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ReadError {}

/// Reads documents, one after the other. It keeps its allocations and the names it has met, so that
/// a document like those before it costs no allocation.
#[derive(Debug)]
pub struct Reader {
    parser: DocumentParser,
    buffers: Buffers,
    names_generation: u64,
}

impl Reader {
    /// A reader that has met no name yet.
    pub fn new(options: ReaderOptions) -> Self {
        Self {
            parser: DocumentParser::new(options),
            buffers: Buffers::default(),
            names_generation: 0,
        }
    }

    /// The names met so far. Ids in events are numbers in this table.
    pub fn names(&self) -> &Names {
        &self.parser.name_table.names
    }

    /// The same, to make names known before they are met.
    pub fn names_mut(&mut self) -> &mut Names {
        &mut self.parser.name_table.names
    }

    /// Changes when the table of names is begun anew, which is only ever done at a document's end,
    /// when more is kept than [`Limits::names_bytes`]. Ids from before are then void.
    pub fn names_generation(&self) -> u64 {
        self.names_generation
    }

    /// Reads a document in memory.
    pub fn read_slice<H: Handler>(
        &mut self,
        bytes: &[u8],
        handler: &mut H,
    ) -> Result<Summary, Refusal> {
        let max = self.parser.options.limits.document_bytes;
        let (encoding, opened) = open_slice(bytes, &mut self.buffers, max)
            .map_err(|fault| refusal(*fault, 0, Place::default()))?;
        self.parser.begin(encoding);
        let result = match opened {
            Opened::DocumentStream(input) => {
                match self.read_flow(DocumentStream::new(*input), handler) {
                    Ok(taken) => Ok(taken),
                    Err(ReadError::Refusal(refusal)) => Err(refusal),
                    Err(ReadError::Io(_)) => unreachable!("memory can always be read"),
                }
            }
            Opened::Whole(text, base, fault) => {
                let window = InputWindow::new(text, fault.is_none(), OffsetMapping::Bytes(base));
                let result = match self.parser.advance(&window, handler) {
                    Ok(_) => fault.map(|fault| {
                        Box::new(Fault {
                            at: text.len(),
                            ..*fault
                        })
                    }),
                    Err(fault) => Some(fault),
                };
                match result {
                    Some(fault) => Err(placed(*fault, &window, Place::default())),
                    None => Ok(bytes.len() as u64),
                }
            }
        };
        self.finish(result)
    }

    /// Reads a document from a stream, holding only a window of it.
    pub fn read_stream<H: Handler, R: Read>(
        &mut self,
        source: R,
        handler: &mut H,
    ) -> Result<Summary, ReadError> {
        let flow = self.open_stream(source)?;
        let result = self.read_flow(flow, handler);
        self.finish(result)
    }

    /// Begins to read a document from a stream, window by window: see [`Reader::read_on`].
    pub fn open_stream<R: Read>(&mut self, source: R) -> Result<DocumentStream<R>, ReadError> {
        let max = self.parser.options.limits.document_bytes;
        let input = DocumentInput::open(source, std::mem::take(&mut self.buffers), max)?;
        self.parser.begin(input.encoding());
        Ok(DocumentStream::new(input))
    }

    /// Reads one window of the document that was opened last; whether that was its end. Until then
    /// the reader can read nothing else.
    pub fn read_on<H: Handler, R: Read>(
        &mut self,
        flow: &mut DocumentStream<R>,
        handler: &mut H,
    ) -> Result<bool, ReadError> {
        flow.advance(&mut self.parser, handler)
    }

    /// What is known so far of the document being read, but for its bytes.
    pub fn summary(&self) -> Summary {
        self.parser.summary
    }

    /// Reads window after window; gives how many bytes that took.
    fn read_flow<H: Handler, R: Read>(
        &mut self,
        mut flow: DocumentStream<R>,
        handler: &mut H,
    ) -> Result<u64, ReadError> {
        let result = loop {
            match flow.advance(&mut self.parser, handler) {
                Ok(false) => {}
                Ok(true) => break Ok(flow.input.taken()),
                Err(error) => break Err(error),
            }
        };
        self.buffers = flow.input.into_buffers();
        result
    }

    fn finish<E>(&mut self, result: Result<u64, E>) -> Result<Summary, E> {
        let summary = self.parser.summary;
        if self.parser.name_table.is_full() {
            self.parser.name_table = NameTable::new(&self.parser.options.limits);
            self.names_generation += 1;
        }
        result.map(|bytes| Summary { bytes, ..summary })
    }
}

/// The refusal that a fault in the window is, `place` being where the window begins.
fn placed(fault: Fault, window: &InputWindow<'_>, place: Place) -> Refusal {
    let at = char_start(window.text, fault.at);
    refusal(fault, window.original(at), place.after(&window.text[..at]))
}

fn refusal(fault: Fault, offset: u64, place: Place) -> Refusal {
    Refusal {
        code: fault.code,
        message: fault.message,
        offset,
        line: place.line,
        column: place.column,
    }
}
