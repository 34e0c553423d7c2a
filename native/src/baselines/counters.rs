//! What the paper's engine did, added up over documents and threads.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::baselines::kemb::run::Counters;

/// Counters that many threads add to.
#[derive(Debug, Default)]
pub struct EngineCounters {
    elements: AtomicU64,
    active_states: AtomicU64,
    active_states_peak: AtomicU64,
    discarded: AtomicU64,
    forgotten: AtomicU64,
}

impl EngineCounters {
    /// Adds those of a document.
    pub fn add(&self, counters: &Counters) {
        self.elements.fetch_add(counters.elements, Relaxed);
        self.active_states
            .fetch_add(counters.active_states, Relaxed);
        self.active_states_peak
            .fetch_max(counters.active_states_peak, Relaxed);
        self.discarded.fetch_add(counters.discarded, Relaxed);
        self.forgotten.fetch_add(counters.forgotten, Relaxed);
    }

    /// The sums so far; of the peaks the highest.
    pub fn get(&self) -> Counters {
        Counters {
            elements: self.elements.load(Relaxed),
            active_states: self.active_states.load(Relaxed),
            active_states_peak: self.active_states_peak.load(Relaxed),
            discarded: self.discarded.load(Relaxed),
            forgotten: self.forgotten.load(Relaxed),
        }
    }
}
