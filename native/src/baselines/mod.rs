//! Engines of papers and competitors, for comparison in tests and measurements.

pub(crate) mod disjunctions;
pub(crate) mod kale;
pub(crate) mod kemb;
pub(crate) mod keyword_engines;
pub(crate) mod limits;
pub(crate) mod results;
pub(crate) mod retained_elements;
pub(crate) mod xsync;
pub(crate) mod yfilter;
