//! Looks the words of texts up for all seats, some time after they are cut: meanwhile memory is fetched.

use crate::keywords::token_dispatcher::{Found, Seat};
use crate::keywords::vocabulary::{Key, Vocabulary, SHORT_BYTES_MAX};
use crate::tokenizer::word_tokenizer::{TokenVisitor, BLOCK_TOKENS_MAX};

/// So many words are asked for before the first is looked up.
const ASKED_MAX: usize = 64;

const _: () = assert!(BLOCK_TOKENS_MAX <= ASKED_MAX);

/// TokenVisitor that are asked for; kept from one document to the next so that its memory is used again.
pub struct Asked {
    keys: [Key; ASKED_MAX],
    /// Where each of them stands.
    places: [u32; ASKED_MAX],
    count: usize,
    long: LongWords,
}

/// The bytes of the long ones among them, and where each one's end.
#[derive(Default)]
struct LongWords {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Default for Asked {
    fn default() -> Asked {
        Asked {
            keys: [Key::default(); ASKED_MAX],
            places: [0; ASKED_MAX],
            count: 0,
            long: LongWords::default(),
        }
    }
}

/// Hears words and finds those that the seats know.
pub struct Lookup<'e, 's, L> {
    seats: &'e mut [Seat<'s, L>],
    asked: &'e mut Asked,
}

impl<'e, 's, L> Lookup<'e, 's, L> {
    /// For these seats.
    pub fn new(seats: &'e mut [Seat<'s, L>], asked: &'e mut Asked) -> Self {
        Lookup { seats, asked }
    }

    /// Looks up what is asked for.
    #[inline(never)]
    pub fn answer(&mut self) {
        for seat in self.seats.iter_mut() {
            self.asked.find(seat.vocabulary, &mut seat.memory.found);
        }
        self.asked.count = 0;
        self.asked.long.clear();
    }
}

impl<L> TokenVisitor for Lookup<'_, '_, L> {
    fn token(&mut self, at: usize, word: &[u8]) {
        self.tokens(word, &[(0, word.len())]);
        self.asked.places[self.asked.count - 1] = at as u32;
    }

    #[inline(always)]
    fn tokens(&mut self, text: &[u8], ranges: &[(usize, usize)]) {
        if self.asked.count + ranges.len() > ASKED_MAX {
            self.answer();
        }
        let asked = &mut *self.asked;
        let keys = &mut asked.keys[asked.count..];
        let places = &mut asked.places[asked.count..];
        asked.count += ranges.len();
        for ((key, place), &(start, end)) in keys.iter_mut().zip(places).zip(ranges) {
            *key = Key::within(text, start, end);
            *place = start as u32;
            if end - start > SHORT_BYTES_MAX {
                asked.long.keep(&text[start..end]);
            }
        }
    }
}

impl LongWords {
    #[cold]
    fn keep(&mut self, word: &[u8]) {
        self.bytes.extend_from_slice(word);
        self.ends.push(self.bytes.len());
    }

    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let ranges = starts.zip(&self.ends);
        ranges.map(|(start, &end)| &self.bytes[start..end])
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }
}

impl Asked {
    /// Adds those of the words that a vocabulary has to those that were found.
    fn find(&self, vocabulary: &Vocabulary, found: &mut Found) {
        let keys = &self.keys[..self.count];
        let mut slots = [0; ASKED_MAX];
        for (slot, &key) in slots.iter_mut().zip(keys) {
            *slot = vocabulary.fetch(key);
        }
        let (mut places, mut words) = ([0; ASKED_MAX], [0; ASKED_MAX]);
        let mut count = 0;
        let mut long_words = self.long.iter();
        for ((&slot, &key), &place) in slots.iter().zip(keys).zip(&self.places) {
            let looked = vocabulary.look(slot, key);
            let (mut is_here, mut word) = (looked.is_here, looked.word);
            if looked.is_open {
                let long = key.is_long().then(|| long_words.next()).flatten();
                let closer = vocabulary.find_closer(key, long.unwrap_or_default());
                (is_here, word) = (closer.is_some(), closer.unwrap_or_default());
            }
            // There is room for all.
            places[count % ASKED_MAX] = place;
            words[count % ASKED_MAX] = word;
            count += usize::from(is_here);
        }
        found.places.extend_from_slice(&places[..count]);
        found.words.extend_from_slice(&words[..count]);
    }
}
