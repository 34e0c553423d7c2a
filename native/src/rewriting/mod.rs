//! Documents of local schemas, rewritten as they are read into what subscriptions to the global schema
//! see.
//!
//! A [`Mapping`] is the local schema's tree with its operators, ready to be followed; [`bound`] ties it
//! to a reader's names. A [`Rewriter`] stands between the reader and whoever hears the document, and is
//! a [`crate::events::Handler`] of the one that drives another. An open element has a frame with its
//! place in the schema; where no operator is for it, its events pass with at most another name.
//!
//! Where an operator blocks, children are kept as [`trees`], in the form in which they were read, and
//! placed when the operator's element ends: [`children`] tells where each child goes, [`placing`] lets
//! kept trees pass through the same frames, [`exchange`] and [`downgrade`] work on kept trees. What is
//! kept is dropped when the element that kept it ends.
//!
//! [`provenance`] leads from nodes of the rewritten document back to the original bytes, and
//! [`fragments`] cuts them out.

mod attribute_renaming;
pub mod bound_mapping;
mod children;
mod downgrade;
mod downstream;
mod exchange;
pub mod forest_selection;
pub mod fragment_extractor;
pub mod mapping;
pub mod provenance;
mod replay;
pub mod rewriter;
pub mod rewriter_buffers;
mod sorted_map;
#[cfg(test)]
mod tests;
mod tree_buffer;
pub mod tree_writer;

pub use forest_selection::ForestSelection;
pub use mapping::{Limits, LocalNode, Mapping, Operator};
pub use rewriter::{Rewriter, Rewritten};
pub use rewriter_buffers::RewriterBuffers;
