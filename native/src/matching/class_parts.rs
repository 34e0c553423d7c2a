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
struct BranchEnd {
    class: u32,
    node: u32,
    /// The index of a last condition after the node, or [`NONE`].
    condition: u32,
}

/// A part of a segment that a branch uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Part {
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
    /// Trie nodes, and operands numbered after them: what steps are attributed to.
    attributed: NumbersByClass,
    /// Indexes of `required`, and those of `comparisons` numbered after them.
    probed: NumbersByClass,
    /// Structural trie nodes with the operands that their elements record, sorted.
    required: Vec<(u32, u32)>,
    /// Operands with the numbers of comparisons of their values, sorted.
    comparisons: Vec<(u32, u32)>,
}

/// A sorted list of numbers for each class.
#[derive(Default)]
struct NumbersByClass {
    /// By class: where its numbers begin; at the end, where the last ones end.
    starts: Vec<u32>,
    numbers: Vec<u32>,
}

impl NumbersByClass {
    /// Adds the numbers of the next class, which may repeat.
    fn push(&mut self, numbers: &mut Vec<u32>) {
        numbers.sort_unstable();
        numbers.dedup();
        if self.starts.is_empty() {
            self.starts.push(0);
        }
        self.numbers.append(numbers);
        self.starts.push(self.numbers.len() as u32);
    }

    fn of_class(&self, class: u32) -> &[u32] {
        let [start, end] = [class, class + 1].map(|at| self.starts[at as usize] as usize);
        &self.numbers[start..end]
    }

    fn bytes(&self) -> usize {
        (self.starts.len() + self.numbers.len()) * size_of::<u32>()
    }
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
            attributed: NumbersByClass::default(),
            probed: NumbersByClass::default(),
            required: Vec::new(),
            comparisons: Vec::new(),
        };
        let branches = branches(segment);
        for &branch in &branches {
            parts.collect_probed(segment, branch);
        }
        for pairs in [&mut parts.required, &mut parts.comparisons] {
            pairs.sort_unstable();
            pairs.dedup();
        }
        parts.number(segment, &branches);
        parts
    }

    /// Adds what a branch probes to `required` and `comparisons`.
    fn collect_probed(&mut self, segment: &Segment, branch: BranchEnd) {
        let mut required = std::mem::take(&mut self.required);
        let mut comparisons = std::mem::take(&mut self.comparisons);
        self.for_each_part(segment, branch, &mut |part| match part {
            Part::Comparison(operand, comparison) => comparisons.push((operand, comparison)),
            Part::Required(node, operand) => required.push((node, operand)),
            Part::Node(_) | Part::Operand(_) => {}
        });
        self.required = required;
        self.comparisons = comparisons;
    }

    /// Lists the numbers of each class; `branches` are sorted by class.
    fn number(&mut self, segment: &Segment, branches: &[BranchEnd]) {
        let nodes = segment.parent_links.len() as u32;
        let (mut attributed, mut probed) = (Vec::new(), Vec::new());
        let mut branches = branches.iter().peekable();
        for class in 0..segment.class_count() as u32 {
            while let Some(branch) = branches.next_if(|branch| branch.class == class) {
                self.for_each_part(segment, *branch, &mut |part| match part {
                    Part::Node(node) => attributed.push(node),
                    Part::Operand(operand) => attributed.push(nodes + operand),
                    Part::Required(node, operand) => {
                        probed.push(position(&self.required, (node, operand)));
                    }
                    Part::Comparison(operand, comparison) => {
                        let at = position(&self.comparisons, (operand, comparison));
                        probed.push(self.required.len() as u32 + at);
                    }
                });
            }
            self.attributed.push(&mut attributed);
            self.probed.push(&mut probed);
        }
    }

    /// Approximate memory in use.
    pub(super) fn bytes(&self) -> usize {
        self.condition_to.len() * size_of::<u32>()
            + self.attributed.bytes()
            + self.probed.bytes()
            + (self.required.len() + self.comparisons.len()) * size_of::<(u32, u32)>()
    }

    /// Number of classes.
    pub(super) fn class_count(&self) -> u32 {
        (self.attributed.starts.len() as u32).saturating_sub(1)
    }

    /// What the elements and values of a class are probed for, by its numbers in
    /// [`ClassParts::required`] and, after them, [`ClassParts::comparisons`].
    pub(super) fn probed_by(&self, class: u32) -> &[u32] {
        self.probed.of_class(class)
    }

    /// Structural trie nodes with the operands that their elements record, sorted.
    pub(super) fn required(&self) -> &[(u32, u32)] {
        &self.required
    }

    /// Operands with the numbers of comparisons of their values, sorted.
    pub(super) fn comparisons(&self) -> &[(u32, u32)] {
        &self.comparisons
    }
}

/// The position of a pair in a sorted list that has it.
fn position(pairs: &[(u32, u32)], pair: (u32, u32)) -> u32 {
    let found = pairs.binary_search(&pair);
    found.expect("all pairs were collected") as u32
}

impl PartsOfClasses for ClassParts {
    /// The trie nodes of a class, and its operands, numbered after all trie nodes.
    fn parts_of(&self, class: u32) -> &[u32] {
        self.attributed.of_class(class)
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
    fn for_each_part(&self, segment: &Segment, branch: BranchEnd, visit: &mut impl FnMut(Part)) {
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
