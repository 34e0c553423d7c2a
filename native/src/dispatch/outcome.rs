//! The outcome of matching one document.

use std::io;

use crate::dispatch::event_reader::ReadSummary;
use crate::events::{Refusal, CANDIDATES_HELD, VALUES_STORED, WORK_SPENT};
use crate::reader::ReadError;
use crate::subscription_store::file_format::OpenError;

/// Why a document has no matches.
#[derive(Debug)]
pub enum MatchError {
    /// The reader or a handler refused the document.
    Refused(Refusal),
    /// The document could not be read.
    Io(io::Error),
    /// A part of the index file that is checked only when it is used is damaged.
    Index(OpenError),
}

impl From<OpenError> for MatchError {
    fn from(error: OpenError) -> MatchError {
        MatchError::Index(error)
    }
}

impl MatchError {
    /// The offset at which queries spent the work budget or the memory for undecided matches and
    /// stored values, if that is the reason: some are set aside instead.
    pub(crate) fn work_spent_at(&self) -> Option<u64> {
        const BY_QUERIES: [&str; 3] = [WORK_SPENT, CANDIDATES_HELD, VALUES_STORED];
        match self {
            MatchError::Refused(refusal) if BY_QUERIES.contains(&refusal.code) => {
                Some(refusal.offset)
            }
            _ => None,
        }
    }
}

impl From<ReadError> for MatchError {
    fn from(error: ReadError) -> MatchError {
        match error {
            ReadError::Refusal(refusal) => MatchError::Refused(refusal),
            ReadError::Io(error) => MatchError::Io(error),
        }
    }
}

/// Work done to match one document, or a batch of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Bytes read.
    pub bytes: u64,
    /// Elements read.
    pub elements: u64,
    /// Steps counted against the work budget, over all readings of the document.
    pub steps: u64,
    /// Distinct queries that were evaluated individually.
    pub verified: u64,
    /// Paths that no earlier document had.
    pub paths_made: u64,
    /// Automaton states that no earlier document had reached.
    pub states_made: u64,
    /// How often the cache was evicted.
    pub caches_dropped: u64,
    /// Approximate size of the cache.
    pub cache_bytes: u64,
    /// Elements that are not in the mapping's local schema.
    pub unknown: u64,
    /// Peak size of the rewriter's buffers.
    pub held_bytes: u64,
    /// Copies of repeated subtrees that were replayed from the memo instead of being run.
    pub copies_known: u64,
}

impl Counters {
    /// The counters of a reading, before any matching is counted.
    pub(crate) fn of_read(read: &ReadSummary) -> Counters {
        Counters {
            bytes: read.summary.bytes,
            elements: read.summary.elements,
            unknown: read.unknown_elements,
            held_bytes: read.held_bytes,
            ..Counters::default()
        }
    }
}

impl std::ops::AddAssign for Counters {
    fn add_assign(&mut self, other: Counters) {
        self.bytes += other.bytes;
        self.elements += other.elements;
        self.steps += other.steps;
        self.verified += other.verified;
        self.paths_made += other.paths_made;
        self.states_made += other.states_made;
        self.caches_dropped += other.caches_dropped;
        self.cache_bytes = self.cache_bytes.max(other.cache_bytes);
        self.unknown += other.unknown;
        self.held_bytes = self.held_bytes.max(other.held_bytes);
        self.copies_known += other.copies_known;
    }
}

/// The subscriptions that match a document.
#[derive(Clone, Debug, Default)]
pub struct Matched {
    /// Handles of the snapshot, each once, in no particular order.
    pub handles: Vec<u32>,
    /// Handles of the subscriptions that were set aside: whether they match is unknown, because the
    /// work budget of the document was spent. Each once, ascending; none of them is in `handles`.
    pub set_aside: Vec<u32>,
    /// Work done.
    pub counters: Counters,
}
