//! Decodes or validates the bytes of a document and holds a window of its text.

mod continuation_bytes;
mod decoder;
mod encoding;
mod offset_table;
mod utf8_validation;

use std::io::{self, Read};

use super::error_codes;
use super::input_window::{InputWindow, OffsetMapping};
use super::parse_error::{Fault, ParseError};
use super::ReadError;

use decoder::{Decoder, Malformed};
use encoding::{detect, is_sufficient, HEAD_BYTES};
use utf8_validation::validate;

pub(super) use continuation_bytes::ContinuationBytes;
pub(super) use encoding::Encoding;
pub(super) use offset_table::OffsetTable;

/// Buffers that are reused across documents.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    /// Bytes to be decoded; not used for UTF-8.
    raw: Vec<u8>,
    /// Text to be parsed, followed by bytes to be validated.
    text: Vec<u8>,
    /// Original offsets of the characters of an encoding with several bytes a character.
    offsets: OffsetTable,
    /// Original offsets of the characters of a single-byte encoding.
    continuations: ContinuationBytes,
}

/// The text of a document, one window at a time.
pub(super) struct DocumentInput<R> {
    source: R,
    buffers: Buffers,
    encoding: Encoding,
    /// `None` for UTF-8, which is validated in place.
    decoder: Option<Decoder>,
    /// The number of validated bytes in `text`.
    validated: usize,
    /// Offset of the text in memory in the decoded document, including a byte order mark.
    base: u64,
    /// The fault after the validated text.
    fault: Option<Box<Fault>>,
    /// The number of bytes read from the source.
    bytes_read: u64,
    document_bytes_max: u64,
    ended: bool,
}

/// A document in memory after the detection of its encoding.
pub(super) enum Opened<'s, R> {
    /// UTF-8 or ASCII, used in place: the valid text, its offset, and the fault after it.
    Text(&'s str, u64, Option<Box<Fault>>),
    /// Another encoding, decoded like a stream.
    Stream(Box<DocumentInput<R>>),
}

/// Opens a document in memory.
pub(super) fn open_slice<'s>(
    bytes: &'s [u8],
    buffers: &mut Buffers,
    document_bytes_max: u64,
) -> Result<(Encoding, Opened<'s, &'s [u8]>), Box<Fault>> {
    let head = &bytes[..bytes.len().min(HEAD_BYTES)];
    let (encoding, mark) = detect(head).map_err(fault_of)?;
    let is_utf8 = encoding == Encoding::Utf8 || (encoding.is_single_byte() && bytes.is_ascii());
    if !is_utf8 {
        let input = DocumentInput::open(bytes, std::mem::take(buffers), document_bytes_max)
            .map_err(|error| match error {
                OpenError::Fault(fault) => fault,
                OpenError::Io(_) => unreachable!("reading from memory cannot fail"),
            })?;
        return Ok((encoding, Opened::Stream(Box::new(input))));
    }
    let max = usize::try_from(document_bytes_max).unwrap_or(usize::MAX);
    let within = &bytes[..bytes.len().min(max)];
    let is_complete = within.len() == bytes.len();
    let (text, fault) = validate(&within[mark.min(within.len())..], is_complete);
    let fault = fault.or_else(|| (!is_complete).then(|| too_long(document_bytes_max)));
    Ok((encoding, Opened::Text(text, mark as u64, fault)))
}

/// Decodes `bytes`, a part of a document in the encoding `label`; `None` if they are invalid.
pub fn decode(bytes: &[u8], label: &str) -> Option<String> {
    let text = match Encoding::for_label(label)? {
        Encoding::Utf8 => bytes.to_vec(),
        encoding => {
            let mut text = Vec::new();
            let mut decoder = Decoder::new(encoding);
            decoder
                .decode(bytes, true, &mut text, &mut OffsetTable::default())
                .ok()?;
            text
        }
    };
    String::from_utf8(text).ok()
}

/// Why opening a document failed.
pub(super) enum OpenError {
    Fault(Box<Fault>),
    Io(io::Error),
}

fn fault_of(error: ParseError) -> Box<Fault> {
    match error {
        ParseError::Refused(fault) => fault,
        ParseError::NeedMore => unreachable!("detection never requests more text"),
    }
}

fn too_long(max: u64) -> Box<Fault> {
    let message = format!("the document is longer than {max} bytes");
    Box::new(Fault::new(error_codes::LIMIT_DOCUMENT_BYTES, 0, message))
}

