//! From nodes of the rewritten document back to ranges of the original bytes.
//!
//! A node that was there has its own range, and whoever hears the document is given that. Of others the
//! range is not known when they pass, or they stand for several: they are given a *sign* instead, a
//! range that is none, and the table tells after the reading what it stands for.

use super::mapping::Symbol;
use crate::events::Span;

/// Where signs begin: no document is so long.
const SIGNS: u64 = 1 << 63;

/// The number of a sign.
pub type PlaceholderId = u32;

#[derive(Clone, Debug, Default)]
struct Entry {
    /// Ranges or signs.
    spans: Vec<Span>,
    /// What an attribute is called in the original.
    name: Option<Symbol>,
}

/// What each sign stands for.
#[derive(Debug, Default)]
pub struct Provenance {
    entries: Vec<Entry>,
}

impl Provenance {
    /// A new sign.
    pub fn add(&mut self, spans: Vec<Span>, name: Option<Symbol>) -> PlaceholderId {
        self.entries.push(Entry { spans, name });
        u32::try_from(self.entries.len() - 1).expect("fewer than 2^32 signs")
    }

    /// The range that is given in place of what it stands for.
    pub fn sign(id: PlaceholderId) -> Span {
        let start = SIGNS | u64::from(id);
        Span {
            start,
            end: start,
            from_entity: false,
        }
    }

    /// Notes more of what a sign stands for.
    pub fn note(&mut self, id: PlaceholderId, span: Span) {
        let spans = &mut self.entries[id as usize].spans;
        match spans.last_mut() {
            Some(last) if last.end == span.start && span.start < SIGNS => {
                last.end = span.end;
                last.from_entity |= span.from_entity;
            }
            _ => spans.push(span),
        }
    }

    /// What a sign stands for is known; a range stands for itself.
    pub fn settle(&mut self, sign: Span, span: Span) {
        if let Some(id) = sign.start.checked_sub(SIGNS) {
            self.entries[id as usize].spans = vec![span];
        }
    }

    /// The ranges that ranges and signs stand for: the same bytes once each, in order, as few ranges as
    /// can be.
    pub fn resolve(&self, spans: &[Span]) -> Vec<Span> {
        let mut found = Vec::new();
        let mut waiting = spans.to_vec();
        while let Some(span) = waiting.pop() {
            match span.start.checked_sub(SIGNS) {
                Some(id) => waiting.extend(&self.entries[id as usize].spans),
                None => found.push(span),
            }
        }
        merged(found)
    }

    /// What the attribute with this range or sign is called in the original, if it has another name.
    pub fn name(&self, span: Span) -> Option<Symbol> {
        let id = span.start.checked_sub(SIGNS)?;
        self.entries[id as usize].name
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
    fn signs_lead_to_ranges_through_other_signs() {
        let mut provenance = Provenance::default();
        let inner = provenance.add(vec![span(7, 9)], None);
        let outer = provenance.add(vec![span(0, 4), Provenance::sign(inner)], None);
        provenance.note(outer, span(4, 6));
        assert_eq!(
            provenance.resolve(&[Provenance::sign(outer), span(1, 2)]),
            [span(0, 6), span(7, 9)]
        );
    }

    #[test]
    fn signs_beside_each_other_stay_apart() {
        let mut provenance = Provenance::default();
        let first = provenance.add(Vec::new(), None);
        let second = provenance.add(vec![span(1, 2)], None);
        provenance.note(first, Provenance::sign(second));
        provenance.note(first, Provenance::sign(second));
        assert_eq!(provenance.resolve(&[Provenance::sign(first)]), [span(1, 2)]);
    }
}
