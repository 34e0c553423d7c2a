//! Keyword subscriptions: index, matcher, answers.

pub mod adaptive_reindex;
pub mod answer_engine;
pub mod answers;
pub mod buffers;
pub mod closed_subtree;
pub mod conjunction_index;
pub mod conjunctive_answers;
pub mod disjunction_index;
pub mod disjunctive_answers;
pub mod element_metadata;
pub mod element_window;
pub mod engine;
pub mod matcher;
pub mod name_tokens;
pub mod postings;
pub mod query;
pub mod segment;
pub mod segment_builder;
pub mod spill;
pub mod store;
pub mod subtree_summary;
#[cfg(test)]
pub mod testing;
pub mod token_batch;
pub mod token_dispatcher;
pub mod token_sink;
pub mod vocabulary;
pub mod vocabulary_lookup;
pub mod word_presence;
pub mod worker;
