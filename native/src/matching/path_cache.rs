//! The bounded cache of label paths: the automaton and the condition table, evicted together.

use crate::dispatch::cache_budget::CacheShare;
use crate::matching::automaton::{Automaton, ROOT_PATH};
use crate::matching::class_restriction::ClassRestriction;
use crate::matching::condition_table::ConditionTable;
use crate::matching::NONE;
use crate::path_index::segment::Segment;

/// The automaton and the conditions of its paths. Past its limit it is evicted as a whole and
/// rebuilt from the following elements.
pub(super) struct PathCache {
    pub automaton: Automaton,
    pub conditions: ConditionTable,
    bytes_max: usize,
    /// Its part in the caches of the process.
    share: CacheShare,
    counters: CacheCounters,
    /// The numbers of paths and states when counting began.
    counted_from: (usize, usize),
}

/// Changes of the cache during one document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheCounters {
    /// Paths that no earlier document had.
    pub paths_made: u64,
    /// States that no earlier document had reached.
    pub states_made: u64,
    /// Evictions.
    pub evictions: u64,
}

impl PathCache {
    /// An empty cache of at most `bytes_max` bytes, for the classes of a restriction or all.
    pub fn new(
        segment: &Segment,
        bytes_max: usize,
        restriction: Option<ClassRestriction>,
    ) -> PathCache {
        PathCache {
            automaton: Automaton::new(segment, restriction),
            conditions: ConditionTable::default(),
            bytes_max,
            share: CacheShare::default(),
            counters: CacheCounters::default(),
            counted_from: (0, 0),
        }
    }

    /// Begins a document whose names are numbered by the table `names_table`. Evicts the cache if
    /// it is past its limit, or the caches of the process are past theirs.
    pub fn begin(&mut self, segment: &Segment, names_table: u64) {
        self.automaton.alphabet.use_names(names_table);
        self.automaton.matches.clear();
        self.counters = CacheCounters::default();
        self.automaton.counted_states.clear();
        self.conditions.begin();
        self.share.set(self.bytes());
        if self.bytes() > self.bytes_max || self.share.must_be_evicted() {
            self.automaton.clear(segment);
            self.automaton.matches.reset();
            self.conditions = ConditionTable::default();
            self.counters.evictions += 1;
            self.share.set(self.bytes());
        }
        self.automaton.paths[ROOT_PATH as usize].first_child = NONE;
        self.counted_from = self.sizes();
    }

    /// Evicts the cache within a document. The matches remain.
    pub fn evict(&mut self, segment: &Segment) {
        self.counters = self.counters();
        self.counters.evictions += 1;
        self.automaton.clear(segment);
        self.conditions = ConditionTable::default();
        self.share.set(self.bytes());
        self.counted_from = (0, 0);
    }

    /// Whether the cache must be evicted within a document: it is past its limit, or it is a large part
    /// of the caches of the process and these are past theirs.
    pub fn is_full(&mut self) -> bool {
        self.share.set(self.bytes());
        self.bytes() > self.bytes_max || self.share.must_be_evicted_at_once()
    }

    /// Approximate memory in use.
    pub fn bytes(&self) -> usize {
        self.automaton.bytes() + self.conditions.bytes()
    }

    /// Changes since the document began.
    pub fn counters(&self) -> CacheCounters {
        let (paths, states) = self.sizes();
        CacheCounters {
            paths_made: self.counters.paths_made + (paths - self.counted_from.0) as u64,
            states_made: self.counters.states_made + (states - self.counted_from.1) as u64,
            evictions: self.counters.evictions,
        }
    }

    fn sizes(&self) -> (usize, usize) {
        (self.automaton.paths.len(), self.automaton.states.len())
    }
}
