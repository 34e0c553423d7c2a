//! The subscriptions of a snapshot under one numbering: handles that go through all its segments.
//!
//! Within a segment they are numbered class by class, so that the handles of a class follow one another:
//! telling a class is telling a range, however many subscribe to it. The order in which they were added is
//! looked up when someone asks.

use crate::subscription_store::store::{Part, Removed, Snapshot};
use crate::subscription_store::subscription_table::Roster;

/// A snapshot whose subscriptions are numbered.
pub struct Numbered<S> {
    /// The subscriptions.
    pub snapshot: Snapshot<S>,
    /// The handle of each view's first subscription.
    bases: Vec<u32>,
    count: u32,
}

impl<S: Part> Numbered<S> {
    /// Numbers the subscriptions of a snapshot.
    pub fn new(snapshot: Snapshot<S>) -> Numbered<S> {
        let mut count = 0;
        let bases = snapshot.views.iter().map(|view| {
            let base = count;
            count += view.segment.roster().count() as u32;
            base
        });
        Numbered {
            bases: bases.collect(),
            snapshot,
            count,
        }
    }

    /// All handles are below this.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// How the classes of a view become handles.
    #[inline]
    pub fn telling(&self, at: usize) -> Telling<'_> {
        let view = &self.snapshot.views[at];
        Telling {
            base: self.bases[at],
            roster: view.segment.roster(),
            removed: (!view.removed.is_empty()).then_some(&*view.removed),
        }
    }

    /// The view of a handle, and which of the view's subscriptions it is, in the order in which they were
    /// added.
    pub fn place_of(&self, handle: u32) -> (usize, u32) {
        let at = self.bases.partition_point(|&base| base <= handle) - 1;
        let roster = self.snapshot.views[at].segment.roster();
        (at, roster.class_handles[(handle - self.bases[at]) as usize])
    }

    /// How many subscriptions were added before that of a handle.
    pub fn added_before(&self, handle: u32) -> u32 {
        let (at, own) = self.place_of(handle);
        self.bases[at] + own
    }

    /// The view of a handle, and the class there.
    pub fn class_of(&self, handle: u32) -> (usize, u32) {
        let (at, own) = self.place_of(handle);
        let roster = self.snapshot.views[at].segment.roster();
        (at, roster.handle_classes[own as usize])
    }

    /// The id of a handle.
    pub fn id(&self, handle: u32) -> &str {
        let (at, own) = self.place_of(handle);
        self.snapshot.views[at].segment.roster().ids.get(own)
    }

    /// The handle of an id.
    pub fn handle(&self, id: &str) -> Option<u32> {
        let views = self.snapshot.views.iter().zip(&self.bases);
        views
            .filter_map(|(view, base)| Some(base + view.segment.roster().seat_of(view.find(id)?)))
            .next()
    }

    /// The query of a handle as it was given.
    pub fn source(&self, handle: u32) -> &str {
        let (at, own) = self.place_of(handle);
        self.snapshot.views[at].segment.source_of(own)
    }
}

/// How the classes of a view become handles.
pub struct Telling<'a> {
    base: u32,
    roster: &'a Roster,
    /// Nothing where no subscription was removed.
    removed: Option<&'a Removed>,
}

impl Telling<'_> {
    /// Adds the handles of a class.
    #[inline]
    pub fn add(&self, class: u32, handles: &mut Vec<u32>) {
        let seats = self.roster.seats_of(class);
        match self.removed {
            None => {
                for seat in seats {
                    handles.push(self.base + seat);
                }
            }
            Some(removed) => handles.extend(
                seats
                    .filter(|&seat| !removed.contains(self.roster.class_handles[seat as usize]))
                    .map(|seat| self.base + seat),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path_index::segment::Segment;
    use crate::path_index::subscription_index::Index;
    use crate::xpath::Namespaces;

    #[test]
    fn handles_of_equal_queries_follow_one_another_and_lead_back_to_their_ids() {
        let mut index = Index::default();
        let none = Namespaces::default();
        for (id, query) in [("a", "/x"), ("b", "/y"), ("c", "/x"), ("d", "/z")] {
            index.add(id, query, &none).expect("a query");
        }
        let first = index.snapshot();
        index.add("e", "/x", &none).expect("a query");
        index.remove("a");
        let numbered = Numbered::new(index.snapshot());
        assert_eq!(first.views.len() + 1, numbered.snapshot.views.len());
        let handles: Vec<u32> = ["b", "c", "d", "e"]
            .map(|id| numbered.handle(id).expect("there"))
            .to_vec();
        assert!(numbered.handle("a").is_none());
        for (&handle, id) in handles.iter().zip(["b", "c", "d", "e"]) {
            assert_eq!(numbered.id(handle), id);
        }
        let added: Vec<u32> = handles
            .iter()
            .map(|&handle| numbered.added_before(handle))
            .collect();
        assert_eq!(added, [1, 2, 3, 4]);
        let told = |numbered: &Numbered<Segment>, at, id| {
            let (_, class) = numbered.class_of(numbered.handle(id).expect("there"));
            let mut told = Vec::new();
            numbered.telling(at).add(class, &mut told);
            told
        };
        assert_eq!(told(&numbered, 0, "c"), [handles[1]]);
        assert_eq!(told(&numbered, 1, "e"), [handles[3]]);
        let before = Numbered::new(first);
        let (a, c) = (before.handle("a").unwrap(), before.handle("c").unwrap());
        assert_eq!(told(&before, 0, "a"), [a, c]);
        assert_eq!(c, a + 1);
    }
}
