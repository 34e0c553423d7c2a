//! First nodes: `contains(p, 'x')` looks at the first node that `p` selects, in document order.
//!
//! A slot of which the first node matters keeps one node: the literals found in it, and its place in the
//! document. On their way up, of two nodes that meet in a slot the earlier one stays. Order of arrival
//! would not do: an element ends after those inside it, but comes before them.

use std::sync::Arc;

use hashbrown::HashMap;

use crate::matching::required_values::{FIRST, NOTHING};
use crate::matching::segment_run::Run;
use crate::matching::string_values::Value;
use crate::path_index::segment::{Comparison, Segment, SlotRecord};

/// The first node of a slot so far.
#[derive(Clone)]
struct First {
    slot: u32,
    /// Ascending in document order among nodes of one kind.
    order: u64,
    /// The literals found in it.
    literals: Arc<[u32]>,
}

/// The first nodes that the open elements hold.
pub(super) struct Firsts {
    nodes: Vec<First>,
    passed: Vec<First>,
    // By slot: the slot that shows the literals of its first node.
    shown_in: HashMap<u32, u32>,
}

impl Firsts {
    pub(super) fn new(segment: &Segment) -> Firsts {
        let slots = segment.slots.iter().enumerate();
        Firsts {
            nodes: Vec::new(),
            passed: Vec::new(),
            shown_in: slots
                .filter(|(_, record)| record.kind == SlotRecord::FIRST)
                .map(|(slot, record)| (record.inner, slot as u32))
                .collect(),
        }
    }

    pub(super) fn clear(&mut self) {
        self.nodes.clear();
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Takes note of a node of the innermost element, whose nodes begin at `start`.
    fn meet(&mut self, start: usize, node: First) {
        let own = &mut self.nodes[start..];
        match own.iter_mut().find(|other| other.slot == node.slot) {
            Some(other) if other.order <= node.order => {}
            Some(other) => *other = node,
            None => self.nodes.push(node),
        }
    }
}

impl Run {
    /// Takes note of a node in a slot of the innermost element, with the literals found in it.
    pub(super) fn hold_first(&mut self, slot: u32, order: u64, literals: &[u32]) {
        let frame = self.frames.last_mut().expect("an element is open");
        frame.busy = true;
        let start = frame.firsts;
        let literals = literals.into();
        self.firsts.meet(
            start,
            First {
                slot,
                order,
                literals,
            },
        );
    }

    /// The content of the innermost element is whole, and so its first nodes, from `start` on, are known.
    pub(super) fn settle_firsts(&mut self, segment: &Segment, holding: u32, start: usize) {
        for at in start..self.firsts.len() {
            let inner = self.firsts.nodes[at].slot;
            let Some(&slot) = self.firsts.shown_in.get(&inner) else {
                continue;
            };
            let asked = self.automaton.holdings.asked(holding, slot);
            if asked & Comparison::ALL == 0 {
                continue;
            }
            let literals = Arc::clone(&self.firsts.nodes[at].literals);
            for &literal in &*literals {
                self.hold(segment, Value::new(slot, (literal, f64::NAN)), asked);
            }
        }
    }

    /// Passes the first nodes from `start` on, of an element that just ended and had `holding`, to its
    /// parent.
    pub(super) fn pass_firsts_on(&mut self, segment: &Segment, holding: u32, start: usize) {
        let mut passed = std::mem::take(&mut self.firsts.passed);
        let (above, own) = match self.frames.last_mut() {
            Some(parent) => {
                parent.busy = true;
                let path = &self.automaton.paths[parent.path as usize];
                (path.holding, parent.firsts)
            }
            None => (NOTHING, 0),
        };
        let holdings = &self.automaton.holdings;
        for node in self.firsts.nodes.drain(start..) {
            for pass in holdings.passes_from(holding, node.slot) {
                if pass.asked & FIRST != 0 {
                    let slot = pass.to;
                    passed.push(First {
                        slot,
                        ..node.clone()
                    });
                }
            }
            let deep = segment.slots[node.slot as usize].kind == SlotRecord::DEEP;
            if deep && holdings.asked(above, node.slot) & FIRST != 0 {
                passed.push(node);
            }
        }
        if !passed.is_empty() && self.repeats.is_around(self.frames.len()) {
            self.repeats.give_up(); // the order of nodes is that of each copy
        }
        for node in passed.drain(..) {
            self.firsts.meet(own, node);
        }
        self.firsts.passed = passed;
    }
}
