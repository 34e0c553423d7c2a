//! Handles: one numbering of the subscriptions of a snapshot, across its segments.
//!
//! A handle is the slot of a subscription plus the base of its segment, so the handles of a class
//! are contiguous and expanding a class costs one range, however many subscribe to it. The order in
//! which subscriptions were added is looked up on demand.

use crate::subscription_store::header_tests::HeaderTests;
use crate::subscription_store::store::{IndexSegment, RemovedRows, Snapshot};
use crate::subscription_store::subscription_table::SubscriptionTable;

/// A snapshot whose subscriptions have handles.
pub struct NumberedSnapshot<S> {
    /// The segments.
    pub snapshot: Snapshot<S>,
    /// By view: the handle of its first slot.
    bases: Vec<u32>,
    count: u32,
}

impl<S: IndexSegment> NumberedSnapshot<S> {
    /// Numbers the subscriptions of a snapshot.
    pub fn new(snapshot: Snapshot<S>) -> NumberedSnapshot<S> {
        let mut count = 0;
        let bases = snapshot.views.iter().map(|view| {
            let base = count;
            count += view.segment.subscriptions().count() as u32;
            base
        });
        NumberedSnapshot {
            bases: bases.collect(),
            snapshot,
            count,
        }
    }

    /// Upper bound of the handles.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Expands the classes of a view to handles.
    #[inline]
    pub fn handle_expansion(&self, view: usize) -> HandleExpansion<'_> {
        let base = self.bases[view];
        let view = &self.snapshot.views[view];
        HandleExpansion {
            base,
            subscriptions: view.segment.subscriptions(),
            removed: (!view.removed.is_empty()).then_some(&*view.removed),
        }
    }

    /// The view and the row of a handle.
    pub fn locate(&self, handle: u32) -> (usize, u32) {
        let view = self.bases.partition_point(|&base| base <= handle) - 1;
        let subscriptions = self.snapshot.views[view].segment.subscriptions();
        let slot = handle - self.bases[view];
        (view, subscriptions.slot_rows[slot as usize])
    }

    /// The subscriptions of distinct handles, in the order in which they were added: how many others were
    /// added before each.
    pub fn in_order_added(&self, handles: &[u32]) -> Vec<u32> {
        let added_before = |&handle: &u32| {
            let (view, row) = self.locate(handle);
            self.bases[view] + row
        };
        if let [view] = &*self.snapshot.views {
            let rows = &view.segment.subscriptions().slot_rows;
            let row = |&handle: &u32| rows[handle as usize];
            return ascending(handles.iter().map(row), self.count);
        }
        ascending(handles.iter().map(added_before), self.count)
    }

    /// The subscriptions of each view, in the order of [`NumberedSnapshot::in_order_added`].
    pub fn subscription_tables(&self) -> impl Iterator<Item = &SubscriptionTable> {
        self.snapshot
            .views
            .iter()
            .map(|view| view.segment.subscriptions())
    }

    /// The view and the class of a handle.
    pub fn class_of(&self, handle: u32) -> (usize, u32) {
        let (view, row) = self.locate(handle);
        let subscriptions = self.snapshot.views[view].segment.subscriptions();
        (view, subscriptions.row_classes[row as usize])
    }

    /// The id of a handle.
    pub fn id(&self, handle: u32) -> &str {
        let (view, row) = self.locate(handle);
        self.snapshot.views[view]
            .segment
            .subscriptions()
            .ids
            .get(row)
    }

    /// The handle of an id.
    pub fn handle(&self, id: &str) -> Option<u32> {
        self.snapshot
            .views
            .iter()
            .zip(&self.bases)
            .find_map(|(view, base)| {
                let row = view.find(id)?;
                Some(base + view.segment.subscriptions().slot_of(row))
            })
    }

    /// The header tests of a handle.
    pub fn header_tests(&self, handle: u32) -> HeaderTests {
        let (view, class) = self.class_of(handle);
        self.snapshot.views[view].segment.header_tests_of(class)
    }

    /// The query of a handle as it was submitted.
    pub fn source(&self, handle: u32) -> &str {
        let (view, row) = self.locate(handle);
        self.snapshot.views[view].segment.source_of(row)
    }
}

/// Bits of a bitmap that are listed at once.
const BITS_AT_ONCE: usize = 4;

