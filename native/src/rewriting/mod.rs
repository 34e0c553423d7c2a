//! Rewrites documents of local schemas, while they are read, into the documents of the global schema
//! that subscriptions refer to.
//!
//! A [`Mapping`] is the local schema's tree with its operators, compiled for streaming;
//! [`bound_mapping`] connects it to a reader's name ids. A [`Rewriter`] receives the events of the
//! local document and sends those of the global document to another [`crate::events::Handler`]. Each
//! open element has a frame with its node in the schema. If the node has no operators, the events are
//! forwarded, at most under another name.
//!
//! If an operator cannot decide where a child goes before its parent ends, the child is buffered in a
//! [`tree_buffer`] in the form in which it was read. [`element_placement`] decides where each child
//! goes and later replays the buffered trees through the same frames; [`exchange`] and [`downgrade`]
//! transform buffered trees. A tree is dropped when the element that buffered it ends.
//!
//! [`provenance`] maps nodes of the rewritten document to byte spans of the original, and
//! [`fragment_extractor`] finds those in the original.

mod attribute_renaming;
mod bound_mapping;
mod downgrade;
mod downstream;
mod element_placement;
mod exchange;
mod forest_selection;
pub(crate) mod fragment_extractor;
mod mapping;
mod open_elements;
mod provenance;
mod rewrite_budget;
mod rewriter;
mod rewriter_buffers;
mod sorted_map;
#[cfg(test)]
mod tests;
mod tree_buffer;
pub mod tree_writer;

pub(crate) use forest_selection::ForestSelection;
pub use mapping::{Limits, LocalNode, Mapping, Operator};
pub(crate) use rewriter::{Rewriter, Rewritten};
pub(crate) use rewriter_buffers::RewriterBuffers;
