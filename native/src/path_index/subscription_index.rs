//! The index of path subscriptions.

use super::segment::Segment;
use super::segment_builder::SegmentBuilder;
use crate::subscription_store::file_format::OpenError;
use crate::subscription_store::header_tests::HeaderTests;
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
        self.add_where(id, query, namespaces, &HeaderTests::default())
    }

    /// Adds a subscription that also requires tests of header fields.
    pub fn add_where(
        &mut self,
        id: &str,
        query: &str,
        namespaces: &Namespaces,
        header: &HeaderTests,
    ) -> Result<(), AddError> {
        self.add_with(id, |builder| {
            let parsed = normalise(parse(query, namespaces)?);
            builder.add(id, query, &parsed, header, &canonical_text(&parsed));
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
            "" => {
                let class = self.subscriptions.row_classes[row as usize];
                HeaderTests::split(self.queries.get(class)).1
            }
            source => source,
        }
    }

    fn header_tests_of(&self, class: u32) -> HeaderTests {
        HeaderTests::split(self.queries.get(class)).0
    }
}

impl BuildSegment for SegmentBuilder {
    type Segment = Segment;

    fn like(_: &Segment) -> SegmentBuilder {
        SegmentBuilder::default()
    }

    fn empty(&self) -> SegmentBuilder {
        SegmentBuilder::default()
    }

    fn count(&self) -> usize {
        self.subscription_count()
    }

    fn copy(&mut self, segment: &Segment, row: u32) -> Result<(), OpenError> {
        let class = segment.subscriptions.row_classes[row as usize];
        let (header, canonical) = HeaderTests::split(segment.queries.get(class));
        self.add(
            segment.subscriptions.ids.get(row),
            segment.source_of(row),
            &segment.query_of(class)?,
            &header,
            canonical,
        );
        Ok(())
    }

    fn finish(self) -> Segment {
        self.flatten()
    }
}
