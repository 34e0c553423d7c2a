//! Nodes whose `last()` predicates are decided when their parent ends.

use super::candidate::Collected;
use super::query_steps::StepId;

/// A node that has ended and whose step tests `last()`.
pub(super) struct DeferredNode {
    pub step: StepId,
    /// The binding or open atom that receives what the node collected.
    pub target: u32,
    /// The final values of the atoms of its predicates.
    pub atoms: Box<[Option<bool>]>,
    pub collected: Collected,
}

/// The deferred children of all open nodes, those of the innermost node last.
#[derive(Default)]
pub(super) struct DeferredNodes {
    nodes: Vec<DeferredNode>,
    /// For each step with sibling counters, the index of the node deferred last. It may be stale:
    /// left over from another parent, or since taken by a node of another step.
    latest: Vec<usize>,
}

impl DeferredNodes {
    /// For `counted_steps` steps with sibling counters.
    pub fn new(counted_steps: usize) -> Self {
        Self {
            nodes: Vec::new(),
            latest: vec![0; counted_steps],
        }
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &DeferredNode> {
        self.nodes.iter()
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn push(&mut self, node: DeferredNode) {
        self.nodes.push(node);
    }

    /// Defers a node of a step whose first `last()` predicate is `[last()]`: only the last sibling
    /// can pass it, so the node replaces the sibling before it. Siblings start at index `mark`;
    /// `counters` is the index of the step's counters. Returns the replaced node.
    pub fn push_as_last(
        &mut self,
        node: DeferredNode,
        mark: usize,
        counters: usize,
    ) -> Option<DeferredNode> {
        let latest = self.latest[counters];
        let is_sibling =
            (mark..self.nodes.len()).contains(&latest) && self.nodes[latest].step == node.step;
        if is_sibling {
            return Some(std::mem::replace(&mut self.nodes[latest], node));
        }
        self.latest[counters] = self.nodes.len();
        self.nodes.push(node);
        None
    }

    /// Takes the nodes from index `mark` on, grouped by step, siblings in document order.
    pub fn take_from(&mut self, mark: usize) -> Vec<Vec<DeferredNode>> {
        let mut nodes = self.nodes.split_off(mark);
        nodes.sort_by_key(|node| node.step); // stable: siblings stay in document order
        let mut groups: Vec<Vec<DeferredNode>> = Vec::new();
        for node in nodes {
            match groups.last_mut() {
                Some(group) if group[0].step == node.step => group.push(node),
                _ => groups.push(vec![node]),
            }
        }
        groups
    }
}
