//! Sets of classes that are filled and emptied once a document.

/// A set of small numbers that remembers the order in which they came.
#[derive(Default)]
pub struct Classes {
    bits: Vec<u64>,
    list: Vec<u32>,
}

impl Classes {
    /// Room for the numbers below `count`.
    pub fn new(count: usize) -> Classes {
        Classes {
            bits: vec![0; count.div_ceil(64)],
            list: Vec::new(),
        }
    }

    /// Adds a number.
    #[inline]
    pub fn insert(&mut self, class: u32) {
        let (word, bit) = (class as usize / 64, 1u64 << (class % 64));
        if self.bits[word] & bit == 0 {
            self.bits[word] |= bit;
            self.list.push(class);
        }
    }

    /// Whether the number is there.
    #[inline]
    pub fn contains(&self, class: u32) -> bool {
        self.bits[class as usize / 64] & (1 << (class % 64)) != 0
    }

    /// The numbers, in the order in which they came.
    pub fn list(&self) -> &[u32] {
        &self.list
    }

    /// Empties the set, in time proportional to what is in it.
    pub fn clear(&mut self) {
        for &class in &self.list {
            self.bits[class as usize / 64] = 0;
        }
        self.list.clear();
    }
}
