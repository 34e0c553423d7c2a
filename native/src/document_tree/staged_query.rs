//! A query in stages: a query of the matching language, or several of which each picks an element for the next.
//!
//! `//(a/b)[0]/c` counts the nodes of `//a/b` in the whole document, which no predicate of a step does. So the
//! first stage selects `//a/b` and picks the first node, and the second selects `/*/c` in its subtree. Every
//! stage reads the tree once.

use crate::select::{SelectedNode, Selector};

/// The number of a node among those that a stage selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeIndex {
    /// From 0, in document order.
    FromStart(usize),
    /// From 0, in reverse document order.
    FromEnd(usize),
}

impl NodeIndex {
    /// The index that a negative number counts from the end: -1 is the last node.
    pub fn new(number: i64) -> Self {
        let distance = usize::try_from(number.unsigned_abs()).unwrap_or(usize::MAX);
        if number < 0 {
            Self::FromEnd(distance - 1)
        } else {
            Self::FromStart(distance)
        }
    }

    /// The node with this number.
    pub(super) fn of(self, nodes: &[SelectedNode]) -> Option<&SelectedNode> {
        match self {
            Self::FromStart(distance) => nodes.get(distance),
            Self::FromEnd(distance) => nodes.iter().rev().nth(distance),
        }
    }
}

/// A query, and which of the nodes that it selects counts.
pub struct Stage {
    /// The query; the root element is that of the document, or the element that the stage before picked.
    pub selector: Selector,
    /// The node that counts; without it, all of them do, and it is the last stage.
    pub index: Option<NodeIndex>,
}

/// A union of branches, each in stages.
pub struct StagedQuery {
    branches: Vec<Vec<Stage>>,
}

impl StagedQuery {
    /// A union of branches, or `None` if a stage without an index is not the last of its branch.
    pub fn new(branches: Vec<Vec<Stage>>) -> Option<Self> {
        let is_last = |stages: &Vec<Stage>| {
            let before = stages.len().saturating_sub(1);
            stages[..before].iter().all(|stage| stage.index.is_some())
        };
        branches.iter().all(is_last).then_some(Self { branches })
    }

    pub(super) fn branches(&self) -> &[Vec<Stage>] {
        &self.branches
    }
}

impl From<Selector> for StagedQuery {
    fn from(selector: Selector) -> Self {
        let index = None;
        Self {
            branches: vec![vec![Stage { selector, index }]],
        }
    }
}
