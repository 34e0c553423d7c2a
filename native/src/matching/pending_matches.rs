//! Matches that wait for an open element to end, because its content or attributes may still
//! satisfy a condition.

use hashbrown::HashSet;

use crate::events::Stop;
use crate::matching::element_stack::OpenElement;

/// A match that waits for an open element to end.
#[derive(Clone, Copy, Debug)]
pub(super) struct PendingMatch {
    /// The depth of that element.
    depth: u32,
    /// The trie node whose conditions must be satisfied.
    pub node: u32,
    /// The structural trie node that the element is aligned with.
    pub structural: u32,
}

/// The pending matches of a document, each once.
pub(super) struct PendingMatches {
    list: Vec<PendingMatch>,
    /// Element number, node and structural node.
    known: HashSet<(u64, u32, u32), foldhash::fast::RandomState>,
    count_max: usize,
}

impl PendingMatches {
    /// No matches; at most `count_max` may be pending.
    pub fn new(count_max: usize) -> PendingMatches {
        PendingMatches {
            list: Vec::new(),
            known: HashSet::default(),
            count_max,
        }
    }

    /// Removes all matches.
    pub fn clear(&mut self) {
        self.list.clear();
        self.known.clear();
    }

    /// Adds a match that waits for the element at `depth`.
    pub fn add(
        &mut self,
        element: &mut OpenElement,
        depth: usize,
        node: u32,
        structural: u32,
    ) -> Result<(), Stop> {
        if self.known.insert((element.number, node, structural)) {
            element.pending += 1;
            element.acts_at_end = true;
            self.list.push(PendingMatch {
                depth: depth as u32,
                node,
                structural,
            });
        }
        if self.list.len() > self.count_max {
            return Err(Stop {
                code: "limit.candidates",
                message: format!(
                    "more than {} matches wait for elements to end",
                    self.count_max
                ),
            });
        }
        Ok(())
    }

    /// Removes the next match, at or after position `at`, that waits for the element at `depth`;
    /// sets `at` to where to continue.
    pub fn take_next(
        &mut self,
        element: &OpenElement,
        depth: usize,
        at: &mut usize,
    ) -> Option<PendingMatch> {
        while let Some(&pending) = self.list.get(*at) {
            if pending.depth as usize != depth {
                *at += 1;
                continue;
            }
            self.list.swap_remove(*at);
            let key = (element.number, pending.node, pending.structural);
            self.known.remove(&key);
            return Some(pending);
        }
        None
    }
}
