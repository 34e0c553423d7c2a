//! The memory that the caches of all workers of the process use together.
//!
//! Each worker has caches of its own, because sharing them between threads would cost every element a
//! synchronisation. What they share is a limit: a worker that finds it exceeded first discards the idle
//! workers of all matchers, then its own caches.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};

/// The limit unless the binding sets another.
const BYTES_MAX: usize = 1 << 28;

static LIMIT: AtomicUsize = AtomicUsize::new(BYTES_MAX);
static TOTAL: AtomicUsize = AtomicUsize::new(0);
static POOLS: Mutex<Vec<Weak<dyn IdleWorkers>>> = Mutex::new(Vec::new());

/// Workers that no thread uses.
pub(crate) trait IdleWorkers: Send + Sync {
    /// Discards them.
    fn discard(&self);
}

/// Lets the workers of a pool be discarded while they are idle.
pub(crate) fn register<P: IdleWorkers + 'static>(pool: &Arc<P>) {
    // Another thread may have held the lock when this process was forked: never wait for it.
    if let Ok(mut pools) = POOLS.try_lock() {
        pools.retain(|pool| pool.strong_count() > 0);
        let pool: Weak<P> = Arc::downgrade(pool);
        pools.push(pool);
    }
}

/// Sets the limit of the process.
pub(crate) fn set_limit(bytes_max: usize) {
    LIMIT.store(bytes_max, Ordering::Relaxed);
}

/// Bytes of all caches of the process.
pub(crate) fn total_bytes() -> usize {
    TOTAL.load(Ordering::Relaxed)
}

/// The part of one cache in the total.
#[derive(Default)]
pub(crate) struct CacheShare {
    bytes: usize,
}

impl CacheShare {
    /// Records the current size of the cache.
    pub fn set(&mut self, bytes: usize) {
        // Wraps around if the cache has shrunk, and so does the sum.
        TOTAL.fetch_add(bytes.wrapping_sub(self.bytes), Ordering::Relaxed);
        self.bytes = bytes;
    }

    /// Whether the cache must be evicted before a document, so that all caches stay within the limit.
    pub fn must_be_evicted(&self) -> bool {
        if self.bytes == 0 || !is_exceeded() {
            return false;
        }
        discard_idle_workers();
        is_exceeded()
    }

    /// Whether the cache must be evicted within a document. This costs more, because the matches of the
    /// document so far must be verified; a cache that is a small part of the total is kept.
    pub fn must_be_evicted_at_once(&self) -> bool {
        self.bytes > LIMIT.load(Ordering::Relaxed) / 16 && self.must_be_evicted()
    }
}

impl Drop for CacheShare {
    fn drop(&mut self) {
        self.set(0);
    }
}

fn is_exceeded() -> bool {
    total_bytes() > LIMIT.load(Ordering::Relaxed)
}

#[cold]
fn discard_idle_workers() {
    let Ok(pools) = POOLS.try_lock() else {
        return;
    };
    let pools: Vec<Arc<dyn IdleWorkers>> = pools.iter().filter_map(Weak::upgrade).collect();
    for pool in pools {
        pool.discard();
    }
}
