//! The words of all queries of a segment, in a perfect hash table, and their phrases.
//!
//! A word of up to sixteen bytes is its own key; longer words use a hash as key. Each key has
//! exactly one possible slot, so a lookup needs no branch. The table is built by hash-and-displace:
//! words are hashed into buckets, and each bucket has a multiplier that maps its words to slots of
//! their own. The hash function is keyed: subscribers choose the words, and whoever can predict the
//! hashes can choose words that all fall into one bucket.

use std::cmp::Ordering;

use bytemuck::{Pod, Zeroable};

use crate::keywords::phrase_automaton::PhraseAutomaton;
use crate::keywords::token_sink::WordId;
use crate::subscription_store::flat_layout::{prefetch, random_seed, FlatArray, StringArray};
use crate::tokenizer::byte_classes::{load_16, load_8};
use crate::tokenizer::tokenizer_options::TokenizerOptions;

/// Table size; a larger table makes multipliers easier to find.
const SLOTS_PER_100_WORDS: usize = 125;

/// Average number of words in a bucket.
const BUCKET_WORDS: usize = 3;

/// Larger buckets get no multiplier. They do not occur by chance.
const BUCKET_WORDS_MAX: usize = 32;

/// Number of multipliers tried for a bucket, far more than needed if the hashes differ.
const MULTIPLIERS_MAX: u32 = 1 << 16;

/// Marks a bucket without a usable multiplier. Its words have no slot; lookups of such words end at
/// slot 0 and fall back to a binary search.
const NO_MULTIPLIER: u32 = 0;

/// Second half of the key of a long word; no UTF-8 text contains these bytes.
const LONG_MARKER: u64 = u64::MAX;

/// Words by number, and the hash table that finds them.
pub struct Vocabulary {
    /// How queries were tokenized, and documents have to be.
    pub options: TokenizerOptions,
    /// In the common form of their spellings, ascending, distinct.
    pub words: StringArray,
    /// Of the hash function.
    pub hash_key: [u64; 2],
    /// One per bucket; not empty.
    pub multipliers: FlatArray<u32>,
    /// Not empty.
    pub slots: FlatArray<Slot>,
    /// Finds the words that are phrases.
    pub phrases: PhraseAutomaton,
}

/// A slot of the hash table.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub struct Slot {
    /// Key of the word; zero if the slot is empty.
    key: Key,
    word: WordId,
    /// Nonzero if words without a slot are looked up here.
    has_unplaced: u32,
}

impl Vocabulary {
    /// Builds the vocabulary of these ascending, distinct words, which include those of each phrase.
    pub fn new(options: TokenizerOptions, words: StringArray) -> Vocabulary {
        let hash_key = [random_seed(), random_seed()];
        Vocabulary::with_multipliers(options, words, hash_key, MULTIPLIERS_MAX)
    }

    fn with_multipliers(
        options: TokenizerOptions,
        words: StringArray,
        hash_key: [u64; 2],
        multipliers_max: u32,
    ) -> Vocabulary {
        let count = WordId::try_from(words.count()).expect("fewer than 2^32 words");
        let bucket_count = words.count() / BUCKET_WORDS + 1;
        let key_of = |word| Key::of(words.get(word).as_bytes());
        let mut order: Vec<(u32, WordId)> = (0..count)
            .map(|word| {
                (
                    bucket(keyed_hash(hash_key, key_of(word)), bucket_count),
                    word,
                )
            })
            .collect();
        order.sort_unstable();
        let mut buckets: Vec<&[(u32, WordId)]> = order.chunk_by(|a, b| a.0 == b.0).collect();
        // Place large buckets first, while most slots are free.
        buckets.sort_by_key(|bucket| std::cmp::Reverse(bucket.len()));
        let mut multipliers = vec![NO_MULTIPLIER; bucket_count];
        let mut slots = vec![Slot::default(); words.count() * SLOTS_PER_100_WORDS / 100 + 1];
        for bucket in buckets {
            let keys: Vec<Key> = bucket.iter().map(|&(_, word)| key_of(word)).collect();
            let hashes: Vec<u64> = keys.iter().map(|&key| keyed_hash(hash_key, key)).collect();
            let Some((multiplier, positions)) = place_bucket(&hashes, &slots, multipliers_max)
            else {
                slots[0].has_unplaced = 1;
                continue;
            };
            multipliers[bucket[0].0 as usize] = multiplier;
            for ((position, key), &(_, word)) in positions.into_iter().zip(keys).zip(bucket) {
                let slot = &mut slots[position as usize];
                (slot.key, slot.word) = (key, word);
            }
        }
        let mut vocabulary = Vocabulary {
            options,
            words,
            hash_key,
            multipliers: multipliers.into(),
            slots: slots.into(),
            phrases: PhraseAutomaton::empty(),
        };
        let phrases = PhraseAutomaton::build(&vocabulary.words, |word| vocabulary.find(word));
        vocabulary.phrases = phrases.expect("the words of each phrase");
        vocabulary
    }

