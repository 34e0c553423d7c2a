//! The subscriptions of a segment: ids, queries and classes.
//!
//! Subscriptions with equal queries have the same *class*. A subscription has two positions in its
//! segment: its *row*, in the order in which subscriptions were added, and its *slot*, which groups
//! the subscriptions of a class.

use std::any::Any;
use std::ops::Range;
use std::sync::OnceLock;

use crate::subscription_store::file_format::is_partition;
use crate::subscription_store::flat_layout::{
    FlatArray, StringArray, StringArrayBuilder, StringTable,
};

/// The subscriptions of a segment.
pub struct SubscriptionTable {
    /// By class: its first slot; one entry more than classes.
    pub class_starts: FlatArray<u32>,
    /// By slot: the row.
    pub slot_rows: FlatArray<u32>,
    /// By row: the class.
    pub row_classes: FlatArray<u32>,
    /// By row: the subscription's id.
    pub ids: StringArray,
    /// Finds the row of an id.
    pub id_table: StringTable,
    /// By row: the query as it was submitted; empty where the segment can derive it.
    pub sources: StringArray,
    /// What a language binding has derived from the table, such as the ids as strings of that language;
    /// not in files.
    pub binding_cache: OnceLock<Box<dyn Any + Send + Sync>>,
}

impl SubscriptionTable {
    /// How many subscriptions there are.
    pub fn count(&self) -> usize {
        self.row_classes.len()
    }

    /// How many classes there are.
    pub fn class_count(&self) -> usize {
        self.class_starts.len() - 1
    }

    /// Whether each class has one subscription, whose slot then is the number of the class.
    #[inline]
    pub fn slots_are_classes(&self) -> bool {
        self.class_count() == self.count()
    }

    /// The slots of a class.
    #[inline]
    pub fn slots_of(&self, class: u32) -> Range<u32> {
        // The matches of a document are spread over the table, so not reading it saves cache misses.
        if self.slots_are_classes() {
            return class..class + 1;
        }
        self.class_starts[class as usize]..self.class_starts[class as usize + 1]
    }

    /// The slot of a row.
    pub fn slot_of(&self, row: u32) -> u32 {
        let slots = self.slots_of(self.row_classes[row as usize]);
        let rows = &self.slot_rows[slots.start as usize..slots.end as usize];
        // The rows of a class ascend.
        slots.start + rows.partition_point(|&other| other < row) as u32
    }

    /// Whether the arrays fit together: each class has subscriptions, and each row is in the slots of
    /// its class, in ascending order.
    pub fn is_valid(&self) -> bool {
        let count = self.count();
        let starts = &self.class_starts;
        let has_valid_sizes = count < u32::MAX as usize
            && self.slot_rows.len() == count
            && self.ids.count() == count
            && self.sources.count() == count
            && is_partition(starts.iter().copied(), count as u32);
        has_valid_sizes
            && (0u32..).zip(starts.windows(2)).all(|(class, ends)| {
                let rows = &self.slot_rows[ends[0] as usize..ends[1] as usize];
                let is_own = |&row: &u32| self.row_classes.get(row as usize) == Some(&class);
                !rows.is_empty() && rows.is_sorted_by(|a, b| a < b) && rows.iter().all(is_own)
            })
    }

    /// The row of an id.
    pub fn find(&self, id: &str) -> Option<u32> {
        self.id_table.find(&self.ids, id.as_bytes())
    }
}

/// Builds a [`SubscriptionTable`].
#[derive(Default)]
pub struct SubscriptionTableBuilder {
    row_classes: Vec<u32>,
    ids: StringArrayBuilder,
    sources: StringArrayBuilder,
}

impl SubscriptionTableBuilder {
    /// How many subscriptions were added.
    pub fn count(&self) -> usize {
        self.row_classes.len()
    }

    /// Adds a subscription to a class.
    pub fn add(&mut self, id: &str, source: &str, class: u32) {
        self.row_classes.push(class);
        self.ids.push(id);
        self.sources.push(source);
    }

    /// The finished table.
    pub fn finish(self, class_count: usize) -> SubscriptionTable {
        let (class_starts, slot_rows) = group_by_class(&self.row_classes, class_count);
        let ids = self.ids.finish();
        SubscriptionTable {
            class_starts: class_starts.into(),
            slot_rows: slot_rows.into(),
            row_classes: self.row_classes.into(),
            id_table: StringTable::build(&ids),
            ids,
            sources: self.sources.finish(),
            binding_cache: OnceLock::new(),
        }
    }
}

/// The first slot of each class, and the row of each slot.
fn group_by_class(classes: &[u32], class_count: usize) -> (Vec<u32>, Vec<u32>) {
    let mut starts = vec![0u32; class_count + 1];
    for &class in classes {
        starts[class as usize + 1] += 1;
    }
    for at in 1..starts.len() {
        starts[at] += starts[at - 1];
    }
    let mut next = starts.clone();
    let mut rows = vec![0; classes.len()];
    for (row, &class) in classes.iter().enumerate() {
        rows[next[class as usize] as usize] = row as u32;
        next[class as usize] += 1;
    }
    (starts, rows)
}
