//! The words of all queries of a segment, and how a document's words are found among them.
//!
//! A word of up to sixteen bytes is its own key: it is found without looking at any text. Longer ones have
//! their hash for a key. There is one slot that a key can stand in, so that a lookup branches on nothing: words whose
//! hashes are near share a group, and each group has a factor that spreads its words over slots that no
//! other has (hash and displace).

use std::cmp::Ordering;

use bytemuck::{Pod, Zeroable};

use crate::keywords::token_sink::WordId;
use crate::subscription_store::flat_layout::{Flat, Texts};
use crate::tokenizer::byte_classes::{load_16, load_8};

/// So many slots are there for a hundred words: the more, the sooner a factor is found.
const SLOTS_PERCENT: usize = 125;

/// So many words are in a group on average.
const GROUP_WORDS: usize = 3;

/// So many factors are tried for a group. That is far more than any takes whose hashes differ.
const FACTORS_MAX: u32 = 1 << 16;

/// In place of a factor: none was found, and the words of the group stand in no slot. All of them are looked
/// for in the first.
const NO_FACTOR: u32 = 0;

/// Marks the key of a long word: no text has such bytes.
const LONG: u64 = u64::MAX;

/// Words by number, and a table that finds them.
pub struct Vocabulary {
    /// TokenCollector, ascending, each once.
    pub words: Texts,
    /// By group; at least one.
    pub factors: Flat<u32>,
    /// At least one.
    pub slots: Flat<Slot>,
}

/// Where one word can stand.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub struct Slot {
    /// What the word is found by; zeros where there is none.
    key: Key,
    word: WordId,
    /// Not 0 where words are looked for that stand in no slot.
    is_open: u32,
}

impl Vocabulary {
    /// A vocabulary of these words, which are folded and distinct.
    pub fn new(words: Texts) -> Vocabulary {
        Vocabulary::with_factors(words, FACTORS_MAX)
    }

    fn with_factors(words: Texts, factors_max: u32) -> Vocabulary {
        let count = WordId::try_from(words.count()).expect("fewer than 2^32 words");
        let group_count = words.count() / GROUP_WORDS + 1;
        let key_of = |word| Key::of(words.get(word).as_bytes());
        let mut order: Vec<(u32, WordId)> = (0..count)
            .map(|word| (group(mix(key_of(word).0), group_count), word))
            .collect();
        order.sort_unstable();
        let mut groups: Vec<&[(u32, WordId)]> = order.chunk_by(|a, b| a.0 == b.0).collect();
        // Large ones first, while there is room.
        groups.sort_by_key(|group| std::cmp::Reverse(group.len()));
        let mut factors = vec![NO_FACTOR; group_count];
        let mut slots = vec![Slot::default(); words.count() * SLOTS_PERCENT / 100 + 1];
        for group in groups {
            let keys: Vec<Key> = group.iter().map(|&(_, word)| key_of(word)).collect();
            let Some((factor, places)) = spread(&keys, &slots, factors_max) else {
                slots[0].is_open = 1;
                continue;
            };
            factors[group[0].0 as usize] = factor;
            for ((place, key), &(_, word)) in places.into_iter().zip(keys).zip(group) {
                let slot = &mut slots[place as usize];
                (slot.key, slot.word) = (key, word);
            }
        }
        Vocabulary {
            words,
            factors: factors.into(),
            slots: slots.into(),
        }
    }

    /// How many words there are.
    pub fn count(&self) -> usize {
        self.words.count()
    }

    /// The number of a word.
    #[inline]
    pub fn find(&self, word: &[u8]) -> Option<WordId> {
        let key = Key::of(word);
        let looked = self.look(self.fetch(key), key);
        if looked.is_open {
            return self.find_closer(key, word);
        }
        looked.is_here.then_some(looked.word)
    }

    /// Which slot to look for a key in; it is fetched from memory, without waiting for it.
    #[inline(always)]
    pub fn fetch(&self, key: Key) -> u32 {
        let hash = mix(key.0);
        let factor = self.factors[group(hash, self.factors.len()) as usize];
        let slot = slot(hash, factor, self.slots.len());
        self.slots.fetch(slot as usize);
        slot
    }

    /// Looks whether a key's word stands in its slot, without a branch: it cannot be foretold.
    #[inline(always)]
    pub fn look(&self, slot: u32, key: Key) -> Looked {
        let slot = &self.slots[slot as usize];
        Looked {
            is_here: (slot.key.0[0] ^ key.0[0]) | (slot.key.0[1] ^ key.0[1]) == 0,
            word: slot.word,
            is_open: (slot.is_open != 0) | key.is_long(),
        }
    }

