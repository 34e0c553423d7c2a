//! Counts the steps that the parts of the queries of a selection take.

use crate::events::{Stop, WORK_SPENT};

use super::query_steps::PartId;

/// Steps to prepare the evaluation of a step.
pub(super) const STEPS_PER_PREPARED_STEP: u64 = 32;

/// Steps to prepare the evaluation of an atom, without those of its paths.
pub(super) const STEPS_PER_PREPARED_ATOM: u64 = 16;

/// Steps to find a step of a query in the table of steps.
pub(super) const STEPS_PER_FOUND_STEP: u64 = 8;

/// Steps to look at a step that waits for a node.
pub(super) const STEPS_PER_VISIT: u64 = 4;

/// Steps to bind a node, to decide a binding or to move a candidate.
pub(super) const STEPS_PER_BINDING: u64 = 32;

/// Steps to report a node.
pub(super) const STEPS_PER_SELECTED: u64 = 128;

/// The steps of all parts, and the number of steps at which the document is stopped.
pub(super) struct QueryWork {
    by_part: Vec<u64>,
    spent: u64,
    steps_max: u64,
}

impl QueryWork {
    /// The steps to prepare each part.
    pub fn new(preparation: Vec<u64>, steps_max: u64) -> Self {
        Self {
            spent: preparation.iter().sum(),
            by_part: preparation,
            steps_max,
        }
    }

    /// Counts steps of a part.
    #[inline]
    pub fn spend(&mut self, part: PartId, steps: u64) {
        self.by_part[part as usize] += steps;
        self.spent += steps;
    }

    /// Steps that are left.
    #[inline]
    pub fn remaining(&self) -> usize {
        usize::try_from(self.steps_max.saturating_sub(self.spent)).unwrap_or(usize::MAX)
    }

    /// Whether the budget is spent.
    #[inline]
    pub fn is_spent(&self) -> bool {
        self.spent > self.steps_max
    }

    /// Allows any further steps.
    pub fn lift_limit(&mut self) {
        self.steps_max = u64::MAX;
    }

    /// The steps of each part.
    pub fn into_parts(self) -> Vec<u64> {
        self.by_part
    }

    /// Stops the document if its budget is spent.
    #[inline]
    pub fn check(&self) -> Result<(), Stop> {
        if !self.is_spent() {
            return Ok(());
        }
        Err(Stop {
            code: WORK_SPENT,
            message: "the work budget of the document is spent".to_owned(),
        })
    }
}
