//! The costs of classes: the steps of a document, by the parts of the index that its classes use.

use crate::matching::class_parts::ClassParts;
use crate::matching::work_meter::Attribution;

/// The costs of the classes of a segment that took part in a document.
pub(super) struct ClassCosts<'p> {
    parts: &'p ClassParts,
    /// The classes that took part, ascending.
    classes: Vec<u32>,
    /// By number of a part.
    by_part: Vec<PartCost>,
}

#[derive(Clone, Copy)]
struct PartCost {
    steps: u64,
    /// Number of classes that use the part.
    users: u32,
    is_paid: bool,
}

impl<'p> ClassCosts<'p> {
    /// The costs of the classes of a segment, except those that `is_set_aside`.
    pub fn new(
        parts: &'p ClassParts,
        attribution: &Attribution,
        is_set_aside: impl Fn(u32) -> bool,
    ) -> ClassCosts<'p> {
        let steps = attribution.nodes.iter().chain(&attribution.operands);
        let cost = |&steps: &u64| PartCost {
            steps,
            users: 0,
            is_paid: false,
        };
        let mut by_part: Vec<PartCost> = steps.map(cost).collect();
        let classes = (0..parts.class_count()).filter(|&class| !is_set_aside(class));
        let classes: Vec<u32> = classes.collect();
        // Nothing was attributed if the document was stopped before.
        if by_part.is_empty() {
            let nothing = parts
                .highest_number()
                .map_or(0, |number| number as usize + 1);
            by_part = vec![cost(&0); nothing];
        }
        for &class in &classes {
            for &part in parts.numbers_of(class) {
                by_part[part as usize].users += 1;
            }
        }
        ClassCosts {
            parts,
            classes,
            by_part,
        }
    }

    /// The steps of all parts.
    pub fn total(&self) -> f64 {
        self.by_part.iter().map(|part| part.steps as f64).sum()
    }

    /// Each class with its share of the steps, if those of a part are divided equally among the
    /// classes that use it.
    pub fn divided(&self) -> Vec<(u32, f64)> {
        self.by_class(|part| part.steps as f64 / f64::from(part.users))
    }

    /// Each class with the steps of all parts that it uses.
    pub fn undivided(&self) -> Vec<(u32, f64)> {
        self.by_class(|part| part.steps as f64)
    }

    fn by_class(&self, steps_of: impl Fn(&PartCost) -> f64) -> Vec<(u32, f64)> {
        let classes = self.classes.iter();
        classes
            .map(|&class| (class, self.parts_of(class).map(&steps_of).sum()))
            .collect()
    }

    fn parts_of(&self, class: u32) -> impl Iterator<Item = &PartCost> {
        let numbers = self.parts.numbers_of(class).iter();
        numbers.map(|&part| &self.by_part[part as usize])
    }

    /// The steps of the parts of a class that are not paid yet.
    pub fn unpaid(&self, class: u32) -> f64 {
        let unpaid = self.parts_of(class).filter(|part| !part.is_paid);
        unpaid.map(|part| part.steps as f64).sum()
    }

    /// Pays the parts of a class: other classes may use them at no further cost.
    pub fn pay(&mut self, class: u32) {
        for &part in self.parts.numbers_of(class) {
            self.by_part[part as usize].is_paid = true;
        }
    }
}
