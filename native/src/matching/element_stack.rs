//! The open elements and the values they have recorded.
//!
//! Values come from attributes, text nodes, the string-value at the end of an element, and children
//! when they end. The label path of an element determines what it records and propagates
//! ([`crate::matching::required_values`]).

use crate::events::{Attribute, Context};
use crate::matching::alphabet::AttributeOperand;
use crate::matching::attribute_stack::{AttributeMark, AttributeStack};
use crate::matching::automaton::{Automaton, LabelPath};
use crate::matching::compound_conditions::compound_values;
use crate::matching::existence_cache::ExistenceCache;
use crate::matching::first_node::{FirstNode, FirstNodes};
use crate::matching::operand_value::{compact, number_in_view, resolve, OperandValue};
use crate::matching::required_values::{RequiredValuesTable, FIRST_NODE, NO_VALUES, USED_HERE};
use crate::matching::string_values::find_literals;
use crate::matching::subtree_memo::SubtreeMemo;
use crate::matching::work_meter::WorkMeter;
use crate::matching::NONE;
use crate::path_index::segment::{Comparison, OperandRecord, Segment};

/// The values of an element are first compacted past this number.
const COMPACTED_PAST: u32 = 64;

/// Steps to record a value.
const STEPS_PER_VALUE: usize = 8;

/// Steps for each value that is considered when values are compacted.
const STEPS_PER_COMPACTED_VALUE: usize = 16;

/// Steps for each value of an element that its parent may need.
const STEPS_PER_PROPAGATION: usize = 8;

/// Steps to compare a first node with another.
const STEPS_PER_FIRST_NODE: usize = 4;

/// An open element.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenElement {
    /// Its label path.
    pub path: u32,
    /// Number of pending matches that wait for its end.
    pub pending: u32,
    /// Its number, counted over all documents, from 1.
    pub number: u64,
    /// Where its values begin.
    pub first_value: usize,
    /// Where its attributes begin.
    pub attributes: AttributeMark,
    /// Where its first nodes begin.
    pub first_node: usize,
    /// The number of the innermost element, possibly itself, with attributes that conditions use.
    pub attributes_since: u64,
    /// Its values are compacted past this number.
    compacted_past: u32,
    /// Whether it has values of its content that conditions on it use.
    pub has_content: bool,
    /// Whether its end needs work.
    pub acts_at_end: bool,
}

/// The open elements, innermost last. The values, attributes and first nodes of an element lie
/// above those of its ancestors in their stacks, from where its [`OpenElement`] says.
pub(super) struct ElementStack {
    elements: Vec<OpenElement>,
    values: Vec<OperandValue>,
    pub attributes: AttributeStack,
    first_nodes: FirstNodes,
    existence: ExistenceCache,
    /// Number of elements so far, over all documents.
    count: u64,
    /// The number of the document's first element.
    document_start: u64,
    buffers: ValueBuffers,
    /// The work done on the elements.
    pub work: WorkMeter,
}

/// Reused to avoid allocations.
#[derive(Default)]
struct ValueBuffers {
    literals: Vec<u32>,
    /// Values with the uses of their operands.
    values: Vec<(OperandValue, u32)>,
}

impl ElementStack {
    /// An empty stack for `segment`.
    pub fn new(segment: &Segment) -> ElementStack {
        ElementStack {
            elements: Vec::new(),
            values: Vec::new(),
            attributes: AttributeStack::default(),
            first_nodes: FirstNodes::new(segment),
            existence: ExistenceCache::new(),
            count: 0,
            document_start: 0,
            buffers: ValueBuffers::default(),
            work: WorkMeter::new(segment),
        }
    }

    /// Begins a document.
    pub fn begin(&mut self) {
        self.elements.clear();
        self.values.clear();
        self.attributes.clear();
        self.first_nodes.clear();
        self.document_start = self.count + 1;
    }

