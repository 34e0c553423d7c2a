//! The words of all queries of a segment, and how a document's words are found among them.
//!
//! A word of up to sixteen bytes is its own key: it is found without looking at any text. Longer ones have
//! their hash for a key. Words of ASCII are folded on the way, so that nothing is copied.

use bytemuck::{Pod, Zeroable};

use super::eights::{eight_at, fold_ascii};
use super::listen::WordId;
use super::words::RawWord;
use crate::index::flat::{Flat, Texts};

/// Words of one bucket.
const BUCKET_WORDS: usize = 3;

/// So many buckets are there for a hundred words: few overflow.
const BUCKETS_PERCENT: usize = 67;

/// Marks the key of a long word: no text has such bytes.
const LONG: u64 = u64::MAX;

/// Words by number, and a table that finds them.
pub struct Vocabulary {
    /// Folded, ascending, each once.
    pub words: Texts,
    /// By hash; at least one.
    pub buckets: Flat<Bucket>,
}

/// A few words whose hashes are near. A document asks for every word it has, and what takes time is to wait
/// for memory: all that is asked of a bucket is one cache line.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, align(64))]
pub struct Bucket {
    /// What the words are found by; zeros where there is none.
    keys: [[u64; 2]; BUCKET_WORDS],
    words: [WordId; BUCKET_WORDS],
    /// 1 where words that belong here stand in the next bucket.
    overflows: u32,
}

impl Vocabulary {
    /// A vocabulary of these words, which are folded and distinct.
    pub fn new(words: Texts) -> Vocabulary {
        let count = WordId::try_from(words.count()).expect("fewer than 2^32 words");
        let mut buckets = vec![Bucket::zeroed(); words.count() * BUCKETS_PERCENT / 100 + 1];
        for word in 0..count {
            let key = Key::of(words.get(word));
            let mut at = key.place(buckets.len());
            let slot = loop {
                let is_free = |key: &[u64; 2]| *key == [0; 2];
                match buckets[at].keys.iter().position(is_free) {
                    Some(slot) => break slot,
                    None => buckets[at].overflows = 1,
                }
                at = (at + 1) % buckets.len();
            };
            buckets[at].keys[slot] = key.key;
            buckets[at].words[slot] = word;
        }
        Vocabulary {
            words,
            buckets: buckets.into(),
        }
    }

    /// How many words there are.
    pub fn count(&self) -> usize {
        self.words.count()
    }

    /// The number of a folded word; `key` is its own.
    #[inline]
    pub fn find(&self, word: &str, key: Key) -> Option<WordId> {
        self.find_by(key, |known| known == word.as_bytes())
    }

    /// The number of a word as it stands; `key` is its own.
    #[inline]
    pub fn find_raw(&self, word: RawWord<'_>, key: Key) -> Option<WordId> {
        self.find_by(key, |known| {
            known.len() == word.bytes.len()
                && (0..known.len())
                    .step_by(8)
                    .all(|at| eight_at(known, at) == fold_ascii(eight_at(word.bytes, at)))
        })
    }

    /// Tells those of these words, which are no more than their keys, that there are, each with what it comes
    /// with.
    #[inline]
    pub fn find_short<T: Copy + Default>(&self, words: &[(T, Key)], found: &mut Vec<(T, WordId)>) {
        let mut count = found.len();
        found.resize(count + words.len(), Default::default());
        for &(with, key) in words {
            let bucket = &self.buckets[key.place(self.buckets.len())];
            let [first, second, third] = bucket
                .keys
                .map(|known| (known[0] ^ key.key[0]) | (known[1] ^ key.key[1]) == 0);
            // Without a branch: where a word stands cannot be foretold.
            let slot = usize::from(second) + 2 * usize::from(third);
            found[count] = (with, bucket.words[slot]);
            let is_here = u32::from(first | second | third);
            count += is_here as usize;
            if bucket.overflows > is_here {
                if let Some(word) = self.find_by(key, |_| false) {
                    found[count] = (with, word);
                    count += 1;
                }
            }
        }
        found.truncate(count);
    }

    /// Fetches what will tell the number of a word, without waiting for it.
    #[inline]
    pub fn fetch(&self, key: Key) {
        self.buckets.fetch(key.place(self.buckets.len()));
    }

