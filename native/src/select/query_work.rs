//! Counts the steps that each query of a selection takes.

use crate::events::{Stop, WORK_SPENT};

/// Steps to look at a step that waits for a node.
pub(super) const STEPS_PER_VISIT: u64 = 4;

/// Steps to bind a node, to decide a binding or to move a candidate.
pub(super) const STEPS_PER_BINDING: u64 = 32;

/// Steps to report a node.
pub(super) const STEPS_PER_SELECTED: u64 = 128;

/// The steps of all queries, and the number of steps at which the document is stopped.
pub(super) struct QueryWork {
    by_query: Vec<u64>,
    spent: u64,
    steps_max: u64,
}

impl QueryWork {
    /// The steps to prepare each query.
    pub fn new(preparations: impl Iterator<Item = usize>, steps_max: u64) -> Self {
        let by_query: Vec<u64> = preparations.map(|steps| steps as u64).collect();
        Self {
            spent: by_query.iter().sum(),
            by_query,
            steps_max,
        }
    }

    /// Counts steps of a query.
    #[inline]
    pub fn spend(&mut self, query: u32, steps: u64) {
        self.by_query[query as usize] += steps;
        self.spent += steps;
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

    /// The steps of a query.
    pub fn of_query(&self, query: usize) -> u64 {
        self.by_query[query]
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
