//! The part of a document's text that is in memory, and where it came from.

use memchr::memmem;

use crate::events::{Handler, Span};

use super::input::OffsetTable;

/// Where a text came from.
#[derive(Clone, Copy, Debug)]
pub(super) enum OffsetMapping<'w> {
    /// The original bytes, from this offset on.
    Bytes(u64),
    /// Decoded from the original bytes.
    Decoded(&'w OffsetTable),
    /// An entity, referred to here.
    Entity(Span),
}

/// A text in memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct InputWindow<'w> {
    pub text: &'w str,
    /// Whether nothing follows it.
    pub complete: bool,
    pub origin: OffsetMapping<'w>,
    /// Whether there are line ends to fold.
    pub fold_line_ends: bool,
    /// Whether `]]>` occurs at all.
    pub has_brackets: bool,
}

impl<'w> InputWindow<'w> {
    pub(super) fn new(text: &'w str, complete: bool, origin: OffsetMapping<'w>) -> Self {
        // An entity's line ends are folded where it is declared; what is left is meant.
        let is_entity = matches!(origin, OffsetMapping::Entity(_));
        Self {
            text,
            complete,
            origin,
            fold_line_ends: !is_entity && memchr::memchr(b'\r', text.as_bytes()).is_some(),
            has_brackets: memmem::find(text.as_bytes(), b"]]>").is_some(),
        }
    }

    /// The original offset of the text's offset `at`.
    #[inline]
    pub(super) fn original(&self, at: usize) -> u64 {
        match self.origin {
            OffsetMapping::Bytes(base) => base + at as u64,
            OffsetMapping::Decoded(table) => table.original(at),
            OffsetMapping::Entity(span) => span.end,
        }
    }

    /// The range of the original bytes that `start..end` came from.
    #[inline]
    pub(super) fn span(&self, start: usize, end: usize) -> Span {
        self.span_from(self.original(start), end)
    }

    /// The same for a handler; nothing for one that reads no spans.
    #[inline]
    pub(super) fn span_for<H: Handler>(&self, start: usize, end: usize) -> Span {
        if H::SPANS {
            self.span(start, end)
        } else {
            Span::default()
        }
    }

    /// The range where the start is known as an original offset.
    #[inline]
    pub(super) fn span_from(&self, start: u64, end: usize) -> Span {
        match self.origin {
            OffsetMapping::Entity(span) => span,
            _ => Span {
                start,
                end: self.original(end),
                from_entity: false,
            },
        }
    }
}