    /// The number of the word of a key, by all of its bytes; `long` are those of a long one.
    #[cold]
    pub fn find_closer(&self, key: Key, long: &[u8]) -> Option<WordId> {
        let slot = &self.slots[self.fetch(key) as usize];
        let sixteen: [u8; SHORT_BYTES_MAX] = bytemuck::cast(key.0.map(u64::to_le));
        let bytes = match sixteen.iter().position(|&byte| byte == 0) {
            _ if key.is_long() => long,
            Some(end) => &sixteen[..end],
            None => &sixteen,
        };
        if slot.key == key && self.bytes(slot.word) == bytes {
            return Some(slot.word);
        }
        if slot.is_open == 0 {
            return None;
        }
        // It may be one of those that stand in no slot: the words are in order.
        let (mut low, mut high) = (0, self.count() as WordId);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.bytes(middle).cmp(bytes) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return Some(middle),
                Ordering::Greater => high = middle,
            }
        }
        None
    }

    fn bytes(&self, word: WordId) -> &[u8] {
        let ends = &self.words.ends[word as usize..word as usize + 2];
        &self.words.bytes[ends[0] as usize..ends[1] as usize]
    }
}

/// The group that a hash belongs to, of so many.
#[inline(always)]
fn group(hash: u64, groups: usize) -> u32 {
    ((u128::from(hash) * groups as u128) >> 64) as u32
}

/// The slot, of so many, that a group's factor gives a hash.
#[inline(always)]
fn slot(hash: u64, factor: u32, slots: usize) -> u32 {
    let spread = hash.wrapping_mul(u64::from(factor));
    ((u128::from(spread) * slots as u128) >> 64) as u32
}

/// A factor that gives each key of a group a slot of its own that is free, and these slots.
fn spread(keys: &[Key], slots: &[Slot], factors_max: u32) -> Option<(u32, Vec<u32>)> {
    let mut places = Vec::new();
    'factors: for number in 1..=factors_max {
        // Odd, and far from each other.
        let factor = number.wrapping_mul(0x9e37_79b9) | 1;
        places.clear();
        for key in keys {
            let place = slot(mix(key.0), factor, slots.len());
            if slots[place as usize].key != Key::default() || places.contains(&place) {
                continue 'factors;
            }
            places.push(place);
        }
        return Some((factor, places));
    }
    None
}

/// What a slot tells of a key.
pub struct Looked {
    /// Whether a word here has it.
    pub is_here: bool,
    /// Which, then.
    pub word: WordId,
    /// Whether only the whole word can tell: [`Vocabulary::find_closer`].
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
    #[inline]
    pub fn of(word: &[u8]) -> Key {
        Key::within(word, 0, word.len())
    }

    /// Of the word from `start` to `end` in a text.
    #[inline(always)]
    pub fn within(text: &[u8], start: usize, end: usize) -> Key {
        if end - start <= SHORT_BYTES_MAX {
            Key(load_16(text, start, end - start))
        } else {
            Key::of_long(&text[start..end])
        }
    }

    #[cold]
    fn of_long(bytes: &[u8]) -> Key {
        let first = mix([0, 8].map(|at| load_8(bytes, at)));
        let rest = (SHORT_BYTES_MAX..bytes.len()).step_by(8);
        let hash = rest.fold(first, |hash, at| mix([hash, load_8(bytes, at)]));
        Key([hash, LONG])
    }

    /// Whether the word is more than its key.
    #[inline(always)]
    pub fn is_long(self) -> bool {
        self.0[1] == LONG
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
    use crate::subscription_store::flat_layout::TextsBuilder;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn vocabulary(words: &BTreeSet<String>, factors_max: u32) -> Vocabulary {
        let mut texts = TextsBuilder::default();
        for word in words {
            texts.push(word);
        }
        Vocabulary::with_factors(texts.finish(), factors_max)
    }

    #[test]
    fn an_empty_vocabulary_knows_no_word() {
        let none = vocabulary(&BTreeSet::new(), FACTORS_MAX);
        assert_eq!(none.find(b"a"), None);
    }

    proptest! {
        #[test]
        fn a_word_is_found_by_its_number_and_no_other(
            words in prop::collection::btree_set("[a-c]{1,3}|[a-b]{7,9}|[ab]{15,25}|[aé]{1,4}", 0..60),
            asked in prop::collection::vec("[a-c]{1,3}|[a-b]{7,9}|[ab]{15,25}|[aé]{1,4}", 20),
            // With few, words stand in no slot.
            factors_max in prop::sample::select(vec![0, 1, 2, FACTORS_MAX]),
        ) {
            let vocabulary = vocabulary(&words, factors_max);
            prop_assert!(factors_max < FACTORS_MAX || vocabulary.slots[0].is_open == 0);
            for word in words.iter().chain(&asked) {
                let number = words.iter().position(|known| known == word);
                let number = number.map(|number| number as WordId);
                prop_assert_eq!(vocabulary.find(word.as_bytes()), number);
            }
        }
    }
}
