//! Subscriptions of any kind: segments, snapshots, handles, and index files.

pub mod class_set;
pub mod file_format;
pub mod flat_layout;
pub mod header_tests;
pub mod numbering;
pub mod store;
pub mod subscription_table;
