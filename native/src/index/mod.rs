//! Subscriptions as an index: what the engines search.

pub mod branch;
pub mod build;
pub mod compile;
pub mod flat;
pub mod format;
mod lay;
pub mod needles;
pub mod segment;
pub mod store;
mod ways;
