//! A document as a tree that can be changed, for synchronisation.
//!
//! [`DocumentTree`] is an arena of nodes: elements, text, comments and processing instructions with stable
//! identities ([`NodeId`]); attributes are identified by owner and name. Siblings form a linked list, which is
//! their order. A deleted node stays in its list, so that it can be restored and that what is inserted beside
//! it has a place, until [`DocumentTree::forget`].
//!
//! Every change is recorded in a [`journal`], so that the tree can be rolled back to an earlier version and
//! forward again. A tree can be replayed as reader events ([`replay`]), written as canonical XML
//! ([`canonical_xml`]) and restricted to a query ([`restriction`]). The difference of two restrictions is a
//! patch ([`patch`]); the patch from nothing is also the stored form of a tree.

mod canonical_xml;
mod insertion;
mod journal;
mod loader;
mod namespaces;
mod navigation;
mod node_id;
mod patch;
mod patch_codec;
mod replay;
mod restriction;
mod staged_query;
mod tag_limits;
#[cfg(test)]
mod tests;
mod text_heap;
mod tree;
mod tree_error;

pub use canonical_xml::CanonicalForm;
pub use insertion::NewNode;
pub use navigation::NodeDescription;
pub use node_id::NodeId;
pub use restriction::View;
pub use staged_query::{NodeIndex, Stage, StagedQuery};
pub use tag_limits::TagLimits;
pub use tree::{DocumentTree, NodeKind, Place, QualifiedName, TreeLimits};
pub use tree_error::TreeError;
