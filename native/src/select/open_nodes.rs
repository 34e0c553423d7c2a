//! The open nodes, the steps they are bound to, and the atoms that are tested for them.

use crate::events::{ExpandedName, NamespaceScope};
use crate::value_tests::{StringValueWatcher, ValueTest};
use crate::xpath::number::NumberReader;

use super::accumulator::{Accumulator, ComparedValue};
use super::candidate::Collected;
use super::query_steps::{AtomId, PartId, QueryStep, QuerySteps, StepId};
use super::query_work::{QueryWork, STEPS_PER_VISIT};
use super::selector::{AtomTest, Goal, ValueType};

/// Index of a binding in [`OpenNodes`].
pub(super) type BindingId = u32;

/// Index of an open atom in [`OpenNodes`].
pub(super) type OpenAtomId = u32;

/// No binding, open atom or slot.
pub(super) const NONE: u32 = u32::MAX;

/// The binding of the document node.
pub(super) const DOCUMENT_BINDING: BindingId = 0;

/// An open node: the document, an element, a text node, or an attribute while it is examined.
///
/// A frame records where its part of each stack begins; everything above that mark belongs to the
/// node or to nodes inside it.
pub(super) struct Frame {
    /// Document-order number.
    pub order: u64,
    pub first_binding: usize,
    first_slot: usize,
    first_atom: usize,
    pub first_watcher: usize,
    first_accumulator: usize,
    /// Mark in [`super::deferred_nodes::DeferredNodes`].
    pub deferred_mark: usize,
    /// Mark in [`super::pending_steps::PendingSteps`].
    pub pending_mark: usize,
    /// Set if the node may be selected.
    pub name: Option<ExpandedName>,
    /// Set if the node is an element that may be selected, or whose attributes or text may be.
    pub namespaces: Option<NamespaceScope>,
}

/// An open node that passed the node test of a step, below a node bound to the preceding step.
pub(super) struct Binding {
    pub step: StepId,
    /// Index of the node's frame.
    pub depth: u32,
    /// The binding or open atom that it contributes to, as the step's context says. On the descendant
    /// axis this is the innermost one; the others follow by `outer`.
    pub target: u32,
    /// The next enclosing binding of the same step.
    pub outer: BindingId,
    /// Index of the slot of its first atom.
    first_slot: usize,
    /// Index of the watcher of its goal, if it has one.
    pub goal_watcher: usize,
    /// Number of leading predicates known to hold.
    pub predicates_passed: usize,
    /// `position()` for the next predicate, once counted.
    pub position: Option<u64>,
    pub verdict: Verdict,
    pub collected: Collected,
    /// The last walk of a node candidate that reached this binding.
    pub walk: u64,
}

/// Where a binding has the value of an atom of its predicates.
struct AtomSlot {
    source: SlotSource,
    binding: BindingId,
    /// The next slot of the same open atom.
    next_user: u32,
}

#[derive(Clone, Copy)]
enum SlotSource {
    /// Nothing needs the value yet.
    Unset,
    /// The start tag decided it.
    Known(bool),
    Open(OpenAtomId),
}

/// An atom that is tested for an open node, once for all bindings of the node.
pub(super) struct OpenAtom {
    pub atom: AtomId,
    /// Index of the node's frame.
    pub depth: u32,
    /// The same atom of the next enclosing node.
    pub outer: OpenAtomId,
    pub value: AtomValue,
    /// Index of the watcher of the node's own value, if the atom tests it.
    pub watcher: usize,
    /// Index of its accumulator, if it has one.
    pub accumulator: usize,
    /// The first slot that refers to it.
    users: u32,
}

/// What is known about an open atom.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum AtomValue {
    Unknown,
    Known(bool),
    /// The value for the first node in document order so far, with its document-order number. An
    /// earlier node may still become certain.
    Provisional(u64, bool),
}

/// The value of an atom that the start tag decided, for the node with this document-order number.
#[derive(Clone, Copy, Default)]
struct StartTagValue {
    order: u64,
    value: bool,
}

