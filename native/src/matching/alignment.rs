//! How the steps to a trie node can lie on a path.
//!
//! A set of depths is a set of bits, so that a step is a shift or a comparison.

use crate::matching::automaton::{Automaton, ROOT_PATH};
use crate::path_index::segment::{Origin, Segment, ROOT};

/// Depths of a path, the root element's first.
pub type Depths = u128;

/// A path deeper than this is not aligned; what depends on it is verified.
pub const DEPTH_ALIGNED_MAX: usize = Depths::BITS as usize;

/// Where on one path each name test is met.
#[derive(Default)]
pub struct PathTests {
    depth: usize,
    met: Vec<(u32, Depths)>,
    letters: Vec<u32>,
    steps: Vec<(bool, Depths)>,
}

impl PathTests {
    /// Looks at the path of these letters, the root element's first; `false` where it is too deep.
    pub fn of_letters(
        &mut self,
        automaton: &Automaton,
        letters: impl Iterator<Item = u32>,
    ) -> bool {
        self.met.clear();
        self.depth = 0;
        for letter in letters {
            if self.depth == DEPTH_ALIGNED_MAX {
                return false;
            }
            for &test in &automaton.letters.get(letter).tests {
                match self.met.iter_mut().find(|known| known.0 == test) {
                    Some(known) => known.1 |= 1 << self.depth,
                    None => self.met.push((test, 1 << self.depth)),
                }
            }
            self.depth += 1;
        }
        true
    }

    /// Looks at a path; `false` where it is too deep.
    pub fn of_path(&mut self, automaton: &Automaton, path: u32) -> bool {
        let mut letters = std::mem::take(&mut self.letters);
        letters.clear();
        let mut at = path;
        while at != ROOT_PATH {
            letters.push(automaton.paths[at as usize].letter);
            at = automaton.paths[at as usize].parent;
        }
        let aligned = self.of_letters(automaton, letters.iter().rev().copied());
        self.letters = letters;
        aligned
    }

    /// The depths at which step `wanted` can stand, when the last step to the structural `node`
    /// stands at the end of the path.
    pub fn standing(&mut self, segment: &Segment, node: u32, wanted: u32) -> Depths {
        let mut steps = std::mem::take(&mut self.steps);
        steps.clear();
        let mut at = node;
        while at != ROOT {
            let origin = segment.origins[at as usize];
            let test = origin.edge & !Origin::DESCENDANT;
            let met = self
                .met
                .iter()
                .find(|known| known.0 == test)
                .map_or(0, |known| known.1);
            steps.push((origin.edge & Origin::DESCENDANT != 0, met));
            at = origin.parent;
        }
        steps.reverse();
        // From the top: where each step can stand, given the steps before it.
        let mut before: Option<Depths> = None;
        for (descendant, met) in &mut steps {
            *met &= match (before, *descendant) {
                (None, true) => Depths::MAX,
                (None, false) => 1,
                (Some(before), true) => below(before),
                (Some(before), false) => before << 1,
            };
            before = Some(*met);
        }
        // From the bottom: which of those lead to the end.
        let mut leading = steps.last().map_or(0, |last| last.1) & 1 << (self.depth - 1);
        for number in (wanted as usize..steps.len() - 1).rev() {
            let on = if steps[number + 1].0 {
                above(leading)
            } else {
                leading >> 1
            };
            leading = steps[number].1 & on;
        }
        self.steps = steps;
        leading
    }
}

/// All depths below the highest place in a set.
fn below(depths: Depths) -> Depths {
    match depths {
        0 => 0,
        _ => Depths::MAX
            .checked_shl(depths.trailing_zeros() + 1)
            .unwrap_or(0),
    }
}

/// All depths above the lowest place in a set.
fn above(depths: Depths) -> Depths {
    match depths {
        0 => 0,
        _ => (1 << (Depths::BITS - 1 - depths.leading_zeros())) - 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_depths() {
        assert_eq!(below(0), 0);
        assert_eq!(below(0b100) & 0xff, 0b1111_1000);
        assert_eq!(below(1 << 127), 0);
        assert_eq!(above(0b1000), 0b111);
        assert_eq!(above(1), 0);
    }
}
