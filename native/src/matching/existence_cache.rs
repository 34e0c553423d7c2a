//! Avoids recording the same existence of a value again and again.

/// Number of entries; a power of two.
const ENTRIES: usize = 1 << 10;

/// Remembers in which operands open elements have a value that equals no literal and is not a number.
/// Another such value decides nothing more, and elements with many similar children would otherwise
/// record little else.
pub(super) struct ExistenceCache {
    /// Element number and operand. A collision overwrites the earlier entry; its values are then
    /// recorded again until they are compacted.
    entries: Vec<(u64, u32)>,
}

impl ExistenceCache {
    /// An empty cache.
    pub fn new() -> ExistenceCache {
        // Elements are numbered from 1.
        let entries = vec![(0, 0); ENTRIES];
        ExistenceCache { entries }
    }

    /// Adds an operand of the element with a depth and number; returns whether it was there.
    #[inline]
    pub fn insert(&mut self, depth: usize, element: u64, operand: u32) -> bool {
        let at = (depth << 8).wrapping_add(operand as usize) % ENTRIES;
        let new = (element, operand);
        std::mem::replace(&mut self.entries[at], new) == new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operand_is_known_for_its_element_until_another_takes_its_entry() {
        let mut cache = ExistenceCache::new();
        assert!(!cache.insert(0, 1, 7));
        assert!(cache.insert(0, 1, 7));
        assert!(!cache.insert(0, 1, 8));
        assert!(!cache.insert(1, 2, 7));
        assert!(cache.insert(0, 1, 7));
        assert!(!cache.insert(0, 1, 7 + ENTRIES as u32));
        assert!(!cache.insert(0, 1, 7));
        assert!(!cache.insert(0, 3, 7));
    }
}
