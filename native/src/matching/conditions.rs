//! Which conditions a value meets.
//!
//! Literals are numbered, those of numbers in ascending order, so that what a value meets by one kind of
//! comparison is a range of numbers: found by hashing for equality, by sorted search for the rest.

use std::ops::Range;

use crate::matching::alphabet::NONE;
use crate::matching::string_values::Value;
use crate::path_index::segment::{Comparison, Condition, Segment};

/// Adds the nodes behind those of `conditions` (of one trie node and step, sorted) that `values` meet.
pub fn met(segment: &Segment, conditions: &[Condition], values: &[Value], nodes: &mut Vec<u32>) {
    for of_slot in groups(conditions, |condition| condition.slot) {
        for value in values.iter().filter(|value| value.slot == of_slot[0].slot) {
            met_by(segment, of_slot, value, nodes);
        }
    }
}

/// The same for conditions on one slot, and one value of it.
pub fn met_by(segment: &Segment, of_slot: &[Condition], value: &Value, nodes: &mut Vec<u32>) {
    for alike in groups(of_slot, |condition| condition.comparison) {
        let wanted = Wanted::by(segment, alike[0].comparison, value);
        for range in wanted.places(alike, |condition| condition.literal) {
            nodes.extend(alike[range].iter().map(|condition| condition.node));
        }
    }
}

/// Runs of equal keys in a sorted slice, each found by search: a run may be a million long.
pub fn groups<T, K: PartialOrd>(sorted: &[T], key: impl Fn(&T) -> K) -> impl Iterator<Item = &[T]> {
    let mut rest = sorted;
    std::iter::from_fn(move || {
        let first = key(rest.first()?);
        let (group, others) = rest.split_at(rest.partition_point(|item| key(item) <= first));
        rest = others;
        Some(group)
    })
}

/// The literals, by number, that a value meets when compared in one way: so many from the first on,
/// going round at the greatest number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    first: u32,
    count: u32,
}

impl Wanted {
    /// None.
    pub const NOTHING: Wanted = Wanted { first: 0, count: 0 };
    const ALL: Wanted = Wanted {
        first: 0,
        count: u32::MAX,
    };

    /// One literal, or nothing for [`NONE`].
    #[inline]
    pub fn only(literal: u32) -> Wanted {
        Wanted {
            first: literal,
            count: u32::from(literal != NONE),
        }
    }

    /// What `value` meets by a comparison.
    pub fn by(segment: &Segment, comparison: u32, value: &Value) -> Wanted {
        let known = value.number;
        let below = || segment.numbers.partition_point(|&number| number < known) as u32;
        let not_above = || segment.numbers.partition_point(|&number| number <= known) as u32;
        let from = |first: u32| Wanted {
            first,
            count: segment.numbers.len() as u32 - first,
        };
        let up_to = |count: u32| Wanted { first: 0, count };
        let equal = || {
            let first = below();
            // At most zero has two.
            let equals = segment.numbers[first as usize..].iter();
            Wanted {
                first,
                count: equals.take_while(|&&number| number == known).count() as u32,
            }
        };
        match Comparison::from_number(comparison) {
            Comparison::Exists => Wanted::ALL,
            Comparison::EqText => Wanted::only(value.literal),
            Comparison::NeText => Wanted::only(value.literal).others(),
            // What is no number equals none, and is neither less nor greater.
            Comparison::NeNumber if known.is_nan() => Wanted::ALL,
            _ if known.is_nan() => Wanted::NOTHING,
            Comparison::EqNumber => equal(),
            Comparison::NeNumber => equal().others(),
            Comparison::Lt => from(not_above()),
            Comparison::Le => from(below()),
            Comparison::Gt => up_to(below()),
            Comparison::Ge => up_to(not_above()),
        }
    }

    /// All but these.
    fn others(self) -> Wanted {
        match self.count {
            0 => Wanted::ALL,
            count => Wanted {
                first: self.first + count,
                count: count.wrapping_neg(),
            },
        }
    }

    /// Whether a literal is among them.
    #[inline]
    pub fn contains(self, literal: u32) -> bool {
        literal.wrapping_sub(self.first) < self.count
    }

    /// Where they stand in a slice sorted by literal.
    pub fn places<T>(self, sorted: &[T], literal: impl Fn(&T) -> u32) -> [Range<usize>; 2] {
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
    fn what_is_wanted_stands_where_a_sorted_search_finds_it() {
        let sorted = [0, 1, 1, 4, 9];
        let all = |wanted: Wanted| -> Vec<u32> {
            let places = wanted.places(&sorted, |&literal| literal);
            let found = places.into_iter().flat_map(|range| sorted[range].to_vec());
            let found: Vec<u32> = found.collect();
            let contained = sorted.iter().filter(|&&literal| wanted.contains(literal));
            assert_eq!(found, contained.copied().collect::<Vec<u32>>());
            found
        };
        assert_eq!(all(Wanted::only(1)), [1, 1]);
        assert!(all(Wanted::only(2)).is_empty());
        assert!(all(Wanted::only(NONE)).is_empty());
        assert_eq!(all(Wanted::only(1).others()), [0, 4, 9]);
        assert_eq!(all(Wanted::only(0).others()), [1, 1, 4, 9]);
        assert_eq!(all(Wanted::only(9).others()), [0, 1, 1, 4]);
        assert_eq!(all(Wanted::only(NONE).others()), sorted);
        assert_eq!(all(Wanted { first: 1, count: 8 }), [1, 1, 4]);
    }
}
