//! Keyword subscriptions: index, matcher and answers.
//!
//! * Queries are parsed ([`query`]) and stored in segments ([`store`], [`segment`]) with indexes from
//!   words to AND queries ([`conjunction_index`], [`adaptive_reindex`]) and OR queries
//!   ([`disjunction_index`]).
//! * A document is tokenized, and the words that occur in queries ([`vocabulary`]) are forwarded
//!   ([`token_dispatcher`]) to token sinks ([`token_sink`]). Phrases are words, too: they are inserted
//!   where their words are next to each other ([`phrase_automaton`]).
//! * The matcher ([`matcher`]) finds the matching queries by the words alone ([`word_presence`]).
//! * The answer engine ([`answer_engine`]) then locates answers: it records a window of the document
//!   ([`element_window`]) and answers queries from posting lists ([`postings`],
//!   [`conjunctive_answers`], [`disjunctive_answers`]), those with the shortest lists first and within a
//!   budget ([`answer_budget`]). Documents larger than the window spill into summaries
//!   ([`subtree_summary`]).

mod adaptive_reindex;
mod answer_budget;
pub(crate) mod answer_engine;
pub(crate) mod answers;
mod buffers;
mod closed_subtree;
mod conjunction_index;
mod conjunctive_answers;
mod disjunction_index;
mod disjunctive_answers;
pub(crate) mod element_metadata;
mod element_window;
pub(crate) mod engine;
mod found_tokens;
pub mod matcher;
mod name_tokens;
pub(crate) mod path_return_xml;
pub mod phrase_automaton;
mod postings;
pub mod query;
pub(crate) mod segment;
mod segment_builder;
mod segment_validation;
pub mod store;
mod subtree_summary;
#[cfg(test)]
pub(crate) mod testing;
mod token_batch;
pub(crate) mod token_dispatcher;
pub(crate) mod token_sink;
mod vocabulary;
mod vocabulary_lookup;
mod word_presence;
pub(crate) mod worker;
