//! The hardened XML reader.
//!
//! The reader takes a document as bytes or as a stream and sends events to a [`Handler`], or refuses
//! the document with a [`Refusal`] that says why and where. A document passes through these stages:
//!
//! 1. [`input`] detects the encoding, decodes or validates the bytes, and holds a *window* of the text
//!    in memory, with a mapping from each character to its offset in the original bytes;
//! 2. [`markup_tokenizer`] splits the window into tokens with quick-xml's scanner. A token that extends
//!    beyond the window waits for more text, or, if it may be long (text, comments), is read in chunks;
//! 3. [`document_parser`] tracks the position in the document and checks the rules of XML and
//!    namespaces, together with [`content`], [`partial_token`], [`start_tag`], [`attribute_value`] and
//!    [`doctype`];
//! 4. [`name_table`] resolves qualified names to expanded names.
//!
//! A UTF-8 document in memory is its own window and is not copied. Events, spans and refusals do not
//! depend on how a stream is chunked, except that text may be split at different places. Memory is
//! bounded by depth and [`Limits`].

mod attribute_value;
mod char_classes;
mod content;
mod doctype;
mod document_parser;
mod document_stream;
mod element_path;
mod entities;
pub(crate) mod error_codes;
mod input;
mod input_window;
mod limits;
mod markup_tokenizer;
mod name_interner;
mod name_table;
mod parse_error;
mod partial_token;
mod processing_instruction;
mod start_tag;
#[cfg(test)]
pub(crate) mod tests;
mod text_cursor;
mod text_position;
mod used_prefixes;
mod xml_declaration;

use std::io::{self, Read};
use std::sync::Arc;

use hashbrown::HashMap;

use crate::events::{Handler, Names, Refusal, Span};

use char_classes::floor_char_boundary;
use document_parser::DocumentParser;
use input::{open_slice, Buffers, DocumentInput, Opened};
use input_window::{InputWindow, OffsetMapping};
use name_table::NameTable;
use parse_error::Fault;
use text_position::TextPosition;

pub(crate) use char_classes::{is_char, is_name, is_name_char, is_space};
pub(crate) use document_stream::DocumentStream;
pub(crate) use element_path::element_path;
pub(crate) use input::decode;
pub use limits::Limits;
pub(crate) use name_interner::NameInterner;
pub(crate) use used_prefixes::visit_prefixes;

/// What to do with document type declarations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DoctypePolicy {
    /// Use internal entities and attribute defaults, within the limits.
    #[default]
    Process,
    /// Refuse documents that have one.
    Refuse,
}

/// Options of a reader.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReaderOptions {
    /// Limits on documents.
    pub limits: Limits,
    /// Entities that documents may use without declaring them: names and plain text.
    pub entities: HashMap<String, Arc<str>>,
    /// What to do with document type declarations.
    pub declarations: DoctypePolicy,
}

/// Statistics and properties of a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The number of elements.
    pub elements: u64,
    /// The number of attributes, including defaults but not namespace declarations.
    pub attributes: u64,
    /// The size in bytes of the original.
    pub bytes: u64,
    /// The encoding: `utf-8`, `utf-16le`, `utf-16be`, `us-ascii`, `iso-8859-1` or another label.
    pub encoding: &'static str,
    /// The span of the document type declaration, if there is one.
    pub doctype: Option<Span>,
}

/// Why reading a stream failed.
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

/// Reads documents one after the other. It reuses its allocations and the names seen so far, so that a
/// document similar to earlier ones needs no allocation.
#[derive(Debug)]
pub struct Reader {
    parser: DocumentParser,
    buffers: Buffers,
    names_generation: u64,
}

impl Reader {
    /// A reader that has seen no names yet.
    pub fn new(options: ReaderOptions) -> Self {
        Self {
            parser: DocumentParser::new(options),
            buffers: Buffers::default(),
            names_generation: 0,
        }
    }

    /// The names seen so far, which the ids in events refer to. More can be interned in advance.
    pub(crate) fn names_mut(&mut self) -> &mut Names {
        &mut self.parser.name_table.names
    }

    /// The number of times the table of names was reset. This happens at the end of a document, if the
    /// table exceeds [`Limits::names_bytes`], and invalidates all ids.
    pub(crate) fn names_generation(&self) -> u64 {
        self.names_generation
    }

    /// Reads a document in memory.
    pub fn read_slice<H: Handler>(
        &mut self,
        bytes: &[u8],
        handler: &mut H,
    ) -> Result<Summary, Refusal> {
        self.read_memory(bytes, handler, false)
    }