/// Distinct numbers below `bound`, sorted: many of them by a bitmap, in linear time.
fn ascending(numbers: impl ExactSizeIterator<Item = u32>, bound: u32) -> Vec<u32> {
    let words = (bound as usize).div_ceil(u64::BITS as usize);
    if numbers.len() < words {
        let mut sorted: Vec<u32> = numbers.collect();
        sorted.sort_unstable();
        return sorted;
    }
    let count = numbers.len();
    let mut bitmap = vec![0u64; words];
    for number in numbers {
        bitmap[(number / u64::BITS) as usize] |= 1 << (number % u64::BITS);
    }
    // Most words have few bits: some are written whatever there is, so that no branch has to be predicted.
    let mut sorted = vec![0; count + BITS_AT_ONCE];
    let mut end = 0;
    for (first, mut word) in (0..).step_by(u64::BITS as usize).zip(bitmap) {
        let bits = word.count_ones() as usize;
        for at in (0..bits).step_by(BITS_AT_ONCE) {
            for number in &mut sorted[end + at..][..BITS_AT_ONCE] {
                *number = first + word.trailing_zeros();
                word &= word.wrapping_sub(1);
            }
        }
        end += bits;
    }
    sorted.truncate(end);
    sorted
}

/// Expands the classes of a view to the handles of their subscriptions.
pub struct HandleExpansion<'a> {
    base: u32,
    subscriptions: &'a SubscriptionTable,
    /// `None` where no subscription was removed.
    removed: Option<&'a RemovedRows>,
}

impl HandleExpansion<'_> {
    /// Appends the handles of distinct classes.
    #[inline]
    pub fn expand_all(&self, classes: &[u32], handles: &mut Vec<u32>) {
        if self.removed.is_none() && self.subscriptions.slots_are_classes() {
            handles.extend(classes.iter().map(|class| self.base + class));
            return;
        }
        for &class in classes {
            self.expand(class, handles);
        }
    }

    /// Appends the handles of a class.
    #[inline]
    pub fn expand(&self, class: u32, handles: &mut Vec<u32>) {
        let slots = self.subscriptions.slots_of(class);
        match self.removed {
            None => {
                for slot in slots {
                    handles.push(self.base + slot);
                }
            }
            Some(removed) => handles.extend(
                slots
                    .filter(|&slot| !removed.contains(self.subscriptions.slot_rows[slot as usize]))
                    .map(|slot| self.base + slot),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path_index::segment::Segment;
    use crate::path_index::subscription_index::PathIndex;
    use crate::xpath::Namespaces;

    #[test]
    fn handles_of_equal_queries_are_contiguous_and_lead_back_to_their_ids() {
        let mut index = PathIndex::default();
        let none = Namespaces::default();
        for (id, query) in [("a", "/x"), ("b", "/y"), ("c", "/x"), ("d", "/z")] {
            index.add(id, query, &none).expect("a query");
        }
        let first = index.snapshot();
        index.add("e", "/x", &none).expect("a query");
        index.remove("a");
        let numbered = NumberedSnapshot::new(index.snapshot());
        assert_eq!(first.views.len() + 1, numbered.snapshot.views.len());
        let handles: Vec<u32> = ["b", "c", "d", "e"]
            .map(|id| numbered.handle(id).expect("there"))
            .to_vec();
        assert!(numbered.handle("a").is_none());
        for (&handle, id) in handles.iter().zip(["b", "c", "d", "e"]) {
            assert_eq!(numbered.id(handle), id);
        }
        let added = |handles: &[u32]| numbered.in_order_added(handles);
        assert_eq!(
            added(&[handles[3], handles[0], handles[2], handles[1]]),
            [1, 2, 3, 4]
        );
        assert_eq!(added(&handles[3..]), [4]);
        let expanded = |numbered: &NumberedSnapshot<Segment>, view, id| {
            let (_, class) = numbered.class_of(numbered.handle(id).expect("there"));
            let mut handles = Vec::new();
            numbered.handle_expansion(view).expand(class, &mut handles);
            handles
        };
        assert_eq!(expanded(&numbered, 0, "c"), [handles[1]]);
        assert_eq!(expanded(&numbered, 1, "e"), [handles[3]]);
        let before = NumberedSnapshot::new(first);
        let (a, c) = (before.handle("a").unwrap(), before.handle("c").unwrap());
        assert_eq!(expanded(&before, 0, "a"), [a, c]);
        assert_eq!(c, a + 1);
    }

    #[test]
    fn few_and_many_numbers_are_sorted() {
        for count in [0, 1, 3, 15, 16, 17, 500, 1000] {
            let numbers = (0..count).map(|at| at * 617 % 1009);
            let sorted = ascending(numbers.clone(), 1009);
            assert!(sorted.is_sorted_by(|a, b| a < b));
            assert_eq!(sorted.len(), numbers.len());
            assert!(numbers.into_iter().all(|number| sorted.contains(&number)));
        }
    }
}
