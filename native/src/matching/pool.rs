//! Workers: the memory of the engines, kept from document to document.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use hashbrown::HashMap;

use super::run::{Run, RunLimits};
use super::yfilter::NfaRun;
use crate::index::segment::Segment;
use crate::index::store::Snapshot;
use crate::reader::{Reader, ReaderOptions};
use crate::select::Selector;

/// How a matcher works.
#[derive(Clone, Debug, PartialEq)]
pub struct MatcherOptions {
    /// Of the reader.
    pub reader: ReaderOptions,
    /// Of the shared engine.
    pub run: RunLimits,
}

/// The memory of one thread's matching.
pub(super) struct Worker {
    /// Tells apart the name tables of different workers.
    number: u64,
    pub reader: Reader,
    pub runs: Vec<(Arc<Segment>, Run)>,
    pub nfa_runs: Vec<(Arc<Segment>, NfaRun)>,
    pub selectors: HashMap<(u64, u32), Arc<Selector>>,
}

/// Workers that wait for documents.
pub struct Pool {
    pub(super) options: MatcherOptions,
    idle: Mutex<Vec<Worker>>,
    made: AtomicU64,
}

impl Pool {
    /// A pool whose workers work as `options` say.
    pub fn new(options: MatcherOptions) -> Pool {
        Pool {
            options,
            idle: Mutex::new(Vec::new()),
            made: AtomicU64::new(0),
        }
    }

    pub(super) fn take(&self) -> Worker {
        // Another thread may have held the lock when this process was forked: never wait for it.
        let idle = self.idle.try_lock().ok().and_then(|mut idle| idle.pop());
        idle.unwrap_or_else(|| Worker {
            number: self.made.fetch_add(1, Ordering::Relaxed) + 1,
            reader: Reader::new(self.options.reader.clone()),
            runs: Vec::new(),
            nfa_runs: Vec::new(),
            selectors: HashMap::new(),
        })
    }

    pub(super) fn put(&self, worker: Worker) {
        if let Ok(mut idle) = self.idle.try_lock() {
            idle.push(worker);
        }
    }
}

impl Worker {
    /// Numbers the table of names that the reader will use for the next document.
    pub fn names_table(&self) -> u64 {
        self.number << 32 | (self.reader.names_generation() + 1)
    }
}

/// Puts a worker's memory in the order of the snapshot's views: what it has of them is kept, what is
/// new is made, what no one else uses any more is dropped.
pub(super) fn arrange<T>(
    memory: &mut Vec<(Arc<Segment>, T)>,
    snapshot: &Snapshot,
    make: impl Fn(usize, &Segment) -> T,
) {
    let views = &snapshot.views;
    let fits = memory.len() == views.len()
        && memory
            .iter()
            .zip(views)
            .all(|(own, view)| Arc::ptr_eq(&own.0, &view.segment));
    if fits {
        return;
    }
    let mut old = std::mem::take(memory);
    for (at, view) in views.iter().enumerate() {
        let known = old
            .iter()
            .position(|own| Arc::ptr_eq(&own.0, &view.segment));
        memory.push(match known {
            Some(known) => old.swap_remove(known),
            None => (Arc::clone(&view.segment), make(at, &view.segment)),
        });
    }
}
