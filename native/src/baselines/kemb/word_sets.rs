//! Word sets as ascending slices.

use crate::keywords::token_sink::WordId;

/// Size ratio beyond which binary search is faster than merging.
const SEARCH_RATIO: usize = 8;

/// Whether `small` is a subset of `large`; both are ascending and distinct.
pub fn is_subset(small: &[WordId], large: &[WordId]) -> bool {
    if small.len() > large.len() {
        return false;
    }
    let mut rest = large;
    for word in small {
        let place = if rest.len() / SEARCH_RATIO > small.len() {
            rest.partition_point(|other| other < word)
        } else {
            rest.iter()
                .position(|other| other >= word)
                .unwrap_or(rest.len())
        };
        if rest.get(place) != Some(word) {
            return false;
        }
        rest = &rest[place + 1..];
    }
    true
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_subset_is_what_a_tree_set_says_it_is(
            small in prop::collection::btree_set(0_u32..60, 0..4),
            large in prop::collection::btree_set(0_u32..60, 0..60),
            mixed in any::<bool>()
        ) {
            let large: BTreeSet<WordId> = if mixed { &large | &small } else { large };
            let slices: [Vec<WordId>; 2] =
                [small.iter().copied().collect(), large.iter().copied().collect()];
            prop_assert_eq!(is_subset(&slices[0], &slices[1]), small.is_subset(&large));
        }
    }
}
