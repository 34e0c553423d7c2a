//! The index of path subscriptions: each segment is one trie shared by all queries.

mod branch;
mod compile;
mod dnf;
mod flatten;
mod node_order;
pub(crate) mod segment;
mod segment_builder;
mod segment_file;
mod segment_validation;
pub mod subscription_index;
pub(crate) mod substring_search;
