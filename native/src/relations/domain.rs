//! The documents that relations consider: all, or those in which some elements occur at most once per
//! parent.

use super::name_tests::is_exact;
use crate::xpath::ast::{Kind, NameTest};

/// The documents considered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Domain {
    /// Exact tests of the elements that occur at most once per parent, as asserted by the caller.
    single_valued: Vec<NameTest>,
}

impl Domain {
    /// The documents in which the elements with these names, namespace URI first, are single-valued.
    pub fn new(single_valued: impl IntoIterator<Item = (String, String)>) -> Self {
        let test = |(uri, local): (String, String)| NameTest {
            uri: Some(uri.into()),
            local: Some(local.into()),
        };
        Domain {
            single_valued: single_valued.into_iter().map(test).collect(),
        }
    }

    /// Whether a node has at most one such child.
    pub fn at_most_one(&self, of_document: bool, kind: Kind, test: &NameTest) -> bool {
        if of_document {
            return kind == Kind::Element;
        }
        // As in the reference, a name counts whatever the kind; text has none.
        is_exact(test) && (kind == Kind::Attribute || self.single_valued.contains(test))
    }
}
