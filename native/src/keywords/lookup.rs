//! Looks the words of texts up for all seats, some time after they are cut: meanwhile memory is fetched.

use super::ear::{Found, Seat};
use super::vocabulary::{Key, Spot, Vocabulary, SHORT_BYTES_MAX};
use super::words::{Word, Words};

/// So many words are asked for before the first is looked up.
const ASKED_MAX: usize = 64;

/// Words that are asked for; kept from one document to the next so that its memory is used again.
pub struct Asked {
    keys: [Key; ASKED_MAX],
    /// Where each of them stands.
    places: [u32; ASKED_MAX],
    count: usize,
    /// The bytes of the long ones among them, and where each one's end.
    long_bytes: Vec<u8>,
    long_ends: Vec<usize>,
}

impl Default for Asked {
    fn default() -> Asked {
        Asked {
            keys: [Key::default(); ASKED_MAX],
            places: [0; ASKED_MAX],
            count: 0,
            long_bytes: Vec::new(),
            long_ends: Vec::new(),
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
        self.asked.long_bytes.clear();
        self.asked.long_ends.clear();
    }
}

impl<L> Words for Lookup<'_, '_, L> {
    #[inline(always)]
    fn word(&mut self, at: usize, word: Word<'_>) {
        let key = Key::of(word);
        if word.bytes_count() > SHORT_BYTES_MAX {
            self.asked.keep_long(word.bytes());
        }
        let count = self.asked.count;
        self.asked.keys[count] = key;
        self.asked.places[count] = at as u32;
        self.asked.count = count + 1;
        if count + 1 == ASKED_MAX {
            self.answer();
        }
    }
}

impl Asked {
    #[cold]
    fn keep_long(&mut self, word: &[u8]) {
        self.long_bytes.extend_from_slice(word);
        self.long_ends.push(self.long_bytes.len());
    }

    /// Adds those of the words that a vocabulary has to those that were found.
    fn find(&self, vocabulary: &Vocabulary, found: &mut Found) {
        let keys = &self.keys[..self.count];
        let mut spots = [Spot::default(); ASKED_MAX];
        for (spot, &key) in spots.iter_mut().zip(keys) {
            *spot = vocabulary.fetch(key);
        }
        let (mut places, mut words) = ([0; ASKED_MAX], [0; ASKED_MAX]);
        let mut count = 0;
        let mut long_words = self.long_words();
        for ((&spot, &key), &place) in spots.iter().zip(keys).zip(&self.places) {
            let looked = vocabulary.look(spot, key);
            let (mut is_here, mut word) = (looked.is_here, looked.word);
            if looked.is_open {
                let long = key.is_long().then(|| long_words.next()).flatten();
                let closer = vocabulary.find_key(key, long.unwrap_or_default());
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

    fn long_words(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.long_ends.iter().copied());
        let ranges = starts.zip(&self.long_ends);
        ranges.map(|(start, &end)| &self.long_bytes[start..end])
    }
}
