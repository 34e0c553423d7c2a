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
//! [`origins`] leads from nodes of the rewritten document back to the original bytes, and
//! [`fragments`] cuts them out.

mod attributes;
pub mod bound;
mod children;
mod downgrade;
mod exchange;
pub mod forest;
pub mod fragments;
mod lookup;
pub mod mapping;
pub mod memory;
pub mod origins;
mod output;
mod placing;
pub mod rewriter;
#[cfg(test)]
mod tests;
mod trees;
pub mod writer;

pub use forest::TreeByTree;
pub use mapping::{Limits, LocalNode, Mapping, Operator};
pub use memory::Memory;
pub use rewriter::{Rewriter, Rewritten};
