//! The values of open elements: how they come, and how they go up.
//!
//! An element's values come from its attributes, its text nodes, its own string-value at its end, and
//! from its children at theirs. What each element holds and passes on is known from its path
//! ([`super::holding`]).

use super::automaton::Path;
use super::gather::{compact, measure, Value};
use super::holding::{DECIDES, NOTHING};
use super::letters::NONE;
use super::run::Run;
use crate::events::{Attribute, Names};
use crate::index::segment::{Comparison, Segment, SlotRecord};

/// Past this many values, those of one element are compacted for the first time.
pub(super) const COMPACTED_PAST: usize = 64;

impl Run {
    /// Holds the attributes of the innermost element, as far as `holding` says.
    pub(super) fn hold_attributes(
        &mut self,
        segment: &Segment,
        names: &Names,
        holding: u32,
        attributes: &[Attribute<'_>],
    ) {
        let depth = self.frames.len() - 1;
        let frame = &mut self.frames[depth];
        let automaton = &mut self.automaton;
        for attribute in attributes {
            let slots = automaton
                .letters
                .attribute_slots(segment, names, attribute.name);
            for &slot in slots {
                let asked = automaton.holdings.asked(holding, slot);
                if asked == 0 {
                    continue;
                }
                let (literal, number) = measure(segment, attribute.value, asked);
                let value = Value {
                    slot,
                    literal,
                    number,
                };
                if !value.matters(asked) {
                    continue;
                }
                self.values.push(value);
                if asked & DECIDES == 0 {
                    continue;
                }
                if segment.slots[slot as usize].kind == SlotRecord::ATTRIBUTE {
                    self.attributes.push((depth, value));
                    frame.attributes_since = frame.started;
                } else {
                    frame.has_content = true;
                }
            }
        }
    }

    /// Adds a piece to the text node, where the innermost element holds it.
    pub(super) fn feed_text_node(&mut self, piece: &str) {
        let Some(frame) = self.frames.last() else {
            return;
        };
        if self.automaton.paths[frame.path as usize].duties & Path::TEXTS != 0 {
            if self.text_node.count() == 0 {
                self.text_node.begin();
            }
            self.text_node.feed(piece);
        }
    }

    /// The text node, if there is one, is whole.
    #[inline]
    pub(super) fn end_text_node(&mut self, segment: &Segment) {
        if self.text_node.count() > 0 {
            self.hold_text_node(segment);
        }
    }

    fn hold_text_node(&mut self, segment: &Segment) {
        let frame = self.frames.last().expect("text is inside an element");
        let holding = self.automaton.paths[frame.path as usize].holding;
        let asked = |run: &Run, slot: u32| run.automaton.holdings.asked(holding, slot);
        let asked_of_any = self
            .text_slots
            .iter()
            .fold(0, |any, &slot| any | asked(self, slot));
        let (literal, number) = self.text_node.end(segment, asked_of_any);
        for at in 0..self.text_slots.len() {
            let slot = self.text_slots[at];
            let asked = asked(self, slot);
            if asked != 0 {
                let value = Value {
                    slot,
                    literal,
                    number,
                };
                self.hold(segment, value, asked);
            }
        }
    }

    /// Holds the innermost element's string-value, as far as `holding` says.
    #[inline]
    pub(super) fn hold_value(&mut self, segment: &Segment, holding: u32, gathered: bool) {
        let asked = self.automaton.holdings.get(holding).value_asked;
        if asked == 0 {
            return;
        }
        let (literal, number) = if gathered {
            self.gatherer.end(segment, asked)
        } else {
            (NONE, f64::NAN)
        };
        let value = Value {
            slot: self.value_slot,
            literal,
            number,
        };
        self.hold(segment, value, asked);
    }

    /// Holds a value of the innermost element's content, when `asked` is what is asked of its slot.
    #[inline]
    fn hold(&mut self, segment: &Segment, mut value: Value, asked: u32) {
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
        self.values.push(value);
        let frame = self
            .frames
            .last_mut()
            .expect("a value belongs to an open element");
        frame.has_content |= asked & DECIDES != 0;
        if self.values.len() - frame.values > frame.compacted_past {
            compact(segment, &mut self.values, frame.values);
            frame.compacted_past = COMPACTED_PAST.max(2 * (self.values.len() - frame.values));
        }
    }

    /// Passes the values from `start` on, of an element that just ended and had `holding`, to its parent.
    pub(super) fn pass_on(&mut self, segment: &Segment, holding: u32, start: usize) {
        let above = match self.frames.last() {
            Some(parent) => self.automaton.paths[parent.path as usize].holding,
            None => NOTHING,
        };
        if above != NOTHING {
            let passes = self.automaton.holdings.passes(holding);
            for value in &self.values[start..] {
                let first = passes.partition_point(|pass| pass.from < value.slot);
                for pass in &passes[first..] {
                    if pass.from != value.slot {
                        break;
                    }
                    let slot = pass.to;
                    self.passed.push((Value { slot, ..*value }, pass.asked));
                }
                if segment.slots[value.slot as usize].kind == SlotRecord::DEEP {
                    let asked = self.automaton.holdings.asked(above, value.slot);
                    if asked != 0 {
                        self.passed.push((*value, asked));
                    }
                }
            }
        }
        self.values.truncate(start);
        let mut passed = std::mem::take(&mut self.passed);
        for (value, asked) in passed.drain(..) {
            self.hold(segment, value, asked);
        }
        self.passed = passed;
    }
}
