//! Huge documents cut into records, at reading speed and in bounded memory.
//!
//! A record is an element on a path of child steps, such as `/feed/entry`. [`finder`] hears the
//! document and tells where records begin and end; [`tee`] keeps the original bytes from the last
//! place that is still of interest; [`content`] makes of a record's bytes a document that stands
//! alone: mostly they do already, otherwise they get the namespaces, entities and encoding of the
//! document around them, and `writer` writes them anew. [`cutter`] drives it all.
//!
//! What is held is a window, the record being read up to [`Options::record_bytes`], and the start
//! tags around it.

mod content;
mod cutter;
mod finder;
mod tee;
#[cfg(test)]
mod tests;
mod writer;

pub use cutter::{Batch, Cutter, End, Options};
pub use finder::NameTest;
