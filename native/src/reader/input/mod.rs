//! From a publisher's bytes to text in memory, whatever the encoding.

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
use encoding::{detect, is_enough, HEAD_BYTES};
use utf8_validation::check;

pub(super) use encoding::Encoding;
pub(super) use offset_table::OffsetTable;

/// Allocations kept from one document to the next.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    /// Bytes not yet decoded; unused in UTF-8.
    raw: Vec<u8>,
    /// Text not yet read, and after it bytes not yet checked.
    text: Vec<u8>,
    offsets: OffsetTable,
}

/// A document's text, a window at a time.
pub(super) struct DocumentInput<R> {
    source: R,
    buffers: Buffers,
    encoding: Encoding,
    /// None for UTF-8, which is checked where it stands.
    decoder: Option<Decoder>,
    /// How many bytes of `text` are text indeed.
    checked: usize,
    /// Offset of the text in memory, in all decoded text and its mark.
    base: u64,
    /// What cannot be read once all that is checked has been.
    fault: Option<Box<Fault>>,
    taken: u64,
    document_bytes_max: u64,
    ended: bool,
}

/// What a document is made of: a whole one that is text where it stands, or a flow.
pub(super) enum Opened<'s, R> {
    /// UTF-8 in one piece: the text, its offset, and what follows it that cannot be read.
    Whole(&'s str, u64, Option<Box<Fault>>),
    DocumentStream(Box<DocumentInput<R>>),
}

/// Opens a document that is in memory.
pub(super) fn open_slice<'s>(
    bytes: &'s [u8],
    buffers: &mut Buffers,
    document_bytes_max: u64,
) -> Result<(Encoding, Opened<'s, &'s [u8]>), Box<Fault>> {
    let head = &bytes[..bytes.len().min(HEAD_BYTES)];
    let (encoding, mark) = detect(head).map_err(fault_of)?;
    if encoding != Encoding::Utf8 {
        let input = DocumentInput::open(bytes, std::mem::take(buffers), document_bytes_max)
            .map_err(|error| match error {
                OpenError::Fault(fault) => fault,
                OpenError::Io(_) => unreachable!("memory can always be read"),
            })?;
        return Ok((encoding, Opened::DocumentStream(Box::new(input))));
    }
    let max = usize::try_from(document_bytes_max).unwrap_or(usize::MAX);
    let within = &bytes[..bytes.len().min(max)];
    let is_whole = within.len() == bytes.len();
    let (text, fault) = check(&within[mark.min(within.len())..], is_whole);
    let fault = fault.or_else(|| (!is_whole).then(|| too_long(document_bytes_max)));
    Ok((encoding, Opened::Whole(text, mark as u64, fault)))
}

/// The text that `bytes`, a part of a document in the encoding called `label`, stand for.
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

/// Why a document could not be opened.
pub(super) enum OpenError {
    Fault(Box<Fault>),
    Io(io::Error),
}

fn fault_of(fail: ParseError) -> Box<Fault> {
    match fail {
        ParseError::Refused(fault) => fault,
        ParseError::More => unreachable!("the head is all there is to tell by"),
    }
}

fn too_long(max: u64) -> Box<Fault> {
    let message = format!("the document is longer than {max} bytes");
    Box::new(Fault::new(error_codes::LIMIT_DOCUMENT_BYTES, 0, message))
}

impl<R: Read> DocumentInput<R> {
    /// Opens a document: takes as much as is needed to tell its encoding.
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
            checked: 0,
            base: 0,
            fault: None,
            taken: 0,
            document_bytes_max,
            ended: false,
        };
        while !input.ended && !is_enough(&input.buffers.text) {
            let missing = HEAD_BYTES - input.buffers.text.len();
            input.take(missing).map_err(OpenError::Io)?;
        }
        let (encoding, mark) =
            detect(&input.buffers.text).map_err(|fail| OpenError::Fault(fault_of(fail)))?;
        let mark = mark.min(input.buffers.text.len());
        input.encoding = encoding;
        input.base = mark as u64;
        input.buffers.offsets.begin(mark as u64);
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

    /// Takes `wanted` bytes more from the source, to where undecoded bytes wait; fewer at its end.
    fn take(&mut self, wanted: usize) -> io::Result<()> {
        let into = if self.decoder.is_some() {
            &mut self.buffers.raw
        } else {
            &mut self.buffers.text
        };
        let read = (&mut self.source).take(wanted as u64).read_to_end(into)?;
        self.taken += read as u64;
        self.ended = read < wanted;
        if self.taken > self.document_bytes_max {
            let excess = (self.taken - self.document_bytes_max) as usize;
            into.truncate(into.len() - excess);
            self.fault = Some(too_long(self.document_bytes_max));
            self.ended = true;
        }
        Ok(())
    }

    /// Has at least `wanted` bytes of text in memory, or all there is.
    pub(super) fn fill(&mut self, wanted: usize) -> io::Result<()> {
        loop {
            self.make_text();
            if self.checked >= wanted || self.ended || self.fault.is_some() {
                return Ok(());
            }
            self.take(wanted - self.checked)?;
        }
    }

    /// Makes text of what was taken.
    fn make_text(&mut self) {
        // What was cut off at the limit cannot be told from a character cut in two.
        let last = self.ended && self.fault.is_none();
        let buffers = &mut self.buffers;
        if let Some(decoder) = &mut self.decoder {
            match decoder.decode(&buffers.raw, last, &mut buffers.text, &mut buffers.offsets) {
                Ok(taken) => {
                    buffers.raw.drain(..taken);
                }
                Err(Malformed) => {
                    buffers.raw.clear();
                    let message = "these bytes are not text in the document's encoding";
                    self.fault = Some(Box::new(Fault::new(
                        error_codes::ENCODING_BYTES,
                        0,
                        message,
                    )));
                    self.ended = true;
                }
            }
        }
        let (text, fault) = check(&buffers.text[self.checked..], last);
        self.checked += text.len();
        if fault.is_some() {
            self.fault = fault;
            self.ended = true;
        }
    }

    /// The text in memory.
    pub(super) fn window(&self) -> InputWindow<'_> {
        let text = simdutf8::basic::from_utf8(&self.buffers.text[..self.checked]);
        let text = text.expect("what is checked is UTF-8");
        let origin = match self.decoder {
            None => OffsetMapping::Bytes(self.base),
            Some(_) => OffsetMapping::Decoded(&self.buffers.offsets),
        };
        InputWindow::new(text, self.ended && self.fault.is_none(), origin)
    }

    /// What cannot be read after the text in memory, and nothing else will come.
    pub(super) fn take_fault(&mut self) -> Option<Box<Fault>> {
        self.fault.take()
    }

    /// Forgets the first `bytes` of the text in memory.
    pub(super) fn consume(&mut self, bytes: usize) {
        self.buffers.text.drain(..bytes);
        self.checked -= bytes;
        self.base += bytes as u64;
        if self.decoder.is_some() {
            self.buffers.offsets.consume(bytes);
        }
    }

    /// How many bytes were taken from the source.
    pub(super) fn taken(&self) -> u64 {
        self.taken
    }

    /// Where the text in memory begins, in the original bytes.
    pub(super) fn position(&self) -> u64 {
        match self.decoder {
            None => self.base,
            Some(_) => self.buffers.offsets.original(0),
        }
    }

    pub(super) fn source_mut(&mut self) -> &mut R {
        &mut self.source
    }

    /// Gives the allocations back.
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
                super::text_position::Place::default(),
            )),
            OpenError::Io(error) => Self::Io(error),
        }
    }
}
