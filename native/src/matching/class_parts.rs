//! The parts of a segment that each class uses: trie nodes, operands, and the operands that
//! elements must record.
//!
//! They are needed only for documents that spend their work budget. Finding them takes longer than
//! such a document if it is short, so a worker keeps them.

use crate::matching::class_costs::PartsOfClasses;
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

/// The parts of a segment that its classes use.
pub struct ClassParts {
    /// By trie node: the index of the condition that leads to it, or [`NONE`].
    condition_to: Vec<u32>,
    /// The branches of all classes, sorted by class.
    branches: Vec<BranchEnd>,
    /// By class: where the numbers of its parts begin in `numbers`.
    starts: Vec<u32>,
    /// Trie nodes, and operands after them.
    numbers: Vec<u32>,
}

impl ClassParts {
    /// Finds the parts of all classes.
    pub(super) fn new(segment: &Segment) -> ClassParts {
        let mut condition_to = vec![NONE; segment.parent_links.len()];
        for (at, condition) in segment.conditions.iter().enumerate() {
            if condition.node & DIRECT_CLASS == 0 {
                condition_to[condition.node as usize] = at as u32;
            }
        }
        let mut parts = ClassParts {
            condition_to,
            branches: branches(segment),
            starts: Vec::with_capacity(segment.class_count() + 1),
            numbers: Vec::new(),
        };
        parts.number(segment);
        parts
    }

    /// Fills `starts` and `numbers`.
    fn number(&mut self, segment: &Segment) {
        let nodes = segment.parent_links.len() as u32;
        let mut numbers = std::mem::take(&mut self.numbers);
        let mut branches = self.branches.iter().peekable();
        for class in 0..segment.class_count() as u32 {
            let start = numbers.len();
            self.starts.push(start as u32);
            while let Some(branch) = branches.next_if(|branch| branch.class == class) {
                self.for_each_part(segment, *branch, &mut |part| match part {
                    Part::Node(node) => numbers.push(node),
                    Part::Operand(operand) => numbers.push(nodes + operand),
                    Part::Comparison(..) | Part::Required(..) => {}
                });
            }
            numbers[start..].sort_unstable();
            let mut kept = start;
            for at in start..numbers.len() {
                if kept == start || numbers[kept - 1] != numbers[at] {
                    numbers[kept] = numbers[at];
                    kept += 1;
                }
            }
            numbers.truncate(kept);
        }
        self.starts.push(numbers.len() as u32);
        self.numbers = numbers;
    }

    /// Approximate memory in use.
    pub(super) fn bytes(&self) -> usize {
        (self.condition_to.len() + self.starts.len() + self.numbers.len()) * size_of::<u32>()
            + self.branches.len() * size_of::<BranchEnd>()
    }

    /// Number of classes.
    pub(super) fn class_count(&self) -> u32 {
        self.starts.len() as u32 - 1
    }

    /// The branches of all classes, sorted by class.
    pub(super) fn branches(&self) -> &[BranchEnd] {
        &self.branches
    }
}

impl PartsOfClasses for ClassParts {
    /// The trie nodes of a class, and its operands, numbered after all trie nodes.
    fn parts_of(&self, class: u32) -> &[u32] {
        let [start, end] = [class, class + 1].map(|at| self.starts[at as usize] as usize);
        &self.numbers[start..end]
    }
}

/// The branches of all classes, sorted by class.
fn branches(segment: &Segment) -> Vec<BranchEnd> {
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

impl ClassParts {
    /// Calls `visit` with each part that a branch uses; parts may repeat.
    pub(super) fn for_each_part(
        &self,
        segment: &Segment,
        branch: BranchEnd,
        visit: &mut impl FnMut(Part),
    ) {
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
            self.visit_operand(segment, condition, visit);
        }
    }

    /// Visits the operand of a condition and those that it is derived from.
    fn visit_operand(
        &self,
        segment: &Segment,
        condition: &Condition,
        visit: &mut impl FnMut(Part),
    ) {
        let mut operand = condition.operand;
        visit(Part::Comparison(operand, condition.comparison));
        loop {
            visit(Part::Operand(operand));
            let record = &segment.operands[operand as usize];
            match record.kind {
                OperandRecord::CHILD | OperandRecord::DEEP | OperandRecord::FIRST => {
                    operand = record.inner;
                }
                OperandRecord::COMPOUND => {
                    visit(Part::Node(record.inner));
                    return self.visit_compound(segment, condition.literal, visit);
                }
                _ => return,
            }
        }
    }

    /// Visits the compound conditions that end at a trie node.
    fn visit_compound(&self, segment: &Segment, mut node: u32, visit: &mut impl FnMut(Part)) {
        while self.condition_to[node as usize] != NONE {
            visit(Part::Node(node));
            let at = self.condition_to[node as usize];
            self.visit_operand(segment, &segment.conditions[at as usize], visit);
            node = segment.parent_links[node as usize].parent;
        }
    }
}
