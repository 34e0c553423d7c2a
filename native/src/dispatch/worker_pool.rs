//! Workers: the memory of the engines, kept from document to document.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use hashbrown::HashMap;

use crate::baselines::yfilter::NfaRun;
use crate::matching::segment_run::{Run, RunLimits};
use crate::path_index::segment::Segment;
use crate::reader::{Reader, ReaderOptions};
use crate::rewriting::RewriterBuffers;
use crate::select::Selector;
use crate::subscription_store::store::Snapshot;

/// How a matcher works.
#[derive(Clone, Debug, PartialEq)]
pub struct MatcherOptions {
    /// Of the reader.
    pub reader: ReaderOptions,
    /// Of the shared engine.
    pub run: RunLimits,
}

/// The memory of one thread's matching.
pub trait Work {
    /// How it works.
    type Options: Clone + PartialEq;
    /// RewriterBuffers that is still empty.
    fn new(options: &Self::Options) -> Self;
}

/// A reader whose tables of names are told apart from those of all others.
pub struct NumberedReader {
    number: u64,
    /// The reader.
    pub reader: Reader,
}

static READERS_MADE: AtomicU64 = AtomicU64::new(0);

impl NumberedReader {
    /// A new one.
    pub fn new(options: ReaderOptions) -> NumberedReader {
        NumberedReader {
            number: READERS_MADE.fetch_add(1, Ordering::Relaxed) + 1,
            reader: Reader::new(options),
        }
    }

    /// Numbers the table of names that the reader will use for the next document.
    pub fn names_table(&self) -> u64 {
        self.number << 32 | (self.reader.names_generation() + 1)
    }
}

/// The memory of one thread's matching of paths.
pub struct Worker {
    pub(crate) reader: NumberedReader,
    pub(crate) runs: Vec<(Arc<Segment>, Run)>,
    pub(crate) nfa_runs: Vec<(Arc<Segment>, NfaRun)>,
    pub(crate) selectors: HashMap<(u64, u32), Arc<Selector>>,
    pub(crate) rewriting: RewriterBuffers,
    /// Of the document at hand: grows once, where a list for each document would grow with each.
    pub(crate) handles: Vec<u32>,
}

impl Worker {
    /// Numbers the table of names that the reader will use for the next document.
    pub fn names_table(&self) -> u64 {
        self.reader.names_table()
    }
}

impl Work for Worker {
    type Options = MatcherOptions;

    fn new(options: &MatcherOptions) -> Worker {
        Worker {
            reader: NumberedReader::new(options.reader.clone()),
            runs: Vec::new(),
            nfa_runs: Vec::new(),
            selectors: HashMap::new(),
            rewriting: RewriterBuffers::default(),
            handles: Vec::new(),
        }
    }
}

/// Workers that wait for documents.
pub struct Pool<W: Work = Worker> {
    /// How the workers work.
    pub options: W::Options,
    idle: Mutex<Vec<W>>,
}

impl<W: Work> Pool<W> {
    /// A pool whose workers work as `options` say.
    pub fn new(options: W::Options) -> Pool<W> {
        Pool {
            options,
            idle: Mutex::new(Vec::new()),
        }
    }

    /// A worker, to be put back.
    pub fn take(&self) -> W {
        // Another thread may have held the lock when this process was forked: never wait for it.
        let idle = self.idle.try_lock().ok().and_then(|mut idle| idle.pop());
        idle.unwrap_or_else(|| W::new(&self.options))
    }

    /// Puts a worker back.
    pub fn put(&self, worker: W) {
        if let Ok(mut idle) = self.idle.try_lock() {
            idle.push(worker);
        }
    }
}

/// The pools of the last few matchers with different options: their workers are warm.
pub struct Pools<W: Work = Worker>(Mutex<Vec<Arc<Pool<W>>>>);

/// How many kinds of matchers of one index stay warm.
const POOLS_MAX: usize = 4;

impl<W: Work> Default for Pools<W> {
    fn default() -> Pools<W> {
        Pools(Mutex::new(Vec::new()))
    }
}

impl<W: Work> Pools<W> {
    /// The pool with these options.
    pub fn get(&self, options: W::Options) -> Arc<Pool<W>> {
        let mut pools = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pool) = pools.iter().find(|pool| pool.options == options) {
            return Arc::clone(pool);
        }
        let pool = Arc::new(Pool::new(options));
        if pools.len() == POOLS_MAX {
            pools.remove(0);
        }
        pools.push(Arc::clone(&pool));
        pool
    }
}

/// Puts a worker's memory in the order of the snapshot's views: what it has of them is kept, what is
/// new is made, what no one else uses any more is dropped.
pub fn arrange<S, T>(
    memory: &mut Vec<(Arc<S>, T)>,
    snapshot: &Snapshot<S>,
    make: impl Fn(usize, &S) -> T,
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
