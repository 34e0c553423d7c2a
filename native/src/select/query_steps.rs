//! The steps of all queries of a selection in one table.

use super::selector::{Selector, Step};

/// Index of a step in [`QuerySteps`].
pub(super) type StepId = u32;

/// A step of one query, with its position in the table.
#[derive(Clone, Copy)]
pub(super) struct QueryStep<'a> {
    pub step: &'a Step,
    /// Index of the query's first step, which is its document node. Step numbers within the query
    /// are relative to it.
    pub base: StepId,
    pub query: u32,
    /// Index of the step's sibling counters, if it has a positional predicate.
    pub counters: usize,
}

/// The steps of all queries, query by query.
pub(super) struct QuerySteps<'a> {
    steps: Vec<QueryStep<'a>>,
    counted: usize,
}

impl<'a> QuerySteps<'a> {
    pub fn new(selectors: &[&'a Selector]) -> Self {
        let total = selectors.iter().map(|selector| selector.steps.len()).sum();
        let mut table = Self {
            steps: Vec::with_capacity(total),
            counted: 0,
        };
        for (query, selector) in (0..).zip(selectors) {
            let base = u32::try_from(table.steps.len()).expect("fewer than 2^32 steps");
            for step in &selector.steps {
                let counters = table.counted;
                table.counted += usize::from(step.has_position());
                table.steps.push(QueryStep {
                    step,
                    base,
                    query,
                    counters,
                });
            }
        }
        table
    }

    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// How many steps have sibling counters.
    pub fn counted(&self) -> usize {
        self.counted
    }

    pub fn iter(&self) -> impl Iterator<Item = &QueryStep<'a>> {
        self.steps.iter()
    }
}

impl<'a> std::ops::Index<StepId> for QuerySteps<'a> {
    type Output = QueryStep<'a>;

    #[inline]
    fn index(&self, step: StepId) -> &QueryStep<'a> {
        &self.steps[step as usize]
    }
}