    /// Number of words.
    pub fn count(&self) -> usize {
        self.words.count()
    }

    /// Returns the number of a word.
    #[inline]
    pub fn find(&self, word: &[u8]) -> Option<WordId> {
        let key = Key::of(word);
        let probed = self.probe(self.prefetch(key), key);
        if probed.needs_exact {
            return self.find_exact(key, word);
        }
        probed.is_match.then_some(probed.word)
    }

    /// Returns the slot of a key and prefetches it.
    #[inline(always)]
    pub fn prefetch(&self, key: Key) -> u32 {
        let hash = keyed_hash(self.hash_key, key);
        let multiplier = self.multipliers[bucket(hash, self.multipliers.len()) as usize];
        let slot = slot(hash, multiplier, self.slots.len());
        prefetch(&self.slots, slot as usize);
        slot
    }

    /// Checks whether the slot contains the key's word. Branch-free, because the outcome is
    /// unpredictable.
    #[inline(always)]
    pub fn probe(&self, slot: u32, key: Key) -> Probe {
        let slot = &self.slots[slot as usize];
        Probe {
            is_match: (slot.key.0[0] ^ key.0[0]) | (slot.key.0[1] ^ key.0[1]) == 0,
            word: slot.word,
            needs_exact: (slot.has_unplaced != 0) | key.is_long(),
        }
    }

    /// Returns the number of a word by comparing all of its bytes; `long` are the bytes of a long
    /// word.
    #[cold]
    pub fn find_exact(&self, key: Key, long: &[u8]) -> Option<WordId> {
        let slot = &self.slots[self.prefetch(key) as usize];
        let sixteen: [u8; SHORT_BYTES_MAX] = bytemuck::cast(key.0.map(u64::to_le));
        let bytes = match sixteen.iter().position(|&byte| byte == 0) {
            _ if key.is_long() => long,
            Some(end) => &sixteen[..end],
            None => &sixteen,
        };
        if slot.key == key && self.bytes(slot.word) == bytes {
            return Some(slot.word);
        }
        if slot.has_unplaced == 0 {
            return None;
        }
        // The word may have no slot; words are sorted.
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
        self.words.bytes_of(word)
    }

    /// Whether the words are ascending, the table finds each of them and nothing else, and the automaton
    /// is that of their phrases.
    pub fn is_valid(&self) -> bool {
        let find = |word: &[u8]| self.find(word);
        self.is_table_valid() && self.phrases.is_valid(&self.words, find)
    }

    fn is_table_valid(&self) -> bool {
        let count = self.count();
        let words = || (0..count as WordId).map(|word| (word, Key::of(self.bytes(word))));
        let are_ascending = count < WordId::MAX as usize
            && (1..count as WordId).all(|word| self.bytes(word - 1) < self.bytes(word));
        let has_unplaced = |slot: &Slot| slot.has_unplaced != 0;
        if !are_ascending || self.multipliers.is_empty() || self.slots.is_empty() {
            return false;
        }
        let is_own = |&(word, key): &(WordId, Key)| {
            let slot = &self.slots[self.prefetch(key) as usize];
            (slot.key, slot.word) == (key, word)
        };
        let placed = words().filter(is_own).count();
        let is_used = |slot: &&Slot| slot.key != Key::default();
        let unplaced_are_searched = placed == count
            || words().filter(|word| !is_own(word)).all(|(_, key)| {
                // Such words are looked up in the first slot.
                self.prefetch(key) == 0 && has_unplaced(&self.slots[0])
            });
        unplaced_are_searched
            && self.slots.iter().filter(is_used).count() == placed
            && self
                .slots
                .iter()
                .filter(|slot| !is_used(slot))
                .all(|slot| slot.word == 0)
            && !self.slots[1..].iter().any(has_unplaced)
    }
}

/// Maps a hash to one of `buckets` buckets.
#[inline(always)]
fn bucket(hash: u64, buckets: usize) -> u32 {
    ((u128::from(hash) * buckets as u128) >> 64) as u32
}

/// Maps a hash to one of `slots` slots by a bucket's multiplier.
#[inline(always)]
fn slot(hash: u64, multiplier: u32, slots: usize) -> u32 {
    let spread = hash.wrapping_mul(u64::from(multiplier));
    ((u128::from(spread) * slots as u128) >> 64) as u32
}

