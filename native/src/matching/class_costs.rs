//! The costs of classes: the steps of a document, by the parts that its classes use.

/// The parts that classes use: of the index, or of the table of steps that verifies them.
pub(super) trait PartsOfClasses {
    /// The numbers of the parts of a class.
    fn parts_of(&self, class: u32) -> &[u32];
}

/// The costs of the classes that took part in a document.
pub(super) struct ClassCosts<'p> {
    parts: &'p dyn PartsOfClasses,
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
    /// The costs of `classes`, ascending; `steps` are those of the parts, by number.
    pub fn new(
        parts: &'p dyn PartsOfClasses,
        steps: impl Iterator<Item = u64>,
        classes: Vec<u32>,
    ) -> ClassCosts<'p> {
        let cost = |steps| PartCost {
            steps,
            users: 0,
            is_paid: false,
        };
        let mut by_part: Vec<PartCost> = steps.map(cost).collect();
        for &class in &classes {
            for &part in parts.parts_of(class) {
                // Nothing was attributed if the document was stopped before.
                if part as usize >= by_part.len() {
                    by_part.resize(part as usize + 1, cost(0));
                }
                by_part[part as usize].users += 1;
            }
        }
        ClassCosts {
            parts,
            classes,
            by_part,
        }
    }

    /// The steps of all parts that the classes use.
    pub fn total(&self) -> f64 {
        let used = self.by_part.iter().filter(|part| part.users > 0);
        used.map(|part| part.steps as f64).sum()
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
        let numbers = self.parts.parts_of(class).iter();
        numbers.map(|&part| &self.by_part[part as usize])
    }

    /// The steps of the parts of a class that are not paid yet.
    pub fn unpaid(&self, class: u32) -> f64 {
        let unpaid = self.parts_of(class).filter(|part| !part.is_paid);
        unpaid.map(|part| part.steps as f64).sum()
    }

    /// Pays the parts of a class: other classes may use them at no further cost.
    pub fn pay(&mut self, class: u32) {
        for &part in self.parts.parts_of(class) {
            self.by_part[part as usize].is_paid = true;
        }
    }
}
