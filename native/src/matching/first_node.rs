//! First nodes: `contains(p, 'x')` uses the first node that `p` selects, in document order.
//!
//! For an operand whose first node matters, an element keeps one node: the literals that occur in
//! it and its position in the document. When two nodes of an operand meet on their way up, the
//! earlier one stays. The order of arrival does not suffice: an element ends after its descendants
//! but precedes them in document order.

use std::sync::Arc;

use hashbrown::HashMap;

use crate::matching::required_values::{RequiredValuesTable, FIRST_NODE};
use crate::path_index::segment::{OperandRecord, Segment};

/// The first node of an operand so far.
#[derive(Clone)]
pub(super) struct FirstNode {
    /// The operand.
    pub operand: u32,
    /// Ascending in document order among nodes of one kind.
    pub order: u64,
    /// The literals that occur in it.
    pub literals: Arc<[u32]>,
}

/// The first nodes of the open elements, innermost last.
pub(super) struct FirstNodes {
    nodes: Vec<FirstNode>,
    propagated: Vec<FirstNode>,
    /// By operand: the operand whose values are the literals of its first node.
    derived: HashMap<u32, u32>,
}

impl FirstNodes {
    /// An empty stack for `segment`.
    pub fn new(segment: &Segment) -> FirstNodes {
        let operands = segment.operands.iter().enumerate();
        FirstNodes {
            nodes: Vec::new(),
            propagated: Vec::new(),
            derived: operands
                .filter(|(_, record)| record.kind == OperandRecord::FIRST)
                .map(|(operand, record)| (record.inner, operand as u32))
                .collect(),
        }
    }

    /// Removes all nodes.
    pub fn clear(&mut self) {
        self.nodes.clear();
    }

    /// Number of nodes.
    #[inline]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The node at an index.
    pub fn get(&self, at: usize) -> &FirstNode {
        &self.nodes[at]
    }

    /// The operand whose values are the literals of the first node of `operand`.
    pub fn derived_operand(&self, operand: u32) -> Option<u32> {
        self.derived.get(&operand).copied()
    }

    /// Adds a node to the innermost element, whose nodes begin at `start`, unless it has an earlier
    /// one.
    pub fn add(&mut self, start: usize, node: FirstNode) {
        let own = &mut self.nodes[start..];
        match own.iter_mut().find(|other| other.operand == node.operand) {
            Some(other) if other.order <= node.order => {}
            Some(other) => *other = node,
            None => self.nodes.push(node),
        }
    }

    /// Removes the nodes from `start` on, of an element that ended, and adds them to its parent as
    /// far as that requires them. The element requires `required`, its parent `parent_required`,
    /// and the nodes of the parent begin at `parent_start`. Returns whether nodes were propagated.
    pub fn propagate(
        &mut self,
        segment: &Segment,
        required_values: &RequiredValuesTable,
        (required, start): (u32, usize),
        (parent_required, parent_start): (u32, usize),
    ) -> bool {
        let mut propagated = std::mem::take(&mut self.propagated);
        for node in self.nodes.drain(start..) {
            for propagation in required_values.propagations_from(required, node.operand) {
                if propagation.uses & FIRST_NODE != 0 {
                    let operand = propagation.to;
                    propagated.push(FirstNode {
                        operand,
                        ..node.clone()
                    });
                }
            }
            let is_deep = segment.operands[node.operand as usize].kind == OperandRecord::DEEP;
            let parent_uses = || required_values.uses(parent_required, node.operand);
            if is_deep && parent_uses() & FIRST_NODE != 0 {
                propagated.push(node);
            }
        }
        let has_propagated = !propagated.is_empty();
        for node in propagated.drain(..) {
            self.add(parent_start, node);
        }
        self.propagated = propagated;
        has_propagated
    }
}