    /// Reads a document in memory as if it had the document type declaration of the document read last,
    /// which is not parsed again.
    pub(crate) fn read_part<H: Handler>(
        &mut self,
        bytes: &[u8],
        handler: &mut H,
    ) -> Result<Summary, Refusal> {
        self.read_memory(bytes, handler, true)
    }

    fn read_memory<H: Handler>(
        &mut self,
        bytes: &[u8],
        handler: &mut H,
        keeps_declarations: bool,
    ) -> Result<Summary, Refusal> {
        let max = self.parser.options.limits.document_bytes;
        let (encoding, opened) = open_slice(bytes, &mut self.buffers, max)
            .map_err(|fault| refusal(*fault, 0, TextPosition::default()))?;
        self.parser.begin(encoding, keeps_declarations);
        let result = match opened {
            Opened::Stream(input) => {
                match self.read_windows(DocumentStream::new(*input), handler) {
                    Ok(bytes) => Ok(bytes),
                    Err(ReadError::Refusal(refusal)) => Err(refusal),
                    Err(ReadError::Io(_)) => unreachable!("reading from memory cannot fail"),
                }
            }
            Opened::Text(text, base, fault) => {
                let window = InputWindow::new(text, fault.is_none(), OffsetMapping::Identity(base));
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
                    Some(fault) => Err(refusal_in(
                        *fault,
                        &window,
                        TextPosition::default(),
                        &self.parser,
                    )),
                    None => Ok(bytes.len() as u64),
                }
            }
        };
        self.finish(result)
    }

    /// Reads a document from a stream, with only a window of it in memory.
    pub fn read_stream<H: Handler, R: Read>(
        &mut self,
        source: R,
        handler: &mut H,
    ) -> Result<Summary, ReadError> {
        let stream = self.open_stream(source)?;
        let result = self.read_windows(stream, handler);
        self.finish(result)
    }

    /// The limits on documents.
    pub(crate) fn limits(&self) -> &Limits {
        &self.parser.options.limits
    }

    /// Lets `send` send the events of a document that is not text to a handler. The names in its events
    /// are those of this reader, as if it had read the document.
    pub(crate) fn replay(
        &mut self,
        send: impl FnOnce(NameInterner<'_>) -> Result<Summary, Refusal>,
    ) -> Result<Summary, Refusal> {
        self.parser.name_table.begin();
        let sent = send(NameInterner(&mut self.parser.name_table));
        let result = sent.map(|summary| {
            self.parser.summary = summary;
            summary.bytes
        });
        self.finish(result)
    }

    /// Opens a document for reading window by window with [`Reader::read_window`].
    pub(crate) fn open_stream<R: Read>(
        &mut self,
        source: R,
    ) -> Result<DocumentStream<R>, ReadError> {
        let max = self.parser.options.limits.document_bytes;
        let input = DocumentInput::open(source, std::mem::take(&mut self.buffers), max)?;
        self.parser.begin(input.encoding(), false);
        Ok(DocumentStream::new(input))
    }

    /// Reads one window of the document opened last; whether this reached its end. The reader must not
    /// be used for another document before that.
    pub(crate) fn read_window<H: Handler, R: Read>(
        &mut self,
        stream: &mut DocumentStream<R>,
        handler: &mut H,
    ) -> Result<bool, ReadError> {
        stream.advance(&mut self.parser, handler)
    }

    /// The summary of the document read so far, without its size.
    pub(crate) fn summary(&self) -> Summary {
        self.parser.summary
    }

    /// Reads a document window by window; returns its size in bytes.
    fn read_windows<H: Handler, R: Read>(
        &mut self,
        mut stream: DocumentStream<R>,
        handler: &mut H,
    ) -> Result<u64, ReadError> {
        let result = loop {
            match stream.advance(&mut self.parser, handler) {
                Ok(false) => {}
                Ok(true) => break Ok(stream.input.bytes_read()),
                Err(error) => break Err(error),
            }
        };
        self.buffers = stream.input.into_buffers();
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

/// The refusal for a fault in a window that starts at `position`.
fn refusal_in(
    fault: Fault,
    window: &InputWindow<'_>,
    position: TextPosition,
    parser: &DocumentParser,
) -> Refusal {
    let at = floor_char_boundary(window.text, fault.at);
    Refusal {
        path: parser.path(),
        ..refusal(
            fault,
            window.original(at),
            position.after(&window.text[..at]),
        )
    }
}

fn refusal(fault: Fault, offset: u64, position: TextPosition) -> Refusal {
    Refusal {
        code: fault.code,
        message: fault.message,
        offset,
        line: position.line,
        column: position.column,
        path: String::new(),
    }
}
