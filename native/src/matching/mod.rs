//! The matching engine for path subscriptions.
//!
//! [`automaton`] is a lazy DFA over the label paths of documents. [`segment_run`] runs one segment
//! over one document: it takes one transition per element, records the values that conditions need,
//! and decides which conditional matches hold. [`matcher`] drives the runs of all segments.

mod alignment;
mod alphabet;
mod attribute_stack;
mod automaton;
pub(crate) mod automaton_engine;
mod bit_set;
mod class_costs;
pub(crate) mod class_parts;
mod class_restriction;
mod compound_conditions;
mod condition_lookup;
mod condition_table;
mod digest;
mod element_stack;
pub(crate) mod engine;
mod existence_cache;
mod first_node;
mod match_bitmap;
mod match_decisions;
pub(crate) mod matcher;
mod operand_value;
mod path_cache;
mod pending_matches;
mod required_values;
pub mod segment_run;
mod set_aside;
mod string_values;
mod subtree_memo;
#[cfg(test)]
mod tests;
mod text_collector;
mod transition_table;
pub(crate) mod work_meter;
pub mod worker;

/// Stands for a missing number: no symbol, operand, literal or path.
const NONE: u32 = u32::MAX;
