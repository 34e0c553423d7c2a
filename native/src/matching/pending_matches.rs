//! Matches that wait for an open element to end, because its content or attributes may still
//! satisfy a condition.

use hashbrown::HashSet;

use crate::events::{Stop, CANDIDATES_HELD};
use crate::matching::element_stack::OpenElement;

/// A match that waits for an open element to end.
#[derive(Clone, Copy, Debug)]
pub(super) struct PendingMatch {
    /// The trie node whose conditions must be satisfied.
    pub node: u32,
    /// The structural trie node that the element is aligned with.
    pub structural: u32,
}

/// The pending matches of a document, each once.
pub(super) struct PendingMatches {
    /// By the depth of the element.
    by_depth: Vec<Vec<PendingMatch>>,
    /// Element number, node and structural node.
    known: HashSet<(u64, u32, u32), foldhash::fast::RandomState>,
    count_max: usize,
}

impl PendingMatches {
    /// No matches; at most `count_max` may be pending.
    pub fn new(count_max: usize) -> PendingMatches {
        PendingMatches {
            by_depth: Vec::new(),
            known: HashSet::default(),
            count_max,
        }
    }

    /// Removes all matches.
    pub fn clear(&mut self) {
        if !self.known.is_empty() {
            self.by_depth.iter_mut().for_each(Vec::clear);
            self.known.clear();
        }
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
            if self.by_depth.len() <= depth {
                self.by_depth.resize_with(depth + 1, Vec::new);
            }
            self.by_depth[depth].push(PendingMatch { node, structural });
        }
        if self.known.len() > self.count_max {
            return Err(Stop {
                code: CANDIDATES_HELD,
                message: format!(
                    "more than {} matches wait for elements to end",
                    self.count_max
                ),
            });
        }
        Ok(())
    }

    /// Whether too many are pending.
    pub fn is_full(&self) -> bool {
        self.known.len() > self.count_max
    }

    /// The trie nodes of all pending matches.
    pub fn nodes(&self) -> impl Iterator<Item = u32> + '_ {
        self.by_depth.iter().flatten().map(|pending| pending.node)
    }

    /// Removes a match that waits for the element at `depth`.
    pub fn take(&mut self, element: &OpenElement, depth: usize) -> Option<PendingMatch> {
        let pending = self.by_depth.get_mut(depth)?.pop()?;
        let key = (element.number, pending.node, pending.structural);
        self.known.remove(&key);
        Some(pending)
    }
}
