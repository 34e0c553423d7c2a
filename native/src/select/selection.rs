//! One reading of a document for a set of queries.

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use crate::events::{ExpandedName, NameId, NamespaceScope, Span, Stop};
use crate::xpath::ast::Kind;

use super::node_path::Paths;
use super::open_nodes::{Binding, Frame, Gathered, Positions, Verdict, Waiting, Watching, NONE};
use super::pending_steps::Expectations;
use super::predicate::Answer;
use super::selected_node::{Candidates, Selected, SelectedNode};
use super::selector::{Goal, Selector, Step};

/// How many undecided things a selection holds by default; see [`SelectionOptions::candidates_max`].
pub const CANDIDATES_MAX: usize = 1_000_000;

/// What is wanted of the nodes that a query selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultDetail {
    /// Only whether there is one.
    MatchOnly,
    /// All of them.
    AllNodes,
    /// So many of the first in document order, with the paths to them.
    FirstNodes(usize),
    /// Those that hold the node of this number in document order, itself included, with the paths
    /// to them.
    Enclosing(u64),
}

/// What a selection gives, and its limit.
#[derive(Clone, Copy, Debug)]
pub struct SelectionOptions {
    /// What is wanted of the selected nodes.
    pub detail: ResultDetail,
    /// How many nodes may be held because a predicate above or beside them is undecided. A node that
    /// may be let through in several ways counts once for each. Past it the document is stopped with
    /// `limit.candidates`.
    pub candidates_max: usize,
}

impl Default for SelectionOptions {
    fn default() -> Self {
        Self {
            detail: ResultDetail::MatchOnly,
            candidates_max: CANDIDATES_MAX,
        }
    }
}

/// What became of one query.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueryResult {
    /// Whether it selects anything.
    pub matched: bool,
    /// How many nodes it selects; 0 where only the match was wanted.
    pub count: u64,
    /// What was wanted of them, in document order.
    pub nodes: Vec<SelectedNode>,
}

/// Evaluates queries over one document: hear the document, then [`Selection::finish`].
pub struct Selection<'a> {
    pub(super) options: SelectionOptions,
    pub(super) steps: Vec<LinkedStep<'a>>,
    pub(super) expected: Expectations,
    /// For each step the list of what it accepts, once it was needed.
    pub(super) lists: Vec<u32>,
    /// For each step its innermost open binding.
    pub(super) open: Vec<u32>,
    /// For each step that asks for positions.
    pub(super) positions: Vec<Positions>,
    pub(super) frames: Vec<Frame>,
    pub(super) bindings: Vec<Binding>,
    pub(super) answers: Vec<Answer>,
    pub(super) watches: Vec<Watching<'a>>,
    pub(super) waiting: Vec<Waiting>,
    /// The number of the last node, in document order.
    pub(super) order: u64,
    pub(super) candidates: Candidates,
    pub(super) selected: Vec<Selected>,
    /// Where explanations are wanted, the way to the innermost node.
    pub(super) paths: Option<Paths>,
    /// How much is held undecided.
    pub(super) held: usize,
    pub(super) walk: u64,
    /// The ranges of the open text node; empty where none is open.
    pub(super) text_spans: Vec<Span>,
    /// Whether the open text node has a frame: something wants to see it.
    pub(super) text_framed: bool,
    pub(super) last_scope: Option<NamespaceScope>,
    /// Whether attributes or texts may be selected: they are in the scope of their element.
    pub(super) leaves_wanted: bool,
    /// Names of nodes that may be selected.
    pub(super) names: HashMap<NameId, ExpandedName, RandomState>,
}

/// A step of one of the queries, with its place among the steps of all of them.
#[derive(Clone, Copy)]
pub(super) struct LinkedStep<'a> {
    pub step: &'a Step,
    /// Where the steps of its query begin.
    pub base: u32,
    pub query: u32,
    /// Where its [`Positions`] are, if it asks for them.
    pub positions: u32,
}