/// Whether the predicates of a binding's step hold for its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Undecided,
    Holds,
    Fails,
}

enum ActiveWatcher<'a> {
    Test(&'a ValueTest, StringValueWatcher),
    Text(String),
    Number(Box<NumberReader>),
}

/// Open nodes, their bindings and atoms. Everything is a stack in the order of the open nodes.
pub(super) struct OpenNodes<'a> {
    frames: Vec<Frame>,
    bindings: Vec<Binding>,
    slots: Vec<AtomSlot>,
    atoms: Vec<OpenAtom>,
    /// With the part of each.
    watchers: Vec<(PartId, ActiveWatcher<'a>)>,
    accumulators: Vec<Accumulator>,
    /// Bytes of the values in watchers and accumulators, roughly.
    compared_bytes: usize,
    /// For each step, its innermost binding.
    innermost: Vec<BindingId>,
    /// For each atom, the innermost open one.
    innermost_atoms: Vec<OpenAtomId>,
    /// For each atom, the last value that a start tag decided.
    start_tag_values: Vec<StartTagValue>,
}

impl<'a> OpenNodes<'a> {
    /// No open nodes.
    pub fn new(steps: &QuerySteps<'_>) -> Self {
        Self {
            frames: Vec::new(),
            bindings: Vec::new(),
            slots: Vec::new(),
            atoms: Vec::new(),
            watchers: Vec::new(),
            accumulators: Vec::new(),
            compared_bytes: 0,
            innermost: vec![NONE; steps.len()],
            innermost_atoms: vec![NONE; steps.atom_count()],
            start_tag_values: vec![StartTagValue::default(); steps.atom_count()],
        }
    }

    /// Index of the innermost frame.
    #[inline]
    pub fn depth(&self) -> u32 {
        u32::try_from(self.frames.len() - 1).expect("the reader limits depth")
    }

    #[inline]
    pub fn frame(&self, depth: u32) -> &Frame {
        &self.frames[depth as usize]
    }

    #[inline]
    pub fn top(&self) -> &Frame {
        self.frames.last().expect("the document's frame stays open")
    }

    #[inline]
    pub fn top_mut(&mut self) -> &mut Frame {
        self.frames
            .last_mut()
            .expect("the document's frame stays open")
    }

    /// The frame around the innermost one.
    #[inline]
    pub fn parent(&self) -> &Frame {
        &self.frames[self.frames.len() - 2]
    }

    /// Opens a node.
    #[inline]
    pub fn push_frame(&mut self, order: u64, deferred_mark: usize, pending_mark: usize) {
        self.frames.push(Frame {
            order,
            first_binding: self.bindings.len(),
            first_slot: self.slots.len(),
            first_atom: self.atoms.len(),
            first_watcher: self.watchers.len(),
            first_accumulator: self.accumulators.len(),
            deferred_mark,
            pending_mark,
            name: None,
            namespaces: None,
        });
    }

    /// Closes the innermost node with its bindings.
    pub fn pop_frame(&mut self) {
        let frame = self.frames.pop().expect("a node is open");
        for binding in self.bindings.drain(frame.first_binding..).rev() {
            self.innermost[binding.step as usize] = binding.outer;
        }
        self.slots.truncate(frame.first_slot);
        for open in self.atoms.drain(frame.first_atom..).rev() {
            self.innermost_atoms[open.atom as usize] = open.outer;
        }
        self.truncate_values(frame.first_watcher, frame.first_accumulator);
    }

    fn truncate_values(&mut self, watchers: usize, accumulators: usize) {
        if self.compared_bytes > 0 {
            let texts = self.watchers[watchers..]
                .iter()
                .map(|(_, watcher)| match watcher {
                    ActiveWatcher::Text(text) => text.len(),
                    ActiveWatcher::Test(..) | ActiveWatcher::Number(_) => 0,
                });
            let values = self.accumulators[accumulators..].iter();
            self.compared_bytes -=
                texts.sum::<usize>() + values.map(Accumulator::bytes).sum::<usize>();
        }
        self.watchers.truncate(watchers);
        self.accumulators.truncate(accumulators);
    }

