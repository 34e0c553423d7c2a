//! Alignment of the steps to a trie node with the elements of a label path.
//!
//! A set of depths is a bit set, so that a step is a shift or a comparison.

use crate::matching::automaton::{Automaton, ROOT_PATH};
use crate::path_index::segment::{ParentLink, Segment, ROOT};

/// Depths of a label path; bit 0 is the root element.
pub(super) type DepthSet = u128;

/// A deeper path is not aligned; what depends on its alignment is verified.
const ALIGNED_DEPTH_MAX: usize = DepthSet::BITS as usize;

/// Where on one label path each name test is passed.
#[derive(Default)]
pub(super) struct PathAlignment {
    depth: usize,
    passed: Vec<(u32, DepthSet)>,
    symbols: Vec<u32>,
    steps: Vec<AlignedStep>,
}

struct AlignedStep {
    is_descendant: bool,
    depths: DepthSet,
}

impl PathAlignment {
    /// Prepares the path with these symbols, the root element's first; `false` if it is too deep.
    pub fn set_symbols(
        &mut self,
        automaton: &Automaton,
        symbols: impl Iterator<Item = u32>,
    ) -> bool {
        self.passed.clear();
        self.depth = 0;
        for symbol in symbols {
            if self.depth == ALIGNED_DEPTH_MAX {
                return false;
            }
            for &test in automaton.alphabet.tests_of(symbol) {
                match self.passed.iter_mut().find(|known| known.0 == test) {
                    Some(known) => known.1 |= 1 << self.depth,
                    None => self.passed.push((test, 1 << self.depth)),
                }
            }
            self.depth += 1;
        }
        true
    }

    /// Prepares a path; `false` if it is too deep.
    pub fn set_path(&mut self, automaton: &Automaton, path: u32) -> bool {
        let mut symbols = std::mem::take(&mut self.symbols);
        symbols.clear();
        let mut at = path;
        while at != ROOT_PATH {
            symbols.push(automaton.paths[at as usize].symbol);
            at = automaton.paths[at as usize].parent;
        }
        let is_aligned = self.set_symbols(automaton, symbols.iter().rev().copied());
        self.symbols = symbols;
        is_aligned
    }

    /// Prepares the structural `node`, for [`PathAlignment::depths_of_step`].
    pub fn set_node(&mut self, segment: &Segment, node: u32) {
        self.steps.clear();
        let mut at = node;
        while at != ROOT {
            let link = segment.parent_links[at as usize];
            let test = link.edge & !ParentLink::DESCENDANT;
            let passed = self.passed.iter().find(|known| known.0 == test);
            self.steps.push(AlignedStep {
                is_descendant: link.edge & ParentLink::DESCENDANT != 0,
                depths: passed.map_or(0, |known| known.1),
            });
            at = link.parent;
        }
        self.steps.reverse();
        // Top-down: the depths of each step, given the steps before it.
        let mut before: Option<DepthSet> = None;
        for step in &mut self.steps {
            step.depths &= match (before, step.is_descendant) {
                (None, true) => DepthSet::MAX,
                (None, false) => 1,
                (Some(before), true) => below_any(before),
                (Some(before), false) => before << 1,
            };
            before = Some(step.depths);
        }
    }

    /// The depths that step `wanted` can take if the last step to the node takes the end of the path.
    pub fn depths_of_step(&self, wanted: u32) -> DepthSet {
        let steps = &self.steps;
        // Bottom-up: the depths from which the remaining steps reach the end.
        let mut reaching = steps.last().map_or(0, |last| last.depths) & 1 << (self.depth - 1);
        for number in (wanted as usize..steps.len() - 1).rev() {
            let above = if steps[number + 1].is_descendant {
                above_any(reaching)
            } else {
                reaching >> 1
            };
            reaching = steps[number].depths & above;
        }
        reaching
    }
}

/// The depths below the least depth of a set.
fn below_any(depths: DepthSet) -> DepthSet {
    match depths {
        0 => 0,
        _ => DepthSet::MAX
            .checked_shl(depths.trailing_zeros() + 1)
            .unwrap_or(0),
    }
}

/// The depths above the greatest depth of a set.
fn above_any(depths: DepthSet) -> DepthSet {
    match depths {
        0 => 0,
        _ => (1 << (DepthSet::BITS - 1 - depths.leading_zeros())) - 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depths_above_and_below_a_set() {
        assert_eq!(below_any(0), 0);
        assert_eq!(below_any(0b100) & 0xff, 0b1111_1000);
        assert_eq!(below_any(1 << 127), 0);
        assert_eq!(above_any(0b1000), 0b111);
        assert_eq!(above_any(1), 0);
    }
}
