//! The index of XPath subscriptions: segments that the matching engines search.

pub mod branch;
pub mod build;
pub mod compile;
pub mod dnf;
pub mod flatten;
pub mod segment;
pub mod segment_file;
pub mod subscription_index;
pub mod substring_search;