    /// Binds the innermost node to a step. [`OpenNodes::publish`] makes the binding the innermost
    /// one of its step.
    pub fn push_binding(&mut self, id: StepId, step: &QueryStep<'a>, target: u32) -> BindingId {
        let binding = number(self.bindings.len());
        let first_slot = self.slots.len();
        self.bindings.push(Binding {
            step: id,
            depth: self.depth(),
            target,
            outer: self.innermost[id as usize],
            first_slot,
            goal_watcher: 0,
            predicates_passed: 0,
            position: None,
            verdict: Verdict::Undecided,
            collected: Collected::Nothing,
            walk: 0,
        });
        self.slots
            .resize_with(first_slot + step.step.atoms.len(), || AtomSlot {
                source: SlotSource::Unset,
                binding,
                next_user: NONE,
            });
        binding
    }

    /// Watches the value of the last binding's node, if the goal of its step tests or compares it.
    pub fn watch_goal(&mut self, step: &QueryStep<'a>) {
        let binding = self.bindings.last_mut().expect("a binding was pushed");
        binding.goal_watcher = self.watchers.len();
        match step.goal {
            Some(Goal::AnyPasses(test) | Goal::FirstPasses(test)) => {
                self.push_watcher(step.part, test);
            }
            Some(Goal::Compare(_, value_type)) => self.push_value_watcher(step.part, *value_type),
            Some(Goal::Select | Goal::Exists | Goal::Count) | None => {}
        }
    }

    fn push_watcher(&mut self, part: PartId, test: &'a ValueTest) {
        let watcher = ActiveWatcher::Test(test, StringValueWatcher::new(test));
        self.watchers.push((part, watcher));
    }

    fn push_value_watcher(&mut self, part: PartId, value_type: ValueType) {
        let watcher = match value_type {
            ValueType::Text => ActiveWatcher::Text(String::new()),
            ValueType::Number => ActiveWatcher::Number(Box::default()),
        };
        self.watchers.push((part, watcher));
    }

    /// Tests an atom for the innermost node.
    pub fn push_atom(&mut self, atom: AtomId, steps: &QuerySteps<'a>) -> OpenAtomId {
        let id = number(self.atoms.len());
        self.atoms.push(OpenAtom {
            atom,
            depth: self.depth(),
            outer: self.innermost_atoms[atom as usize],
            value: AtomValue::Unknown,
            watcher: self.watchers.len(),
            accumulator: self.accumulators.len(),
            users: NONE,
        });
        self.innermost_atoms[atom as usize] = id;
        let compiled = steps.atom(atom);
        match &compiled.atom.test {
            AtomTest::Value(test) => self.push_watcher(compiled.part, test),
            AtomTest::Path { .. } => {}
            AtomTest::Count { op, n, may_repeat } => {
                let accumulator = Accumulator::of_count(*op, *n, *may_repeat);
                self.accumulators.push(accumulator);
            }
            AtomTest::Pair { op, .. } => {
                self.accumulators.push(Accumulator::of_comparison(*op));
                if let Some(value_type) = compiled.atom.test.own_value() {
                    self.push_value_watcher(compiled.part, value_type);
                }
            }
        }
        id
    }

    /// Removes the last open atom and returns its value, which the start tag decided.
    pub fn pop_start_tag_atom(&mut self) -> bool {
        let open = self.atoms.pop().expect("an atom was pushed");
        self.innermost_atoms[open.atom as usize] = open.outer;
        self.truncate_values(open.watcher, open.accumulator);
        let AtomValue::Known(value) = open.value else {
            unreachable!("the atom is settled");
        };
        let order = self.top().order;
        self.start_tag_values[open.atom as usize] = StartTagValue { order, value };
        value
    }

    /// The value of an atom for the innermost node, if its start tag decided it before.
    #[inline]
    pub fn start_tag_value(&self, atom: AtomId) -> Option<bool> {
        let known = &self.start_tag_values[atom as usize];
        (known.order == self.top().order).then_some(known.value)
    }

