//! The attributes of the open elements, as far as conditions look at them.
//!
//! Most of them nobody asks for: of the paths at or below an element, few documents have one whose matches
//! look at it. So only the text of an attribute is kept, and what it is worth is found out when the first
//! match asks.

use crate::events::{Attribute, Context};
use crate::matching::alphabet::{AttributeSlot, NONE};
use crate::matching::automaton::Path;
use crate::matching::required_values::DECIDES;
use crate::matching::segment_run::Run;
use crate::matching::string_values::{find, measure, measure_bytes, Value};
use crate::path_index::segment::{Segment, SlotRecord};

/// Texts up to this long are kept; longer ones are read at once.
const KEPT_BYTES_MAX: usize = 64;

/// An attribute of an open element, in one slot.
pub(super) struct OpenAttribute {
    /// The element's depth.
    pub(super) depth: u32,
    /// The slot.
    pub(super) slot: u32,
    /// The element's number in the run's count of elements.
    pub(super) started: u64,
    literal: u32,
    /// What is asked of the slot.
    asked: u32,
    number: f64,
    /// Where its text begins among those kept.
    text: u32,
    /// How long that is.
    len: u16,
    /// Whether it is known what it is worth.
    is_read: bool,
    /// Whether it is among the values of its element.
    is_held: bool,
}

/// Those of all open elements, innermost last.
#[derive(Default)]
pub(super) struct OpenAttributes {
    list: Vec<OpenAttribute>,
    texts: Vec<u8>,
}

/// Where those of an element begin.
#[derive(Clone, Copy, Debug)]
pub struct AttributesEnd {
    count: u32,
    text_bytes: u32,
}

impl OpenAttributes {
    /// Forgets all.
    pub(super) fn clear(&mut self) {
        self.list.clear();
        self.texts.clear();
    }

    /// How many there are.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// All of them.
    #[inline]
    pub(super) fn list(&self) -> &[OpenAttribute] {
        &self.list
    }

    /// Where the next one would come.
    #[inline]
    pub(super) fn end(&self) -> AttributesEnd {
        AttributesEnd {
            count: self.list.len() as u32,
            text_bytes: self.texts.len() as u32,
        }
    }

    /// Forgets those that came since.
    #[inline]
    pub(super) fn truncate(&mut self, end: AttributesEnd) {
        // Without asking whether there are any, which could not be foretold.
        self.list.truncate(end.count as usize);
        self.texts.truncate(end.text_bytes as usize);
    }

    /// Adds one that is among the values of the element at `depth`, which is number `started`.
    pub(super) fn push_held(&mut self, depth: usize, started: u64, value: Value, asked: u32) {
        self.list.push(OpenAttribute {
            depth: depth as u32,
            slot: value.slot,
            started,
            literal: value.literal,
            asked,
            number: value.number,
            text: self.texts.len() as u32,
            len: 0,
            is_read: true,
            is_held: true,
        });
    }

    /// What one is worth, where that can decide something.
    #[inline]
    pub(super) fn value(&mut self, segment: &Segment, at: usize) -> Option<Value> {
        if !self.list[at].is_read {
            self.read(segment, at);
        }
        let attribute = &self.list[at];
        let value = Value::new(attribute.slot, (attribute.literal, attribute.number));
        value.matters(attribute.asked).then_some(value)
    }

    #[inline(never)]
    fn read(&mut self, segment: &Segment, at: usize) {
        let attribute = &mut self.list[at];
        let start = attribute.text as usize;
        let bytes = &self.texts[start..start + usize::from(attribute.len)];
        let text = || std::str::from_utf8(bytes).expect("it was kept as one");
        (attribute.literal, attribute.number) =
            measure_bytes(segment, bytes, text, attribute.asked);
        attribute.is_read = true;
    }

    /// Keeps one of the element at `depth`, which is number `started`, until some match asks for it.
    #[inline]
    fn keep(&mut self, (depth, started): (u32, u64), slot: u32, asked: u32, text: &str) {
        self.list.push(OpenAttribute {
            depth,
            slot,
            started,
            literal: NONE,
            asked,
            number: f64::NAN,
            text: self.texts.len() as u32,
            len: text.len() as u16,
            is_read: false,
            is_held: false,
        });
        self.texts.extend_from_slice(text.as_bytes());
    }
}

impl Run {
    /// Holds the attributes of the innermost element, as far as `holding` says.
    #[inline(never)]
    pub(super) fn hold_attributes(
        &mut self,
        segment: &Segment,
        context: &dyn Context,
        (holding, duties): (u32, u32),
        attributes: &[Attribute<'_>],
    ) {
        let depth = self.frames.len() - 1;
        let element = (depth as u32, self.frames[depth].started);
        let before = self.attributes.len();
        let may_wait = duties & (Path::JOINS | Path::PASSES) == 0;
        for attribute in attributes {
            let letters = &mut self.automaton.letters;
            for at in letters.attribute_slots(segment, context, attribute.name) {
                let AttributeSlot { slot, waits } = self.automaton.letters.attribute_slot(at);
                let asked = self.automaton.holdings.asked(holding, slot);
                if asked == 0 {
                    continue;
                }
                let text = attribute.value;
                let waits = waits && may_wait && text.len() <= KEPT_BYTES_MAX;
                if waits && asked & DECIDES != 0 {
                    self.attributes.keep(element, slot, asked, text);
                } else {
                    self.hold_attribute(segment, text, slot, asked);
                }
            }
        }
        if self.attributes.len() > before {
            self.frames[depth].attributes_since = element.1;
        }
    }

    #[inline(never)]
    fn hold_attribute(&mut self, segment: &Segment, text: &str, slot: u32, asked: u32) {
        let view = segment.source_slot(slot).view as usize;
        if view == SlotRecord::WHOLE {
            let measured = measure(segment, text, asked);
            self.hold(segment, Value::new(slot, measured), asked);
        } else {
            find(segment, text, view, &mut self.found);
            let order = self.frames.last().expect("an element is open").started;
            self.hold_found(segment, slot, asked, order);
        }
    }

    /// Adds the innermost element's attributes to its values, where they are not among them.
    pub(super) fn hold_kept_attributes(&mut self, segment: &Segment) {
        let frame = self.frames.last().expect("an element is open");
        for at in frame.attributes.count as usize..self.attributes.len() {
            let is_held = std::mem::replace(&mut self.attributes.list[at].is_held, true);
            if !is_held {
                self.values.extend(self.attributes.value(segment, at));
            }
        }
    }
}
