//! A small map with numbers as keys.

/// Up to this many entries, a linear search is faster than a binary one.
const LINEAR_SEARCH_MAX: usize = 16;

/// A map from numbers to values, sorted by [`SortedMap::sort`] after all insertions. A mapping that a
/// document brings along can have thousands of entries at one node.
#[derive(Debug)]
pub(super) struct SortedMap<V> {
    entries: Vec<(u32, V)>,
}

impl<V> Default for SortedMap<V> {
    fn default() -> SortedMap<V> {
        SortedMap {
            entries: Vec::new(),
        }
    }
}

impl<V: Copy> SortedMap<V> {
    /// Inserts a value. The first value of a key takes precedence.
    pub fn insert(&mut self, key: u32, value: V) {
        self.entries.push((key, value));
    }

    /// Prepares the map for lookups.
    pub fn sort(&mut self) {
        self.entries.sort_by_key(|(key, _)| *key);
        self.entries.dedup_by_key(|(key, _)| *key);
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    #[inline]
    pub fn get(&self, key: u32) -> Option<V> {
        if self.entries.len() <= LINEAR_SEARCH_MAX {
            let mut entries = self.entries.iter();
            return entries
                .find(|(own, _)| *own == key)
                .map(|(_, value)| *value);
        }
        let found = self.entries.binary_search_by_key(&key, |(own, _)| *own);
        found.ok().map(|at| self.entries[at].1)
    }

    #[inline]
    pub fn contains(&self, key: u32) -> bool {
        self.get(key).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_value_of_a_key_takes_precedence_at_any_size() {
        for count in [3, LINEAR_SEARCH_MAX as u32, 1_000] {
            let mut map = SortedMap::default();
            for key in (0..count).rev() {
                map.insert(2 * key, key);
                map.insert(2 * key, u32::MAX);
            }
            map.sort();
            for key in 0..count {
                assert_eq!(map.get(2 * key), Some(key));
                assert!(!map.contains(2 * key + 1));
            }
        }
    }
}
