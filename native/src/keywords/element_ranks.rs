//! Which element each text of a batch is in.

use crate::keywords::conjunction_index::ensure_len;
use crate::keywords::element_window::Owner;

/// Texts of a batch by the elements that directly contain them.
///
/// A *stretch* is text from one mark to the next. Where one begins, a bit is set, and as many bits as there are
/// up to a place, that is the number of its stretch. So no place waits for what was found for another, and
/// nothing is branched on.
#[derive(Debug, Default)]
pub struct Stretches {
    /// By number.
    owners: Vec<Owner>,
    /// The last one's number, and where it begins.
    last: usize,
    start: u32,
    /// For each block of text a bit where a stretch begins.
    begins: Vec<u64>,
    /// The number of the stretch that goes on there from the block before.
    numbers: Vec<u32>,
}

const BLOCK: u32 = u64::BITS;

impl Stretches {
    /// Begins a batch with so many marks and places; its first text is in this element.
    pub fn clear(&mut self, owner: Owner, marks: usize, places: u32) {
        ensure_len(&mut self.owners, marks + 1);
        self.owners[0] = owner;
        self.last = 0;
        self.start = 0;
        self.begins.clear();
        self.begins.resize((places / BLOCK) as usize + 1, 0);
    }

    /// Text from a mark on is in this element, until another is said; marks come in their order.
    #[inline]
    pub fn begin(&mut self, place: u32, owner: Owner) {
        // Of marks without text between them the last one counts.
        let is_new = place > self.start;
        self.last += usize::from(is_new);
        self.owners[self.last] = owner;
        self.begins[(place / BLOCK) as usize] |= u64::from(is_new) << (place % BLOCK);
        self.start = place;
    }

    /// Counts what was begun, once all is.
    #[inline]
    pub fn count(&mut self) {
        let mut number = 0;
        self.numbers.clear();
        self.numbers.extend(self.begins.iter().map(|begins| {
            let before = number;
            number += begins.count_ones();
            before
        }));
    }

    /// The element that text at a place is in.
    #[inline]
    pub fn owner_at(&self, place: u32) -> Owner {
        let block = (place / BLOCK) as usize;
        let until = u64::MAX >> (BLOCK - 1 - place % BLOCK);
        let begun = (self.begins[block] & until).count_ones();
        self.owners[(self.numbers[block] + begun) as usize]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn text_is_in_the_element_of_the_last_mark_before_it(
            steps in prop::collection::vec(prop_oneof![Just(0_u32), 1..4_u32, 60..200_u32], 0..30),
        ) {
            let owner = |element| Owner { element, places: 0 };
            let places: Vec<u32> = steps
                .iter()
                .scan(0, |place, step| {
                    *place += step;
                    Some(*place)
                })
                .collect();
            let end = places.last().map_or(0, |last| last + 100);
            let mut stretches = Stretches::default();
            // Twice: the second time in memory that was used.
            for _ in 0..2 {
                stretches.clear(owner(0), places.len(), end);
                for (element, &place) in (1..).zip(&places) {
                    stretches.begin(place, owner(element));
                }
                stretches.count();
                for at in 0..=end {
                    let before = places.iter().filter(|&&place| place <= at).count();
                    prop_assert_eq!(stretches.owner_at(at).element as usize, before);
                }
            }
        }
    }
}
