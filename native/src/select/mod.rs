//! Exact evaluation of queries in one pass over a document.
//!
//! A [`SelectorCompiler`] turns queries into selectors, [`QuerySteps`] is one table of the steps of any
//! number of selectors, and a [`Selection`] evaluates it while the document is read, without building a
//! tree and without backtracking:
//!
//! * **Binding (downwards).** When a node starts, it is *bound* to each step whose test it passes, if
//!   a node bound to the preceding step is open above it. Whether the step's predicates hold depends
//!   only on the node and its siblings, not on the path to it, so one binding serves every path, and
//!   every query that begins with the same steps.
//! * **Atoms.** The tests of a node's predicates depend only on the node, so each is evaluated once for
//!   all bindings of the node ([`open_atoms`]).
//! * **Propagation (upwards).** A nested path in a predicate yields one truth value, which moves from
//!   the nodes it selects up to the nodes that it is tested for ([`propagation`]). Predicates are evaluated
//!   in three-valued logic and decided as early as possible: at the latest when the node ends, or,
//!   with `last()`, when its parent ends.
//! * **Candidates.** A node selected by the query's own path moves up in the same way and is held
//!   wherever a predicate is undecided. Once nothing is undecided, it is part of the result.
//!
//! Memory is bounded by depth times steps, plus the held candidates, which have a limit
//! ([`SelectionOptions::candidates_max`]). String-values are compared with literals while they arrive
//! ([`crate::value_tests::StringValueWatcher`]) and not stored. Only `=` and `!=` between two paths store
//! values ([`accumulator`]), within a limit ([`SelectionOptions::compared_bytes_max`]).

mod accumulator;
mod candidate;
mod deferred_nodes;
mod end_set;
mod event_handler;
mod explanation;
mod node_capture;
mod node_path;
mod open_atoms;
mod open_nodes;
mod pending_steps;
mod predicate;
mod propagation;
mod query_result;
mod query_steps;
mod query_work;
mod selector;
mod selector_compiler;
mod sibling_counters;
#[cfg(test)]
mod tests;
mod undecided_parts;

pub use event_handler::Selection;
pub(crate) use explanation::{explain, Explanation};
pub(crate) use node_path::name_test;
pub use query_result::SelectionOptions;
pub(crate) use query_result::{QueryResult, ResultDetail, SelectedNode, SelectionResult};
pub(crate) use query_steps::QueryParts;
pub use query_steps::QuerySteps;
pub use selector::Selector;
pub use selector_compiler::SelectorCompiler;