impl<R: Read> DocumentInput<R> {
    /// Opens a document: reads as much as is needed to detect its encoding.
    pub(super) fn open(
        source: R,
        mut buffers: Buffers,
        document_bytes_max: u64,
    ) -> Result<Self, OpenError> {
        buffers.raw.clear();
        buffers.text.clear();
        let mut input = Self {
            source,
            buffers,
            encoding: Encoding::Utf8,
            decoder: None,
            validated: 0,
            base: 0,
            fault: None,
            bytes_read: 0,
            document_bytes_max,
            ended: false,
        };
        while !input.ended && !is_sufficient(&input.buffers.text) {
            let missing = HEAD_BYTES - input.buffers.text.len();
            input.read_bytes(missing).map_err(OpenError::Io)?;
        }
        let (encoding, mark) =
            detect(&input.buffers.text).map_err(|error| OpenError::Fault(fault_of(error)))?;
        let mark = mark.min(input.buffers.text.len());
        input.encoding = encoding;
        input.base = mark as u64;
        input.buffers.offsets.begin(mark as u64);
        input.buffers.continuations.begin(mark as u64);
        input.buffers.text.drain(..mark);
        if encoding != Encoding::Utf8 {
            input.decoder = Some(Decoder::new(encoding));
            std::mem::swap(&mut input.buffers.raw, &mut input.buffers.text);
        }
        Ok(input)
    }

    pub(super) fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Reads `wanted` more bytes, or fewer at the end of the source, into the buffer of raw bytes.
    fn read_bytes(&mut self, wanted: usize) -> io::Result<()> {
        let into = if self.decoder.is_some() {
            &mut self.buffers.raw
        } else {
            &mut self.buffers.text
        };
        let read = (&mut self.source).take(wanted as u64).read_to_end(into)?;
        self.bytes_read += read as u64;
        self.ended = read < wanted;
        if self.bytes_read > self.document_bytes_max {
            let excess = (self.bytes_read - self.document_bytes_max) as usize;
            into.truncate(into.len() - excess);
            self.fault = Some(too_long(self.document_bytes_max));
            self.ended = true;
        }
        Ok(())
    }

    /// Buffers at least `wanted` bytes of text, or all of the remaining text.
    pub(super) fn fill(&mut self, wanted: usize) -> io::Result<()> {
        loop {
            self.decode_and_validate();
            if self.validated >= wanted || self.ended || self.fault.is_some() {
                if let Some(Decoder::SingleByte(_)) = self.decoder {
                    let text = &self.buffers.text[..self.validated];
                    self.buffers.continuations.locate(text);
                }
                return Ok(());
            }
            self.read_bytes(wanted - self.validated)?;
        }
    }

    /// Decodes and validates the bytes read.
    fn decode_and_validate(&mut self) {
        // If the document exceeds its limit, the last character may have been cut in two.
        let last = self.ended && self.fault.is_none();
        let buffers = &mut self.buffers;
        if let Some(decoder) = &mut self.decoder {
            match decoder.decode(&buffers.raw, last, &mut buffers.text, &mut buffers.offsets) {
                Ok(consumed) => {
                    buffers.raw.drain(..consumed);
                }
                Err(Malformed) => {
                    buffers.raw.clear();
                    let message = "the bytes are not valid in the document's encoding";
                    self.fault = Some(Box::new(Fault::new(
                        error_codes::ENCODING_BYTES,
                        0,
                        message,
                    )));
                    self.ended = true;
                }
            }
        }
        let (text, fault) = validate(&buffers.text[self.validated..], last);
        self.validated += text.len();
        if fault.is_some() {
            self.fault = fault;
            self.ended = true;
        }
    }

    /// The validated text in memory.
    pub(super) fn window(&self) -> InputWindow<'_> {
        let text = simdutf8::basic::from_utf8(&self.buffers.text[..self.validated]);
        let text = text.expect("validated before");
        let offsets = match &self.decoder {
            None => OffsetMapping::Identity(self.base),
            Some(Decoder::SingleByte(_)) => OffsetMapping::SingleByte(&self.buffers.continuations),
            Some(_) => OffsetMapping::Table(&self.buffers.offsets),
        };
        InputWindow::new(text, self.ended && self.fault.is_none(), offsets)
    }

    /// The fault after the text in memory, which ends the document.
    pub(super) fn take_fault(&mut self) -> Option<Box<Fault>> {
        self.fault.take()
    }

    /// Drops the first `bytes` of the text in memory.
    pub(super) fn consume(&mut self, bytes: usize) {
        match &self.decoder {
            None => {}
            Some(Decoder::SingleByte(_)) => {
                self.buffers.continuations.consume(bytes);
            }
            Some(_) => self.buffers.offsets.consume(bytes),
        }
        self.buffers.text.drain(..bytes);
        self.validated -= bytes;
        self.base += bytes as u64;
    }

    /// The number of bytes read from the source.
    pub(super) fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    /// Offset of the text in memory in the original bytes.
    pub(super) fn offset(&self) -> u64 {
        match &self.decoder {
            None => self.base,
            Some(Decoder::SingleByte(_)) => self.buffers.continuations.start(),
            Some(_) => self.buffers.offsets.original(0),
        }
    }

    pub(super) fn source_mut(&mut self) -> &mut R {
        &mut self.source
    }

    /// Returns the buffers for reuse.
    pub(super) fn into_buffers(self) -> Buffers {
        self.buffers
    }
}

impl From<OpenError> for ReadError {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Fault(fault) => Self::Refusal(super::refusal(
                *fault,
                0,
                super::text_position::TextPosition::default(),
            )),
            OpenError::Io(error) => Self::Io(error),
        }
    }
}
