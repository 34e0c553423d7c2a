//! The open nodes, the steps they are bound to, and the atoms that are tested for them.

use crate::events::{ExpandedName, NamespaceScope};
use crate::value_tests::{StringValueWatcher, ValueTest};
use crate::xpath::number::NumberReader;

use super::accumulator::{Accumulator, ComparedValue};
use super::candidate::Collected;
use super::open_atoms::{number, AtomsMark, OpenAtomId, OpenAtoms, NONE};
use super::query_steps::{AtomId, PartId, QueryStep, QuerySteps, StepId};
use super::query_work::{QueryWork, STEPS_PER_VISIT};
use super::selector::{AtomTest, Goal, ValueType};

/// Index of a binding in [`OpenNodes`].
pub(super) type BindingId = u32;

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
    pub atoms_mark: AtomsMark,
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
    /// Index of the slot of its first atom in [`OpenAtoms`].
    pub first_slot: usize,
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
    pub atoms: OpenAtoms,
    /// With the part of each.
    watchers: Vec<(PartId, ActiveWatcher<'a>)>,
    accumulators: Vec<Accumulator>,
    /// Bytes of the values in watchers and accumulators, roughly.
    compared_bytes: usize,
    /// For each step, its innermost binding.
    innermost: Vec<BindingId>,
}

impl<'a> OpenNodes<'a> {
    /// No open nodes.
    pub fn new(steps: &QuerySteps<'_>) -> Self {
        Self {
            frames: Vec::new(),
            bindings: Vec::new(),
            atoms: OpenAtoms::new(steps.atom_count()),
            watchers: Vec::new(),
            accumulators: Vec::new(),
            compared_bytes: 0,
            innermost: vec![NONE; steps.len()],
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
            atoms_mark: self.atoms.mark(),
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
        self.atoms.roll_back(frame.atoms_mark);
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
        let first_slot = self.atoms.push_slots(binding, step.step.atoms.len());
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
        let (watcher, accumulator) = (self.watchers.len(), self.accumulators.len());
        let id = self.atoms.push(atom, self.depth(), watcher, accumulator);
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
        let open = self.atoms.pop();
        self.truncate_values(open.watcher, open.accumulator);
        let value = open.value.known().expect("the atom is settled");
        let order = self.top().order;
        self.atoms.set_start_tag_value(open.atom, order, value);
        value
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
        self.atoms.truncate_slots(binding.first_slot);
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
                ActiveWatcher::Test(test, watcher) => {
                    watcher.feed_within(test, chunk, work.remaining())
                }
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

    /// Whether the test of a watcher holds for the text fed so far, taken as the complete value. Once the
    /// work budget is spent, the result means nothing.
    #[inline]
    pub fn watcher_result(&self, at: usize, work: &mut QueryWork) -> bool {
        let (part, ActiveWatcher::Test(test, watcher)) = &self.watchers[at] else {
            unreachable!("the watcher stores the value");
        };
        if work.is_spent() {
            return false;
        }
        let mut steps = 0;
        let holds = watcher.finish(test, &mut steps);
        work.spend(*part, steps as u64);
        holds
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
