//! The interface of a path engine, which [`PathMatcher`](crate::matching::matcher::PathMatcher)
//! drives.

use std::sync::Arc;

use crate::dispatch::outcome::Counters;
use crate::events::Handler;
use crate::matching::segment_run::RunLimits;
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
    ) -> Self::Handler<'a>;

    /// After a document: the classes that match, and the candidates that must be verified.
    fn results(state: &Self::State) -> (&Self::Matches, &OrderedClassSet);

    /// After a document: adds the work done in a segment.
    fn count(state: &Self::State, counters: &mut Counters);
}
