//! The index of path subscriptions.

use super::segment::Segment;
use super::segment_builder::SegmentBuilder;
use crate::subscription_store::file_format::OpenError;
use crate::subscription_store::store::{
    AddError, BuildSegment, IndexSegment, Snapshot, SubscriptionStore,
};
use crate::subscription_store::subscription_table::SubscriptionTable;
use crate::xpath::{canonical_text, normalise, parse, Namespaces};

/// A mutable set of path subscriptions.
pub type PathIndex = SubscriptionStore<SegmentBuilder>;

/// The path subscriptions at one time.
pub type PathSnapshot = Snapshot<Segment>;

impl PathIndex {
    /// Adds a subscription.
    pub fn add(&mut self, id: &str, query: &str, namespaces: &Namespaces) -> Result<(), AddError> {
        self.add_with(id, |builder| {
            let parsed = normalise(parse(query, namespaces)?);
            builder.add(id, query, &parsed, &canonical_text(&parsed));
            Ok(())
        })
    }
}

impl IndexSegment for Segment {
    fn subscriptions(&self) -> &SubscriptionTable {
        &self.subscriptions
    }

    fn source_of(&self, row: u32) -> &str {
        match self.subscriptions.sources.get(row) {
            "" => self
                .queries
                .get(self.subscriptions.row_classes[row as usize]),
            source => source,
        }
    }
}

impl BuildSegment for SegmentBuilder {
    type Segment = Segment;

    fn count(&self) -> usize {
        self.subscription_count()
    }

    fn copy(&mut self, segment: &Segment, row: u32) -> Result<(), OpenError> {
        let class = segment.subscriptions.row_classes[row as usize];
        self.add(
            segment.subscriptions.ids.get(row),
            segment.source_of(row),
            &segment.query_of(class)?,
            segment.queries.get(class),
        );
        Ok(())
    }

    fn finish(self) -> Segment {
        self.flatten()
    }
}
