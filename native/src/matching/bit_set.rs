//! Sets of small numbers.

/// A set of small numbers, such as those of states or classes.
#[derive(Default)]
pub(super) struct BitSet(Vec<u64>);

impl BitSet {
    /// An empty set of numbers below `bound`.
    pub fn new(bound: usize) -> BitSet {
        BitSet(vec![0; bound.div_ceil(64)])
    }

    /// Adds a number; returns whether it is new.
    #[inline]
    pub fn insert(&mut self, number: u32) -> bool {
        let (word, bit) = (&mut self.0[number as usize / 64], 1 << (number % 64));
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    /// Adds a number of any size; returns whether it is new.
    #[inline]
    pub fn insert_growing(&mut self, number: u32) -> bool {
        if number as usize / 64 >= self.0.len() {
            self.0.resize(number as usize / 64 + 1, 0);
        }
        self.insert(number)
    }

    /// Whether it contains a number of any size.
    #[inline]
    pub fn contains_growing(&self, number: u32) -> bool {
        let word = self.0.get(number as usize / 64);
        word.is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    /// Its numbers, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let not_empty = |word: u64| (word != 0).then_some(word);
        (0..).zip(&self.0).flat_map(move |(at, &word): (u32, _)| {
            let words =
                std::iter::successors(not_empty(word), move |word| not_empty(word & (word - 1)));
            words.map(move |word| 64 * at + word.trailing_zeros())
        })
    }

    /// Removes all numbers.
    pub fn clear(&mut self) {
        self.0.fill(0);
    }

    /// Whether it contains the number.
    #[inline]
    pub fn contains(&self, number: u32) -> bool {
        self.0[number as usize / 64] >> (number % 64) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_in_ascending_order() {
        let mut set = BitSet::default();
        for number in [200, 63, 64, 0, 127, 63] {
            set.insert_growing(number);
        }
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 63, 64, 127, 200]);
        assert_eq!(BitSet::new(100).iter().next(), None);
    }
}
