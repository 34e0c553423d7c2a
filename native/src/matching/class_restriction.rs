//! Restricts a segment to a part of its classes.
//!
//! A segment is immutable, so a restricted run leaves out what only other classes use when it
//! fills its caches: trie nodes, conditions, operands and comparisons.

use crate::matching::bit_set::BitSet;
use crate::matching::class_parts::{ClassParts, Part};
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
        for &branch in parts.branches() {
            if restriction.set_aside.contains(branch.class) {
                continue;
            }
            parts.for_each_part(segment, branch, &mut |part| match part {
                Part::Node(node) => drop(restriction.nodes.insert(node)),
                Part::Operand(_) => {}
                Part::Comparison(operand, comparison) => {
                    restriction.comparisons[operand as usize] |= 1 << comparison;
                }
                Part::Required(node, operand) => {
                    restriction.required.push((node, operand));
                }
            });
        }
        restriction.required.sort_unstable();
        restriction.required.dedup();
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
