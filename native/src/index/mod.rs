//! Subscriptions as an index: what the engines search.
//!
//! [`store`], [`roster`], [`numbering`], [`flat`] and [`format`] serve subscriptions of any kind, the others
//! those of paths.

pub mod branch;
pub mod build;
pub mod compile;
pub mod flat;
pub mod format;
mod lay;
pub mod needles;
pub mod numbering;
pub mod roster;
pub mod segment;
mod segment_file;
pub mod store;
mod ways;
