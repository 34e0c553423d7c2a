//! What is held while a document is read: frames of open nodes and what they are bound to.

use crate::events::{ExpandedName, NamespaceScope};
use crate::values::{ValueTest, Watch};

use super::predicate::Answer;

/// No binding.
pub(super) const NONE: u32 = u32::MAX;

/// An open node: the document, an element, a text node, or an attribute while it is examined.
///
/// Frames are a stack, and so is everything that belongs to them: a frame only notes where its part
/// of each stack begins.
pub(super) struct Frame {
    pub order: u64,
    pub bindings: usize,
    pub answers: usize,
    pub watches: usize,
    pub waiting: usize,
    /// What was expected before the node.
    pub expected: usize,
    /// Captured where the node may be selected.
    pub name: Option<ExpandedName>,
    /// Captured where it is an element that may be selected.
    pub namespaces: Option<NamespaceScope>,
}

/// An open node that passed the node test of a step, below a node bound to the step before.
pub(super) struct Binding {
    pub step: u32,
    /// The number of the frame.
    pub depth: u32,
    /// The binding of the step before that it serves; on the descendant axis the innermost, those
    /// further out follow by `outer`.
    pub target: u32,
    /// The next binding of the same step further out.
    pub outer: u32,
    /// Where its answers begin.
    pub answers: usize,
    /// Where its watches begin: one for each atom about the value, one more for the goal.
    pub watches: usize,
    /// The predicates before this one hold.
    pub predicate: usize,
    /// Its `position()` for that predicate, once counted.
    pub position: Option<u64>,
    pub verdict: Verdict,
    pub gathered: Gathered,
    /// The last walk of a candidate that came by; see `flow`.
    pub walk: u64,
}

impl Binding {
    /// Of which nothing is decided yet; its answers and watches come next.
    pub fn new(
        step: u32,
        depth: u32,
        target: u32,
        outer: u32,
        answers: usize,
        watches: usize,
    ) -> Self {
        Self {
            step,
            depth,
            target,
            outer,
            answers,
            watches,
            predicate: 0,
            position: None,
            verdict: Verdict::Open,
            gathered: Gathered::Nothing,
            walk: 0,
        }
    }
}

/// Whether the step's predicates hold for the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Open,
    Holds,
    Fails,
}

/// What came up from below along the path. It went on at once where the verdict is `Holds`, and
/// waits where it is open.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Gathered {
    Nothing,
    /// A node was found.
    Found,
    /// The first node in document order so far, and whether its value passes.
    First(u64, bool),
    /// Candidates, held; only while they wait.
    Candidates(Vec<u32>),
}

/// One contribution on its way up.
#[derive(Clone, Copy, Debug)]
pub(super) enum Gift {
    Found,
    First(u64, bool),
    Candidate(u32),
}

/// A string-value being compared as it arrives.
pub(super) struct Watching<'a> {
    pub test: &'a ValueTest,
    pub watch: Watch,
}

/// A node that ended, but whose step asks for `last()`: it waits for its parent's end.
pub(super) struct Waiting {
    pub step: u32,
    pub target: u32,
    pub answers: Box<[Answer]>,
    pub gathered: Gathered,
}

/// Of a step that asks for `position()`: what is known of the siblings of its nodes.
#[derive(Default)]
pub(super) struct Positions {
    /// The open parents, outermost first.
    pub levels: Vec<Siblings>,
    /// Where the last node waits that came to `[last()]`, if it still does.
    pub latest: usize,
}

/// How many children of one parent reached each predicate.
#[derive(Default)]
pub(super) struct Siblings {
    /// The parent's place in document order, and its frame: when either changes, counting restarts.
    pub parent: u64,
    pub depth: u32,
    pub counts: Vec<u64>,
}
