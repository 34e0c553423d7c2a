//! Where a document goes: from matched subscriptions, or from a match list, to local subscribers and
//! neighbours.

pub mod annotation_header;
pub mod match_list;
pub mod route_table;
