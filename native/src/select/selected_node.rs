//! Selected nodes, and candidates that may become selected.

use foldhash::fast::RandomState;
use hashbrown::HashSet;

use crate::events::{ExpandedName, NamespaceScope, Span};
use crate::xpath::ast::Kind;

use super::selection::ResultDetail;

/// One selected node.
#[derive(Clone, Debug, PartialEq)]
pub struct SelectedNode {
    /// Its place in document order among all nodes of the document.
    pub order: u64,
    /// The place of the last node inside it; its own where nothing is.
    pub last_inside: u64,
    /// How many elements it is in.
    pub depth: u32,
    /// Element, attribute or text.
    pub kind: Kind,
    /// `None` for text.
    pub name: Option<ExpandedName>,
    /// Its ranges of the original bytes: one, or several for a text node with pieces apart.
    pub spans: Vec<Span>,
    /// What is in scope at an element, or at the one that an attribute or text is of.
    pub namespaces: Option<NamespaceScope>,
    /// For explanations, a query that leads to it, such as `/news[1]/item[2]/@lang`.
    pub path: Option<Box<str>>,
}

/// What one query selected so far.
#[derive(Default)]
pub(super) struct Selected {
    pub count: u64,
    pub nodes: Vec<SelectedNode>,
    /// Where two branches of a union may select the same node: what was selected, by its place.
    seen: Option<HashSet<u64, RandomState>>,
}

impl Selected {
    /// Of a query with this many branches.
    pub fn new(branches: usize) -> Self {
        Self {
            seen: (branches > 1).then(HashSet::default),
            ..Self::default()
        }
    }

    /// Counts a node, and keeps it if it is wanted.
    pub fn add(&mut self, node: SelectedNode, detail: ResultDetail) {
        if self
            .seen
            .as_mut()
            .is_some_and(|seen| !seen.insert(node.order))
        {
            return;
        }
        self.count += 1;
        match detail {
            ResultDetail::MatchOnly => {}
            ResultDetail::AllNodes => self.nodes.push(node),
            ResultDetail::FirstNodes(max) => {
                // Mostly they come in document order, and few of them out of it.
                let at = self.nodes.partition_point(|kept| kept.order < node.order);
                if at < max {
                    self.nodes.truncate(max - 1);
                    self.nodes.insert(at, node);
                }
            }
            ResultDetail::Enclosing(order) => {
                if (node.order..=node.last_inside).contains(&order) {
                    self.nodes.push(node);
                }
            }
        }
    }
}

/// Nodes that wait for predicates above them, each held by those who may let it through.
#[derive(Default)]
pub(super) struct Candidates {
    places: Vec<Candidate>,
    free: Vec<u32>,
}

struct Candidate {
    /// `None` once it was selected (or the place is free).
    node: Option<SelectedNode>,
    holders: u32,
}

impl Candidates {
    /// Takes a node in, held once.
    pub fn add(&mut self, node: SelectedNode) -> u32 {
        let candidate = Candidate {
            node: Some(node),
            holders: 1,
        };
        if let Some(id) = self.free.pop() {
            self.places[id as usize] = candidate;
            return id;
        }
        self.places.push(candidate);
        u32::try_from(self.places.len() - 1).expect("candidates are limited")
    }

    /// Holds it once more.
    pub fn hold(&mut self, id: u32) {
        self.places[id as usize].holders += 1;
    }

    /// Holds it once less; held by nobody it is forgotten.
    pub fn release(&mut self, id: u32) {
        let candidate = &mut self.places[id as usize];
        candidate.holders -= 1;
        if candidate.holders == 0 {
            candidate.node = None;
            self.free.push(id);
        }
    }

    /// Takes the node out: it is selected. `None` where it was before.
    pub fn select(&mut self, id: u32) -> Option<SelectedNode> {
        self.places[id as usize].node.take()
    }

    /// Whether it was selected already.
    pub fn is_selected(&self, id: u32) -> bool {
        self.places[id as usize].node.is_none()
    }
}
