//! The subscriptions that a change of a document may affect: a change is *relevant* to a subscription if
//! what the subscription selects, with everything below it, may differ before and after.
//!
//! A subscription is compiled to *observed paths*: linear paths without predicates, each with what is
//! observed at the nodes that it selects ([`observed_paths`]). All observed paths are in one trie
//! ([`path_trie`]). A change is described by the label paths of the nodes that it touches ([`touch`]). A
//! search sends each label path through the trie, as a lazily determinised automaton ([`path_automaton`]):
//! what is accepted on the way is at or above the touched node, what is still live at the end may be
//! below it. With a schema ([`element_graph`]), live paths that no valid document has are excluded.

mod affected_search;
mod element_graph;
pub(crate) mod limits;
mod observed_paths;
mod path_automaton;
mod path_trie;
#[cfg(test)]
mod tests;
pub(crate) mod touch;

pub(crate) use affected_search::{AffectedIndex, Counters, Selected};
pub(crate) use element_graph::{ElementGraph, ElementRule};
