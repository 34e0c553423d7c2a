//! The words of all queries of a segment, and how a document's words are found among them.
//!
//! A word is hashed eight bytes at a time; one of ASCII is folded on the way, so that nothing is copied.

use bytemuck::{Pod, Zeroable};

use super::folding::fold_ascii;
use super::listen::WordId;
use crate::index::flat::{Flat, Texts};

/// A place of the table: a word and a part of its hash.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Place {
    mark: u32,
    word: WordId,
}

const EMPTY: Place = Place {
    mark: 0,
    word: WordId::MAX,
};

/// Words by number, and a table that finds them: open addressing, at most half full.
pub struct Vocabulary {
    /// Folded, ascending, each once.
    pub words: Texts,
    /// A power of two of them.
    pub places: Flat<Place>,
}

impl Vocabulary {
    /// A vocabulary of these words, which are folded and distinct.
    pub fn new(words: Texts) -> Vocabulary {
        let count = WordId::try_from(words.count()).expect("fewer than 2^32 words");
        let size = (words.count() * 2).max(2).next_power_of_two();
        let mut places = vec![EMPTY; size];
        for word in 0..count {
            let hash = Hash::of(words.get(word));
            let mut at = hash.place(size);
            while places[at].word != EMPTY.word {
                at = (at + 1) & (size - 1);
            }
            places[at] = Place {
                mark: hash.mark(),
                word,
            };
        }
        Vocabulary {
            words,
            places: places.into(),
        }
    }

    /// How many words there are.
    pub fn count(&self) -> usize {
        self.words.count()
    }

    /// The number of a folded word; `hash` is its own.
    #[inline]
    pub fn find(&self, word: &str, hash: Hash) -> Option<WordId> {
        self.find_by(hash, |known| known == word.as_bytes())
    }

    /// The number of a word of ASCII that is not folded yet; `hash` is that of its folded form.
    #[inline]
    pub fn find_ascii(&self, word: &[u8], hash: Hash) -> Option<WordId> {
        self.find_by(hash, |known| {
            known.len() == word.len() && eights(known).eq(eights(word).map(fold_ascii))
        })
    }

    #[inline]
    fn find_by(&self, hash: Hash, is_it: impl Fn(&[u8]) -> bool) -> Option<WordId> {
        let size = self.places.len();
        let mut at = hash.place(size);
        loop {
            let place = self.places[at];
            if place.word == EMPTY.word {
                return None;
            }
            if place.mark == hash.mark() && is_it(self.bytes(place.word)) {
                return Some(place.word);
            }
            at = (at + 1) & (size - 1);
        }
    }

    #[inline]
    fn bytes(&self, word: WordId) -> &[u8] {
        let ends = &self.words.ends[word as usize..word as usize + 2];
        &self.words.bytes[ends[0] as usize..ends[1] as usize]
    }
}

/// The hash of a folded word. It stands in files: another function is another version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hash(u64);

impl Hash {
    /// Of a folded word.
    #[inline]
    pub fn of(word: &str) -> Hash {
        Hash::of_eights(word.len(), eights(word.as_bytes()))
    }

    /// Of the folded form of a word of ASCII.
    #[inline]
    pub fn of_ascii(word: &[u8]) -> Hash {
        Hash::of_eights(word.len(), eights(word).map(fold_ascii))
    }

    #[inline]
    fn of_eights(len: usize, eights: impl Iterator<Item = u64>) -> Hash {
        const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut hash = len as u64;
        for eight in eights {
            let product = u128::from(hash ^ eight) * u128::from(FACTOR);
            hash = product as u64 ^ (product >> 64) as u64;
        }
        Hash(hash)
    }

    #[inline]
    fn place(self, size: usize) -> usize {
        self.0 as usize & (size - 1)
    }

    #[inline]
    fn mark(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

/// Numbers of eight bytes that, with the length, say all bytes: the last may repeat some of those before,
/// and of less than eight bytes there is one.
#[inline]
fn eights(bytes: &[u8]) -> impl Iterator<Item = u64> + '_ {
    let whole = bytes.len().saturating_sub(1) / 8;
    let firsts = bytes.chunks_exact(8).take(whole).map(number);
    firsts.chain(std::iter::once(last_eight(bytes)))
}

#[inline]
fn last_eight(bytes: &[u8]) -> u64 {
    let len = bytes.len();
    match len {
        0 => 0,
        1..=3 => {
            let [first, middle, last] = [bytes[0], bytes[len / 2], bytes[len - 1]].map(u64::from);
            first | middle << 8 | last << 16
        }
        4..=7 => number4(&bytes[..4]) | number4(&bytes[len - 4..]) << 32,
        _ => number(&bytes[len - 8..]),
    }
}

#[inline]
fn number(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().expect("eight bytes"))
}

#[inline]
fn number4(bytes: &[u8]) -> u64 {
    u64::from(u32::from_le_bytes(bytes.try_into().expect("four bytes")))
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
        assert_eq!(none.find("a", Hash::of("a")), None);
        assert_eq!(none.find_ascii(b"A", Hash::of_ascii(b"A")), None);
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
                prop_assert_eq!(vocabulary.find(word, Hash::of(word)), number);
                if word.is_ascii() {
                    let loud = word.to_ascii_uppercase().into_bytes();
                    prop_assert_eq!(vocabulary.find_ascii(&loud, Hash::of_ascii(&loud)), number);
                }
            }
            for word in asked {
                let folded = word.to_ascii_lowercase();
                let number = words.iter().position(|known| *known == folded);
                let number = number.map(|number| number as WordId);
                prop_assert_eq!(vocabulary.find(&folded, Hash::of(&folded)), number);
                if word.is_ascii() {
                    let word = word.as_bytes();
                    prop_assert_eq!(vocabulary.find_ascii(word, Hash::of_ascii(word)), number);
                }
            }
        }
    }
}
