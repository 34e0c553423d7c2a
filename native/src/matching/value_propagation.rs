//! The values of open elements: how they come, and how they go up.
//!
//! An element's values come from its attributes, its text nodes, its own string-value at its end, and
//! from its children at theirs. What each element holds and passes on is known from its path
//! ([`crate::matching::required_values`]).

use crate::matching::alphabet::NONE;
use crate::matching::automaton::Path;
use crate::matching::required_values::{DECIDES, FIRST, NOTHING};
use crate::matching::segment_run::Run;
use crate::matching::string_values::{compact, Gatherer, Value};
use crate::path_index::segment::{Comparison, Segment, SlotRecord};

/// Past this many values, those of one element are compacted for the first time.
pub(super) const COMPACTED_PAST: u32 = 64;

/// So many slots of open elements are remembered in [`Existing`].
const EXISTING_PLACES: usize = 1 << 10;

/// In which slots open elements have a value that is neither known nor a number. Another one would decide
/// nothing more, and elements with many children alike would hold little else.
pub(super) struct Existing {
    /// The element's number and the slot. Where two want one place, the later has it: what is not found
    /// here is held again, until values are compacted.
    places: Vec<(u64, u32)>,
}

impl Existing {
    pub(super) fn new() -> Existing {
        // Elements are counted from one.
        let places = vec![(0, 0); EXISTING_PLACES];
        Existing { places }
    }

    /// Takes note of a slot of the element at `depth`; whether it was here already.
    #[inline]
    fn replace(&mut self, depth: usize, started: u64, slot: u32) -> bool {
        let place = (depth << 8).wrapping_add(slot as usize) % EXISTING_PLACES;
        let new = (started, slot);
        std::mem::replace(&mut self.places[place], new) == new
    }
}

/// What is gathered of one kind of node, and the slots that such nodes feed.
pub(super) struct Nodes {
    pub(super) gatherer: Gatherer,
    pub(super) slots: Vec<u32>,
}

impl Nodes {
    /// Those that slots of the record kind `kind` are made of.
    pub(super) fn new(segment: &Segment, kind: u32) -> Nodes {
        let slots = 0..segment.slots.len() as u32;
        Nodes {
            gatherer: Gatherer::new(segment),
            slots: slots
                .filter(|&slot| segment.source_slot(slot).kind == kind)
                .collect(),
        }
    }
}

impl Run {
    /// Adds a piece to the text node, where the innermost element holds it.
    pub(super) fn feed_text_node(&mut self, segment: &Segment, piece: &str) {
        let Some(frame) = self.frames.last() else {
            return;
        };
        let path = &self.automaton.paths[frame.path as usize];
        if path.duties & Path::TEXTS != 0 {
            let texts = &mut self.texts.gatherer;
            if texts.count() == 0 {
                let asked = self.automaton.holdings.get(path.holding).text_asked;
                texts.begin(asked[SlotRecord::PARTS] != 0);
            }
            texts.feed(segment, piece);
        }
    }

    /// The text node, if there is one, is whole.
    #[inline(always)]
    pub(super) fn end_text_node(&mut self, segment: &Segment) {
        if self.texts.gatherer.count() > 0 {
            self.hold_text_node(segment);
        }
    }

    fn hold_text_node(&mut self, segment: &Segment) {
        self.texts.gatherer.end();
        self.text_nodes += 1;
        let frame = self.frames.last().expect("text is inside an element");
        let holding = self.automaton.paths[frame.path as usize].holding;
        self.hold_node(
            segment,
            holding,
            |run| &mut run.texts,
            true,
            self.text_nodes,
        );
    }

    /// Holds the innermost element's string-value, as far as `holding` says.
    #[inline]
    pub(super) fn hold_value(&mut self, segment: &Segment, holding: u32, gathered: bool) {
        let order = self.frames.last().expect("an element is open").started;
        self.hold_node(
            segment,
            holding,
            |run| &mut run.string_values,
            gathered,
            order,
        );
    }

