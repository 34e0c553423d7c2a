//! What a selection reports: selected nodes and match results.

use foldhash::fast::RandomState;
use hashbrown::HashSet;

use crate::events::{ExpandedName, NamespaceScope, Span};
use crate::xpath::ast::Kind;

use super::query_steps::QuerySteps;

/// Default of [`SelectionOptions::candidates_max`].
pub const CANDIDATES_MAX: usize = 1_000_000;

/// Default of [`SelectionOptions::compared_bytes_max`].
pub const COMPARED_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Default of [`SelectionOptions::selected_bytes_max`].
pub const SELECTED_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// What to report about the nodes that a query selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultDetail {
    /// Only whether there is one.
    MatchOnly,
    /// Every node.
    AllNodes,
    /// The first N nodes in document order, with paths to them.
    FirstNodes(usize),
    /// The node with this document-order number and the nodes that contain it, with paths to them.
    Enclosing(u64),
}

/// How a selection works.
#[derive(Clone, Copy, Debug)]
pub struct SelectionOptions {
    /// What to report.
    pub detail: ResultDetail,
    /// How many candidates may be held because a predicate of an enclosing node or a sibling is
    /// undecided. A candidate held by several bindings counts once per binding. A document that
    /// exceeds the limit is stopped with `limit.candidates`.
    pub candidates_max: usize,
    /// How many bytes may be stored to compare the string-values of two paths and to count nodes. A document that exceeds the
    /// limit is stopped with `limit.comparison`.
    pub compared_bytes_max: usize,
    /// How many bytes of the document all reported nodes may have together, with
    /// [`ResultDetail::AllNodes`]. A document that exceeds the limit is stopped with
    /// `limit.comparison`.
    pub selected_bytes_max: u64,
    /// How many steps all queries together may take. A document that exceeds the limit is stopped
    /// with `limit.work`.
    pub steps_max: u64,
}

impl Default for SelectionOptions {
    fn default() -> Self {
        Self {
            detail: ResultDetail::MatchOnly,
            candidates_max: CANDIDATES_MAX,
            compared_bytes_max: COMPARED_BYTES_MAX,
            selected_bytes_max: SELECTED_BYTES_MAX,
            steps_max: u64::MAX,
        }
    }
}

/// One selected node.
#[derive(Clone, Debug, PartialEq)]
pub struct SelectedNode {
    /// Document-order number of the node among all nodes of the document.
    pub order: u64,
    /// Number of the last node inside it; its own number if there is none.
    pub last_inside: u64,
    /// Number of enclosing elements.
    pub depth: u32,
    /// Element, attribute or text.
    pub kind: Kind,
    /// `None` for text.
    pub name: Option<ExpandedName>,
    /// Byte spans in the original: several for a text node interrupted by references or CDATA.
    pub spans: Vec<Span>,
    /// Namespaces in scope at the element, or at the parent of an attribute or text node.
    pub namespaces: Option<NamespaceScope>,
    /// For explanations: a query that selects the node, such as `/news[1]/item[2]/@lang`.
    pub path: Option<Box<str>>,
}

/// The result of one query on one document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueryResult {
    /// Whether the query selects anything.
    pub matched: bool,
    /// Number of selected nodes; 0 with [`ResultDetail::MatchOnly`].
    pub count: u64,
    /// The reported nodes, in document order.
    pub nodes: Vec<SelectedNode>,
}

/// The results of the queries of a selection, and what they took.
pub(crate) struct SelectionResult {
    /// By query.
    pub queries: Vec<QueryResult>,
    /// By part of the table of steps: the number of steps that it took.
    pub steps: Vec<u64>,
    /// By part, what it holds; set if the document was stopped because the selection holds too much.
    pub held: Option<Vec<u64>>,
}

impl SelectionResult {
    /// No query selects anything, and no part took a step.
    pub fn empty(steps: &QuerySteps<'_>) -> Self {
        Self {
            queries: vec![QueryResult::default(); steps.query_count()],
            steps: vec![0; steps.part_count()],
            held: None,
        }
    }

    /// The steps of all parts together.
    pub fn total_steps(&self) -> u64 {
        self.steps.iter().sum()
    }

    /// Of a document that was stopped: what each part has in the cause, to compare queries.
    pub fn costs(&self) -> &[u64] {
        self.held.as_deref().unwrap_or(&self.steps)
    }

    /// Adds the result of another tree of the document, by the same table of steps.
    pub fn add(&mut self, tree: Self) {
        for (total, own) in self.queries.iter_mut().zip(tree.queries) {
            total.matched |= own.matched;
            total.count += own.count;
            total.nodes.extend(own.nodes);
        }
        for (total, own) in self.steps.iter_mut().zip(tree.steps) {
            *total += own;
        }
        self.held = tree.held;
    }
}

/// Collects the nodes that one query selects.
#[derive(Default)]
pub(super) struct ResultSet {
    count: u64,
    nodes: Vec<SelectedNode>,
    /// The bytes of `nodes` in the document.
    bytes: u64,
    /// Document-order numbers seen so far, if two branches of a union may select the same node.
    seen: Option<HashSet<u64, RandomState>>,
}

impl ResultSet {
    /// An empty set for a query with `branches` branches.
    pub fn new(branches: usize) -> Self {
        Self {
            seen: (branches > 1).then(HashSet::default),
            ..Self::default()
        }
    }

    /// The bytes of the reported nodes in the document.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Counts a node and stores it if `detail` asks for it. Returns the bytes of the document that it
    /// adds to the result.
    pub fn add(&mut self, node: SelectedNode, detail: ResultDetail) -> u64 {
        if self
            .seen
            .as_mut()
            .is_some_and(|seen| !seen.insert(node.order))
        {
            return 0;
        }
        self.count += 1;
        match detail {
            ResultDetail::MatchOnly => {}
            ResultDetail::AllNodes => {
                let spans = node.spans.iter();
                let bytes = spans.map(|span| span.end - span.start).sum::<u64>();
                self.bytes += bytes;
                self.nodes.push(node);
                return bytes;
            }
            ResultDetail::FirstNodes(max) => {
                // Nodes usually arrive in document order, so this rarely moves others.
                let at = self.nodes.partition_point(|other| other.order < node.order);
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
        0
    }

    /// The result; `is_found` means that the query matches even if no node was added.
    pub fn finish(mut self, is_found: bool) -> QueryResult {
        self.nodes.sort_unstable_by_key(|node| node.order);
        QueryResult {
            matched: self.count > 0 || is_found,
            count: self.count,
            nodes: self.nodes,
        }
    }
}
