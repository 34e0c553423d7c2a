//! Worker pools: the engines' working memory, reused across documents and matchers.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, PoisonError};

use crate::dispatch::cache_budget::{self, IdleWorkers};
use crate::subscription_store::store::Snapshot;

/// The working memory of one thread.
pub trait WorkerState {
    /// Configures the worker; pools are found by it.
    type Options: Clone + PartialEq;
    /// A worker that has seen no document.
    fn new(options: &Self::Options) -> Self;
}

/// Idle workers with the same options.
pub struct Pool<W: WorkerState> {
    options: W::Options,
    idle: Mutex<Vec<W>>,
}

impl<W: WorkerState> Pool<W> {
    /// An empty pool.
    pub fn new(options: W::Options) -> Pool<W> {
        Pool {
            options,
            idle: Mutex::new(Vec::new()),
        }
    }

    /// The options of its workers.
    pub fn options(&self) -> &W::Options {
        &self.options
    }

    /// An idle worker, or a new one; it returns to the pool when dropped.
    pub fn take(&self) -> PooledWorker<'_, W> {
        // Another thread may have held the lock when this process was forked: never wait for it.
        let idle = self.idle.try_lock().ok().and_then(|mut idle| idle.pop());
        PooledWorker {
            pool: self,
            worker: Some(idle.unwrap_or_else(|| W::new(&self.options))),
        }
    }
}

impl<W: WorkerState + Send> IdleWorkers for Pool<W>
where
    W::Options: Send + Sync,
{
    fn discard(&self) {
        // Dropped after the lock is released: dropping a worker may take time.
        let discarded = self
            .idle
            .try_lock()
            .map(|mut idle| std::mem::take(&mut *idle));
        drop(discarded);
    }
}

/// A worker in use.
pub struct PooledWorker<'p, W: WorkerState> {
    pool: &'p Pool<W>,
    /// `None` only while it is being dropped.
    worker: Option<W>,
}

impl<W: WorkerState> Deref for PooledWorker<'_, W> {
    type Target = W;

    fn deref(&self) -> &W {
        self.worker.as_ref().expect("in use")
    }
}

impl<W: WorkerState> DerefMut for PooledWorker<'_, W> {
    fn deref_mut(&mut self) -> &mut W {
        self.worker.as_mut().expect("in use")
    }
}

impl<W: WorkerState> Drop for PooledWorker<'_, W> {
    fn drop(&mut self) {
        // A panic may have left the worker inconsistent.
        if std::thread::panicking() {
            return;
        }
        if let Ok(mut idle) = self.pool.idle.try_lock() {
            idle.extend(self.worker.take());
        }
    }
}

/// The pools of the last few combinations of options, so that a new matcher finds warm workers.
pub struct Pools<W: WorkerState>(Mutex<Vec<Arc<Pool<W>>>>);

/// How many pools stay alive; the oldest is evicted.
const POOLS_MAX: usize = 4;

impl<W: WorkerState> Default for Pools<W> {
    fn default() -> Pools<W> {
        Pools(Mutex::new(Vec::new()))
    }
}

impl<W: WorkerState + Send + 'static> Pools<W>
where
    W::Options: Send + Sync,
{
    /// The pool with these options.
    pub fn get(&self, options: W::Options) -> Arc<Pool<W>> {
        let mut pools = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pool) = pools.iter().find(|pool| pool.options == options) {
            return Arc::clone(pool);
        }
        let pool = Arc::new(Pool::new(options));
        cache_budget::register(&pool);
        if pools.len() == POOLS_MAX {
            pools.remove(0);
        }
        pools.push(Arc::clone(&pool));
        pool
    }
}

/// Aligns a worker's per-segment states with the views of a snapshot: keeps the state of each
/// segment it has, makes the missing ones and drops the rest.
pub(crate) fn align_with_snapshot<S, T>(
    states: &mut Vec<(Arc<S>, T)>,
    snapshot: &Snapshot<S>,
    new_state: impl Fn(usize, &S) -> T,
) {
    let views = &snapshot.views;
    let aligned = states.len() == views.len()
        && states
            .iter()
            .zip(views)
            .all(|(own, view)| Arc::ptr_eq(&own.0, &view.segment));
    if aligned {
        return;
    }
    let mut old = std::mem::take(states);
    for (at, view) in views.iter().enumerate() {
        let known = old
            .iter()
            .position(|own| Arc::ptr_eq(&own.0, &view.segment));
        states.push(match known {
            Some(known) => old.swap_remove(known),
            None => (Arc::clone(&view.segment), new_state(at, &view.segment)),
        });
    }
}
