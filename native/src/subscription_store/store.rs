//! The index: segments that never change, and which of their subscriptions were removed.
//!
//! What is added waits until someone wants to match, then becomes a segment of its own; past a few
//! segments the two smallest are merged, so that a large one is never touched. A [`Snapshot`] shares
//! the segments: adding and removing go on beside it without disturbing it.

use std::sync::Arc;

use hashbrown::HashSet;

use crate::subscription_store::subscription_table::Roster;
use crate::xpath::QueryRefusal;

/// More segments than this are merged, the two smallest first: each costs every document a little.
pub const SEGMENTS_MAX: usize = 4;

/// Subscriptions that were added together, of any kind.
pub trait Part {
    /// Who they are.
    fn roster(&self) -> &Roster;
    /// The query of a handle as it was given.
    fn source_of(&self, handle: u32) -> &str;
}

/// Makes a [`Part`].
pub trait Build: Default {
    /// What it makes.
    type Part: Part;
    /// How many subscriptions were added.
    fn count(&self) -> usize;
    /// Adds a subscription of another part.
    fn copy(&mut self, part: &Self::Part, handle: u32);
    /// What was added.
    fn finish(self) -> Self::Part;
}

/// A segment of an index at one time.
pub struct View<S> {
    /// What was added together.
    pub segment: Arc<S>,
    /// What was removed since, by handle.
    pub removed: Arc<Removed>,
}

impl<S> Clone for View<S> {
    fn clone(&self) -> View<S> {
        View {
            segment: Arc::clone(&self.segment),
            removed: Arc::clone(&self.removed),
        }
    }
}

impl<S: Part> View<S> {
    fn new(segment: S) -> View<S> {
        View {
            segment: Arc::new(segment),
            removed: Arc::new(Removed::default()),
        }
    }

    /// How many subscriptions are left.
    pub fn count(&self) -> usize {
        self.segment.roster().count() - self.removed.count
    }

    /// The handle of an id that is still there.
    pub fn find(&self, id: &str) -> Option<u32> {
        let handle = self.segment.roster().find(id)?;
        (!self.removed.contains(handle)).then_some(handle)
    }

    /// The handles that are still there.
    fn live(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.segment.roster().count() as u32).filter(|&handle| !self.removed.contains(handle))
    }
}

/// Removed handles.
#[derive(Clone, Default)]
pub struct Removed {
    bits: Vec<u64>,
    count: usize,
}

impl Removed {
    /// Whether nothing was removed.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether a handle was removed.
    #[inline]
    pub fn contains(&self, handle: u32) -> bool {
        self.bits
            .get(handle as usize / 64)
            .is_some_and(|word| word >> (handle % 64) & 1 == 1)
    }

    fn insert(&mut self, handle: u32) {
        let word = handle as usize / 64;
        if self.bits.len() <= word {
            self.bits.resize(word + 1, 0);
        }
        self.bits[word] |= 1 << (handle % 64);
        self.count += 1;
    }
}

/// Why a subscription was not added.
#[derive(Debug)]
pub enum AddError {
    /// Its query.
    Query(QueryRefusal),
    /// Its id is taken.
    Duplicate,
}

/// What is added and not yet in a segment.
#[derive(Default)]
struct Tail<B> {
    builder: B,
    ids: HashSet<Box<str>>,
}

/// A set of subscriptions that changes.
pub struct Store<B: Build> {
    views: Vec<View<B::Part>>,
    tail: Tail<B>,
}

/// The subscriptions at one time.
pub struct Snapshot<S> {
    /// Oldest first.
    pub views: Vec<View<S>>,
}

impl<S> Clone for Snapshot<S> {
    fn clone(&self) -> Snapshot<S> {
        Snapshot {
            views: self.views.clone(),
        }
    }
}

impl<B: Build> Default for Store<B> {
    fn default() -> Store<B> {
        Store {
            views: Vec::new(),
            tail: Tail::default(),
        }
    }
}

impl<B: Build> Store<B> {
    /// An index of one segment, as it was loaded.
    pub fn from_segment(segment: B::Part) -> Store<B> {
        Store {
            views: vec![View::new(segment)],
            tail: Tail::default(),
        }
    }

    /// How many subscriptions there are.
    pub fn count(&self) -> usize {
        self.views.iter().map(View::count).sum::<usize>() + self.tail.builder.count()
    }

    /// Whether the id is there.
    pub fn contains(&self, id: &str) -> bool {
        self.tail.ids.contains(id) || self.views.iter().any(|view| view.find(id).is_some())
    }

    /// Adds a subscription whose id is new by means of `add`.
    pub fn add_by(
        &mut self,
        id: &str,
        add: impl FnOnce(&mut B) -> Result<(), QueryRefusal>,
    ) -> Result<(), AddError> {
        if self.contains(id) {
            return Err(AddError::Duplicate);
        }
        add(&mut self.tail.builder).map_err(AddError::Query)?;
        self.tail.ids.insert(id.into());
        Ok(())
    }

    /// Removes a subscription; whether it was there.
    pub fn remove(&mut self, id: &str) -> bool {
        if self.tail.ids.contains(id) {
            self.settle();
        }
        for view in &mut self.views {
            if let Some(handle) = view.find(id) {
                Arc::make_mut(&mut view.removed).insert(handle);
                return true;
            }
        }
        false
    }

    /// The query of an id as it was given.
    pub fn query(&mut self, id: &str) -> Option<String> {
        if self.tail.ids.contains(id) {
            self.settle();
        }
        self.views
            .iter()
            .find_map(|view| Some(view.segment.source_of(view.find(id)?).to_owned()))
    }

    /// The subscriptions as they are now.
    pub fn snapshot(&mut self) -> Snapshot<B::Part> {
        self.settle();
        Snapshot {
            views: self.views.clone(),
        }
    }

    /// Makes a segment of what was added.
    fn settle(&mut self) {
        if self.tail.builder.count() == 0 {
            return;
        }
        let tail = std::mem::take(&mut self.tail);
        self.views.push(View::new(tail.builder.finish()));
        self.views.retain(|view| view.count() > 0);
        while self.views.len() > SEGMENTS_MAX {
            self.views
                .sort_by_key(|view| std::cmp::Reverse(view.count()));
            let smallest = self.views.split_off(self.views.len() - 2);
            self.views.push(View::new(merge::<B>(&smallest)));
        }
    }

    /// Everything in one segment, without what was removed.
    pub fn compacted(&mut self) -> Arc<B::Part> {
        self.settle();
        match self.views.as_slice() {
            [view] if view.removed.is_empty() => Arc::clone(&view.segment),
            views => Arc::new(merge::<B>(views)),
        }
    }
}

fn merge<B: Build>(views: &[View<B::Part>]) -> B::Part {
    let mut builder = B::default();
    for view in views {
        for handle in view.live() {
            builder.copy(&view.segment, handle);
        }
    }
    builder.finish()
}
