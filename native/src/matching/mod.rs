//! All subscriptions at once.
//!
//! [`matcher`] is the door. The default engine is [`run`] (one reading of a document for one segment)
//! on [`automaton`] (structure), [`holding`], [`gather`] and [`conditions`] (values), `attributes` and `bubble`
//! (as they come, and on their way up), [`sites`] (which values matter where), `decide` (all together) and
//! [`told`] (what matches); [`yfilter`] is the baseline.

pub mod alignment;
mod attributes;
pub mod automaton;
pub mod batch;
pub mod beside;
mod bound;
mod bubble;
pub mod classes;
pub mod conditions;
mod decide;
mod engines;
mod firsts;
pub mod gather;
pub mod holding;
mod joints;
pub mod letters;
pub mod matcher;
pub mod pool;
mod repeats;
pub mod run;
mod site_building;
pub mod sites;
pub mod source;
mod steps;
#[cfg(test)]
mod tests;
pub mod through;
pub mod told;
pub mod yfilter;
