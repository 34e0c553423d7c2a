//! Flat arrays and tables, read the same way from memory and from a mapped file.

use std::ops::{Deref, Range};
use std::sync::Arc;

use bytemuck::Pod;
use memmap2::Mmap;
use xxhash_rust::xxh3::xxh3_64;

/// An immutable array of plain values, in memory or in a mapped file.
pub struct FlatArray<T: Pod> {
    // Points into `_owner`, whose memory neither moves nor changes while it lives.
    first: *const T,
    len: usize,
    _owner: Owner<T>,
}

enum Owner<T> {
    Memory { _values: Vec<T> },
    File { _map: Arc<Mmap> },
}

// SAFETY: the memory behind `first` is owned by `_owner` and never written to.
unsafe impl<T: Pod + Send + Sync> Send for FlatArray<T> {}
// SAFETY: as above.
unsafe impl<T: Pod + Send + Sync> Sync for FlatArray<T> {}

impl<T: Pod> FlatArray<T> {
    /// The array in the bytes `range` of a file; `None` if the range or its alignment is invalid.
    pub fn mapped(map: &Arc<Mmap>, range: Range<usize>) -> Option<FlatArray<T>> {
        let values: &[T] = bytemuck::try_cast_slice(map.get(range)?).ok()?;
        Some(FlatArray {
            first: values.as_ptr(),
            len: values.len(),
            _owner: Owner::File {
                _map: Arc::clone(map),
            },
        })
    }

    /// The bytes to write to a file.
    pub fn as_bytes(&self) -> &[u8] {
        bytemuck::cast_slice(self)
    }
}

/// Prefetches a value into the processor's cache.
#[inline]
pub fn prefetch<T>(values: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(value) = values.get(at) {
        use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        // SAFETY: prefetching does not access memory, and the address is that of a value.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (values, at);
}

impl<T: Pod> Deref for FlatArray<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: `first` and `len` are those of a slice that `_owner` keeps alive.
        unsafe { std::slice::from_raw_parts(self.first, self.len) }
    }
}

impl<T: Pod> From<Vec<T>> for FlatArray<T> {
    fn from(values: Vec<T>) -> FlatArray<T> {
        FlatArray {
            first: values.as_ptr(),
            len: values.len(),
            _owner: Owner::Memory { _values: values },
        }
    }
}

/// An immutable array of strings, stored in one array of bytes.
pub struct StringArray {
    /// Where each string ends; the first entry is 0.
    pub ends: FlatArray<u64>,
    /// The strings, concatenated.
    pub bytes: FlatArray<u8>,
}

impl StringArray {
    /// How many strings there are.
    pub fn count(&self) -> usize {
        self.ends.len() - 1
    }

    /// The string at an index.
    pub fn get(&self, at: u32) -> &str {
        let range = self.ends[at as usize] as usize..self.ends[at as usize + 1] as usize;
        // The strings of a file are validated when it is opened.
        std::str::from_utf8(&self.bytes[range]).expect("strings are UTF-8")
    }
}

/// Builds a [`StringArray`].
pub struct StringArrayBuilder {
    ends: Vec<u64>,
    bytes: Vec<u8>,
}

impl Default for StringArrayBuilder {
    fn default() -> StringArrayBuilder {
        StringArrayBuilder {
            ends: vec![0],
            bytes: Vec::new(),
        }
    }
}

impl StringArrayBuilder {
    /// Appends a string and returns its index.
    pub fn push(&mut self, text: &str) -> u32 {
        let at = u32::try_from(self.ends.len() - 1).expect("a segment has fewer than 2^32 strings");
        self.bytes.extend_from_slice(text.as_bytes());
        self.ends.push(self.bytes.len() as u64);
        at
    }

    /// How many strings there are.
    pub fn count(&self) -> usize {
        self.ends.len() - 1
    }

    /// The finished array.
    pub fn finish(self) -> StringArray {
        StringArray {
            ends: self.ends.into(),
            bytes: self.bytes.into(),
        }
    }
}

const EMPTY: u32 = u32::MAX;

/// A hash table from strings to their indexes: open addressing, at most half full.
pub struct StringTable {
    /// Indexes of strings, or [`EMPTY`]; their number is a power of two.
    pub buckets: FlatArray<u32>,
}

impl StringTable {
    /// A table of `texts`; of equal strings it finds the first.
    pub fn build(texts: &StringArray) -> StringTable {
        let size = (texts.count() * 2).max(2).next_power_of_two();
        let mut buckets = vec![EMPTY; size];
        for at in 0..texts.count() as u32 {
            let text = texts.get(at);
            let mut bucket = xxh3_64(text.as_bytes()) as usize & (size - 1);
            while buckets[bucket] != EMPTY && texts.get(buckets[bucket]) != text {
                bucket = (bucket + 1) & (size - 1);
            }
            if buckets[bucket] == EMPTY {
                buckets[bucket] = at;
            }
        }
        StringTable {
            buckets: buckets.into(),
        }
    }

    /// The index of `text` in the `texts` of which the table was built.
    #[inline]
    pub fn find(&self, texts: &StringArray, text: &[u8]) -> Option<u32> {
        let mask = self.buckets.len() - 1;
        let mut bucket = xxh3_64(text) as usize & mask;
        loop {
            let at = self.buckets[bucket];
            if at == EMPTY {
                return None;
            }
            let range = texts.ends[at as usize] as usize..texts.ends[at as usize + 1] as usize;
            if &texts.bytes[range] == text {
                return Some(at);
            }
            bucket = (bucket + 1) & mask;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_finds_each_string_and_nothing_else() {
        let mut builder = StringArrayBuilder::default();
        for text in ["a", "", "ünï", "a", "bb"] {
            builder.push(text);
        }
        let texts = builder.finish();
        let table = StringTable::build(&texts);
        assert_eq!(table.find(&texts, b"a"), Some(0));
        assert_eq!(table.find(&texts, b""), Some(1));
        assert_eq!(table.find(&texts, "ünï".as_bytes()), Some(2));
        assert_eq!(table.find(&texts, b"bb"), Some(4));
        assert_eq!(table.find(&texts, b"b"), None);
    }

    #[test]
    fn an_empty_table_finds_nothing() {
        let texts = StringArrayBuilder::default().finish();
        assert_eq!(StringTable::build(&texts).find(&texts, b"a"), None);
    }
}
