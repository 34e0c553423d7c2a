//! Restricts a segment to a part of its classes.
//!
//! A segment is immutable, so a restricted run leaves out what only other classes use when it
//! fills its caches: trie nodes, conditions, operands and comparisons.

use crate::matching::bit_set::BitSet;
use crate::matching::class_costs::PartsOfClasses;
use crate::matching::class_parts::ClassParts;
use crate::path_index::segment::{Segment, DIRECT_CLASS};

/// The part of a segment that its remaining classes use.
pub(super) struct ClassRestriction {
    set_aside: BitSet,
    nodes: BitSet,
    /// Structural trie nodes with the operands that their elements record, sorted.
    required: Vec<(u32, u32)>,
    /// By operand: the comparisons that use it.
    comparisons: Vec<u32>,
}

impl ClassRestriction {
    /// Restricts `segment`, whose classes use `parts`, to the classes that are not in `set_aside`.
    pub fn new(segment: &Segment, parts: &ClassParts, set_aside: BitSet) -> ClassRestriction {
        let mut restriction = ClassRestriction {
            set_aside,
            nodes: BitSet::new(segment.parent_links.len()),
            required: Vec::new(),
            comparisons: vec![0; segment.operands.len()],
        };
        let nodes = segment.parent_links.len() as u32;
        let mut probed = BitSet::new(parts.required().len() + parts.comparisons().len());
        for class in 0..parts.class_count() {
            if restriction.set_aside.contains(class) {
                continue;
            }
            // Nodes come before operands.
            let own = parts.parts_of(class).iter();
            for &node in own.take_while(|&&part| part < nodes) {
                restriction.nodes.insert(node);
            }
            for &number in parts.probed_by(class) {
                probed.insert(number);
            }
        }
        for (number, &pair) in (0..).zip(parts.required()) {
            if probed.contains(number) {
                restriction.required.push(pair);
            }
        }
        let comparisons = (parts.required().len() as u32..).zip(parts.comparisons());
        for (number, &(operand, comparison)) in comparisons {
            if probed.contains(number) {
                restriction.comparisons[operand as usize] |= 1 << comparison;
            }
        }
        restriction
    }

    /// Whether a class takes part.
    #[inline]
    pub fn has_class(&self, class: u32) -> bool {
        !self.set_aside.contains(class)
    }

    /// Whether a class that takes part uses the trie node, or the class that stands for one.
    #[inline]
    pub fn has_node(&self, node: u32) -> bool {
        match node & DIRECT_CLASS {
            0 => self.nodes.contains(node),
            _ => self.has_class(node & !DIRECT_CLASS),
        }
    }

    /// Whether elements at the structural trie node record the operand.
    pub fn requires(&self, node: u32, operand: u32) -> bool {
        self.required.binary_search(&(node, operand)).is_ok()
    }

    /// The comparisons that use an operand, as bits.
    pub fn comparisons(&self, operand: u32) -> u32 {
        self.comparisons[operand as usize]
    }
}
