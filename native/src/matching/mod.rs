//! All subscriptions at once.
//!
//! [`matcher`] is the door. The default engine is [`run`] (one reading of a document for one segment)
//! on [`automaton`] (structure), [`gather`] and [`conditions`] (values) and `decide` (both together);
//! [`yfilter`] is the baseline.

pub mod alignment;
pub mod automaton;
pub mod batch;
pub mod classes;
pub mod conditions;
mod decide;
mod engines;
pub mod gather;
pub mod letters;
pub mod matcher;
pub mod pool;
pub mod run;
pub mod source;
#[cfg(test)]
mod tests;
pub mod yfilter;
