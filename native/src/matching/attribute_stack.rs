//! The attributes of open elements that conditions use.
//!
//! Most of them are never compared: few documents have a path below the element whose matches
//! depend on them. The stack therefore stores the text of an attribute and resolves it when a
//! condition first needs the value.

use crate::matching::operand_value::{resolve_bytes, OperandValue};
use crate::matching::NONE;
use crate::path_index::segment::Segment;

/// An attribute of an open element, as a value of one operand.
pub(super) struct StackedAttribute {
    /// The element's depth.
    pub depth: u32,
    /// The operand.
    pub operand: u32,
    /// The element's number.
    pub element: u64,
    literal: u32,
    /// The uses of the operand.
    uses: u32,
    number: f64,
    /// Where its text begins in `texts`.
    text_start: u32,
    text_len: u16,
    /// Whether `literal` and `number` are set.
    is_resolved: bool,
    /// Whether it is among the values of its element.
    is_recorded: bool,
}

/// The attributes of all open elements, innermost last.
#[derive(Default)]
pub(super) struct AttributeStack {
    attributes: Vec<StackedAttribute>,
    texts: Vec<u8>,
}

/// A height of the stack.
#[derive(Clone, Copy, Debug)]
pub(super) struct AttributeMark {
    count: u32,
    text_bytes: u32,
}

impl AttributeMark {
    /// The index of the first attribute above the mark.
    pub fn index(self) -> usize {
        self.count as usize
    }
}

impl AttributeStack {
    /// Longest text that is stored; longer ones are resolved at once.
    pub const TEXT_BYTES_MAX: usize = 64;

    /// Removes all attributes.
    pub fn clear(&mut self) {
        self.attributes.clear();
        self.texts.clear();
    }

    /// Number of attributes.
    #[inline]
    pub fn len(&self) -> usize {
        self.attributes.len()
    }

    /// All attributes, innermost last.
    #[inline]
    pub fn list(&self) -> &[StackedAttribute] {
        &self.attributes
    }

    /// The current height.
    #[inline]
    pub fn mark(&self) -> AttributeMark {
        AttributeMark {
            count: self.attributes.len() as u32,
            text_bytes: self.texts.len() as u32,
        }
    }

    /// Removes the attributes above a mark.
    #[inline]
    pub fn truncate(&mut self, mark: AttributeMark) {
        // Unconditional: a test whether there are any would be mispredicted.
        self.attributes.truncate(mark.count as usize);
        self.texts.truncate(mark.text_bytes as usize);
    }

    /// Pushes an attribute that is among the values of its element.
    pub fn push_recorded(&mut self, depth: usize, element: u64, value: OperandValue, uses: u32) {
        self.attributes.push(StackedAttribute {
            depth: depth as u32,
            operand: value.operand,
            element,
            literal: value.literal,
            uses,
            number: value.number,
            text_start: self.texts.len() as u32,
            text_len: 0,
            is_resolved: true,
            is_recorded: true,
        });
    }

    /// Pushes an attribute that is resolved when a condition needs it; its text has at most
    /// [`AttributeStack::TEXT_BYTES_MAX`] bytes.
    #[inline]
    pub fn push_lazy(&mut self, (depth, element): (u32, u64), operand: u32, uses: u32, text: &str) {
        self.attributes.push(StackedAttribute {
            depth,
            operand,
            element,
            literal: NONE,
            uses,
            number: f64::NAN,
            text_start: self.texts.len() as u32,
            text_len: text.len() as u16,
            is_resolved: false,
            is_recorded: false,
        });
        self.texts.extend_from_slice(text.as_bytes());
    }

    /// The value of an attribute, if it can satisfy a condition.
    #[inline]
    pub fn value(&mut self, segment: &Segment, at: usize) -> Option<OperandValue> {
        if !self.attributes[at].is_resolved {
            self.resolve(segment, at);
        }
        let attribute = &self.attributes[at];
        let value = OperandValue::new(attribute.operand, (attribute.literal, attribute.number));
        value.is_relevant(attribute.uses).then_some(value)
    }

    #[inline(never)]
    fn resolve(&mut self, segment: &Segment, at: usize) {
        let attribute = &mut self.attributes[at];
        let start = attribute.text_start as usize;
        let bytes = &self.texts[start..start + usize::from(attribute.text_len)];
        let text = || std::str::from_utf8(bytes).expect("copied from a str");
        (attribute.literal, attribute.number) = resolve_bytes(segment, bytes, text, attribute.uses);
        attribute.is_resolved = true;
    }

    /// The value of an attribute that is not among the values of its element, which it then is.
    pub fn take_unrecorded(&mut self, segment: &Segment, at: usize) -> Option<OperandValue> {
        let was_recorded = std::mem::replace(&mut self.attributes[at].is_recorded, true);
        if was_recorded {
            return None;
        }
        self.value(segment, at)
    }
}
