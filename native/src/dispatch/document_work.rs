//! How much work a document may take.

use crate::reader::Limits;

/// Bytes that are added to the size of every document, so that short documents have a base budget.
const BASE_BYTES: u64 = 500;

/// Steps for each subscription of the index, whatever the size of the document.
const STEPS_PER_SUBSCRIPTION: u64 = 75;

/// How much work a document may take in one reading.
#[derive(Clone, Copy, Debug)]
pub struct DocumentWork {
    /// Steps; a step is a unit of work of roughly a nanosecond.
    pub steps: i64,
    bytes: u64,
    /// Number of subscriptions of the index.
    pub subscriptions: u32,
}

impl DocumentWork {
    /// The work of a document of `bytes` bytes, at `steps_per_byte`.
    pub fn new(bytes: u64, subscriptions: u32, steps_per_byte: u64) -> DocumentWork {
        let by_size = steps_per_byte.saturating_mul(bytes.saturating_add(BASE_BYTES));
        // Proportional to the limit, so that a small limit bounds everything.
        let by_index = u128::from(subscriptions)
            * u128::from(STEPS_PER_SUBSCRIPTION)
            * u128::from(steps_per_byte)
            / u128::from(Limits::default().work);
        let by_index = u64::try_from(by_index).unwrap_or(u64::MAX);
        DocumentWork {
            steps: i64::try_from(by_size.saturating_add(by_index)).unwrap_or(i64::MAX),
            bytes,
            subscriptions,
        }
    }

    /// The share of the document before an offset.
    pub fn share_read(&self, offset: u64) -> f64 {
        (offset.max(1) as f64 / self.bytes.max(1) as f64).min(1.0)
    }
}
