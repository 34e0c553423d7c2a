//! Keyword subscriptions: words of documents, and the engines that answer queries with them.

pub mod and;
pub mod answers;
pub mod both;
pub mod build;
pub mod containing;
pub mod counters;
pub mod ear;
mod eights;
pub mod elements;
pub mod engines;
pub mod filing;
pub mod folded;
pub mod folding;
pub mod kale;
pub mod kemb;
pub mod listen;
pub mod lists;
pub mod matcher;
pub mod matching;
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
#[cfg(test)]
pub mod testing;
mod unit;
pub mod vocabulary;
pub mod words;
pub mod worker;