impl<'a> Selection<'a> {
    /// For these queries, duplicates allowed; outcomes come in the same order.
    pub fn new(selectors: &[&'a Selector], options: SelectionOptions) -> Self {
        let total = selectors.iter().map(|selector| selector.steps.len()).sum();
        let mut selection = Self {
            options,
            steps: Vec::with_capacity(total),
            expected: Expectations::default(),
            lists: vec![NONE; total],
            open: vec![NONE; total],
            positions: Vec::new(),
            frames: Vec::new(),
            bindings: Vec::new(),
            answers: Vec::new(),
            watches: Vec::new(),
            waiting: Vec::new(),
            order: 0,
            candidates: Candidates::default(),
            selected: selectors
                .iter()
                .map(|selector| Selected::new(selector.branches))
                .collect(),
            paths: matches!(
                options.detail,
                ResultDetail::FirstNodes(_) | ResultDetail::Enclosing(_)
            )
            .then(Paths::default),
            held: 0,
            walk: 0,
            text_spans: Vec::new(),
            text_framed: false,
            last_scope: None,
            leaves_wanted: false,
            names: HashMap::default(),
        };
        selection.push_frame();
        for (query, selector) in selectors.iter().enumerate() {
            selection.link(
                u32::try_from(query).expect("fewer than 2^32 queries"),
                selector,
            );
        }
        selection
    }

    fn link(&mut self, query: u32, selector: &'a Selector) {
        let base = u32::try_from(self.steps.len()).expect("fewer than 2^32 steps");
        for step in &selector.steps {
            let positions = u32::try_from(self.positions.len()).expect("fewer than 2^32 steps");
            if step
                .predicates
                .iter()
                .any(|predicate| predicate.needs_position)
            {
                self.positions.push(Positions::default());
            }
            self.leaves_wanted |= step.kind != Kind::Element
                && self.options.detail != ResultDetail::MatchOnly
                && matches!(step.goal, Some(Goal::Select));
            self.steps.push(LinkedStep {
                step,
                base,
                query,
                positions,
            });
        }
        let binding = u32::try_from(self.bindings.len()).expect("fewer than 2^32 queries");
        debug_assert_eq!(
            binding, query,
            "the documents' bindings come first, in order"
        );
        self.bindings.push(Binding {
            verdict: Verdict::Holds,
            ..Binding::new(base, 0, NONE, NONE, 0, 0)
        });
        self.open[base as usize] = binding;
        self.expect(binding);
    }

    /// The outcomes, in the order of the queries; the document must have been read to its end.
    pub fn finish(mut self) -> Vec<QueryResult> {
        self.resolve_waiting(0);
        debug_assert_eq!(self.held, 0, "at the end nothing is undecided");
        let outcome = |(document, mut selected): (&Binding, Selected)| {
            selected.nodes.sort_unstable_by_key(|node| node.order);
            QueryResult {
                matched: selected.count > 0 || document.gathered == Gathered::Found,
                count: selected.count,
                nodes: selected.nodes,
            }
        };
        self.bindings
            .iter()
            .zip(self.selected)
            .map(outcome)
            .collect()
    }

    /// Opens a node's frame.
    pub(super) fn push_frame(&mut self) {
        self.frames.push(Frame {
            order: self.order,
            name: None,
            bindings: self.bindings.len(),
            answers: self.answers.len(),
            watches: self.watches.len(),
            waiting: self.waiting.len(),
            expected: self.expected.mark(),
            namespaces: None,
        });
    }

    /// Stops the document where too much is undecided.
    pub(super) fn check_held(&self) -> Result<(), Stop> {
        if self.held <= self.options.candidates_max {
            return Ok(());
        }
        Err(Stop {
            code: "limit.candidates",
            message: format!(
                "more than {} nodes wait for predicates that are not decided yet",
                self.options.candidates_max
            ),
        })
    }
}
