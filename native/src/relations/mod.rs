//! Relations between queries: contains, covers, overlaps, generalise.
//!
//! All are sound: an unproved relation yields the conservative answer. They are exact on linear paths,
//! which have no predicates. The Python modules `penstock.language.relations.reference` are their
//! reference, and alone decide relations over the documents of a schema.

mod canonical_model;
mod chain_search;
mod compiled_query;
mod conditions;
mod containment;
mod domain;
mod generalisation;
mod goal_automaton;
mod limits;
mod name_tests;
mod overlap;
mod pattern_paths;
mod position_contradictions;
mod position_facts;
mod prover;
mod required_names;
mod tree_pattern;
mod value_facts;
mod value_generalisation;

pub use compiled_query::CompiledQuery;
pub use containment::{contains, covers};
pub use domain::Domain;
pub use generalisation::generalise;
pub use overlap::overlaps;
pub use required_names::mentioned_names;

#[cfg(test)]
mod tests;
