//! Values by number: what a mapping says of a name or a place.

/// Up to so many are looked at one by one, which beats anything cleverer.
const FEW: usize = 16;

/// Values by number. A mapping that a document carries can have thousands at one node, so they are
/// sorted once they are all there.
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
    /// Adds a value; of several with one number the first counts.
    pub fn add(&mut self, number: u32, value: V) {
        self.entries.push((number, value));
    }

    /// Makes it ready, once all values are there.
    pub fn settle(&mut self) {
        self.entries.sort_by_key(|(number, _)| *number);
        self.entries.dedup_by_key(|(number, _)| *number);
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The value of a number.
    #[inline]
    pub fn get(&self, number: u32) -> Option<V> {
        if self.entries.len() <= FEW {
            let mut entries = self.entries.iter();
            return entries
                .find(|(own, _)| *own == number)
                .map(|(_, value)| *value);
        }
        let place = self.entries.binary_search_by_key(&number, |(own, _)| *own);
        place.ok().map(|place| self.entries[place].1)
    }

    /// Whether there is a value.
    #[inline]
    pub fn has(&self, number: u32) -> bool {
        self.get(number).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_value_of_a_number_counts_however_many_there_are() {
        for count in [3, FEW as u32, 1_000] {
            let mut lookup = SortedMap::default();
            for number in (0..count).rev() {
                lookup.add(2 * number, number);
                lookup.add(2 * number, u32::MAX);
            }
            lookup.settle();
            for number in 0..count {
                assert_eq!(lookup.get(2 * number), Some(number));
                assert!(!lookup.has(2 * number + 1));
            }
        }
    }
}
