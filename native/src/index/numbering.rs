//! The subscriptions of a snapshot under one numbering: handles that go through all its segments.

use super::segment::Segment;
use super::store::{Part, Snapshot};

/// A snapshot whose subscriptions are numbered.
pub struct Numbered<S = Segment> {
    /// The subscriptions.
    pub snapshot: Snapshot<S>,
    /// The handle of each view's first subscription.
    bases: Vec<u32>,
    count: u32,
}

impl<S: Part> Numbered<S> {
    /// Numbers the subscriptions of a snapshot.
    pub fn new(snapshot: Snapshot<S>) -> Numbered<S> {
        let mut count = 0;
        let bases = snapshot.views.iter().map(|view| {
            let base = count;
            count += view.segment.roster().count() as u32;
            base
        });
        Numbered {
            bases: bases.collect(),
            snapshot,
            count,
        }
    }

    /// All handles are below this.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The handle of a view's first class where every class is one subscription, and those after it are
    /// numbered as their classes are: all queries differ, and none was removed.
    pub fn plain_base(&self, at: usize) -> Option<u32> {
        let view = &self.snapshot.views[at];
        let roster = view.segment.roster();
        (roster.class_count() == roster.count() && view.removed.is_empty())
            .then_some(self.bases[at])
    }

    /// Adds the handles of a class of a view.
    #[inline]
    pub fn add_handles(&self, at: usize, class: u32, handles: &mut Vec<u32>) {
        let view = &self.snapshot.views[at];
        let base = self.bases[at];
        let own = view.segment.roster().handles_of(class);
        if view.removed.is_empty() {
            handles.extend(own.iter().map(|handle| base + handle));
        } else {
            handles.extend(
                own.iter()
                    .filter(|&&handle| !view.removed.contains(handle))
                    .map(|handle| base + handle),
            );
        }
    }

    /// The view of a handle, and the handle there.
    pub fn place_of(&self, handle: u32) -> (usize, u32) {
        let at = self.bases.partition_point(|&base| base <= handle) - 1;
        (at, handle - self.bases[at])
    }

    /// The view of a handle, and the class there.
    pub fn class_of(&self, handle: u32) -> (usize, u32) {
        let (at, own) = self.place_of(handle);
        let roster = self.snapshot.views[at].segment.roster();
        (at, roster.handle_classes[own as usize])
    }

    /// The id of a handle.
    pub fn id(&self, handle: u32) -> &str {
        let (at, own) = self.place_of(handle);
        self.snapshot.views[at].segment.roster().ids.get(own)
    }

    /// The handle of an id.
    pub fn handle(&self, id: &str) -> Option<u32> {
        let views = self.snapshot.views.iter().zip(&self.bases);
        views
            .filter_map(|(view, base)| Some(base + view.find(id)?))
            .next()
    }

    /// The query of a handle as it was given.
    pub fn source(&self, handle: u32) -> &str {
        let (at, own) = self.place_of(handle);
        self.snapshot.views[at].segment.source_of(own)
    }
}
