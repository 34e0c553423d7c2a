//! Keyword subscriptions: words of documents, and the engines that answer queries with them.

pub mod and;
pub mod answers;
pub mod batch;
pub mod both;
pub mod build;
pub mod counters;
pub mod ear;
mod eights;
mod element_sets;
pub mod elements;
pub mod engines;
pub mod filing;
pub mod folded;
pub mod folding;
pub mod kale;
pub mod kemb;
pub mod learning;
pub mod listen;
pub mod lists;
pub mod lookup;
pub mod matcher;
pub mod matching;
mod names;
pub mod notes;
pub mod or;
mod overflow;
pub mod pieces;
pub mod postings;
pub mod query;
pub mod run;
pub mod scan;
pub mod segment;
pub mod store;
mod stretches;
#[cfg(test)]
pub mod testing;
mod unit;
pub mod vocabulary;
#[cfg(target_arch = "x86_64")]
mod wide;
pub mod words;
pub mod worker;
