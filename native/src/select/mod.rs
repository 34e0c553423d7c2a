//! The exact evaluator of single queries, over one reading of the document.
//!
//! [`Selector::compile`] turns a query into a table of steps; a [`Selection`] evaluates any number
//! of them while the document is read, without a tree and without backtracking:
//!
//! * **Down.** When a node starts, it is *bound* to each step whose test it passes, if a node bound
//!   to the step before is open above it. Whether the step's predicates hold for a node depends on
//!   the node and its siblings alone, never on the way to it, so one binding serves all ways.
//! * **Up.** What a nested path asks for is one answer, and moves from each node up to those that
//!   asked ([`flow`]). Predicates are evaluated in three values, so that they are decided as soon as
//!   the document allows; at the latest when the node ends, or for `last()` when its parent ends.
//! * **Candidates.** A node of the query's own path moves up in the same way, and waits wherever a
//!   predicate is undecided. Once nothing is undecided it is selected at once.
//!
//! Hence memory is bounded by depth times steps, plus the candidates that wait, which have a named
//! limit. String-values are compared as they arrive ([`crate::values::Watch`]).

mod bind;
mod close;
mod event_handler;
mod explanation;
mod node_path;
mod open_nodes;
mod pending_steps;
mod predicate;
mod propagation;
mod selected_node;
mod selection;
mod selector;
#[cfg(test)]
mod tests;

pub use explanation::{explain, Explanation, Failure, Witness, NODES_MAX};
pub(crate) use node_path::name_test;
pub use selected_node::SelectedNode;
pub use selection::{QueryResult, ResultDetail, Selection, SelectionOptions, CANDIDATES_MAX};
pub use selector::Selector;
