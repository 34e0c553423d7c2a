//! Feeds documents to matchers: document and event sources, fan-out, worker pools, batches.
//!
//! A matcher takes a worker from its [`worker_pool::Pool`], begins a document, which gives an event
//! handler, lets the worker's [`event_reader::EventReader`] read the [`event_source::EventSource`]
//! into that handler, and collects the [`outcome::Matched`] subscriptions.

pub(crate) mod batch;
pub(crate) mod cache_budget;
pub mod document_source;
pub(crate) mod document_work;
pub mod event_reader;
pub mod event_source;
mod fanout;
mod header_injector;
mod offset_observer;
pub mod outcome;
pub mod worker_pool;

use event_source::EventSource;
use outcome::{MatchError, Matched};

use crate::subscription_store::subscription_table::SubscriptionTable;

/// Matches documents against the subscriptions of a snapshot, of any kind.
pub trait DocumentMatcher: Send + Sync {
    /// The subscriptions that match a document.
    fn match_document(&self, source: &mut EventSource<'_, '_>) -> Result<Matched, MatchError>;

    /// The id of the subscription with this handle.
    fn id(&self, handle: u32) -> &str;

    /// The subscriptions of distinct handles, in the order in which they were added: how many others were
    /// added before each.
    fn in_order_added(&self, handles: &[u32]) -> Vec<u32>;

    /// The tables of subscriptions, in the order in which [`DocumentMatcher::in_order_added`] counts their
    /// rows.
    fn subscription_tables(&self) -> Vec<&SubscriptionTable>;

    /// The ids of distinct handles, in the order in which their subscriptions were added.
    fn ids_in_order_added(&self, handles: &[u32]) -> Vec<&str> {
        let mut tables = self.subscription_tables().into_iter();
        let mut current = None;
        let (mut base, mut end) = (0, 0);
        let added = self.in_order_added(handles).into_iter();
        let ids = added.map(|before| {
            while before >= end {
                let table = tables.next().expect("the handle is one of the matcher's");
                (base, end) = (end, end + table.count() as u32);
                current = Some(table);
            }
            let table = current.expect("a table was found");
            table.ids.get(before - base)
        });
        ids.collect()
    }
}
