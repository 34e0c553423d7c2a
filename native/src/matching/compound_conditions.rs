//! Joint conditions: several that one nested element must meet, as in `[a[@k = '1']/b = 'x']`.
//!
//! They are filed like the conditions of a query, in a trie of their own for each set of slots. When an
//! element ends, its values lead through that trie; the nodes they reach are values in turn, which go up
//! like all others, to where a condition asks for the node at the end of its own.

use crate::matching::conditions::met;
use crate::matching::segment_run::Run;
use crate::matching::string_values::Value;
use crate::path_index::segment::Segment;

impl Run {
    /// Holds which joint conditions the innermost element meets, whose values begin at `start`.
    pub(super) fn settle_joints(&mut self, segment: &Segment, holding: u32, start: usize) {
        let mut reached = std::mem::take(&mut self.passed);
        let mut open = std::mem::take(&mut self.found);
        let values = &self.values[start..];
        for (slot, asked) in self.automaton.holdings.joints(segment, holding) {
            let mut node = segment.slots[slot as usize].inner;
            loop {
                let known = open.len();
                met(segment, segment.conditions_of(node), values, &mut open);
                // Several values may meet one condition.
                open[known..].sort_unstable();
                dedup_from(&mut open, known);
                let Some(next) = open.pop() else {
                    break;
                };
                node = next;
                reached.push((Value::new(slot, (node, f64::NAN)), asked));
            }
        }
        self.found = open;
        for (value, asked) in reached.drain(..) {
            self.hold(segment, value, asked);
        }
        self.passed = reached;
    }
}

/// Leaves out repetitions among the items from `start` on, which are sorted.
fn dedup_from(items: &mut Vec<u32>, start: usize) {
    let mut kept = start;
    for at in start..items.len() {
        if kept == start || items[kept - 1] != items[at] {
            items[kept] = items[at];
            kept += 1;
        }
    }
    items.truncate(kept);
}
