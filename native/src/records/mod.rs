//! Splits huge documents into records, at reading speed and in bounded memory.
//!
//! A record is an element on a path of child steps, such as `/feed/entry`. [`record_locator`] receives
//! the events of the document and finds where records start and end; [`retaining_reader`] retains the
//! original bytes that are still needed; [`standalone_record`] turns the bytes of a record into a
//! document of its own. Most records need no change; others get the namespaces that they use
//! ([`inherited_scope`]), the entities and the encoding of the enclosing document, in the worst case
//! rewritten by [`xml_writer`]. [`record_splitter`] combines
//! them.
//!
//! Memory holds one window, the current record up to [`SplitOptions::record_bytes`], the start tags
//! around it, and one batch. What all records inherit is limited by `Limits::entity_amplification`.

mod inherited_scope;
mod record_locator;
mod record_splitter;
mod retaining_reader;
mod standalone_record;
#[cfg(test)]
mod tests;
mod xml_writer;

pub use record_locator::PathStep;
pub use record_splitter::{RecordBatch, RecordSplitter, SplitOptions};
