//! The interface of a path engine, which [`PathMatcher`](crate::matching::matcher::PathMatcher)
//! drives.

use std::sync::Arc;

use crate::dispatch::outcome::Counters;
use crate::events::Handler;
use crate::matching::class_parts::ClassParts;
use crate::matching::segment_run::{RunLimits, WorkBudget};
use crate::matching::work_meter::Attribution;
use crate::path_index::segment::Segment;
use crate::path_index::subscription_index::PathSnapshot;
use crate::subscription_store::class_set::{ClassSet, OrderedClassSet};

/// Matches documents against all path subscriptions of a snapshot.
pub trait PathEngine: Send + Sync + 'static {
    /// Working memory for one segment, reused across documents.
    type State: Send;
    /// Receives the events of one document.
    type Handler<'a>: Handler;
    /// The classes that matched.
    type Matches: ClassSet;

    /// Prepares the engine for the segments of a snapshot.
    fn new(snapshot: &PathSnapshot) -> Self;

    /// Working memory for the segment at position `at` of the snapshot.
    fn new_state(&self, at: usize, segment: &Segment, limits: RunLimits) -> Self::State;

    /// Begins a document whose names are numbered by the table `names_table`. `states` are in the
    /// order of the snapshot's segments. See [`EventSource::memoize_repeated`] for
    /// `memoize_repeated`.
    ///
    /// [`EventSource::memoize_repeated`]: crate::dispatch::event_source::EventSource::memoize_repeated
    fn begin<'a>(
        &'a self,
        states: &'a mut [(Arc<Segment>, Self::State)],
        names_table: u64,
        memoize_repeated: bool,
        budget: WorkBudget,
    ) -> Self::Handler<'a>;

    /// After a document whose budget was spent: the steps by part of the index, by segment. An engine
    /// that counts no work never stops a document.
    fn take_attributions(states: &mut [(Arc<Segment>, Self::State)]) -> Vec<Attribution> {
        let _ = states;
        Vec::new()
    }

    /// After a document: the classes, by segment, that do not match as far as is known, because
    /// their evaluation was dropped to save work.
    fn dropped_classes(states: &mut [(Arc<Segment>, Self::State)]) -> Vec<Vec<u32>> {
        let _ = states;
        Vec::new()
    }

    /// After a document: the steps that its budget still allows.
    fn steps_left(states: &mut [(Arc<Segment>, Self::State)]) -> i64 {
        let _ = states;
        0
    }

    /// Working memory for a segment, whose classes use `parts`, without the classes for which
    /// `is_set_aside` holds.
    fn new_restricted_state(
        &self,
        at: usize,
        segment: &Segment,
        limits: RunLimits,
        parts: &ClassParts,
        is_set_aside: &dyn Fn(u32) -> bool,
    ) -> Self::State {
        let _ = (parts, is_set_aside);
        self.new_state(at, segment, limits)
    }

    /// After a document: the classes that match, and the candidates that must be verified.
    fn results(state: &Self::State) -> (&Self::Matches, &OrderedClassSet);

    /// After a document: adds the work done in a segment.
    fn count(state: &Self::State, counters: &mut Counters);
}
