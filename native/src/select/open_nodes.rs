//! The open nodes and the steps they are bound to.

use crate::events::{ExpandedName, NamespaceScope};
use crate::value_tests::{StringValueWatcher, ValueTest};

use super::candidate::Collected;
use super::predicate::AtomValue;
use super::query_steps::{QueryStep, StepId};
use super::selector::{Atom, Goal};

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

struct ActiveWatcher<'a> {
    test: &'a ValueTest,
    watcher: StringValueWatcher,
}

/// Open nodes and their bindings. Everything is a stack in the order of the open nodes.
pub(super) struct OpenNodes<'a> {
    frames: Vec<Frame>,
    bindings: Vec<Binding>,
    atoms: Vec<AtomValue>,
    watchers: Vec<ActiveWatcher<'a>>,
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
        self.watchers.truncate(frame.first_watcher);
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
            predicates_passed: 0,
            position: None,
            verdict: Verdict::Undecided,
            collected: Collected::Nothing,
            walk: 0,
        });
        for atom in &compiled.step.atoms {
            self.atoms.push(AtomValue::Unknown);
            if let Atom::Value(test) = atom {
                self.push_watcher(test);
            }
        }
        if let Some(Goal::AnyPasses(test) | Goal::FirstPasses(test)) = &compiled.step.goal {
            self.push_watcher(test);
        }
        id
    }

    fn push_watcher(&mut self, test: &'a ValueTest) {
        self.watchers.push(ActiveWatcher {
            test,
            watcher: StringValueWatcher::new(test),
        });
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
        self.watchers.truncate(binding.first_watcher);
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
    pub fn feed(&mut self, first: usize, chunk: &str) {
        for active in &mut self.watchers[first..] {
            active.watcher.feed(active.test, chunk);
        }
    }

    /// Whether the test of a watcher holds for the text fed so far, taken as the complete value.
    #[inline]
    pub fn watcher_result(&self, at: usize) -> bool {
        let active = &self.watchers[at];
        active.watcher.finish(active.test)
    }
}
