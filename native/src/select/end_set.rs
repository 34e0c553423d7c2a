//! Sets of the ends of branches: which of the branches that share a step have found a node.

/// The numbers of the ends of branches at or below a step; they follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct EndRange {
    pub first: u32,
    pub count: u32,
}

impl EndRange {
    fn end(self) -> u32 {
        self.first + self.count
    }
}

/// Some of the ends in a range.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct EndSet {
    range: EndRange,
    /// Bits by number, from the word of the first number on.
    words: Box<[u64]>,
    missing: u32,
}

impl EndSet {
    /// An empty set.
    pub fn new(range: EndRange) -> Self {
        let words = word_of(range.end() - 1) - word_of(range.first) + 1;
        Self {
            range,
            words: vec![0; words].into_boxed_slice(),
            missing: range.count,
        }
    }

    /// Adds an end; whether it is new.
    pub fn insert(&mut self, end: u32) -> bool {
        let word = &mut self.words[word_of(end) - word_of(self.range.first)];
        let bit = 1 << (end % 64);
        let is_new = *word & bit == 0;
        *word |= bit;
        self.missing -= u32::from(is_new);
        is_new
    }

    /// Whether it contains all ends of its range.
    pub fn is_full(&self) -> bool {
        self.missing == 0
    }

    /// Whether it contains all ends of a part of its range.
    pub fn contains_all(&self, part: EndRange) -> bool {
        let first_word = word_of(self.range.first);
        (word_of(part.first)..=word_of(part.end() - 1)).all(|word| {
            let mut wanted = u64::MAX;
            if word == word_of(part.first) {
                wanted &= u64::MAX << (part.first % 64);
            }
            if word == word_of(part.end() - 1) {
                wanted &= u64::MAX >> (63 - (part.end() - 1) % 64);
            }
            self.words[word - first_word] & wanted == wanted
        })
    }

    /// The ends, in order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let first = self.range.first / 64 * 64;
        (first..)
            .step_by(64)
            .zip(&self.words)
            .flat_map(|(from, &word)| {
                let bits = (0..64).filter(move |bit| word >> bit & 1 == 1);
                bits.map(move |bit| from + bit)
            })
    }
}

fn word_of(end: u32) -> usize {
    end as usize / 64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_contains_what_was_inserted() {
        for first in [0, 1, 63, 64, 100] {
            let range = EndRange { first, count: 130 };
            let mut set = EndSet::new(range);
            for end in (first..first + 130).step_by(2) {
                assert!(set.insert(end) && !set.insert(end));
            }
            assert!(set.iter().eq((first..first + 130).step_by(2)));
            let part = |from, count| EndRange {
                first: first + from,
                count,
            };
            assert!(set.contains_all(part(4, 1)) && !set.contains_all(part(4, 2)));
            for end in (first + 1..first + 130).step_by(2) {
                assert!(!set.is_full());
                set.insert(end);
            }
            assert!(set.is_full() && set.contains_all(range) && set.contains_all(part(70, 3)));
        }
    }
}
