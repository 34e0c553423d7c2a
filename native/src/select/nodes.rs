//! Selected nodes, and candidates that may become selected.

use std::sync::Arc;

use crate::events::Span;
use crate::xpath::ast::Kind;

use super::selection::Wanted;

/// Namespaces in scope, by prefix (`""` is the default namespace); shared between nodes.
pub type Scope = Arc<[(Box<str>, Box<str>)]>;

/// A namespace URI (empty for none) and a local name; shared between nodes.
pub type Name = Arc<(Box<str>, Box<str>)>;

/// One selected node.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Its place in document order among all nodes of the document.
    pub order: u64,
    /// The place of the last node inside it; its own where nothing is.
    pub last_inside: u64,
    /// How many elements it is in.
    pub depth: u32,
    /// Element, attribute or text.
    pub kind: Kind,
    /// `None` for text.
    pub name: Option<Name>,
    /// Its ranges of the original bytes: one, or several for a text node with pieces apart.
    pub spans: Vec<Span>,
    /// What is in scope at an element; `None` for others.
    pub namespaces: Option<Scope>,
}

/// What one query selected so far.
#[derive(Default)]
pub(super) struct Selected {
    pub count: u64,
    pub nodes: Vec<Node>,
}

impl Selected {
    /// Counts a node, and keeps it if it is wanted.
    pub fn add(&mut self, node: Node, wanted: Wanted) {
        self.count += 1;
        match wanted {
            Wanted::Match => {}
            Wanted::All => self.nodes.push(node),
            Wanted::First => match self.nodes.first_mut() {
                Some(first) if first.order <= node.order => {}
                Some(first) => *first = node,
                None => self.nodes.push(node),
            },
            Wanted::Around(order) => {
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
    node: Option<Node>,
    holders: u32,
}

impl Candidates {
    /// Takes a node in, held once.
    pub fn add(&mut self, node: Node) -> u32 {
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
    pub fn select(&mut self, id: u32) -> Option<Node> {
        self.places[id as usize].node.take()
    }

    /// Whether it was selected already.
    pub fn is_selected(&self, id: u32) -> bool {
        self.places[id as usize].node.is_none()
    }
}
