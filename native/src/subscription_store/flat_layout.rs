//! Flat arrays and tables, read the same way from memory and from a mapped file.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::ops::{Deref, Range};
use std::sync::Arc;

use bytemuck::Pod;
use memmap2::Mmap;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// An immutable array of plain values, in memory or in a mapped file.
pub struct FlatArray<T: Pod> {
    // Points into `_owner`, whose memory neither moves nor changes while it lives.
    first: *const T,
    len: usize,
    _owner: Owner<T>,
}

enum Owner<T> {
    Memory { _values: Vec<T> },
    File { _content: Arc<FileContent> },
}

/// The bytes of an index file, aligned for every section.
pub enum FileContent {
    /// Mapped from a file.
    Mapped(Mmap),
    /// Copied from bytes in memory.
    Copied {
        /// The bytes, padded to whole words.
        words: Vec<u64>,
        /// Number of bytes.
        len: usize,
    },
}

impl FileContent {
    /// Copies bytes.
    pub fn copied(bytes: &[u8]) -> FileContent {
        let mut words = vec![0; bytes.len().div_ceil(size_of::<u64>())];
        bytemuck::cast_slice_mut(&mut words)[..bytes.len()].copy_from_slice(bytes);
        FileContent::Copied {
            words,
            len: bytes.len(),
        }
    }
}

impl Deref for FileContent {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            FileContent::Mapped(map) => map,
            FileContent::Copied { words, len } => &bytemuck::cast_slice(words)[..*len],
        }
    }
}

// SAFETY: the memory behind `first` is owned by `_owner` and never written to.
unsafe impl<T: Pod + Send + Sync> Send for FlatArray<T> {}
// SAFETY: as above.
unsafe impl<T: Pod + Send + Sync> Sync for FlatArray<T> {}

