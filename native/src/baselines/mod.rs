//! The papers' algorithms and rival engines, selectable for measurements.

pub mod counters;
pub mod kale;
pub mod kemb;
pub mod yfilter;
