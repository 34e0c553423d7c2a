//! The costs of classes: the steps of a document, by the parts of the index that its classes use.

use hashbrown::HashMap;

use crate::matching::class_parts::{BranchEnd, ClassParts, Part};
use crate::matching::class_restriction::ClassRestriction;
use crate::matching::work_meter::Attribution;
use crate::path_index::segment::Segment;

/// The costs of the classes of a segment.
pub struct ClassCosts<'s> {
    parts: ClassParts<'s>,
    /// The branches of the classes that took part, sorted by class.
    branches: Vec<BranchEnd>,
    by_part: HashMap<PartKey, PartCost, foldhash::fast::RandomState>,
    /// Number of visits of a class, so that a class finds each part once in a visit.
    visits: u32,
}

/// A part of the segment to which steps are attributed.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum PartKey {
    Node(u32),
    Operand(u32),
}

impl PartKey {
    fn of(part: Part) -> PartKey {
        match part {
            Part::Node(node) => PartKey::Node(node),
            Part::Operand(operand) | Part::Comparison(operand, _) | Part::Required(_, operand) => {
                PartKey::Operand(operand)
            }
        }
    }
}

struct PartCost {
    steps: u64,
    /// Number of classes that use the part.
    users: u32,
    /// The visit that found the part last.
    visit: u32,
    is_paid: bool,
}

impl<'s> ClassCosts<'s> {
    /// The costs of the classes that took part in a document.
    pub(super) fn new(
        segment: &'s Segment,
        attribution: &Attribution,
        restriction: Option<&ClassRestriction>,
    ) -> ClassCosts<'s> {
        let cost = |steps: u64| PartCost {
            steps,
            users: 0,
            visit: 0,
            is_paid: false,
        };
        let nodes = (0..).zip(&attribution.nodes).filter(|part| *part.1 > 0);
        let operands = (0..).zip(&attribution.operands);
        let operands = operands.filter(|part| *part.1 > 0);
        let by_part = nodes
            .map(|(node, &steps)| (PartKey::Node(node), cost(steps)))
            .chain(operands.map(|(operand, &steps)| (PartKey::Operand(operand), cost(steps))));
        let parts = ClassParts::new(segment);
        let mut branches = parts.branches();
        branches.retain(|branch| restriction.is_none_or(|one| one.has_class(branch.class)));
        let mut costs = ClassCosts {
            by_part: by_part.collect(),
            parts,
            branches,
            visits: 0,
        };
        costs.each_class(|_, part| part.users += 1);
        costs
    }

    /// The steps of all parts.
    pub(super) fn total(&self) -> f64 {
        self.by_part.values().map(|part| part.steps as f64).sum()
    }

    /// Each class with its share of the steps, if those of a part are divided equally among the
    /// classes that use it.
    pub(super) fn divided(&mut self) -> Vec<(u32, f64)> {
        self.by_class(|part| part.steps as f64 / f64::from(part.users))
    }

    /// Each class with the steps of all parts that it uses.
    pub(super) fn undivided(&mut self) -> Vec<(u32, f64)> {
        self.by_class(|part| part.steps as f64)
    }

    fn by_class(&mut self, steps_of: impl Fn(&PartCost) -> f64) -> Vec<(u32, f64)> {
        let by_class = self.branches.chunk_by(|a, b| a.class == b.class);
        let mut classes: Vec<(u32, f64)> = by_class.map(|same| (same[0].class, 0.0)).collect();
        self.each_class(|at, part| classes[at].1 += steps_of(part));
        classes
    }

    /// Calls `act` once for each class and each part of it with a cost, with the position of the
    /// class among those that took part.
    fn each_class(&mut self, mut act: impl FnMut(usize, &mut PartCost)) {
        let mut position = 0;
        for at in 0..self.branches.len() {
            if at == 0 || self.branches[at - 1].class != self.branches[at].class {
                self.visits += 1;
                position += usize::from(at > 0);
            }
            self.visit(self.branches[at], |part| act(position, part));
        }
    }

    /// The steps of the parts of a class that are not paid yet.
    pub(super) fn unpaid(&mut self, class: u32) -> f64 {
        let mut steps = 0.0;
        self.each_part(class, |part| {
            if !part.is_paid {
                steps += part.steps as f64;
            }
        });
        steps
    }

    /// Pays the parts of a class: other classes may use them at no further cost.
    pub(super) fn pay(&mut self, class: u32) {
        self.each_part(class, |part| part.is_paid = true);
    }

    /// Calls `act` once for each part of a class with a cost.
    fn each_part(&mut self, class: u32, mut act: impl FnMut(&mut PartCost)) {
        self.visits += 1;
        let first = self.branches.partition_point(|branch| branch.class < class);
        let end = self
            .branches
            .partition_point(|branch| branch.class <= class);
        for at in first..end {
            self.visit(self.branches[at], &mut act);
        }
    }

    /// Calls `act` for each part of a branch with a cost that the current visit did not find yet.
    fn visit(&mut self, branch: BranchEnd, mut act: impl FnMut(&mut PartCost)) {
        let (by_part, visit) = (&mut self.by_part, self.visits);
        self.parts.for_each_part(branch, &mut |part| {
            if let Some(part) = by_part.get_mut(&PartKey::of(part)) {
                if part.visit != visit {
                    part.visit = visit;
                    act(part);
                }
            }
        });
    }
}
