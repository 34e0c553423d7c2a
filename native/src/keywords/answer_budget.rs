//! The steps that finding the answers of a document may take.

/// Steps that are left. A step is a unit of work of roughly a nanosecond; steps depend on the document
/// and the queries only.
#[derive(Debug, Default)]
pub struct AnswerBudget {
    left: i64,
}

impl AnswerBudget {
    /// A budget of `steps`.
    pub fn new(steps: u64) -> AnswerBudget {
        AnswerBudget {
            left: i64::try_from(steps).unwrap_or(i64::MAX),
        }
    }

    /// Counts steps.
    #[inline]
    pub fn spend(&mut self, steps: usize) {
        self.left = self.left.saturating_sub(steps as i64);
    }

    /// Whether no steps are left.
    #[inline]
    pub fn is_spent(&self) -> bool {
        self.left < 0
    }
}
