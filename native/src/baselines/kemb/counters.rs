//! KEMB's counters, as reported in the paper.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What KEMB did for one document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KembCounters {
    /// Elements read.
    pub elements: u64,
    /// Active states of each element when it ended, summed over all elements.
    pub active_states: u64,
    /// Maximum number of active states of all open elements together.
    pub active_states_peak: u64,
    /// Elements discarded as outdated.
    pub discarded: u64,
    /// Elements evicted because too many were retained.
    pub evicted: u64,
}

/// Counters summed over documents; shared between threads.
#[derive(Debug, Default)]
pub struct SharedKembCounters {
    elements: AtomicU64,
    active_states: AtomicU64,
    active_states_peak: AtomicU64,
    discarded: AtomicU64,
    evicted: AtomicU64,
}

impl SharedKembCounters {
    /// Adds the counters of one document.
    pub fn add(&self, counters: &KembCounters) {
        self.elements.fetch_add(counters.elements, Relaxed);
        self.active_states
            .fetch_add(counters.active_states, Relaxed);
        self.active_states_peak
            .fetch_max(counters.active_states_peak, Relaxed);
        self.discarded.fetch_add(counters.discarded, Relaxed);
        self.evicted.fetch_add(counters.evicted, Relaxed);
    }

    /// Returns the sums so far, and the maximum of the peaks.
    pub fn get(&self) -> KembCounters {
        KembCounters {
            elements: self.elements.load(Relaxed),
            active_states: self.active_states.load(Relaxed),
            active_states_peak: self.active_states_peak.load(Relaxed),
            discarded: self.discarded.load(Relaxed),
            evicted: self.evicted.load(Relaxed),
        }
    }
}
