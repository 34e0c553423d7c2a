//! The part of a document's text that is in memory.

use memchr::memmem;

use crate::events::{Handler, Span};

use super::input::{ContinuationBytes, OffsetTable};

/// How offsets in the text correspond to offsets in the original bytes.
#[derive(Clone, Copy, Debug)]
pub(super) enum OffsetMapping<'w> {
    /// The text is the original from this offset on.
    Identity(u64),
    /// The text was decoded from a single-byte encoding.
    SingleByte(&'w ContinuationBytes),
    /// The text was decoded from an encoding with several bytes a character.
    Table(&'w OffsetTable),
    /// The text is that of an entity, whose outermost reference has this span.
    Entity(Span),
}

/// A part of a document's text, or the text of an entity.
#[derive(Clone, Copy, Debug)]
pub(super) struct InputWindow<'w> {
    pub text: &'w str,
    /// Whether the text ends here.
    pub complete: bool,
    pub offsets: OffsetMapping<'w>,
    /// Whether there are line ends to normalise.
    pub has_carriage_returns: bool,
    /// Whether `]]>` occurs anywhere.
    pub has_cdata_end: bool,
}

impl<'w> InputWindow<'w> {
    pub(super) fn new(text: &'w str, complete: bool, offsets: OffsetMapping<'w>) -> Self {
        // Line ends of an entity are normalised in its declaration; other carriage returns are meant.
        let is_entity = matches!(offsets, OffsetMapping::Entity(_));
        Self {
            text,
            complete,
            offsets,
            has_carriage_returns: !is_entity && memchr::memchr(b'\r', text.as_bytes()).is_some(),
            has_cdata_end: memmem::find(text.as_bytes(), b"]]>").is_some(),
        }
    }

    /// The original offset of offset `at` of the text.
    #[inline]
    pub(super) fn original(&self, at: usize) -> u64 {
        match self.offsets {
            OffsetMapping::Identity(base) => base + at as u64,
            OffsetMapping::SingleByte(continuations) => continuations.original(at),
            OffsetMapping::Table(table) => table.original(at),
            OffsetMapping::Entity(span) => span.end,
        }
    }

    /// The span of `start..end` in the original bytes.
    #[inline]
    pub(super) fn span(&self, start: usize, end: usize) -> Span {
        self.span_from(self.original(start), end)
    }

    /// The same for a handler; an empty span for one that does not use spans.
    #[inline]
    pub(super) fn span_for<H: Handler>(&self, start: usize, end: usize) -> Span {
        if H::SPANS {
            self.span(start, end)
        } else {
            Span::default()
        }
    }

    /// The span of an element from the original offset `start` to offset `end` of the text, for a handler.
    #[inline]
    pub(super) fn element_span_for<H: Handler>(&self, start: u64, end: usize) -> Span {
        if H::SPANS || H::ELEMENT_ENDS {
            self.span_from(start, end)
        } else {
            Span::default()
        }
    }

    /// The span from the original offset `start` to offset `end` of the text.
    #[inline]
    pub(super) fn span_from(&self, start: u64, end: usize) -> Span {
        match self.offsets {
            OffsetMapping::Entity(span) => span,
            _ => Span {
                start,
                end: self.original(end),
                from_entity: false,
            },
        }
    }
}
