//! Why an operation on a tree was refused.

use std::fmt;

use super::node_id::NodeId;

/// Why an operation was refused. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TreeError {
    /// There is no such node, or it is not a node of the kind that the operation needs.
    NoNode(NodeId),
    /// An inserted node has the identity of another.
    IdentityTaken(NodeId),
    /// The root element cannot be deleted, moved or get siblings.
    Root,
    /// A node cannot be moved to a place inside itself.
    Cycle(NodeId),
    /// Content that XML cannot have, such as a child of a text.
    Content(&'static str),
    /// A limit was exceeded.
    Limit(&'static str),
    /// A patch or snapshot is malformed.
    Malformed(&'static str),
    /// Evaluating a query exceeded a limit: code and message.
    Stopped(&'static str, String),
}

impl fmt::Display for TreeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoNode(id) => write!(f, "there is no suitable node {id}"),
            Self::IdentityTaken(id) => write!(f, "the identity {id} is taken"),
            Self::Root => write!(
                f,
                "the root element cannot be deleted, moved or get siblings"
            ),
            Self::Cycle(id) => write!(f, "node {id} cannot be moved into itself"),
            Self::Content(message) | Self::Limit(message) | Self::Malformed(message) => {
                f.write_str(message)
            }
            Self::Stopped(_, message) => f.write_str(message),
        }
    }
}

impl std::error::Error for TreeError {}

pub(super) type TreeResult<T> = Result<T, TreeError>;
