//! The matching engine for XPath subscriptions.

pub mod alignment;
pub mod alphabet;
pub mod attributes;
pub mod automaton;
pub mod automaton_engine;
pub mod cache_eviction;
pub mod compound_conditions;
pub mod condition_table;
pub mod condition_table_builder;
pub mod conditions;
pub mod engine;
pub mod first_node;
pub mod match_bitmap;
pub mod matcher;
pub mod pending_matches;
pub mod repeated_subtrees;
pub mod required_values;
pub mod segment_run;
pub mod string_values;
#[cfg(test)]
mod tests;
pub mod transition_table;
pub mod value_propagation;
pub mod worker;
