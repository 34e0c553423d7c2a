//! The words of all queries of a segment, and how a document's words are found among them.
//!
//! A word of up to sixteen bytes is its own key: it is found without looking at any text. Longer ones have
//! their hash for a key. Words of ASCII are folded on the way, so that nothing is copied.

use super::eights::{eight_at, fold_ascii};
use super::listen::WordId;
use super::words::RawWord;
use crate::index::flat::{Flat, Texts};

/// No word stands at a place.
const EMPTY: u64 = u64::MAX;

/// Words by number, and a table that finds them: open addressing, at most half full.
///
/// A document asks for every word it has, so that the table is kept small: a place is a word's number
/// behind its tag, which alone tells most words apart, and the keys stand by themselves.
pub struct Vocabulary {
    /// Folded, ascending, each once.
    pub words: Texts,
    /// By word: what it is found by.
    pub keys: Flat<[u64; 2]>,
    /// A power of two of them.
    pub places: Flat<u64>,
}

impl Vocabulary {
    /// A vocabulary of these words, which are folded and distinct.
    pub fn new(words: Texts) -> Vocabulary {
        let count = WordId::try_from(words.count()).expect("fewer than 2^32 words");
        let size = (words.count() * 2).max(2).next_power_of_two();
        let mut places = vec![EMPTY; size];
        let mut keys = Vec::with_capacity(words.count());
        for word in 0..count {
            let key = Key::of(words.get(word));
            let mut at = key.place(size);
            while places[at] != EMPTY {
                at = (at + 1) & (size - 1);
            }
            places[at] = u64::from(key.tag()) << 32 | u64::from(word);
            keys.push(key.key);
        }
        Vocabulary {
            words,
            keys: keys.into(),
            places: places.into(),
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

    #[inline(always)]
    fn find_by(&self, key: Key, is_it: impl Fn(&[u8]) -> bool) -> Option<WordId> {
        let places = &*self.places;
        let tag = key.tag();
        let mut at = key.place(places.len());
        loop {
            let place = places[at];
            if place == EMPTY {
                return None;
            }
            let word = place as WordId;
            if (place >> 32) as u32 == tag
                && self.keys[word as usize] == key.key
                && (!key.is_long || is_it(self.bytes(word)))
            {
                return Some(word);
            }
            at = (at + 1) & (places.len() - 1);
        }
    }

    fn bytes(&self, word: WordId) -> &[u8] {
        let ends = &self.words.ends[word as usize..word as usize + 2];
        &self.words.bytes[ends[0] as usize..ends[1] as usize]
    }
}

/// What a folded word is found by. It stands in files: another function is another version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// Of a short word its bytes, of a long one the hash.
    key: [u64; 2],
    hash: u64,
    is_long: bool,
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
            return Key {
                key: sixteen,
                hash,
                is_long: false,
            };
        }
        for at in (SHORT_BYTES_MAX..bytes.len()).step_by(8) {
            hash = mix([hash, fold(eight_at(bytes, at))]);
        }
        Key {
            key: [hash, 0],
            hash,
            is_long: true,
        }
    }

    /// Tells most words apart, and the short from the long.
    #[inline]
    fn tag(self) -> u32 {
        (self.hash >> 33 << 1) as u32 | u32::from(self.is_long)
    }

    #[inline]
    fn place(self, size: usize) -> usize {
        self.hash as usize & (size - 1)
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
