//! The index of keyword subscriptions.

use crate::keywords::query::parse;
use crate::keywords::segment::KeywordSegment;
use crate::keywords::segment_builder::KeywordBuilder;
use crate::subscription_store::store::{AddError, Snapshot, SubscriptionStore};

/// A mutable set of keyword subscriptions.
pub type KeywordIndex = SubscriptionStore<KeywordBuilder>;

/// An immutable view of the keyword subscriptions.
pub type KeywordSnapshot = Snapshot<KeywordSegment>;

impl KeywordIndex {
    /// Adds a subscription.
    pub fn add(&mut self, id: &str, query: &str) -> Result<(), AddError> {
        self.add_with(id, |builder| {
            let parsed = parse(query)?;
            builder.add(
                id,
                query,
                parsed.mode,
                parsed.words.iter().map(String::as_str),
            );
            Ok(())
        })
    }
}
