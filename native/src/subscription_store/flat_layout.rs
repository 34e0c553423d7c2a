//! Flat arrays and tables that live in memory or in a mapped file and are read the same way.

use std::ops::{Deref, Range};
use std::sync::Arc;

use bytemuck::Pod;
use memmap2::Mmap;
use xxhash_rust::xxh3::xxh3_64;

/// An immutable array of plain values.
pub struct Flat<T: Pod> {
    // Points into `owner`, whose memory neither moves nor changes while it lives.
    first: *const T,
    len: usize,
    _owner: Owner<T>,
}

enum Owner<T> {
    Memory { _values: Vec<T> },
    File { _map: Arc<Mmap> },
}

// SAFETY: the memory behind `first` is owned by `_owner` and never written to.
unsafe impl<T: Pod + Send + Sync> Send for Flat<T> {}
// SAFETY: as above.
unsafe impl<T: Pod + Send + Sync> Sync for Flat<T> {}

impl<T: Pod> Flat<T> {
    /// A view of the bytes `range` of a file; `None` where the range or its alignment is off.
    pub fn mapped(map: &Arc<Mmap>, range: Range<usize>) -> Option<Flat<T>> {
        let values: &[T] = bytemuck::try_cast_slice(map.get(range)?).ok()?;
        Some(Flat {
            first: values.as_ptr(),
            len: values.len(),
            _owner: Owner::File {
                _map: Arc::clone(map),
            },
        })
    }

    /// Fetches a value from memory, without waiting for it: it will be asked for soon.
    #[inline]
    pub fn fetch(&self, at: usize) {
        fetch(self, at);
    }

    /// The bytes, as they are written to a file.
    pub fn as_bytes(&self) -> &[u8] {
        bytemuck::cast_slice(self)
    }
}

/// Fetches a value from memory, without waiting for it: it will be asked for soon.
#[inline]
pub fn fetch<T>(values: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(value) = values.get(at) {
        use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        // SAFETY: it is the address of a value, and nothing is read.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (values, at);
}

impl<T: Pod> Deref for Flat<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: `first` and `len` were taken from a slice that `_owner` keeps alive.
        unsafe { std::slice::from_raw_parts(self.first, self.len) }
    }
}

impl<T: Pod> From<Vec<T>> for Flat<T> {
    fn from(values: Vec<T>) -> Flat<T> {
        Flat {
            first: values.as_ptr(),
            len: values.len(),
            _owner: Owner::Memory { _values: values },
        }
    }
}

/// Many strings in one run of bytes.
pub struct Texts {
    /// One more than there are strings.
    pub ends: Flat<u64>,
    /// All of them, end to end.
    pub bytes: Flat<u8>,
}

impl Texts {
    /// How many strings there are.
    pub fn count(&self) -> usize {
        self.ends.len() - 1
    }

    /// The string of that number.
    pub fn get(&self, at: u32) -> &str {
        let range = self.ends[at as usize] as usize..self.ends[at as usize + 1] as usize;
        // A file's texts are checked when it is opened.
        std::str::from_utf8(&self.bytes[range]).expect("texts are UTF-8")
    }
}

/// Collects strings for [`Texts`].
pub struct TextsBuilder {
    ends: Vec<u64>,
    bytes: Vec<u8>,
}

impl Default for TextsBuilder {
    fn default() -> TextsBuilder {
        TextsBuilder {
            ends: vec![0],
            bytes: Vec::new(),
        }
    }
}

impl TextsBuilder {
    /// Adds a string and returns its number.
    pub fn push(&mut self, text: &str) -> u32 {
        let at = u32::try_from(self.ends.len() - 1).expect("fewer than 2^32 texts a segment");
        self.bytes.extend_from_slice(text.as_bytes());
        self.ends.push(self.bytes.len() as u64);
        at
    }

    /// The string of that number.
    pub fn get(&self, at: u32) -> &str {
        let range = self.ends[at as usize] as usize..self.ends[at as usize + 1] as usize;
        std::str::from_utf8(&self.bytes[range]).expect("pushed as str")
    }

    /// How many strings there are.
    pub fn count(&self) -> usize {
        self.ends.len() - 1
    }

    /// All of them, immutable.
    pub fn finish(self) -> Texts {
        Texts {
            ends: self.ends.into(),
            bytes: self.bytes.into(),
        }
    }
}

const EMPTY: u32 = u32::MAX;

/// Finds a string's number: open addressing, at most half full.
pub struct TextTable {
    /// Numbers of strings, or [`EMPTY`]; a power of two of them.
    pub places: Flat<u32>,
}

impl TextTable {
    /// A table over all of `texts`; of equal ones the first is found.
    pub fn build(texts: &Texts) -> TextTable {
        let size = (texts.count() * 2).max(2).next_power_of_two();
        let mut places = vec![EMPTY; size];
        for at in 0..texts.count() as u32 {
            let text = texts.get(at);
            let mut place = xxh3_64(text.as_bytes()) as usize & (size - 1);
            while places[place] != EMPTY && texts.get(places[place]) != text {
                place = (place + 1) & (size - 1);
            }
            if places[place] == EMPTY {
                places[place] = at;
            }
        }
        TextTable {
            places: places.into(),
        }
    }

    /// The number of `text` in the `texts` the table was built over.
    #[inline]
    pub fn find(&self, texts: &Texts, text: &[u8]) -> Option<u32> {
        let mask = self.places.len() - 1;
        let mut place = xxh3_64(text) as usize & mask;
        loop {
            let at = self.places[place];
            if at == EMPTY {
                return None;
            }
            let range = texts.ends[at as usize] as usize..texts.ends[at as usize + 1] as usize;
            if &texts.bytes[range] == text {
                return Some(at);
            }
            place = (place + 1) & mask;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_finds_each_text_and_nothing_else() {
        let mut builder = TextsBuilder::default();
        for text in ["a", "", "ünï", "a", "bb"] {
            builder.push(text);
        }
        let texts = builder.finish();
        let table = TextTable::build(&texts);
        assert_eq!(table.find(&texts, b"a"), Some(0));
        assert_eq!(table.find(&texts, b""), Some(1));
        assert_eq!(table.find(&texts, "ünï".as_bytes()), Some(2));
        assert_eq!(table.find(&texts, b"bb"), Some(4));
        assert_eq!(table.find(&texts, b"b"), None);
    }

    #[test]
    fn an_empty_table_finds_nothing() {
        let texts = TextsBuilder::default().finish();
        assert_eq!(TextTable::build(&texts).find(&texts, b"a"), None);
    }
}
