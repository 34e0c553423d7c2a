//! The words of all queries of a segment, and how a document's words are found among them.
//!
//! A word of up to sixteen bytes is its own key: it is found without looking at any text. Longer ones have
//! their hash for a key.

use bytemuck::{Pod, Zeroable};

use super::eights::eight_at;
use super::listen::WordId;
use super::words::Word;
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
    keys: [Key; BUCKET_WORDS],
    words: [WordId; BUCKET_WORDS],
    /// The marks of words that belong here and stand in a later bucket.
    overflows: u32,
}

impl Vocabulary {
    /// A vocabulary of these words, which are folded and distinct.
    pub fn new(words: Texts) -> Vocabulary {
        let count = WordId::try_from(words.count()).expect("fewer than 2^32 words");
        let mut buckets = vec![Bucket::zeroed(); words.count() * BUCKETS_PERCENT / 100 + 1];
        for word in 0..count {
            let key = Key::of(Word::new(words.get(word)));
            let Spot { bucket, mark } = key.spot(buckets.len());
            let mut at = bucket as usize;
            let slot = loop {
                let is_free = |key: &Key| *key == Key::default();
                match buckets[at].keys.iter().position(is_free) {
                    Some(slot) => break slot,
                    None => buckets[at].overflows |= mark,
                }
                at = (at + 1) % buckets.len();
            };
            buckets[at].keys[slot] = key;
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

    /// The number of a word.
    #[inline]
    pub fn find(&self, word: Word<'_>) -> Option<WordId> {
        self.find_key(Key::of(word), word.bytes())
    }

    /// The number of the word of a key; `bytes` are those of a long one.
    #[inline]
    pub fn find_key(&self, key: Key, bytes: &[u8]) -> Option<WordId> {
        let Spot { bucket, mark } = key.spot(self.buckets.len());
        let mut at = bucket as usize;
        for _ in 0..self.buckets.len() {
            let bucket = &self.buckets[at];
            for (&known, &word) in bucket.keys.iter().zip(&bucket.words) {
                if known == key && (!key.is_long() || self.bytes(word) == bytes) {
                    return Some(word);
                }
            }
            if bucket.overflows & mark == 0 {
                return None;
            }
            at = (at + 1) % self.buckets.len();
        }
        None
    }

    /// Where to look for a key; it is fetched from memory, without waiting for it.
    #[inline(always)]
    pub fn fetch(&self, key: Key) -> Spot {
        let spot = key.spot(self.buckets.len());
        self.buckets.fetch(spot.bucket as usize);
        spot
    }

    /// Looks where a key's word should stand, without a branch: whether and where it does cannot be foretold.
    #[inline(always)]
    pub fn look(&self, spot: Spot, key: Key) -> Looked {
        let bucket = &self.buckets[spot.bucket as usize];
        let [first, second, third] = bucket
            .keys
            .map(|known| (known.0[0] ^ key.0[0]) | (known.0[1] ^ key.0[1]) == 0);
        let is_here = first | second | third;
        Looked {
            is_here,
            word: bucket.words[(usize::from(second) + 2 * usize::from(third)).min(2)],
            is_open: (bucket.overflows & spot.mark != 0) & !is_here | key.is_long(),
        }
    }

    fn bytes(&self, word: WordId) -> &[u8] {
        let ends = &self.words.ends[word as usize..word as usize + 2];
        &self.words.bytes[ends[0] as usize..ends[1] as usize]
    }
}

/// Where to look for a key.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spot {
    bucket: u32,
    /// Its bit among those that have overflowed.
    mark: u32,
}

/// What a bucket tells of a key.
pub struct Looked {
    /// Whether a word here has it.
    pub is_here: bool,
    /// Which, then.
    pub word: WordId,
    /// Whether that is not all: the key is of a long word, or its word may stand in the next bucket.
    pub is_open: bool,
}

/// What a folded word is found by: of a short word its bytes, of a long one the hash, marked. It stands in
/// files: another function is another version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
pub struct Key([u64; 2]);

/// Longer words are more than their keys.
pub const SHORT_BYTES_MAX: usize = 16;

impl Key {
    /// Of a word.
    #[inline(always)]
    pub fn of(word: Word<'_>) -> Key {
        if word.bytes_count() <= SHORT_BYTES_MAX {
            Key(word.sixteen)
        } else {
            Key::of_long(word.bytes())
        }
    }

    #[cold]
    fn of_long(bytes: &[u8]) -> Key {
        let first = mix([0, 8].map(|at| eight_at(bytes, at)));
        let rest = (SHORT_BYTES_MAX..bytes.len()).step_by(8);
        let hash = rest.fold(first, |hash, at| mix([hash, eight_at(bytes, at)]));
        Key([hash, LONG])
    }

    /// Whether the word is more than its key.
    #[inline(always)]
    pub fn is_long(self) -> bool {
        self.0[1] == LONG
    }

    #[inline(always)]
    fn spot(self, buckets: usize) -> Spot {
        let hash = mix(self.0);
        Spot {
            bucket: ((u128::from(hash) * buckets as u128) >> 64) as u32,
            mark: 1 << (hash % u64::from(u32::BITS)),
        }
    }
}

#[inline(always)]
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

    #[test]
    fn an_empty_vocabulary_knows_no_word() {
        let none = vocabulary(&BTreeSet::new());
        assert_eq!(none.find(Word::new("a")), None);
    }

    /// What a lookup of many words at a time comes to.
    fn looked_up(vocabulary: &Vocabulary, word: &str) -> Option<WordId> {
        let key = Key::of(Word::new(word));
        let looked = vocabulary.look(vocabulary.fetch(key), key);
        if looked.is_open {
            return vocabulary.find_key(key, word.as_bytes());
        }
        looked.is_here.then_some(looked.word)
    }

    proptest! {
        #[test]
        fn a_word_is_found_by_its_number_and_no_other(
            words in prop::collection::btree_set("[a-c]{1,3}|[a-b]{7,9}|[ab]{15,25}|[aé]{1,4}", 0..60),
            asked in prop::collection::vec("[a-c]{1,3}|[a-b]{7,9}|[ab]{15,25}|[aé]{1,4}", 20),
        ) {
            let vocabulary = vocabulary(&words);
            for word in words.iter().chain(&asked) {
                let number = words.iter().position(|known| known == word);
                let number = number.map(|number| number as WordId);
                prop_assert_eq!(vocabulary.find(Word::new(word)), number);
                prop_assert_eq!(looked_up(&vocabulary, word), number);
            }
        }
    }
}
