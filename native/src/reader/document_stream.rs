//! Reads a document from a stream, one window at a time.

use std::io::Read;

use crate::events::Handler;

use super::document_parser::DocumentParser;
use super::input::DocumentInput;
use super::parse_error::Fault;
use super::text_position::TextPosition;
use super::{refusal_in, ReadError};

/// A document that is read window by window.
pub(crate) struct DocumentStream<R> {
    pub(super) input: DocumentInput<R>,
    /// The position of the window's start.
    position: TextPosition,
    /// The least amount of text to buffer before parsing continues, if it is more than a window.
    bytes_wanted: usize,
}

impl<R: Read> DocumentStream<R> {
    pub(super) fn new(input: DocumentInput<R>) -> Self {
        Self {
            input,
            position: TextPosition::default(),
            bytes_wanted: 0,
        }
    }

    /// Offset in the original bytes up to which the document has been parsed.
    pub fn offset(&self) -> u64 {
        self.input.offset()
    }

    /// The source of the bytes.
    pub fn source_mut(&mut self) -> &mut R {
        self.input.source_mut()
    }

    /// Parses one window; whether this reached the document's end.
    pub(super) fn advance<H: Handler>(
        &mut self,
        parser: &mut DocumentParser,
        handler: &mut H,
    ) -> Result<bool, ReadError> {
        let window_bytes = parser.options.limits.window_bytes.max(1);
        let wanted = self.bytes_wanted.max(window_bytes);
        self.input.fill(wanted).map_err(ReadError::Io)?;
        let window = self.input.window();
        let consumed = match parser.advance(&window, handler) {
            Ok(consumed) => consumed,
            Err(fault) => {
                let refusal = refusal_in(*fault, &window, self.position, parser);
                return Err(ReadError::Refusal(refusal));
            }
        };
        if window.complete {
            return Ok(true);
        }
        let (left, after) = (
            window.text.len() - consumed,
            self.position.after(&window.text[..consumed]),
        );
        if let Some(fault) = self.input.take_fault() {
            let window = self.input.window();
            let fault = Fault {
                at: window.text.len(),
                ..*fault
            };
            return Err(ReadError::Refusal(refusal_in(
                fault,
                &window,
                self.position,
                parser,
            )));
        }
        self.position = after;
        self.input.consume(consumed);
        // If a token does not fit, the amount of text is doubled, so that the total work stays linear.
        self.bytes_wanted = (2 * left).max(left + 1);
        Ok(false)
    }
}
