//! What nodes contribute to the bindings above them.

use super::accumulator::{ComparedValue, Side};
use super::end_set::{EndRange, EndSet};
use super::query_result::SelectedNode;

/// Number of a node in [`CandidateNodes`].
pub(super) type CandidateId = u32;

/// The contribution of a node at the end of a path, on its way up.
#[derive(Clone, Copy, Debug)]
pub(super) enum Candidate {
    /// The branch with this end selects a node. A nested path has a single end, 0.
    Existence(u32),
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
    /// All branches through the step select a node.
    Existence,
    /// Some of the branches through the step select a node.
    ExistenceFor(EndSet),
    /// The first node in document order so far, and whether its value passes the test.
    First(u64, bool),
    /// Held nodes. Never stored once the predicates hold: the nodes are forwarded at once.
    Nodes(Vec<CandidateId>),
}

impl Collected {
    /// Adds that the branch with this end selects a node; `ends` are those of the step. Whether it is
    /// new.
    pub fn add_existence(&mut self, end: u32, ends: EndRange) -> bool {
        match self {
            Self::Existence => return false,
            _ if ends.count == 1 => *self = Self::Existence,
            Self::ExistenceFor(set) => {
                let is_new = set.insert(end);
                if set.is_full() {
                    *self = Self::Existence;
                }
                return is_new;
            }
            _ => {
                let mut set = EndSet::new(ends);
                set.insert(end);
                *self = Self::ExistenceFor(set);
            }
        }
        true
    }

    /// Adds a node, which has one holder more.
    pub fn add_node(&mut self, node: CandidateId) {
        match self {
            Self::Nodes(nodes) => nodes.push(node),
            _ => *self = Self::Nodes(vec![node]),
        }
    }

    /// Whether the existence of a node is known for all branches through a step that continues the
    /// path; `ends` are those of that step.
    pub fn has_existence(&self, ends: EndRange) -> bool {
        match self {
            Self::Existence => true,
            Self::ExistenceFor(set) => set.contains_all(ends),
            Self::Nothing | Self::First(..) | Self::Nodes(_) => false,
        }
    }

    /// The number of held nodes.
    pub fn node_count(&self) -> usize {
        match self {
            Self::Nodes(nodes) => nodes.len(),
            _ => 0,
        }
    }
}

/// What is known about the node of a candidate.
#[derive(Debug)]
pub(super) enum CandidateNode {
    /// The branches with this end select it.
    Selected(u32, SelectedNode),
    /// It is counted; its document-order number.
    Counted(u64),
    /// It is compared with the nodes of another path.
    Compared(Side, ComparedValue),
}

impl CandidateNode {
    /// The bytes of its value, roughly.
    fn bytes(&self) -> usize {
        match self {
            Self::Selected(..) | Self::Counted(_) => 0,
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

    /// Takes the node out of its slot because the branches with this end select it; `None` if they did
    /// before.
    pub fn select(&mut self, id: CandidateId) -> Option<(u32, SelectedNode)> {
        match self.slots[id as usize].node.take()? {
            CandidateNode::Selected(end, node) => Some((end, node)),
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