    /// Holds a node of the innermost element, the last that was gathered of its kind.
    fn hold_node(
        &mut self,
        segment: &Segment,
        holding: u32,
        kind: impl Fn(&mut Run) -> &mut Nodes,
        gathered: bool,
        order: u64,
    ) {
        for at in 0..kind(self).slots.len() {
            let slot = kind(self).slots[at];
            let asked = self.automaton.holdings.asked(holding, slot);
            if asked == 0 {
                continue;
            }
            let view = segment.source_slot(slot).view as usize;
            if view == SlotRecord::WHOLE {
                let measured = if gathered {
                    kind(self).gatherer.ended().measure(segment, asked)
                } else {
                    (NONE, f64::NAN)
                };
                self.hold(segment, Value::new(slot, measured), asked);
            } else {
                let mut found = std::mem::take(&mut self.found);
                kind(self).gatherer.ended().find(segment, view, &mut found);
                self.found = found;
                self.hold_found(segment, slot, asked, order);
            }
        }
    }

    /// Holds what was found in a node that stands at `order`, and forgets it.
    pub(super) fn hold_found(&mut self, segment: &Segment, slot: u32, asked: u32, order: u64) {
        let mut found = std::mem::take(&mut self.found);
        if asked & FIRST != 0 {
            self.hold_first(slot, order, &found);
        }
        for literal in found.drain(..) {
            self.hold(segment, Value::new(slot, (literal, f64::NAN)), asked);
        }
        self.found = found;
    }

    /// Holds a value of the innermost element, when `asked` is what is asked of its slot, the same for all
    /// values of it.
    #[inline]
    pub(super) fn hold(&mut self, segment: &Segment, mut value: Value, asked: u32) {
        // Values that nothing tells apart are the same to `compact`.
        if asked & Comparison::TEXTUAL == 0 {
            value.literal = NONE;
        }
        if asked & Comparison::NUMERIC == 0 {
            value.number = f64::NAN;
        }
        if !value.matters(asked) {
            return;
        }
        let depth = self.frames.len() - 1;
        let frame = &mut self.frames[depth];
        let only_exists = value.literal == NONE && value.number.is_nan();
        if only_exists && self.existing.replace(depth, frame.started, value.slot) {
            return;
        }
        self.values.push(value);
        frame.busy = true;
        if asked & DECIDES != 0 {
            if segment.slots[value.slot as usize].kind == SlotRecord::ATTRIBUTE {
                self.attributes
                    .push_held(depth, frame.started, value, asked);
            } else {
                frame.has_content = true;
            }
        }
        if self.values.len() - frame.values > frame.compacted_past as usize {
            compact(segment, &mut self.values, frame.values);
            let kept = (self.values.len() - frame.values) as u32;
            frame.compacted_past = COMPACTED_PAST.max(kept.saturating_mul(2));
        }
    }

    /// Passes the values from `start` on, of an element that just ended and had `holding`, to its parent.
    pub(super) fn pass_on(&mut self, segment: &Segment, holding: u32, start: usize) {
        let above = match self.frames.last() {
            Some(parent) => self.automaton.paths[parent.path as usize].holding,
            None => NOTHING,
        };
        let mut passed = std::mem::take(&mut self.passed);
        if above != NOTHING {
            let holdings = &self.automaton.holdings;
            for value in &self.values[start..] {
                for pass in holdings.passes_from(holding, value.slot) {
                    let slot = pass.to;
                    passed.push((Value { slot, ..*value }, pass.asked));
                }
                if segment.slots[value.slot as usize].kind == SlotRecord::DEEP {
                    passed.push((*value, holdings.asked(above, value.slot)));
                }
            }
        }
        self.values.truncate(start);
        if self.repeats.is_around(self.frames.len()) {
            self.repeats.note_values(&passed);
        }
        for (value, asked) in passed.drain(..) {
            self.hold(segment, value, asked);
        }
        self.passed = passed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_known_of_its_own_element_until_another_has_its_place() {
        let mut existing = Existing::new();
        assert!(!existing.replace(0, 1, 7));
        assert!(existing.replace(0, 1, 7));
        assert!(!existing.replace(0, 1, 8));
        assert!(!existing.replace(1, 2, 7));
        assert!(existing.replace(0, 1, 7));
        assert!(!existing.replace(0, 1, 7 + EXISTING_PLACES as u32));
        assert!(!existing.replace(0, 1, 7));
        assert!(!existing.replace(0, 3, 7));
    }
}
