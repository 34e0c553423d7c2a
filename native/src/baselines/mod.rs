//! Engines of papers and competitors, for comparison in tests and measurements.

pub mod disjunctions;
pub mod kale;
pub mod kemb;
pub mod keyword_engines;
pub mod limits;
pub mod results;
pub mod retained_elements;
pub mod yfilter;
