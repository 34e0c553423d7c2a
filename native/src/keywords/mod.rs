//! Keyword subscriptions: words of documents, and the engines that answer queries with them.

pub mod folding;
pub mod kemb;
pub mod listen;
pub mod pieces;
pub mod query;
#[cfg(test)]
pub mod testing;
pub mod trie;
pub mod words;
