//! A document that comes as a stream, a window at a time.

use std::io::Read;

use crate::events::Handler;

use super::document_parser::DocumentParser;
use super::input::DocumentInput;
use super::parse_error::Fault;
use super::text_position::Place;
use super::{placed, ReadError};

/// A document being read window by window.
pub struct DocumentStream<R> {
    pub(super) input: DocumentInput<R>,
    /// Where the window begins.
    place: Place,
    /// How much text to have in memory before reading on; 0 for a window's.
    wanted: usize,
}

impl<R: Read> DocumentStream<R> {
    pub(super) fn new(input: DocumentInput<R>) -> Self {
        Self {
            input,
            place: Place::default(),
            wanted: 0,
        }
    }

    /// Up to where the original bytes are read; what follows is read by the next window.
    pub fn position(&self) -> u64 {
        self.input.position()
    }

    /// Where the bytes come from.
    pub fn source_mut(&mut self) -> &mut R {
        self.input.source_mut()
    }

    /// Reads a window; whether that was the document's end.
    pub(super) fn advance<H: Handler>(
        &mut self,
        parser: &mut DocumentParser,
        handler: &mut H,
    ) -> Result<bool, ReadError> {
        let window_bytes = parser.options.limits.window_bytes.max(1);
        let wanted = self.wanted.max(window_bytes);
        self.input.fill(wanted).map_err(ReadError::Io)?;
        let window = self.input.window();
        let refused = |fault: Fault| ReadError::Refusal(placed(fault, &window, self.place));
        let consumed = parser
            .advance(&window, handler)
            .map_err(|fault| refused(*fault))?;
        if window.complete {
            return Ok(true);
        }
        let (left, after) = (
            window.text.len() - consumed,
            self.place.after(&window.text[..consumed]),
        );
        if let Some(fault) = self.input.take_fault() {
            let window = self.input.window();
            let fault = Fault {
                at: window.text.len(),
                ..*fault
            };
            return Err(ReadError::Refusal(placed(fault, &window, self.place)));
        }
        self.place = after;
        self.input.consume(consumed);
        // A token that does not fit is tried again with twice the text: the work stays linear.
        self.wanted = (2 * left).max(left + 1);
        Ok(false)
    }
}
