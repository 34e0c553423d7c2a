//! The index of XPath subscriptions.

use super::build::SegmentBuilder;
use super::segment::Segment;
use crate::subscription_store::store::{AddError, Build, Part, Snapshot, Store};
use crate::subscription_store::subscription_table::Roster;
use crate::xpath::{canonical_text, normalise, parse, Namespaces};

/// A set of XPath subscriptions that changes.
pub type Index = Store<SegmentBuilder>;

/// The XPath subscriptions at one time.
pub type PathSnapshot = Snapshot<Segment>;

impl Index {
    /// Adds a subscription.
    pub fn add(&mut self, id: &str, query: &str, namespaces: &Namespaces) -> Result<(), AddError> {
        self.add_by(id, |builder| {
            let parsed = normalise(parse(query, namespaces)?);
            builder.add(id, query, &parsed, &canonical_text(&parsed));
            Ok(())
        })
    }
}

impl Part for Segment {
    fn roster(&self) -> &Roster {
        &self.roster
    }

    fn source_of(&self, handle: u32) -> &str {
        match self.roster.sources.get(handle) {
            "" => self
                .queries
                .get(self.roster.handle_classes[handle as usize]),
            source => source,
        }
    }
}

impl Build for SegmentBuilder {
    type Part = Segment;

    fn count(&self) -> usize {
        self.roster.count()
    }

    fn copy(&mut self, part: &Segment, handle: u32) {
        let class = part.roster.handle_classes[handle as usize];
        self.add(
            part.roster.ids.get(handle),
            part.source_of(handle),
            &part.query_of(class),
            part.queries.get(class),
        );
    }

    fn finish(self) -> Segment {
        self.lay_flat()
    }
}