    /// The open atom of the innermost node, if it is tested for it.
    #[inline]
    pub fn atom_of_top(&self, atom: AtomId) -> Option<OpenAtomId> {
        let id = self.innermost_atoms[atom as usize];
        let is_own = id != NONE && self.atoms[id as usize].depth == self.depth();
        is_own.then_some(id)
    }

    /// Sets the value of an atom of a binding, by its number among those of the step.
    #[inline]
    pub fn set_slot(&mut self, binding: BindingId, number: usize, value: bool) {
        let at = self.bindings[binding as usize].first_slot + number;
        self.slots[at].source = SlotSource::Known(value);
    }

    /// Whether an atom of a binding has no value and no open atom yet.
    #[inline]
    pub fn is_slot_unset(&self, binding: BindingId, number: usize) -> bool {
        let at = self.bindings[binding as usize].first_slot + number;
        matches!(self.slots[at].source, SlotSource::Unset)
    }

    /// Makes a binding a user of an open atom.
    #[inline]
    pub fn link_slot(&mut self, binding: BindingId, atom: usize, open: OpenAtomId) {
        let at = self.bindings[binding as usize].first_slot + atom;
        let slot = &mut self.slots[at];
        slot.source = SlotSource::Open(open);
        slot.next_user = std::mem::replace(&mut self.atoms[open as usize].users, number(at));
    }

    /// The value of an atom of a binding, if it is known.
    #[inline]
    pub fn slot_value(&self, binding: &Binding, number: usize) -> Option<bool> {
        match self.slots[binding.first_slot + number].source {
            SlotSource::Unset => None,
            SlotSource::Known(value) => Some(value),
            SlotSource::Open(open) => match self.atoms[open as usize].value {
                AtomValue::Known(value) => Some(value),
                AtomValue::Unknown | AtomValue::Provisional(..) => None,
            },
        }
    }

    /// The first user of an open atom: its slot and binding.
    #[inline]
    pub fn first_user(&self, open: OpenAtomId) -> Option<(u32, BindingId)> {
        self.user(self.atoms[open as usize].users)
    }

    /// The user of an open atom after the one with this slot.
    #[inline]
    pub fn next_user(&self, slot: u32) -> Option<(u32, BindingId)> {
        self.user(self.slots[slot as usize].next_user)
    }

    #[inline]
    fn user(&self, slot: u32) -> Option<(u32, BindingId)> {
        (slot != NONE).then(|| (slot, self.slots[slot as usize].binding))
    }

    /// Removes the first user of an open atom.
    #[inline]
    pub fn remove_first_user(&mut self, open: OpenAtomId) {
        let open = &mut self.atoms[open as usize];
        open.users = self.slots[open.users as usize].next_user;
    }

    #[inline]
    pub fn atom(&self, open: OpenAtomId) -> &OpenAtom {
        &self.atoms[open as usize]
    }

    #[inline]
    pub fn set_atom_value(&mut self, open: OpenAtomId, value: AtomValue) {
        self.atoms[open as usize].value = value;
    }

    /// The ids of the open atoms of the innermost node.
    #[inline]
    pub fn top_atoms(&self) -> std::ops::Range<OpenAtomId> {
        number(self.top().first_atom)..number(self.atoms.len())
    }

    /// The innermost open atom of an atom.
    #[inline]
    pub fn innermost_atom(&self, atom: AtomId) -> OpenAtomId {
        self.innermost_atoms[atom as usize]
    }

    /// Makes a binding the innermost one of its step, so that nodes inside find it.
    #[inline]
    pub fn publish(&mut self, id: BindingId) {
        let step = self.bindings[id as usize].step;
        self.innermost[step as usize] = id;
    }

    /// Removes the last binding, which was not published and whose atoms the start tag decided.
    pub fn discard_binding(&mut self) {
        let binding = self.bindings.pop().expect("a binding was pushed");
        self.slots.truncate(binding.first_slot);
    }

