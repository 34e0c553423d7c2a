//! Sets of classes that are filled and emptied once a document.

/// A set of classes at the end of a document.
pub trait ClassSet {
    /// Whether the class is there.
    fn contains(&self, class: u32) -> bool;

    /// Does something with each class.
    fn for_each(&self, act: impl FnMut(u32));
}

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

impl ClassSet for Classes {
    fn contains(&self, class: u32) -> bool {
        self.bits[class as usize / 64] & (1 << (class % 64)) != 0
    }

    fn for_each(&self, act: impl FnMut(u32)) {
        self.list.iter().copied().for_each(act);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_listed_once_however_it_comes() {
        let mut classes = Classes::new(200);
        classes.insert(7);
        for class in [130, 7, 130, 0, 199] {
            classes.insert(class);
        }
        classes.insert(0);
        assert_eq!(classes.list(), [7, 130, 0, 199]);
        assert!(classes.contains(199) && !classes.contains(64));
        classes.clear();
        assert!(classes.list().is_empty() && !classes.contains(7));
    }
}
