//! The store: immutable segments, and which of their subscriptions were removed.
//!
//! Additions are buffered until a snapshot is taken and then become a segment. When there are too
//! many segments, the two smallest are merged, so that a large one is rarely rewritten. A
//! [`Snapshot`] shares the segments; later additions and removals do not affect it.

use std::sync::Arc;

use hashbrown::HashSet;

use crate::subscription_store::file_format::OpenError;
use crate::subscription_store::header_tests::HeaderTests;
use crate::subscription_store::subscription_table::SubscriptionTable;
use crate::xpath::QueryRefusal;

/// Maximum number of segments; each costs every document a little.
pub const SEGMENTS_MAX: usize = 4;

/// An immutable set of subscriptions of one kind.
pub trait IndexSegment {
    /// The subscriptions.
    fn subscriptions(&self) -> &SubscriptionTable;
    /// The query of a row as it was submitted.
    fn source_of(&self, row: u32) -> &str;
    /// The header tests of a class.
    fn header_tests_of(&self, class: u32) -> HeaderTests;
}

/// Builds an [`IndexSegment`].
pub trait BuildSegment: Default {
    /// The segment it builds.
    type Segment: IndexSegment;
    /// An empty builder with the options of a segment.
    fn like(segment: &Self::Segment) -> Self;
    /// An empty builder with the same options.
    fn empty(&self) -> Self;
    /// How many subscriptions were added.
    fn count(&self) -> usize;
    /// Adds a subscription of another segment.
    fn copy(&mut self, segment: &Self::Segment, row: u32) -> Result<(), OpenError>;
    /// The finished segment.
    fn finish(self) -> Self::Segment;
}

/// A segment at one time.
pub struct SegmentView<S> {
    /// The segment.
    pub segment: Arc<S>,
    /// Its rows that were removed.
    pub removed: Arc<RemovedRows>,
}

impl<S> Clone for SegmentView<S> {
    fn clone(&self) -> SegmentView<S> {
        SegmentView {
            segment: Arc::clone(&self.segment),
            removed: Arc::clone(&self.removed),
        }
    }
}

impl<S: IndexSegment> SegmentView<S> {
    fn new(segment: S) -> SegmentView<S> {
        SegmentView {
            segment: Arc::new(segment),
            removed: Arc::new(RemovedRows::default()),
        }
    }

    /// How many subscriptions were not removed.
    fn count(&self) -> usize {
        self.segment.subscriptions().count() - self.removed.count
    }

    /// The row of an id that was not removed.
    pub fn find(&self, id: &str) -> Option<u32> {
        let row = self.segment.subscriptions().find(id)?;
        (!self.removed.contains(row)).then_some(row)
    }

    /// The rows that were not removed.
    fn live_rows(&self) -> impl Iterator<Item = u32> + '_ {
        let rows = 0..self.segment.subscriptions().count() as u32;
        rows.filter(|&row| !self.removed.contains(row))
    }
}

/// A bitmap of removed rows.
#[derive(Clone, Default)]
pub struct RemovedRows {
    bits: Vec<u64>,
    count: usize,
}

impl RemovedRows {
    /// Whether no row was removed.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether a row was removed.
    #[inline]
    pub fn contains(&self, row: u32) -> bool {
        self.bits
            .get(row as usize / 64)
            .is_some_and(|word| word >> (row % 64) & 1 == 1)
    }

    fn insert(&mut self, row: u32) {
        let word = row as usize / 64;
        if self.bits.len() <= word {
            self.bits.resize(word + 1, 0);
        }
        self.bits[word] |= 1 << (row % 64);
        self.count += 1;
    }
}

/// Why a subscription was not added.
#[derive(Debug)]
pub enum AddError {
    /// Its query was refused.
    Query(QueryRefusal),
    /// Its id is taken.
    Duplicate,
}

/// Subscriptions that are not in a segment yet.
#[derive(Default)]
struct PendingAdditions<B> {
    builder: B,
    ids: HashSet<Box<str>>,
}

/// A mutable set of subscriptions.
pub struct SubscriptionStore<B: BuildSegment> {
    views: Vec<SegmentView<B::Segment>>,
    pending: PendingAdditions<B>,
}

/// The subscriptions at one time.
pub struct Snapshot<S> {
    /// Its segments.
    pub views: Vec<SegmentView<S>>,
}

