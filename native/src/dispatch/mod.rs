//! Feeds documents to matchers: event source, fan-out, worker pool, batches.

pub mod document_source;
pub mod event_source;
pub mod fanout;
pub mod match_batch;
pub mod worker_pool;
