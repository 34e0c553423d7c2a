//! Huge documents cut into records, at reading speed and in bounded memory.
//!
//! A record is an element on a path of child steps, such as `/feed/entry`. [`locator`] hears the
//! document and tells where records begin and end; [`retained`] keeps the original bytes from the last
//! place that is still of interest; [`content`] makes of a record's bytes a document that stands
//! alone: mostly they do already, otherwise they get the namespaces, entities and encoding of the
//! document around them, and `writer` writes them anew. [`cutter`] drives it all.
//!
//! What is held is a window, the record being read up to [`SplitOptions::record_bytes`], and the start
//! tags around it.

mod record_locator;
mod record_splitter;
mod retaining_reader;
mod standalone_record;
#[cfg(test)]
mod tests;
mod xml_writer;

pub use record_locator::NameTest;
pub use record_splitter::{RecordBatch, RecordSplitter, SplitEnd, SplitOptions};
