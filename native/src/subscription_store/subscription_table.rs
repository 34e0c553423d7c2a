//! Who subscribes to what: the subscriptions of a segment, by handle, and their classes.

use std::ops::Range;

use crate::subscription_store::flat_layout::{Flat, TextTable, Texts, TextsBuilder};

/// The subscriptions of a segment. Those with equal queries have the same class.
pub struct Roster {
    /// By class, one more than there are: where its handles begin in `class_handles`.
    pub class_starts: Flat<u32>,
    /// Handles by class.
    pub class_handles: Flat<u32>,
    /// By handle: the class.
    pub handle_classes: Flat<u32>,
    /// By handle: the subscription's id.
    pub ids: Texts,
    /// Finds a handle by id.
    pub id_table: TextTable,
    /// By handle: the query as it was given; a segment may leave out what it can tell itself.
    pub sources: Texts,
}

impl Roster {
    /// How many subscriptions there are.
    pub fn count(&self) -> usize {
        self.handle_classes.len()
    }

    /// How many classes there are.
    pub fn class_count(&self) -> usize {
        self.class_starts.len() - 1
    }

    /// Where the handles of a class stand in `class_handles`.
    #[inline]
    pub fn seats_of(&self, class: u32) -> Range<u32> {
        // Where each class is one subscription, classes are seats: a document's matches are all over the table.
        if self.class_count() == self.count() {
            return class..class + 1;
        }
        self.class_starts[class as usize]..self.class_starts[class as usize + 1]
    }

    /// Where a handle stands in `class_handles`.
    pub fn seat_of(&self, handle: u32) -> u32 {
        let seats = self.seats_of(self.handle_classes[handle as usize]);
        let of_class = &self.class_handles[seats.start as usize..seats.end as usize];
        // Those of a class stand there in the order in which they were added.
        seats.start + of_class.partition_point(|&other| other < handle) as u32
    }

    /// The handle of an id.
    pub fn find(&self, id: &str) -> Option<u32> {
        self.id_table.find(&self.ids, id.as_bytes())
    }
}

/// Collects subscriptions for a [`Roster`].
#[derive(Default)]
pub struct RosterBuilder {
    handle_classes: Vec<u32>,
    ids: TextsBuilder,
    sources: TextsBuilder,
}

impl RosterBuilder {
    /// How many subscriptions were added.
    pub fn count(&self) -> usize {
        self.handle_classes.len()
    }

    /// Adds a subscription to a class.
    pub fn add(&mut self, id: &str, source: &str, class: u32) {
        self.handle_classes.push(class);
        self.ids.push(id);
        self.sources.push(source);
    }

    /// All of them, with handles in the order in which they were added.
    pub fn finish(self, class_count: usize) -> Roster {
        let (class_starts, class_handles) = group(&self.handle_classes, class_count);
        let ids = self.ids.finish();
        Roster {
            class_starts: class_starts.into(),
            class_handles: class_handles.into(),
            handle_classes: self.handle_classes.into(),
            id_table: TextTable::build(&ids),
            ids,
            sources: self.sources.finish(),
        }
    }
}

/// Handles by class: where each class's begin, and all of them.
fn group(classes: &[u32], class_count: usize) -> (Vec<u32>, Vec<u32>) {
    let mut starts = vec![0u32; class_count + 1];
    for &class in classes {
        starts[class as usize + 1] += 1;
    }
    for at in 1..starts.len() {
        starts[at] += starts[at - 1];
    }
    let mut next = starts.clone();
    let mut handles = vec![0; classes.len()];
    for (handle, &class) in classes.iter().enumerate() {
        handles[next[class as usize] as usize] = handle as u32;
        next[class as usize] += 1;
    }
    (starts, handles)
}
