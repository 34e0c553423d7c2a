//! Finds the conditions that a value satisfies.
//!
//! Literals have indexes, those of numbers in ascending order, so the literals that satisfy one
//! comparison with a value are a range of indexes: found by hashing for equality, by binary search
//! otherwise.

use std::ops::Range;

use crate::matching::operand_value::OperandValue;
use crate::matching::NONE;
use crate::path_index::segment::{Comparison, Condition, Segment};

/// Steps to look a value up among the conditions of one operand.
const STEPS_PER_LOOKUP: usize = 16;

/// The values are compared with this many operands. There may be thousands more, among which each value is
/// looked up.
const OPERANDS_COMPARED: usize = 8;

/// Steps to find the operand of a value among those of the conditions.
const STEPS_PER_VALUE: usize = 8;

/// Steps for each node that is found.
const STEPS_PER_NODE: usize = 2;

/// Appends the nodes of those `conditions` (sorted, of one trie node and step) that some of
/// `values` satisfy. Returns the steps it took.
pub(super) fn satisfied_by_any(
    segment: &Segment,
    conditions: &[Condition],
    values: &[OperandValue],
    nodes: &mut Vec<u32>,
) -> usize {
    let (mut steps, mut rest) = (0, conditions);
    for same_operand in
        equal_runs(conditions, |condition| condition.operand).take(OPERANDS_COMPARED)
    {
        let operand = same_operand[0].operand;
        steps += STEPS_PER_LOOKUP + values.len();
        for value in values.iter().filter(|value| value.operand == operand) {
            steps += satisfied_by(segment, same_operand, value, nodes);
        }
        rest = &rest[same_operand.len()..];
    }
    if rest.is_empty() {
        return steps;
    }
    for value in values {
        let first = rest.partition_point(|condition| condition.operand < value.operand);
        let own = &rest[first..];
        let count = own.partition_point(|condition| condition.operand == value.operand);
        steps += STEPS_PER_VALUE + satisfied_by(segment, &own[..count], value, nodes);
    }
    steps
}

/// Appends the nodes of those conditions on one operand that a value of it satisfies. Returns the
/// steps it took.
fn satisfied_by(
    segment: &Segment,
    same_operand: &[Condition],
    value: &OperandValue,
    nodes: &mut Vec<u32>,
) -> usize {
    let (mut steps, before) = (0, nodes.len());
    for same_comparison in equal_runs(same_operand, |condition| condition.comparison) {
        let range = LiteralRange::satisfying(segment, same_comparison[0].comparison, value);
        for positions in range.positions_in(same_comparison, |condition| condition.literal) {
            let found = &same_comparison[positions];
            nodes.extend(found.iter().map(|condition| condition.node));
        }
        steps += STEPS_PER_LOOKUP;
    }
    steps + (nodes.len() - before) * STEPS_PER_NODE
}

/// Runs of equal keys in a sorted slice. Each is found by binary search, since a run may have a
/// million items.
pub(super) fn equal_runs<T, K: PartialOrd>(
    sorted: &[T],
    key: impl Fn(&T) -> K,
) -> impl Iterator<Item = &[T]> {
    let mut rest = sorted;
    std::iter::from_fn(move || {
        let first = key(rest.first()?);
        let (run, others) = rest.split_at(rest.partition_point(|item| key(item) <= first));
        rest = others;
        Some(run)
    })
}

/// A range of literal indexes, which wraps around at the greatest index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LiteralRange {
    first: u32,
    count: u32,
}

impl LiteralRange {
    const EMPTY: LiteralRange = LiteralRange { first: 0, count: 0 };
    const ALL: LiteralRange = LiteralRange {
        first: 0,
        count: u32::MAX,
    };

    /// One literal, or none for [`NONE`].
    #[inline]
    pub fn only(literal: u32) -> LiteralRange {
        LiteralRange {
            first: literal,
            count: u32::from(literal != NONE),
        }
    }

    /// The literals for which `value comparison literal` holds.
    pub fn satisfying(segment: &Segment, comparison: u32, value: &OperandValue) -> LiteralRange {
        let known = value.number;
        let below = || segment.numbers.partition_point(|&number| number < known) as u32;
        let not_above = || segment.numbers.partition_point(|&number| number <= known) as u32;
        let from = |first: u32| LiteralRange {
            first,
            count: segment.numbers.len() as u32 - first,
        };
        let up_to = |count: u32| LiteralRange { first: 0, count };
        let equal = || {
            let first = below();
            // Only zero can have two equal literals.
            let equals = segment.numbers[first as usize..].iter();
            LiteralRange {
                first,
                count: equals.take_while(|&&number| number == known).count() as u32,
            }
        };
        match Comparison::from_number(comparison) {
            Comparison::Exists => LiteralRange::ALL,
            Comparison::EqText => LiteralRange::only(value.literal),
            Comparison::NeText => LiteralRange::only(value.literal).complement(),
            // NaN differs from every number, and no other comparison with it holds.
            Comparison::NeNumber if known.is_nan() => LiteralRange::ALL,
            _ if known.is_nan() => LiteralRange::EMPTY,
            Comparison::EqNumber => equal(),
            Comparison::NeNumber => equal().complement(),
            Comparison::Lt => from(not_above()),
            Comparison::Le => from(below()),
            Comparison::Gt => up_to(below()),
            Comparison::Ge => up_to(not_above()),
        }
    }

    fn complement(self) -> LiteralRange {
        match self.count {
            0 => LiteralRange::ALL,
            count => LiteralRange {
                first: self.first + count,
                count: count.wrapping_neg(),
            },
        }
    }

    /// Whether a literal is in the range.
    #[inline]
    pub fn contains(self, literal: u32) -> bool {
        literal.wrapping_sub(self.first) < self.count
    }

    /// The positions of the range in a slice sorted by literal.
    pub fn positions_in<T>(self, sorted: &[T], literal: impl Fn(&T) -> u32) -> [Range<usize>; 2] {
        let before = |end: u32| sorted.partition_point(|item| literal(item) < end);
        match self.first.overflowing_add(self.count) {
            (end, false) => [before(self.first)..before(end), 0..0],
            (end, true) => [0..before(end), before(self.first)..sorted.len()],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_in_a_sorted_slice_are_those_of_the_literals_in_the_range() {
        let sorted = [0, 1, 1, 4, 9];
        let all = |range: LiteralRange| -> Vec<u32> {
            let positions = range.positions_in(&sorted, |&literal| literal);
            let found = positions
                .into_iter()
                .flat_map(|range| sorted[range].to_vec());
            let found: Vec<u32> = found.collect();
            let contained = sorted.iter().filter(|&&literal| range.contains(literal));
            assert_eq!(found, contained.copied().collect::<Vec<u32>>());
            found
        };
        assert_eq!(all(LiteralRange::only(1)), [1, 1]);
        assert!(all(LiteralRange::only(2)).is_empty());
        assert!(all(LiteralRange::only(NONE)).is_empty());
        assert_eq!(all(LiteralRange::only(1).complement()), [0, 4, 9]);
        assert_eq!(all(LiteralRange::only(0).complement()), [1, 1, 4, 9]);
        assert_eq!(all(LiteralRange::only(9).complement()), [0, 1, 1, 4]);
        assert_eq!(all(LiteralRange::only(NONE).complement()), sorted);
        assert_eq!(all(LiteralRange { first: 1, count: 8 }), [1, 1, 4]);
    }
}