    #[inline]
    pub fn binding(&self, id: BindingId) -> &Binding {
        &self.bindings[id as usize]
    }

    #[inline]
    pub fn binding_mut(&mut self, id: BindingId) -> &mut Binding {
        &mut self.bindings[id as usize]
    }

    /// The ids of the innermost node's bindings.
    #[inline]
    pub fn top_bindings(&self) -> std::ops::Range<BindingId> {
        number(self.top().first_binding)..number(self.bindings.len())
    }

    /// The innermost binding of a step.
    #[inline]
    pub fn innermost(&self, step: StepId) -> BindingId {
        self.innermost[step as usize]
    }

    /// Feeds a chunk of text to the watchers from index `first` on.
    #[inline]
    pub fn feed(&mut self, first: usize, chunk: &str, work: &mut QueryWork) {
        for active in &mut self.watchers[first..] {
            if work.is_spent() {
                break;
            }
            let (part, watcher) = active;
            let steps = match watcher {
                ActiveWatcher::Test(test, watcher) => watcher.feed(test, chunk),
                ActiveWatcher::Text(text) => {
                    text.push_str(chunk);
                    self.compared_bytes += chunk.len();
                    chunk.len()
                }
                ActiveWatcher::Number(reader) => {
                    reader.feed(chunk);
                    chunk.len()
                }
            };
            work.spend(*part, STEPS_PER_VISIT + steps as u64);
        }
    }

    /// Whether the test of a watcher holds for the text fed so far, taken as the complete value.
    #[inline]
    pub fn watcher_result(&self, at: usize) -> bool {
        match &self.watchers[at].1 {
            ActiveWatcher::Test(test, watcher) => watcher.finish(test),
            ActiveWatcher::Text(_) | ActiveWatcher::Number(_) => {
                unreachable!("the watcher stores the value")
            }
        }
    }

    /// Takes the value that a watcher stored.
    pub fn take_value(&mut self, at: usize) -> ComparedValue {
        match &mut self.watchers[at].1 {
            ActiveWatcher::Text(text) => {
                self.compared_bytes -= text.len();
                ComparedValue::Text(std::mem::take(text).into_boxed_str())
            }
            ActiveWatcher::Number(reader) => ComparedValue::Number(reader.finish()),
            ActiveWatcher::Test(..) => unreachable!("the watcher tests the value"),
        }
    }

    #[inline]
    pub fn accumulator(&self, at: usize) -> &Accumulator {
        &self.accumulators[at]
    }

    /// An accumulator, and the counter of the bytes that accumulators and watchers store.
    #[inline]
    pub fn accumulator_mut(&mut self, at: usize) -> (&mut Accumulator, &mut usize) {
        (&mut self.accumulators[at], &mut self.compared_bytes)
    }

    /// Calls `add` with parts, the number of candidates that their bindings hold, and the bytes of the
    /// values in their watchers and accumulators, roughly.
    pub fn for_each_holder(
        &self,
        steps: &QuerySteps<'a>,
        mut add: impl FnMut(PartId, usize, usize),
    ) {
        for binding in &self.bindings {
            add(
                steps.step(binding.step).part,
                binding.collected.node_count(),
                0,
            );
        }
        let mut accumulators = self.accumulators.len();
        for open in self.atoms.iter().rev() {
            let own = &self.accumulators[open.accumulator..accumulators];
            accumulators = open.accumulator;
            let bytes = own.iter().map(Accumulator::bytes).sum();
            add(steps.atom(open.atom).part, 0, bytes);
        }
        for (part, watcher) in &self.watchers {
            if let ActiveWatcher::Text(text) = watcher {
                add(*part, 0, text.len());
            }
        }
    }

    /// Bytes of the values in watchers and accumulators, roughly.
    #[inline]
    pub fn compared_bytes(&self) -> usize {
        self.compared_bytes
    }
}

/// An index as the number that refers to it.
#[inline]
fn number(index: usize) -> u32 {
    u32::try_from(index).expect("depth and queries are limited")
}