impl<T: Pod> FlatArray<T> {
    /// The array in the bytes `range` of a file; `None` if the range or its alignment is invalid.
    pub fn in_file(content: &Arc<FileContent>, range: Range<usize>) -> Option<FlatArray<T>> {
        let values: &[T] = bytemuck::try_cast_slice(content.get(range)?).ok()?;
        Some(FlatArray {
            first: values.as_ptr(),
            len: values.len(),
            _owner: Owner::File {
                _content: Arc::clone(content),
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
    if let Some(value) = values.get(at) {
        prefetch_address(value);
    }
}

/// Prefetches what an address points to, if anything.
#[inline]
pub fn prefetch_address<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        // SAFETY: prefetching is a hint; it accesses no memory, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
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
        // The strings of a file are validated when it is opened.
        std::str::from_utf8(self.bytes_of(at)).expect("strings are UTF-8")
    }

    /// The bytes of the string at an index.
    #[inline]
    pub fn bytes_of(&self, at: u32) -> &[u8] {
        let ends = &self.ends[at as usize..at as usize + 2];
        &self.bytes[ends[0] as usize..ends[1] as usize]
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

/// A seed that nobody can predict.
///
/// Whoever knows the seed of a hash table can choose strings that all have the same hash.
pub fn random_seed() -> u64 {
    RandomState::new().build_hasher().finish()
}

const EMPTY: u32 = u32::MAX;

/// Maximum distance of a string from the bucket that its hash selects. In a table that is at most half
/// full, distances above 100 do not occur by chance.
const DISPLACEMENT_MAX: usize = 512;

/// A hash table from strings to their indexes: open addressing, at most half full.
pub struct StringTable {
    /// Of the hash function; random, because the strings come from subscribers.
    pub seed: u64,
    /// Indexes of strings, or [`EMPTY`]; their number is a power of two.
    pub buckets: FlatArray<u32>,
}

impl StringTable {
    /// A table of `texts`; of equal strings it finds the first.
    pub fn build(texts: &StringArray) -> StringTable {
        StringTable::with_seed(texts, random_seed())
    }

    fn with_seed(texts: &StringArray, seed: u64) -> StringTable {
        let size = bucket_count(texts);
        let mut buckets = vec![EMPTY; size];
        for at in 0..texts.count() as u32 {
            let text = texts.bytes_of(at);
            let mut bucket = xxh3_64_with_seed(text, seed) as usize & (size - 1);
            while buckets[bucket] != EMPTY && texts.bytes_of(buckets[bucket]) != text {
                bucket = (bucket + 1) & (size - 1);
            }
            if buckets[bucket] == EMPTY {
                buckets[bucket] = at;
            }
        }
        StringTable {
            seed,
            buckets: buckets.into(),
        }
    }

    /// The index of `text` in the `texts` of which the table was built.
    #[inline]
    pub fn find(&self, texts: &StringArray, text: &[u8]) -> Option<u32> {
        let mask = self.buckets.len() - 1;
        let mut bucket = xxh3_64_with_seed(text, self.seed) as usize & mask;
        loop {
            let at = self.buckets[bucket];
            if at == EMPTY {
                return None;
            }
            if texts.bytes_of(at) == text {
                return Some(at);
            }
            bucket = (bucket + 1) & mask;
        }
    }

    /// Whether the table contains each of the strings and nothing else.
    pub fn is_valid(&self, texts: &StringArray) -> bool {
        let mask = self.buckets.len().wrapping_sub(1);
        let is_empty = |&&bucket: &&u32| bucket == EMPTY;
        self.buckets.len() == bucket_count(texts)
            && self.buckets.iter().filter(is_empty).count() == self.buckets.len() - texts.count()
            && (0..texts.count() as u32).all(|at| {
                let home = xxh3_64_with_seed(texts.bytes_of(at), self.seed) as usize;
                (home..home.saturating_add(DISPLACEMENT_MAX))
                    .map(|bucket| self.buckets[bucket & mask])
                    .take_while(|&other| other != EMPTY)
                    .any(|other| other == at)
            })
    }
}

fn bucket_count(texts: &StringArray) -> usize {
    (texts.count() * 2).max(2).next_power_of_two()
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
    fn the_hash_of_a_string_differs_from_table_to_table() {
        let mut builder = StringArrayBuilder::default();
        // With the seed 0, all of these are found at or after the same bucket.
        let chosen = (0..).map(|number: u64| number.to_string());
        let chosen = chosen.filter(|text| xxh3_64_with_seed(text.as_bytes(), 0) & 0xfff == 0);
        chosen.take(2_000).for_each(|text| {
            builder.push(&text);
        });
        let texts = builder.finish();
        assert!(!StringTable::with_seed(&texts, 0).is_valid(&texts));
        for _ in 0..3 {
            assert!(StringTable::build(&texts).is_valid(&texts));
        }
    }

    #[test]
    fn a_table_that_does_not_find_each_string_is_invalid() {
        let mut builder = StringArrayBuilder::default();
        for number in 0..100 {
            builder.push(&format!("s{number}"));
        }
        let texts = builder.finish();
        let table = StringTable::build(&texts);
        assert!(table.is_valid(&texts));
        let changed = |change: &dyn Fn(&mut Vec<u32>)| {
            let mut buckets = table.buckets.to_vec();
            change(&mut buckets);
            let changed = StringTable {
                seed: table.seed,
                buckets: buckets.into(),
            };
            changed.is_valid(&texts)
        };
        let used = table.buckets.iter().position(|&at| at != EMPTY).unwrap();
        let free = table.buckets.iter().position(|&at| at == EMPTY).unwrap();
        assert!(!changed(&|buckets| buckets[used] = EMPTY));
        assert!(!changed(&|buckets| buckets[used] = 100));
        assert!(!changed(&|buckets| buckets[free] = 0));
        assert!(!changed(&|buckets| buckets.fill(7)));
        assert!(!changed(&|buckets| buckets.truncate(128)));
        assert!(!changed(&|buckets| buckets.clear()));
    }

    #[test]
    fn an_empty_table_finds_nothing() {
        let texts = StringArrayBuilder::default().finish();
        assert_eq!(StringTable::build(&texts).find(&texts, b"a"), None);
    }
}
