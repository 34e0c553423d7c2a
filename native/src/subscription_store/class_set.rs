//! Sets of query classes that are filled and cleared once per document.

/// The classes that a document matched.
pub trait ClassSet {
    /// Whether the set contains the class.
    fn contains(&self, class: u32) -> bool;

    /// Calls `act` for each class.
    fn for_each(&self, act: impl FnMut(u32));
}

/// A bitmap with a list of its members in insertion order, so that clearing takes time proportional
/// to their number.
#[derive(Default)]
pub struct OrderedClassSet {
    bits: Vec<u64>,
    list: Vec<u32>,
}

impl OrderedClassSet {
    /// An empty set of classes below `count`.
    pub fn new(count: usize) -> OrderedClassSet {
        OrderedClassSet {
            bits: vec![0; count.div_ceil(64)],
            list: Vec::new(),
        }
    }

    /// Makes room for classes below `count`.
    #[inline]
    pub fn resize(&mut self, count: usize) {
        let words = count.div_ceil(64);
        if self.bits.len() < words {
            self.bits.resize(words, 0);
        }
    }

    /// Adds a class.
    #[inline]
    pub fn insert(&mut self, class: u32) {
        let (word, bit) = (class as usize / 64, 1u64 << (class % 64));
        if self.bits[word] & bit == 0 {
            self.bits[word] |= bit;
            self.list.push(class);
        }
    }

    /// The classes in insertion order.
    pub fn list(&self) -> &[u32] {
        &self.list
    }

    /// Clears the set.
    pub fn clear(&mut self) {
        for &class in &self.list {
            self.bits[class as usize / 64] = 0;
        }
        self.list.clear();
    }
}

impl ClassSet for OrderedClassSet {
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
    fn a_class_is_listed_once_however_often_it_is_inserted() {
        let mut classes = OrderedClassSet::new(200);
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
