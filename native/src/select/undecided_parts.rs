//! The parts of the table of steps that undecided queries use; the others need no further evaluation.

use super::query_steps::{AtomId, PartId, QuerySteps, StepId};

/// For each part, the number of undecided parts that use it. A query is undecided until its result is
/// known.
pub(super) struct UndecidedParts {
    users: Vec<u32>,
}

impl UndecidedParts {
    /// At the start, every query is undecided.
    pub fn new(steps: &QuerySteps<'_>) -> Self {
        Self {
            users: steps.users(),
        }
    }

    #[inline]
    pub fn contains(&self, part: PartId) -> bool {
        self.users[part as usize] > 0
    }

    /// The result of a query is known.
    pub fn remove_query(&mut self, query: u32, steps: &QuerySteps<'_>) {
        if !self.contains(query) {
            return;
        }
        self.users[query as usize] = 0;
        let mut unused: Vec<StepId> = Vec::new();
        for last in steps.last_steps(query as usize) {
            for step in std::iter::successors(Some(last), |&step| steps.preceding(step)) {
                if self.remove_user(steps.step(step).part) {
                    unused.push(step);
                }
            }
        }
        while let Some(step) = unused.pop() {
            let unused_atom = |&&atom: &&AtomId| self.remove_user(steps.atom(atom).part);
            let atoms = steps.atoms_of(steps.step(step)).iter().filter(unused_atom);
            unused.extend(atoms.flat_map(|&atom| steps.steps_of_atom(atom)));
        }
    }

    /// Removes a user of a part; whether it was the last one.
    fn remove_user(&mut self, part: PartId) -> bool {
        self.users[part as usize] -= 1;
        !self.contains(part)
    }
}
