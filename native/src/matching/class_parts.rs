//! The parts of a segment that each class uses: trie nodes, operands, and the operands that
//! elements must record.

use crate::matching::NONE;
use crate::path_index::segment::{Condition, OperandRecord, Segment, DIRECT_CLASS, ROOT, VERIFY};

/// Where a branch of a class ends in the trie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct BranchEnd {
    /// The class.
    pub class: u32,
    node: u32,
    /// The index of a last condition after the node, or [`NONE`].
    condition: u32,
}

/// A part of a segment that a branch uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Part {
    /// A trie node, structural or conditional.
    Node(u32),
    /// An operand.
    Operand(u32),
    /// An operand and the number of a comparison of its values.
    Comparison(u32, u32),
    /// A structural trie node and an operand that its elements record.
    Required(u32, u32),
}

/// Finds the parts of a segment that classes use.
pub(super) struct ClassParts<'s> {
    segment: &'s Segment,
    /// By trie node: the index of the condition that leads to it, or [`NONE`].
    condition_to: Vec<u32>,
}

impl<'s> ClassParts<'s> {
    /// Prepares a segment.
    pub fn new(segment: &'s Segment) -> ClassParts<'s> {
        let mut condition_to = vec![NONE; segment.parent_links.len()];
        for (at, condition) in segment.conditions.iter().enumerate() {
            if condition.node & DIRECT_CLASS == 0 {
                condition_to[condition.node as usize] = at as u32;
            }
        }
        ClassParts {
            segment,
            condition_to,
        }
    }

    /// The branches of all classes, sorted by class.
    pub fn branches(&self) -> Vec<BranchEnd> {
        let segment = self.segment;
        let mut branches = Vec::new();
        for node in 0..segment.parent_links.len() as u32 {
            branches.extend(segment.accepts_of(node).iter().map(|class| BranchEnd {
                class: class & !VERIFY,
                node,
                condition: NONE,
            }));
            let first = segment.nodes[node as usize].condition;
            for (at, condition) in (first..).zip(segment.conditions_of(node)) {
                if condition.node & DIRECT_CLASS != 0 {
                    branches.push(BranchEnd {
                        class: condition.node & !DIRECT_CLASS,
                        node,
                        condition: at,
                    });
                }
            }
        }
        branches.sort_unstable();
        branches
    }

    /// Calls `visit` with each part that a branch uses; parts may repeat.
    pub fn for_each_part(&self, branch: BranchEnd, visit: &mut impl FnMut(Part)) {
        let segment = self.segment;
        let mut conditions: Vec<&Condition> = Vec::new();
        if branch.condition != NONE {
            conditions.push(&segment.conditions[branch.condition as usize]);
        }
        let mut node = branch.node;
        loop {
            visit(Part::Node(node));
            let at = self.condition_to[node as usize];
            if at != NONE {
                conditions.push(&segment.conditions[at as usize]);
            } else if node != ROOT {
                let step = segment.steps_to(node) - 1;
                for condition in conditions.iter().filter(|one| one.step == step) {
                    visit(Part::Required(node, condition.operand));
                }
            }
            if node == ROOT {
                break;
            }
            node = segment.parent_links[node as usize].parent;
        }
        for condition in conditions {
            self.visit_operand(condition, visit);
        }
    }

    /// Visits the operand of a condition and those that it is derived from.
    fn visit_operand(&self, condition: &Condition, visit: &mut impl FnMut(Part)) {
        let mut operand = condition.operand;
        visit(Part::Comparison(operand, condition.comparison));
        loop {
            visit(Part::Operand(operand));
            let record = &self.segment.operands[operand as usize];
            match record.kind {
                OperandRecord::CHILD | OperandRecord::DEEP | OperandRecord::FIRST => {
                    operand = record.inner;
                }
                OperandRecord::COMPOUND => {
                    visit(Part::Node(record.inner));
                    return self.visit_compound(condition.literal, visit);
                }
                _ => return,
            }
        }
    }

    /// Visits the compound conditions that end at a trie node.
    fn visit_compound(&self, mut node: u32, visit: &mut impl FnMut(Part)) {
        while self.condition_to[node as usize] != NONE {
            visit(Part::Node(node));
            let at = self.condition_to[node as usize];
            self.visit_operand(&self.segment.conditions[at as usize], visit);
            node = self.segment.parent_links[node as usize].parent;
        }
    }
}