    #[inline(always)]
    fn find_by(&self, key: Key, is_it: impl Fn(&[u8]) -> bool) -> Option<WordId> {
        let mut at = key.place(self.buckets.len());
        for _ in 0..self.buckets.len() {
            let bucket = &self.buckets[at];
            for (slot, known) in bucket.keys.iter().enumerate() {
                let word = bucket.words[slot];
                if *known == key.key && (!key.is_long() || is_it(self.bytes(word))) {
                    return Some(word);
                }
            }
            if bucket.overflows == 0 {
                return None;
            }
            at = if at + 1 == self.buckets.len() {
                0
            } else {
                at + 1
            };
        }
        None
    }

    fn bytes(&self, word: WordId) -> &[u8] {
        let ends = &self.words.ends[word as usize..word as usize + 2];
        &self.words.bytes[ends[0] as usize..ends[1] as usize]
    }
}

/// What a folded word is found by. It stands in files: another function is another version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Key {
    /// Of a short word its bytes, of a long one the hash.
    key: [u64; 2],
    hash: u64,
}

const SHORT_BYTES_MAX: usize = 16;

impl Key {
    /// Of a folded word.
    #[inline]
    pub fn of(word: &str) -> Key {
        let bytes = word.as_bytes();
        let sixteen = [0, bytes.len().min(8)].map(|at| eight_at(bytes, at));
        Key::new(bytes, sixteen, |eight| eight)
    }

    /// Of the folded form of a word as it stands.
    #[inline]
    pub fn of_raw(word: RawWord<'_>) -> Key {
        Key::new(word.bytes, word.sixteen, fold_ascii)
    }

    #[inline]
    fn new(bytes: &[u8], sixteen: [u64; 2], fold: impl Fn(u64) -> u64) -> Key {
        let mut hash = mix(sixteen);
        if bytes.len() <= SHORT_BYTES_MAX {
            return Key { key: sixteen, hash };
        }
        for at in (SHORT_BYTES_MAX..bytes.len()).step_by(8) {
            hash = mix([hash, fold(eight_at(bytes, at))]);
        }
        Key {
            key: [hash, LONG],
            hash,
        }
    }

    /// Whether the word is more than its key.
    #[inline]
    pub fn is_long(self) -> bool {
        self.key[1] == LONG
    }

    #[inline]
    fn place(self, buckets: usize) -> usize {
        ((u128::from(self.hash) * buckets as u128) >> 64) as usize
    }
}

#[inline]
fn mix(numbers: [u64; 2]) -> u64 {
    let first = u128::from(numbers[0] ^ 0x9e37_79b9_7f4a_7c15);
    let second = u128::from(numbers[1] ^ 0xd1b5_4a32_d192_ed03);
    let product = first * second;
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::flat::TextsBuilder;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn vocabulary(words: &BTreeSet<String>) -> Vocabulary {
        let mut texts = TextsBuilder::default();
        for word in words {
            texts.push(word);
        }
        Vocabulary::new(texts.finish())
    }

    fn find_raw(vocabulary: &Vocabulary, bytes: &[u8]) -> Option<WordId> {
        let word = RawWord::whole(bytes);
        vocabulary.find_raw(word, Key::of_raw(word))
    }

    #[test]
    fn an_empty_vocabulary_knows_no_word() {
        let none = vocabulary(&BTreeSet::new());
        assert_eq!(none.find("a", Key::of("a")), None);
        assert_eq!(find_raw(&none, b"A"), None);
    }

    proptest! {
        #[test]
        fn a_word_is_found_by_its_number_and_no_other(
            words in prop::collection::btree_set("[a-c]{1,3}|[a-b]{7,9}|[ab]{15,25}|[aé]{1,4}", 0..60),
            asked in prop::collection::vec("[a-cA-C]{1,3}|[a-bA]{7,9}|[abB]{15,25}|[aé]{1,4}", 20),
        ) {
            let vocabulary = vocabulary(&words);
            for (number, word) in words.iter().enumerate() {
                let number = Some(number as WordId);
                prop_assert_eq!(vocabulary.find(word, Key::of(word)), number);
                if word.is_ascii() {
                    let loud = word.to_ascii_uppercase().into_bytes();
                    prop_assert_eq!(find_raw(&vocabulary, &loud), number);
                }
            }
            for word in asked {
                let folded = word.to_ascii_lowercase();
                let number = words.iter().position(|known| *known == folded);
                let number = number.map(|number| number as WordId);
                prop_assert_eq!(vocabulary.find(&folded, Key::of(&folded)), number);
                if word.is_ascii() {
                    let word = word.as_bytes();
                    prop_assert_eq!(find_raw(&vocabulary, word), number);
                }
            }
        }
    }
}
