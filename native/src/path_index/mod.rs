//! The index of path subscriptions: each segment is one trie shared by all queries.

pub mod branch;
pub mod compile;
pub mod dnf;
mod flatten;
pub mod segment;
mod segment_builder;
mod segment_file;
pub mod subscription_index;
pub mod substring_search;