    /// Numbers the next element.
    #[inline]
    pub fn next_number(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    /// Number of elements so far, over all documents.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The number of the document's first element.
    #[inline]
    pub fn document_start(&self) -> u64 {
        self.document_start
    }

    /// Number of open elements.
    #[inline]
    pub fn depth(&self) -> usize {
        self.elements.len()
    }

    /// The open elements, outermost first.
    #[inline]
    pub fn open(&self) -> &[OpenElement] {
        &self.elements
    }

    /// The open elements, outermost first.
    #[inline]
    pub fn open_mut(&mut self) -> &mut [OpenElement] {
        &mut self.elements
    }

    /// The innermost open element.
    #[inline]
    pub fn innermost(&self) -> &OpenElement {
        self.elements.last().expect("an element is open")
    }

    /// The values from index `start` on, and the work meter.
    #[inline]
    pub fn values_and_work(&mut self, start: usize) -> (&[OperandValue], &mut WorkMeter) {
        (&self.values[start..], &mut self.work)
    }

    /// Opens an element.
    #[inline]
    pub fn push(&mut self, path: u32, number: u64, attributes_since: u64, acts_at_end: bool) {
        self.elements.push(OpenElement {
            path,
            pending: 0,
            number,
            first_value: self.values.len(),
            attributes: self.attributes.mark(),
            first_node: self.first_nodes.len(),
            attributes_since,
            compacted_past: COMPACTED_PAST,
            has_content: false,
            acts_at_end,
        });
    }

    /// Closes the innermost element, whose values and first nodes remain to be propagated.
    #[inline]
    pub fn pop(&mut self) {
        let element = self.elements.pop().expect("an element is open");
        self.attributes.truncate(element.attributes);
    }

    /// Records a value of the innermost element; `uses` are those of its operand.
    #[inline]
    pub fn add_value(&mut self, segment: &Segment, mut value: OperandValue, uses: u32) {
        self.work.spend_on_operand(value.operand, STEPS_PER_VALUE);
        // Drop what no condition distinguishes, so that equal values compact.
        if uses & Comparison::TEXTUAL == 0 {
            value.literal = NONE;
        }
        if uses & Comparison::NUMERIC == 0 {
            value.number = f64::NAN;
        }
        if !value.is_relevant(uses) {
            return;
        }
        let depth = self.elements.len() - 1;
        let element = &mut self.elements[depth];
        let only_exists = value.literal == NONE && value.number.is_nan();
        if only_exists && self.existence.insert(depth, element.number, value.operand) {
            return;
        }
        self.values.push(value);
        element.acts_at_end = true;
        if uses & USED_HERE != 0 {
            if segment.operands[value.operand as usize].kind == OperandRecord::ATTRIBUTE {
                self.attributes
                    .push_recorded(depth, element.number, value, uses);
            } else {
                element.has_content = true;
            }
        }
        if self.values.len() - element.first_value > element.compacted_past as usize {
            let before = self.values.len() - element.first_value;
            self.work
                .spend_on_operand(value.operand, before * STEPS_PER_COMPACTED_VALUE);
            compact(segment, &mut self.values, element.first_value);
            let kept = (self.values.len() - element.first_value) as u32;
            element.compacted_past = COMPACTED_PAST.max(kept.saturating_mul(2));
        }
    }

    /// Records the literals that `find` appends, as values of the innermost element, from a node at
    /// position `order` of the document. `find` returns the steps it took.
    pub fn add_literals(
        &mut self,
        segment: &Segment,
        operand: u32,
        uses: u32,
        order: u64,
        find: impl FnOnce(&mut Vec<u32>) -> usize,
    ) {
        let mut literals = std::mem::take(&mut self.buffers.literals);
        let steps = find(&mut literals);
        self.work.spend_on_operand(operand, steps);
        if uses & FIRST_NODE != 0 {
            self.add_first_node(operand, order, &literals);
        }
        for literal in literals.drain(..) {
            self.add_value(segment, OperandValue::of_literal(operand, literal), uses);
        }
        self.buffers.literals = literals;
    }

    fn add_first_node(&mut self, operand: u32, order: u64, literals: &[u32]) {
        let element = self.elements.last_mut().expect("an element is open");
        element.acts_at_end = true;
        let compared = self.first_nodes.len() - element.first_node;
        self.work.spend_on_operand(
            operand,
            compared * STEPS_PER_FIRST_NODE + literals.len() + STEPS_PER_VALUE,
        );
        let node = FirstNode {
            operand,
            order,
            literals: literals.into(),
        };
        self.first_nodes.add(element.first_node, node);
    }

    /// Records the attributes of the innermost element that its path requires.
    #[inline(never)]
    pub fn record_attributes(
        &mut self,
        segment: &Segment,
        context: &dyn Context,
        automaton: &mut Automaton,
        (required, actions): (u32, u32),
        attributes: &[Attribute<'_>],
    ) {
        let depth = self.elements.len() - 1;
        let element = (depth as u32, self.elements[depth].number);
        let before = self.attributes.len();
        let may_be_lazy = actions & (LabelPath::HAS_COMPOUNDS | LabelPath::PROPAGATES) == 0;
        for attribute in attributes {
            let alphabet = &mut automaton.alphabet;
            let operands = alphabet.attribute_operands(segment, context, attribute.name);
            self.work.spend(1 + 2 * operands.len());
            for at in operands {
                let AttributeOperand { operand, is_lazy } =
                    automaton.alphabet.attribute_operand(at);
                let uses = automaton.required_values.uses(required, operand);
                if uses == 0 {
                    continue;
                }
                let text = attribute.value;
                let is_lazy =
                    is_lazy && may_be_lazy && text.len() <= AttributeStack::TEXT_BYTES_MAX;
                if is_lazy && uses & USED_HERE != 0 {
                    self.attributes.push_lazy(element, operand, uses, text);
                } else {
                    self.record_attribute(segment, text, operand, uses);
                }
            }
        }
        if self.attributes.len() > before {
            self.elements[depth].attributes_since = element.1;
        }
    }

    #[inline(never)]
    fn record_attribute(&mut self, segment: &Segment, text: &str, operand: u32, uses: u32) {
        self.work.spend_on_operand(operand, text.len());
        let view = segment.source_operand(operand).view as usize;
        if view == OperandRecord::WHOLE {
            let value = OperandValue::new(operand, resolve(segment, text, uses));
            self.add_value(segment, value, uses);
        } else if OperandRecord::is_numeric_view(view) {
            let value = OperandValue::new(operand, (NONE, number_in_view(view, text)));
            self.add_value(segment, value, uses);
        } else {
            let order = self.innermost().number;
            self.add_literals(segment, operand, uses, order, |literals| {
                find_literals(segment, text, view, literals)
            });
        }
    }

    /// Records the attributes of the innermost element that are only on the stack of attributes.
    pub fn record_lazy_attributes(&mut self, segment: &Segment) {
        let first = self.innermost().attributes.index();
        for at in first..self.attributes.len() {
            self.values
                .extend(self.attributes.take_unrecorded(segment, at));
        }
    }

    /// Records the literals of the innermost element's first nodes, which are final at its end.
    pub fn record_first_nodes(
        &mut self,
        segment: &Segment,
        required_values: &RequiredValuesTable,
        required: u32,
    ) {
        for at in self.innermost().first_node..self.first_nodes.len() {
            let node = self.first_nodes.get(at);
            let Some(operand) = self.first_nodes.derived_operand(node.operand) else {
                continue;
            };
            let uses = required_values.uses(required, operand);
            if uses & Comparison::ALL == 0 {
                continue;
            }
            let literals = node.literals.clone();
            for &literal in &*literals {
                self.add_value(segment, OperandValue::of_literal(operand, literal), uses);
            }
        }
    }

    /// Records the compound conditions that the innermost element meets.
    pub fn record_compounds(
        &mut self,
        segment: &Segment,
        required_values: &RequiredValuesTable,
        required: u32,
    ) {
        let start = self.innermost().first_value;
        let mut met = std::mem::take(&mut self.buffers.values);
        let mut open = std::mem::take(&mut self.buffers.literals);
        self.work.spend(required_values.operand_count(required));
        for (operand, uses) in required_values.compounds(segment, required) {
            let values = &self.values[start..];
            let allowed = self.work.remaining().max(0) as usize;
            let steps = compound_values(segment, operand, values, &mut open, allowed, |value| {
                met.push((value, uses));
            });
            self.work.spend_on_operand(operand, steps);
            if self.work.is_spent() {
                break;
            }
        }
        self.buffers.literals = open;
        for (value, uses) in met.drain(..) {
            if !self.work.is_spent() {
                self.add_value(segment, value, uses);
            }
        }
        self.buffers.values = met;
    }

    /// Propagates the values of an element that was closed to its parent, now the innermost
    /// element.
    #[inline]
    pub fn propagate(
        &mut self,
        segment: &Segment,
        automaton: &Automaton,
        closed: &OpenElement,
        memo: &mut SubtreeMemo,
    ) {
        let LabelPath {
            required, actions, ..
        } = automaton.paths[closed.path as usize];
        if self.values.len() > closed.first_value {
            if actions & LabelPath::PROPAGATES != 0 {
                self.propagate_values(segment, automaton, (required, closed.first_value), memo);
            } else {
                self.values.truncate(closed.first_value);
            }
        }
        if self.first_nodes.len() > closed.first_node {
            self.propagate_first_nodes(segment, automaton, (required, closed.first_node), memo);
        }
    }

    fn propagate_values(
        &mut self,
        segment: &Segment,
        automaton: &Automaton,
        (required, start): (u32, usize),
        memo: &mut SubtreeMemo,
    ) {
        let parent_required = match self.elements.last() {
            Some(parent) => automaton.paths[parent.path as usize].required,
            None => NO_VALUES,
        };
        let mut propagated = std::mem::take(&mut self.buffers.values);
        if parent_required != NO_VALUES {
            let required_values = &automaton.required_values;
            for value in &self.values[start..] {
                self.work
                    .spend_on_operand(value.operand, STEPS_PER_PROPAGATION);
                for propagation in required_values.propagations_from(required, value.operand) {
                    let operand = propagation.to;
                    propagated.push((OperandValue { operand, ..*value }, propagation.uses));
                }
                if segment.operands[value.operand as usize].kind == OperandRecord::DEEP {
                    let uses = required_values.uses(parent_required, value.operand);
                    propagated.push((*value, uses));
                }
            }
        }
        self.values.truncate(start);
        if memo.is_recording_children_of(self.elements.len()) {
            memo.record_values(&propagated);
        }
        for (value, uses) in propagated.drain(..) {
            self.add_value(segment, value, uses);
        }
        self.buffers.values = propagated;
    }

    fn propagate_first_nodes(
        &mut self,
        segment: &Segment,
        automaton: &Automaton,
        closed: (u32, usize),
        memo: &mut SubtreeMemo,
    ) {
        let parent = match self.elements.last_mut() {
            Some(parent) => {
                parent.acts_at_end = true;
                let path = &automaton.paths[parent.path as usize];
                (path.required, parent.first_node)
            }
            None => (NO_VALUES, 0),
        };
        let required_values = &automaton.required_values;
        // Each node of the element is compared with those of its parent.
        let (own, above) = (
            self.first_nodes.len() - closed.1,
            closed.1.saturating_sub(parent.1) + 1,
        );
        let compared = STEPS_PER_FIRST_NODE * (above + own);
        for at in closed.1..self.first_nodes.len() {
            let operand = self.first_nodes.get(at).operand;
            self.work.spend_on_operand(operand, compared);
        }
        let has_propagated = self
            .first_nodes
            .propagate(segment, required_values, closed, parent);
        if has_propagated && memo.is_recording_children_of(self.elements.len()) {
            // The order of nodes differs between copies.
            memo.abandon();
        }
    }

    /// Whether the innermost element has first nodes.
    #[inline]
    pub fn has_first_nodes(&self) -> bool {
        self.first_nodes.len() > self.innermost().first_node
    }
}
