//! Collects the text of string-values and text nodes that conditions use.

use crate::matching::automaton::{Automaton, LabelPath};
use crate::matching::element_stack::ElementStack;
use crate::matching::operand_value::OperandValue;
use crate::matching::required_values::RequiredValuesTable;
use crate::matching::string_values::StringValueStack;
use crate::matching::work_meter::WorkMeter;
use crate::matching::NONE;
use crate::path_index::segment::{OperandRecord, Segment};

/// The string-values of open elements and the current text node.
pub(super) struct TextCollector {
    string_values: NodeCollector,
    text_node: NodeCollector,
    /// Number of text nodes so far.
    text_node_count: u64,
    /// Whether some condition uses text.
    is_used: bool,
}

impl TextCollector {
    /// A collector for the conditions of `segment`.
    pub fn new(segment: &Segment) -> TextCollector {
        let string_values = NodeCollector::new(segment, OperandRecord::VALUE);
        let text_node = NodeCollector::new(segment, OperandRecord::TEXT);
        TextCollector {
            is_used: !string_values.operands.is_empty() || !text_node.operands.is_empty(),
            string_values,
            text_node,
            text_node_count: 0,
        }
    }

    /// Begins a document.
    pub fn begin(&mut self) {
        self.string_values.stack.clear();
        self.text_node.stack.clear();
    }

    /// Whether some condition uses text.
    #[inline(always)]
    pub fn is_used(&self) -> bool {
        self.is_used
    }

    /// Whether the string-value of some open element is being collected.
    #[inline]
    pub fn has_open_string_values(&self) -> bool {
        self.string_values.stack.count() > 0
    }

    /// Appends a piece of text to the string-values of the open elements.
    #[inline]
    pub fn feed_string_values(&mut self, segment: &Segment, work: &mut WorkMeter, piece: &str) {
        self.string_values.feed(segment, work, piece);
    }

    /// Appends a piece of text to the current text node, if the innermost element records it.
    pub fn feed_text_node(
        &mut self,
        segment: &Segment,
        automaton: &Automaton,
        elements: &mut ElementStack,
        piece: &str,
    ) {
        if self.text_node.operands.is_empty() {
            return;
        }
        let Some(element) = elements.open().last() else {
            return;
        };
        let path = &automaton.paths[element.path as usize];
        if path.actions & LabelPath::RECORDS_TEXT_NODES != 0 {
            let stack = &mut self.text_node.stack;
            if stack.count() == 0 {
                let uses = automaton.required_values.get(path.required).text_node_uses;
                stack.begin(&uses);
            }
            self.text_node.feed(segment, &mut elements.work, piece);
        }
    }

    /// Whether a text node is being collected.
    #[inline(always)]
    pub fn has_text_node(&self) -> bool {
        self.text_node.stack.count() > 0
    }

    /// Ends the current text node and records it for the innermost element.
    pub fn end_text_node(
        &mut self,
        segment: &Segment,
        automaton: &Automaton,
        elements: &mut ElementStack,
    ) {
        self.text_node.stack.end();
        self.text_node_count += 1;
        let required = automaton.paths[elements.innermost().path as usize].required;
        self.text_node.record(
            segment,
            &automaton.required_values,
            elements,
            required,
            (true, self.text_node_count),
        );
    }

    /// Begins the string-value of an element that requires `required`.
    #[inline(never)]
    pub fn begin_string_value(&mut self, required_values: &RequiredValuesTable, required: u32) {
        let uses = required_values.get(required).string_value_uses;
        self.string_values.stack.begin(&uses);
    }

    /// Ends the string-value of the innermost element.
    #[inline]
    pub fn end_string_value(&mut self) {
        self.string_values.stack.end();
    }

    /// Records the string-value of the innermost element, which ended before if it `is_collected`.
    #[inline]
    pub fn record_string_value(
        &mut self,
        segment: &Segment,
        required_values: &RequiredValuesTable,
        elements: &mut ElementStack,
        required: u32,
        is_collected: bool,
    ) {
        let order = elements.innermost().number;
        self.string_values.record(
            segment,
            required_values,
            elements,
            required,
            (is_collected, order),
        );
    }
}

/// Collects nodes of one kind.
struct NodeCollector {
    stack: StringValueStack,
    /// The operands that such nodes supply.
    operands: Vec<u32>,
}

impl NodeCollector {
    /// A collector for operands whose source has this kind of [`OperandRecord`].
    fn new(segment: &Segment, kind: u32) -> NodeCollector {
        let operands = 0..segment.operands.len() as u32;
        NodeCollector {
            stack: StringValueStack::new(segment),
            operands: operands
                .filter(|&operand| segment.source_operand(operand).kind == kind)
                .collect(),
        }
    }

    /// Appends a piece of text to the nodes that are being collected.
    #[inline]
    fn feed(&mut self, segment: &Segment, work: &mut WorkMeter, piece: &str) {
        let remaining = work.remaining().max(0) as usize;
        let steps = self.stack.feed(segment, piece, remaining);
        if work.attribution().is_none() {
            work.spend(steps);
            return;
        }
        let share = steps.div_ceil(self.operands.len().max(1));
        for &operand in &self.operands {
            work.spend_on_operand(operand, share);
        }
    }

    /// Records the last node that ended, for the innermost element, which requires `required`. A
    /// node that was not collected only exists. `order` is its position in the document.
    fn record(
        &mut self,
        segment: &Segment,
        required_values: &RequiredValuesTable,
        elements: &mut ElementStack,
        required: u32,
        (is_collected, order): (bool, u64),
    ) {
        elements.work.spend(self.operands.len());
        for &operand in &self.operands {
            let uses = required_values.uses(required, operand);
            if uses == 0 {
                continue;
            }
            let view = segment.source_operand(operand).view as usize;
            if view == OperandRecord::WHOLE {
                let resolved = if is_collected {
                    self.stack.ended().resolve(segment, uses)
                } else {
                    (NONE, f64::NAN)
                };
                elements.add_value(segment, OperandValue::new(operand, resolved), uses);
            } else if OperandRecord::is_numeric_view(view) {
                let number = if is_collected {
                    self.stack.ended().number_in_view(view)
                } else {
                    f64::NAN
                };
                elements.add_value(segment, OperandValue::new(operand, (NONE, number)), uses);
            } else {
                let buffer = self.stack.ended();
                elements.add_literals(segment, operand, uses, order, |literals| {
                    buffer.find_literals(segment, view, literals)
                });
            }
        }
    }
}
