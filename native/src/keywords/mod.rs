//! Keyword subscriptions: words of documents, and the engines that answer queries with them.

pub mod listen;
#[cfg(test)]
pub mod testing;
pub mod trie;
