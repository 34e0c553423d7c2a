//! Maps nodes of the rewritten document to byte spans of the original.
//!
//! A node that exists in the original has its own span, which the downstream handler receives. Other
//! nodes consist of several parts of the original, or their span is not known when they are sent: they
//! get a *placeholder*, a value outside the range of spans, which [`Provenance`] resolves after the
//! document was read.

use super::mapping::Symbol;
use crate::events::Span;

/// The first offset that denotes a placeholder; documents are shorter.
const FIRST_PLACEHOLDER: u64 = 1 << 63;

/// Stands for byte spans that are not known yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Placeholder(u32);

impl Placeholder {
    /// The placeholder as a span, to be sent downstream.
    pub fn span(self) -> Span {
        let start = FIRST_PLACEHOLDER | u64::from(self.0);
        Span {
            start,
            end: start,
            from_entity: false,
        }
    }

    /// The placeholder that a span denotes, if it is one.
    fn from_span(span: Span) -> Option<Placeholder> {
        let number = span.start.checked_sub(FIRST_PLACEHOLDER)?;
        Some(Placeholder(u32::try_from(number).expect("made by `span`")))
    }
}

#[derive(Clone, Debug, Default)]
struct Entry {
    /// Spans and placeholders.
    spans: Vec<Span>,
    /// The name of an attribute in the original.
    name: Option<Symbol>,
}

/// What each placeholder stands for.
#[derive(Debug, Default)]
pub struct Provenance {
    entries: Vec<Entry>,
}

impl Provenance {
    /// A new placeholder for `spans`; `name` is the original name of a renamed attribute.
    pub(super) fn add(&mut self, spans: Vec<Span>, name: Option<Symbol>) -> Placeholder {
        self.entries.push(Entry { spans, name });
        Placeholder(u32::try_from(self.entries.len() - 1).expect("fewer than 2^32 placeholders"))
    }

    fn entry(&self, placeholder: Placeholder) -> &Entry {
        &self.entries[placeholder.0 as usize]
    }

    /// Adds a span or placeholder to what a placeholder stands for. Adjacent spans are merged.
    pub(super) fn extend(&mut self, placeholder: Placeholder, span: Span) {
        let spans = &mut self.entries[placeholder.0 as usize].spans;
        match spans.last_mut() {
            Some(last) if last.end == span.start && span.start < FIRST_PLACEHOLDER => {
                last.end = span.end;
                last.from_entity |= span.from_entity;
            }
            _ => spans.push(span),
        }
    }

    /// Sets what a placeholder stands for; does nothing if `placeholder` is an ordinary span.
    pub(super) fn set(&mut self, placeholder: Span, span: Span) {
        if let Some(Placeholder(number)) = Placeholder::from_span(placeholder) {
            self.entries[number as usize].spans = vec![span];
        }
    }

    /// Replaces placeholders by what they stand for; the result is sorted, and overlapping and adjacent
    /// spans are merged.
    pub fn resolve(&self, spans: &[Span]) -> Vec<Span> {
        let mut found = Vec::new();
        let mut pending = spans.to_vec();
        while let Some(span) = pending.pop() {
            match Placeholder::from_span(span) {
                Some(placeholder) => pending.extend(&self.entry(placeholder).spans),
                None => found.push(span),
            }
        }
        merged(found)
    }

    /// The original name of the attribute with this span or placeholder, if it was renamed.
    pub fn original_name(&self, span: Span) -> Option<Symbol> {
        self.entry(Placeholder::from_span(span)?).name
    }
}

fn merged(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_unstable();
    let mut merged: Vec<Span> = Vec::new();
    for span in spans {
        match merged.last_mut() {
            Some(last) if span.start <= last.end => {
                last.end = last.end.max(span.end);
                last.from_entity |= span.from_entity;
            }
            _ => merged.push(span),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(start: u64, end: u64) -> Span {
        Span {
            start,
            end,
            from_entity: false,
        }
    }

    #[test]
    fn placeholders_resolve_through_other_placeholders() {
        let mut provenance = Provenance::default();
        let inner = provenance.add(vec![span(7, 9)], None);
        let outer = provenance.add(vec![span(0, 4), inner.span()], None);
        provenance.extend(outer, span(4, 6));
        assert_eq!(
            provenance.resolve(&[outer.span(), span(1, 2)]),
            [span(0, 6), span(7, 9)]
        );
    }

    #[test]
    fn consecutive_placeholders_are_not_merged() {
        let mut provenance = Provenance::default();
        let first = provenance.add(Vec::new(), None);
        let second = provenance.add(vec![span(1, 2)], None);
        provenance.extend(first, second.span());
        provenance.extend(first, second.span());
        assert_eq!(provenance.resolve(&[first.span()]), [span(1, 2)]);
    }
}