impl<S> Clone for Snapshot<S> {
    fn clone(&self) -> Snapshot<S> {
        Snapshot {
            views: self.views.clone(),
        }
    }
}

impl<B: BuildSegment> Default for SubscriptionStore<B> {
    fn default() -> SubscriptionStore<B> {
        SubscriptionStore {
            views: Vec::new(),
            pending: PendingAdditions::default(),
        }
    }
}

impl<B: BuildSegment> SubscriptionStore<B> {
    /// An empty store; `builder` is empty and has its options.
    pub(crate) fn with_builder(builder: B) -> SubscriptionStore<B> {
        SubscriptionStore {
            views: Vec::new(),
            pending: PendingAdditions {
                builder,
                ids: HashSet::default(),
            },
        }
    }

    /// A store of one segment.
    pub fn from_segment(segment: B::Segment) -> SubscriptionStore<B> {
        let mut store = SubscriptionStore::with_builder(B::like(&segment));
        store.views.push(SegmentView::new(segment));
        store
    }

    /// Builds the next segment.
    pub(crate) fn builder(&self) -> &B {
        &self.pending.builder
    }

    /// How many subscriptions there are.
    pub fn count(&self) -> usize {
        let in_segments: usize = self.views.iter().map(SegmentView::count).sum();
        in_segments + self.pending.builder.count()
    }

    /// Whether a subscription has the id.
    pub fn contains(&self, id: &str) -> bool {
        self.pending.ids.contains(id) || self.views.iter().any(|view| view.find(id).is_some())
    }

    /// Calls `add` to add a subscription, if its id is new.
    pub(crate) fn add_with(
        &mut self,
        id: &str,
        add: impl FnOnce(&mut B) -> Result<(), QueryRefusal>,
    ) -> Result<(), AddError> {
        if self.contains(id) {
            return Err(AddError::Duplicate);
        }
        add(&mut self.pending.builder).map_err(AddError::Query)?;
        self.pending.ids.insert(id.into());
        Ok(())
    }

    /// Removes a subscription; returns whether there was one.
    pub fn remove(&mut self, id: &str) -> bool {
        if self.pending.ids.contains(id) {
            self.flush();
        }
        for view in &mut self.views {
            if let Some(row) = view.find(id) {
                Arc::make_mut(&mut view.removed).insert(row);
                return true;
            }
        }
        false
    }

    /// The query of an id as it was submitted.
    pub fn query(&mut self, id: &str) -> Option<String> {
        if self.pending.ids.contains(id) {
            self.flush();
        }
        self.views
            .iter()
            .find_map(|view| Some(view.segment.source_of(view.find(id)?).to_owned()))
    }

    /// The current subscriptions.
    pub fn snapshot(&mut self) -> Snapshot<B::Segment> {
        self.flush();
        Snapshot {
            views: self.views.clone(),
        }
    }

    /// Turns the pending additions into a segment and merges segments if there are too many.
    fn flush(&mut self) {
        if self.pending.builder.count() == 0 {
            return;
        }
        let empty = self.pending.builder.empty();
        let builder = std::mem::replace(&mut self.pending.builder, empty);
        self.pending.ids.clear();
        self.views.push(SegmentView::new(builder.finish()));
        self.views.retain(|view| view.count() > 0);
        while self.views.len() > SEGMENTS_MAX {
            self.views
                .sort_by_key(|view| std::cmp::Reverse(view.count()));
            let others = self.views.len() - 2;
            let Ok(merged) = self.merge(&self.views[others..]) else {
                // Part of a damaged file cannot be copied; merging only makes matching faster.
                break;
            };
            self.views.truncate(others);
            self.views.push(SegmentView::new(merged));
        }
    }

    /// All subscriptions in one segment, without the removed ones.
    pub fn compacted(&mut self) -> Result<Arc<B::Segment>, OpenError> {
        self.flush();
        match self.views.as_slice() {
            [view] if view.removed.is_empty() => Ok(Arc::clone(&view.segment)),
            views => self.merge(views).map(Arc::new),
        }
    }

    fn merge(&self, views: &[SegmentView<B::Segment>]) -> Result<B::Segment, OpenError> {
        let mut builder = self.pending.builder.empty();
        for view in views {
            for row in view.live_rows() {
                builder.copy(&view.segment, row)?;
            }
        }
        Ok(builder.finish())
    }
}
