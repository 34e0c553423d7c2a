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
