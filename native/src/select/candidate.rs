//! What nodes contribute to the bindings above them.

use super::accumulator::{ComparedValue, Side};
use super::query_result::SelectedNode;

/// Number of a node in [`CandidateNodes`].
pub(super) type CandidateId = u32;

/// The contribution of a node at the end of a path, on its way up.
#[derive(Clone, Copy, Debug)]
pub(super) enum Candidate {
    /// The path selects a node.
    Existence,
    /// The path selects the node with this document-order number; whether its value passes the test.
    First(u64, bool),
    /// The path selects this node, if every predicate above it holds.
    Node(CandidateId),
}

/// The candidates that a binding has received along its path. They were forwarded if the binding's
/// predicates hold, and wait here while these are undecided.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Collected {
    Nothing,
    Existence,
    /// The first node in document order so far, and whether its value passes the test.
    First(u64, bool),
    /// Held nodes. Never stored once the predicates hold: the nodes are forwarded at once.
    Nodes(Vec<CandidateId>),
}

impl Collected {
    pub fn of(candidate: Candidate) -> Self {
        match candidate {
            Candidate::Existence => Self::Existence,
            Candidate::First(order, passes) => Self::First(order, passes),
            Candidate::Node(node) => Self::Nodes(vec![node]),
        }
    }
}

/// What is known about the node of a candidate.
#[derive(Debug)]
pub(super) enum CandidateNode {
    /// A branch of the query selects it.
    Selected(SelectedNode),
    /// It is counted; its document-order number.
    Counted(u64),
    /// It is compared with the nodes of another path.
    Compared(Side, ComparedValue),
}

impl CandidateNode {
    /// The bytes of its value, roughly.
    fn bytes(&self) -> usize {
        match self {
            Self::Selected(_) | Self::Counted(_) => 0,
            Self::Compared(_, value) => value.bytes(),
        }
    }
}

/// Nodes that wait for predicates above them, reference-counted by their holders.
#[derive(Default)]
pub(super) struct CandidateNodes {
    slots: Vec<Slot>,
    free: Vec<CandidateId>,
    /// Sum of all reference counts.
    held: usize,
    /// Sum of the bytes of all values.
    bytes: usize,
    /// Number of the current walk upwards; each node candidate makes its own.
    walk: u64,
}

struct Slot {
    /// `None` once the node is selected, and in a free slot.
    node: Option<CandidateNode>,
    holders: u32,
}

impl CandidateNodes {
    /// Adds a node with one holder.
    pub fn add(&mut self, node: CandidateNode) -> CandidateId {
        self.held += 1;
        self.bytes += node.bytes();
        let slot = Slot {
            node: Some(node),
            holders: 1,
        };
        if let Some(id) = self.free.pop() {
            self.slots[id as usize] = slot;
            return id;
        }
        self.slots.push(slot);
        u32::try_from(self.slots.len() - 1).expect("candidates are limited")
    }

    /// Adds a holder.
    #[inline]
    pub fn hold(&mut self, id: CandidateId) {
        self.held += 1;
        self.slots[id as usize].holders += 1;
    }

    /// Removes a holder; without holders the node is dropped.
    pub fn release(&mut self, id: CandidateId) {
        self.held -= 1;
        let slot = &mut self.slots[id as usize];
        slot.holders -= 1;
        if slot.holders == 0 {
            let node = slot.node.take();
            self.bytes -= node.map_or(0, |node| node.bytes());
            self.free.push(id);
        }
    }

    /// Sorts `ids` and releases all but one of equal ones: one candidate may arrive by several paths,
    /// and continues once.
    pub fn deduplicate(&mut self, ids: &mut Vec<CandidateId>) {
        ids.sort_unstable();
        let mut last = None;
        ids.retain(|&id| {
            let is_new = last.replace(id) != Some(id);
            if !is_new {
                self.release(id);
            }
            is_new
        });
    }

    /// Takes the node out of its slot because it is selected; `None` if it was selected before.
    pub fn select(&mut self, id: CandidateId) -> Option<SelectedNode> {
        match self.slots[id as usize].node.take()? {
            CandidateNode::Selected(node) => Some(node),
            other => unreachable!("{other:?} belongs to a predicate"),
        }
    }

    /// The node of a predicate's path.
    #[inline]
    pub fn node(&self, id: CandidateId) -> &CandidateNode {
        let node = self.slots[id as usize].node.as_ref();
        node.expect("a node of a predicate is never selected")
    }

    /// Sum of the bytes of all values.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    #[inline]
    pub fn is_selected(&self, id: CandidateId) -> bool {
        self.slots[id as usize].node.is_none()
    }

    /// The number of references to nodes.
    #[inline]
    pub fn held(&self) -> usize {
        self.held
    }

    /// Starts the walk of a node candidate: each binding receives it at most once per walk.
    #[inline]
    pub fn start_walk(&mut self) {
        self.walk += 1;
    }

    #[inline]
    pub fn walk(&self) -> u64 {
        self.walk
    }
}