/// Finds a multiplier that maps all hashes of a bucket to distinct free slots. Returns it with the
/// slots.
fn place_bucket(hashes: &[u64], slots: &[Slot], multipliers_max: u32) -> Option<(u32, Vec<u32>)> {
    if hashes.len() > BUCKET_WORDS_MAX {
        return None;
    }
    let mut positions = Vec::new();
    'multipliers: for number in 1..=multipliers_max {
        // Odd, and far apart.
        let multiplier = number.wrapping_mul(0x9e37_79b9) | 1;
        positions.clear();
        for &hash in hashes {
            let position = slot(hash, multiplier, slots.len());
            if slots[position as usize].key != Key::default() || positions.contains(&position) {
                continue 'multipliers;
            }
            positions.push(position);
        }
        return Some((multiplier, positions));
    }
    None
}

/// Result of [`Vocabulary::probe`].
pub struct Probe {
    /// Whether the slot has this key.
    pub is_match: bool,
    /// The word in the slot.
    pub word: WordId,
    /// Whether the result is only valid after [`Vocabulary::find_exact`].
    pub needs_exact: bool,
}

/// Hash table key of a folded word: the bytes of a short word, the marked hash of a long one.
/// Stored in index files, so changing it requires a new file version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
pub struct Key([u64; 2]);

/// Longest word that its key represents completely.
pub const SHORT_BYTES_MAX: usize = 16;

impl Key {
    /// The key of a word.
    #[inline]
    pub fn of(word: &[u8]) -> Key {
        Key::within(word, 0, word.len())
    }

    /// The key of the word at `start..end` in a text.
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
        Key([hash, LONG_MARKER])
    }

    /// Whether the key does not represent the word completely.
    #[inline(always)]
    pub fn is_long(self) -> bool {
        self.0[1] == LONG_MARKER
    }
}

/// The hash of a key in one vocabulary.
#[inline(always)]
fn keyed_hash(hash_key: [u64; 2], key: Key) -> u64 {
    mix([key.0[0] ^ hash_key[0], key.0[1] ^ hash_key[1]])
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
    use crate::subscription_store::flat_layout::StringArrayBuilder;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn vocabulary(words: &BTreeSet<String>, multipliers_max: u32) -> Vocabulary {
        let mut texts = StringArrayBuilder::default();
        for word in words {
            texts.push(word);
        }
        let options = TokenizerOptions::default();
        Vocabulary::with_multipliers(options, texts.finish(), [1, 2], multipliers_max)
    }

    #[test]
    fn chosen_words_share_a_bucket_only_under_the_hash_key_they_were_chosen_for() {
        // The buckets of 30,000 words, as many words in each of a few buckets as an attacker likes.
        let buckets = 30_000 / BUCKET_WORDS + 1;
        let of = |word: &String| bucket(keyed_hash([1, 2], Key::of(word.as_bytes())), buckets);
        let chosen: BTreeSet<String> = (0u64..)
            .map(|number| number.to_string())
            .filter(|word| of(word) < 100)
            .take(30_000)
            .collect();
        let predictable = vocabulary(&chosen, MULTIPLIERS_MAX);
        assert!(predictable.is_valid() && predictable.slots[0].has_unplaced != 0);
        let keyed = Vocabulary::new(predictable.options, predictable.words);
        assert!(keyed.is_valid() && keyed.slots[0].has_unplaced == 0);
    }

    #[test]
    fn an_empty_vocabulary_contains_no_word() {
        let none = vocabulary(&BTreeSet::new(), MULTIPLIERS_MAX);
        assert_eq!(none.find(b"a"), None);
    }

    proptest! {
        #[test]
        fn find_returns_the_number_of_exactly_the_known_words(
            words in prop::collection::btree_set("[a-c]{1,3}|[a-b]{7,9}|[ab]{15,25}|[aé]{1,4}", 0..60),
            queried in prop::collection::vec("[a-c]{1,3}|[a-b]{7,9}|[ab]{15,25}|[aé]{1,4}", 20),
            // With few multipliers, some words have no slot.
            multipliers_max in prop::sample::select(vec![0, 1, 2, MULTIPLIERS_MAX]),
        ) {
            let vocabulary = vocabulary(&words, multipliers_max);
            prop_assert!(multipliers_max < MULTIPLIERS_MAX || vocabulary.slots[0].has_unplaced == 0);
            prop_assert!(vocabulary.is_valid());
            for word in words.iter().chain(&queried) {
                let number = words.iter().position(|known| known == word);
                let number = number.map(|number| number as WordId);
                prop_assert_eq!(vocabulary.find(word.as_bytes()), number);
            }
        }
    }
}
