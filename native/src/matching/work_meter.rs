//! Counts the steps that a document takes, and attributes them to the parts of the index that
//! cause them.
//!
//! A step is a unit of work of roughly a nanosecond. Steps depend on the document and the index,
//! not on the clock or on what the caches contain, so that the same document always takes the same
//! number. While much of the budget is left, steps are only counted; past a threshold they are also
//! attributed, so that documents within their budget pay nothing for it.

use crate::events::{Stop, WORK_SPENT};
use crate::matching::bit_set::BitSet;
use crate::matching::segment_run::WorkBudget;
use crate::path_index::segment::Segment;

/// Steps to attribute some steps.
const STEPS_PER_ATTRIBUTION: i64 = 2;

/// Steps to find out that a trie node was dropped.
const STEPS_PER_DROPPED_NODE: i64 = 4;

/// The steps of a document so far.
#[derive(Default)]
pub(super) struct WorkMeter {
    /// Steps that are left; negative once the budget is spent.
    remaining: i64,
    /// The next call of [`WorkMeter::check`] with less than this acts.
    acts_below: i64,
    attribution: Option<Box<Attribution>>,
    /// Numbers of operands and trie nodes.
    sizes: (usize, usize),
    /// Steps that one trie node may take.
    node_quota: u64,
}

/// Steps by the part of the index that caused them.
#[derive(Default)]
pub struct Attribution {
    /// By operand.
    pub operands: Vec<u64>,
    /// By trie node.
    pub nodes: Vec<u64>,
    /// The trie nodes that exceeded their quota and are no longer evaluated.
    dropped: BitSet,
}

impl WorkMeter {
    /// A meter for the parts of `segment`.
    pub fn new(segment: &Segment) -> WorkMeter {
        WorkMeter {
            sizes: (segment.operands.len(), segment.parent_links.len()),
            ..WorkMeter::default()
        }
    }

    /// Begins a document.
    pub fn begin(&mut self, budget: WorkBudget) {
        self.remaining = budget.steps;
        self.acts_below = budget.attributed_below;
        self.node_quota = budget.node_quota;
        self.attribution = None;
    }

    /// Whether a conditional trie node may be evaluated. Once it has exceeded its quota, it is
    /// dropped: only the classes after it depend on it.
    #[inline]
    pub fn allows_node(&mut self, node: u32) -> bool {
        let Some(attribution) = &mut self.attribution else {
            return true;
        };
        let is_allowed = attribution.allows_node(node, self.node_quota);
        if !is_allowed {
            self.remaining -= STEPS_PER_DROPPED_NODE;
        }
        is_allowed
    }

    /// Steps that are left.
    #[inline]
    pub fn remaining(&self) -> i64 {
        self.remaining
    }

    /// Sets the steps that are left, after another run spent some.
    #[inline]
    pub fn set_remaining(&mut self, remaining: i64) {
        self.remaining = remaining;
    }

    /// Whether the budget is spent.
    #[inline]
    pub fn is_spent(&self) -> bool {
        self.remaining < 0
    }

    /// Counts steps that no single part of the index causes.
    #[inline(always)]
    pub fn spend(&mut self, steps: usize) {
        self.remaining -= steps as i64;
    }

    /// Counts steps that an operand causes.
    #[inline(always)]
    pub fn spend_on_operand(&mut self, operand: u32, steps: usize) {
        self.remaining -= steps as i64;
        if let Some(attribution) = &mut self.attribution {
            self.remaining -= STEPS_PER_ATTRIBUTION;
            attribution.add_to_operand(operand, steps);
        }
    }

    /// Counts steps that a trie node causes.
    #[inline(always)]
    pub fn spend_on_node(&mut self, node: u32, steps: usize) {
        self.remaining -= steps as i64;
        if let Some(attribution) = &mut self.attribution {
            self.remaining -= STEPS_PER_ATTRIBUTION;
            attribution.add_to_node(node, steps);
        }
    }

    /// The attributed steps, if they are attributed.
    #[inline]
    pub fn attribution(&mut self) -> Option<&mut Attribution> {
        self.attribution.as_deref_mut()
    }

    /// No attributed steps.
    pub fn new_attribution(&self) -> Attribution {
        Attribution {
            operands: vec![0; self.sizes.0],
            nodes: vec![0; self.sizes.1],
            dropped: BitSet::new(self.sizes.1),
        }
    }

    /// Takes the attributed steps.
    pub fn take_attribution(&mut self) -> Attribution {
        self.attribution
            .take()
            .map_or_else(Attribution::default, |attribution| *attribution)
    }

    /// Stops the document if its budget is spent.
    #[inline(always)]
    pub fn check(&mut self) -> Result<(), Stop> {
        if self.remaining < self.acts_below {
            return self.act();
        }
        Ok(())
    }

    #[cold]
    fn act(&mut self) -> Result<(), Stop> {
        if self.remaining < 0 {
            return Err(Stop {
                code: WORK_SPENT,
                message: "the work budget of the document is spent".to_owned(),
            });
        }
        self.attribution = Some(Box::new(self.new_attribution()));
        self.acts_below = 0;
        Ok(())
    }
}

impl Attribution {
    /// The trie nodes that were dropped.
    pub fn dropped(&self) -> impl Iterator<Item = u32> + '_ {
        let nodes = 0..self.nodes.len() as u32;
        nodes.filter(|&node| self.dropped.contains(node))
    }

    /// Attributes steps to an operand.
    #[inline(never)]
    pub fn add_to_operand(&mut self, operand: u32, steps: usize) {
        self.operands[operand as usize] += steps as u64;
    }

    #[inline(never)]
    fn allows_node(&mut self, node: u32, quota: u64) -> bool {
        let is_within = self.nodes[node as usize] <= quota;
        if !is_within {
            self.dropped.insert(node);
        }
        is_within
    }

    /// Attributes steps to a trie node.
    #[inline(never)]
    pub fn add_to_node(&mut self, node: u32, steps: usize) {
        self.nodes[node as usize] += steps as u64;
    }
}
