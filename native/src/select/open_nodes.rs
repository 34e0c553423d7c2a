//! The open nodes and the steps they are bound to.

use crate::events::{ExpandedName, NamespaceScope};
use crate::value_tests::{StringValueWatcher, ValueTest};
use crate::xpath::number::NumberReader;

use super::accumulator::{Accumulator, ComparedValue};
use super::candidate::Collected;
use super::predicate::AtomValue;
use super::query_steps::{QueryStep, QuerySteps, StepId};
use super::query_work::{QueryWork, STEPS_PER_VISIT};
use super::selector::{Atom, Goal, ValueType};

/// Index of a binding in [`OpenNodes`].
pub(super) type BindingId = u32;

/// No binding.
pub(super) const NONE: BindingId = u32::MAX;

/// An open node: the document, an element, a text node, or an attribute while it is examined.
///
/// A frame records where its part of each stack begins; everything above that mark belongs to the
/// node or to nodes inside it.
pub(super) struct Frame {
    /// Document-order number.
    pub order: u64,
    pub first_binding: usize,
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
    /// The binding of the preceding step that it contributes to. On the descendant axis this is the
    /// innermost one; the others follow by `outer`.
    pub target: BindingId,
    /// The next enclosing binding of the same step.
    pub outer: BindingId,
    /// Index of its first atom.
    pub first_atom: usize,
    /// Index of its first watcher: one for each atom about the node's value, then one for the goal.
    pub first_watcher: usize,
    /// Index of its first accumulator: one for each atom about several nodes.
    pub first_accumulator: usize,
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

/// Open nodes and their bindings. Everything is a stack in the order of the open nodes.
pub(super) struct OpenNodes<'a> {
    frames: Vec<Frame>,
    bindings: Vec<Binding>,
    atoms: Vec<AtomValue>,
    /// With the query of each.
    watchers: Vec<(u32, ActiveWatcher<'a>)>,
    accumulators: Vec<Accumulator>,
    /// Bytes of the values in watchers and accumulators, roughly.
    compared_bytes: usize,
    /// For each step, its innermost binding.
    innermost: Vec<BindingId>,
}

impl<'a> OpenNodes<'a> {
    /// No open nodes; `steps` is the number of steps of all queries.
    pub fn new(steps: usize) -> Self {
        Self {
            frames: Vec::new(),
            bindings: Vec::new(),
            atoms: Vec::new(),
            watchers: Vec::new(),
            accumulators: Vec::new(),
            compared_bytes: 0,
            innermost: vec![NONE; steps],
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
        self.atoms.truncate(frame.first_atom);
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
    pub fn push_binding(
        &mut self,
        step: StepId,
        compiled: QueryStep<'a>,
        target: BindingId,
    ) -> BindingId {
        let id = u32::try_from(self.bindings.len()).expect("depth and queries are limited");
        self.bindings.push(Binding {
            step,
            depth: self.depth(),
            target,
            outer: self.innermost[step as usize],
            first_atom: self.atoms.len(),
            first_watcher: self.watchers.len(),
            first_accumulator: self.accumulators.len(),
            predicates_passed: 0,
            position: None,
            verdict: Verdict::Undecided,
            collected: Collected::Nothing,
            walk: 0,
        });
        let query = compiled.query;
        for atom in &compiled.step.atoms {
            self.atoms.push(AtomValue::Unknown);
            match atom {
                Atom::Value(test) => self.push_watcher(query, test),
                Atom::Path { .. } => {}
                Atom::Count {
                    op, n, may_repeat, ..
                } => {
                    let accumulator = Accumulator::of_count(*op, *n, *may_repeat);
                    self.accumulators.push(accumulator);
                }
                Atom::Pair { op, .. } => {
                    self.accumulators.push(Accumulator::of_comparison(*op));
                    if let Some(value_type) = atom.own_value() {
                        self.push_value_watcher(query, value_type);
                    }
                }
            }
        }
        match &compiled.step.goal {
            Some(Goal::AnyPasses(test) | Goal::FirstPasses(test)) => self.push_watcher(query, test),
            Some(Goal::Compare(_, value_type)) => self.push_value_watcher(query, *value_type),
            Some(Goal::Select | Goal::Exists | Goal::Count) | None => {}
        }
        id
    }

    fn push_watcher(&mut self, query: u32, test: &'a ValueTest) {
        let watcher = ActiveWatcher::Test(test, StringValueWatcher::new(test));
        self.watchers.push((query, watcher));
    }

    fn push_value_watcher(&mut self, query: u32, value_type: ValueType) {
        let watcher = match value_type {
            ValueType::Text => ActiveWatcher::Text(String::new()),
            ValueType::Number => ActiveWatcher::Number(Box::default()),
        };
        self.watchers.push((query, watcher));
    }

    /// Makes a binding the innermost one of its step, so that nodes inside find it.
    #[inline]
    pub fn publish(&mut self, id: BindingId) {
        let step = self.bindings[id as usize].step;
        self.innermost[step as usize] = id;
    }

    /// Removes the last binding, which was not published.
    pub fn discard_binding(&mut self) {
        let binding = self.bindings.pop().expect("a binding was pushed");
        self.atoms.truncate(binding.first_atom);
        self.truncate_values(binding.first_watcher, binding.first_accumulator);
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
        let number = |at: usize| u32::try_from(at).expect("bindings are numbered by u32");
        number(self.top().first_binding)..number(self.bindings.len())
    }

    /// The innermost binding of a step.
    #[inline]
    pub fn innermost(&self, step: StepId) -> BindingId {
        self.innermost[step as usize]
    }

    #[inline]
    pub fn atom(&self, at: usize) -> AtomValue {
        self.atoms[at]
    }

    #[inline]
    pub fn set_atom(&mut self, at: usize, value: AtomValue) {
        self.atoms[at] = value;
    }

    /// `count` atoms from index `first` on.
    #[inline]
    pub fn atoms(&self, first: usize, count: usize) -> &[AtomValue] {
        &self.atoms[first..][..count]
    }

    /// Feeds a chunk of text to the watchers from index `first` on.
    #[inline]
    pub fn feed(&mut self, first: usize, chunk: &str, work: &mut QueryWork) {
        for active in &mut self.watchers[first..] {
            if work.is_spent() {
                break;
            }
            let (query, watcher) = active;
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
            work.spend(*query, STEPS_PER_VISIT + steps as u64);
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

    /// Calls `add` with the query of each binding, the number of candidates that it holds, and the
    /// bytes of the values in its watchers and accumulators, roughly.
    pub fn for_each_holder(&self, steps: &QuerySteps<'a>, mut add: impl FnMut(u32, usize, usize)) {
        let mut accumulators = self.accumulators.len();
        for binding in self.bindings.iter().rev() {
            let held = match &binding.collected {
                Collected::Nodes(nodes) => nodes.len(),
                Collected::Nothing | Collected::Existence | Collected::First(..) => 0,
            };
            let own = &self.accumulators[binding.first_accumulator..accumulators];
            accumulators = binding.first_accumulator;
            let bytes = own.iter().map(Accumulator::bytes).sum();
            add(steps[binding.step].query, held, bytes);
        }
        for (query, watcher) in &self.watchers {
            if let ActiveWatcher::Text(text) = watcher {
                add(*query, 0, text.len());
            }
        }
    }

    /// Bytes of the values in watchers and accumulators, roughly.
    #[inline]
    pub fn compared_bytes(&self) -> usize {
        self.compared_bytes
    }
}
