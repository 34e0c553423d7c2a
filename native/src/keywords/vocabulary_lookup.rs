//! Looks tokens up in all vocabularies, in batches, so that prefetched memory arrives in time.

use crate::keywords::found_tokens::FoundTokens;
use crate::keywords::token_dispatcher::TokenRoute;
use crate::keywords::token_sink::TokenSink;
use crate::keywords::vocabulary::{Key, Vocabulary, SHORT_BYTES_MAX};
use crate::tokenizer::word_tokenizer::{TokenVisitor, BLOCK_TOKENS_MAX};

/// Number of tokens collected before they are looked up.
const QUEUE_MAX: usize = 64;

/// A token in no vocabulary. It stands for an overlong word, because the words before and after that are
/// not next to each other.
const NO_WORD: &[u8] = b" ";

const _: () = assert!(BLOCK_TOKENS_MAX <= QUEUE_MAX);

/// Tokens to look up. Reused across documents to avoid reallocation.
pub struct LookupQueue {
    keys: [Key; QUEUE_MAX],
    /// Byte offset of each token.
    offsets: [u32; QUEUE_MAX],
    count: usize,
    long: LongWords,
}

/// Bytes of the tokens whose key does not represent them completely.
#[derive(Default)]
struct LongWords {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Default for LookupQueue {
    fn default() -> LookupQueue {
        LookupQueue {
            keys: [Key::default(); QUEUE_MAX],
            offsets: [0; QUEUE_MAX],
            count: 0,
            long: LongWords::default(),
        }
    }
}

/// Token visitor that finds vocabulary words for all routes.
pub struct VocabularyLookup<'e, 's, S> {
    routes: &'e mut [TokenRoute<'s, S>],
    queue: &'e mut LookupQueue,
}

impl<'e, 's, S: TokenSink> VocabularyLookup<'e, 's, S> {
    /// Creates a lookup for these routes.
    pub fn new(routes: &'e mut [TokenRoute<'s, S>], queue: &'e mut LookupQueue) -> Self {
        VocabularyLookup { routes, queue }
    }

    /// Looks up the queued tokens.
    #[inline(never)]
    pub fn resolve(&mut self) {
        for route in self.routes.iter_mut() {
            let found = &mut route.buffers.found;
            let (vocabulary, queue) = (route.vocabulary, &*self.queue);
            match (vocabulary.phrases.is_empty(), S::NEEDS_ELEMENTS) {
                (true, false) => queue.resolve_in::<false, false>(vocabulary, found),
                (true, true) => queue.resolve_in::<true, false>(vocabulary, found),
                (false, _) => queue.resolve_in::<true, true>(vocabulary, found),
            }
        }
        self.queue.count = 0;
        self.queue.long.clear();
    }
}

impl<S: TokenSink> TokenVisitor for VocabularyLookup<'_, '_, S> {
    fn token(&mut self, at: usize, word: &[u8]) {
        self.tokens_in(std::iter::once((at, word, (0, word.len()))));
    }

    #[cold]
    fn overlong(&mut self, at: usize) {
        self.token(at, NO_WORD);
    }

    #[inline(always)]
    fn tokens_in<'t>(
        &mut self,
        tokens: impl ExactSizeIterator<Item = (usize, &'t [u8], (usize, usize))>,
    ) {
        if self.queue.count + tokens.len() > QUEUE_MAX {
            self.resolve();
        }
        let queue = &mut *self.queue;
        let keys = &mut queue.keys[queue.count..];
        let offsets = &mut queue.offsets[queue.count..];
        queue.count += tokens.len();
        for ((key, offset), (at, text, (start, end))) in keys.iter_mut().zip(offsets).zip(tokens) {
            *key = Key::within(text, start, end);
            *offset = at as u32;
            if end - start > SHORT_BYTES_MAX {
                queue.long.push(&text[start..end]);
            }
        }
    }
}

impl LongWords {
    #[cold]
    fn push(&mut self, word: &[u8]) {
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

impl LookupQueue {
    /// Appends the queued tokens that the vocabulary contains to `found`, with their offsets if
    /// `OFFSETS` and their positions if `POSITIONS`.
    fn resolve_in<const OFFSETS: bool, const POSITIONS: bool>(
        &self,
        vocabulary: &Vocabulary,
        found: &mut FoundTokens,
    ) {
        let keys = &self.keys[..self.count];
        let mut slots = [0; QUEUE_MAX];
        for (slot, &key) in slots.iter_mut().zip(keys) {
            *slot = vocabulary.prefetch(key);
        }
        let (mut offsets, mut words) = ([0; QUEUE_MAX], [0; QUEUE_MAX]);
        let mut positions = [0; QUEUE_MAX];
        let mut count = 0;
        let mut long_words = self.long.iter();
        let tokens = slots.iter().zip(keys).zip(&self.offsets);
        for (position, ((&slot, &key), &offset)) in (found.token_count..).zip(tokens) {
            let probed = vocabulary.probe(slot, key);
            let (mut is_match, mut word) = (probed.is_match, probed.word);
            if probed.needs_exact {
                let long = key.is_long().then(|| long_words.next()).flatten();
                let exact = vocabulary.find_exact(key, long.unwrap_or_default());
                (is_match, word) = (exact.is_some(), exact.unwrap_or_default());
            }
            // `count` is always below the array length; the modulo removes the bounds check.
            if OFFSETS {
                offsets[count % QUEUE_MAX] = offset;
            }
            words[count % QUEUE_MAX] = word;
            if POSITIONS {
                positions[count % QUEUE_MAX] = position;
            }
            count += usize::from(is_match);
        }
        if OFFSETS {
            found.offsets.extend_from_slice(&offsets[..count]);
        }
        found.words.extend_from_slice(&words[..count]);
        if POSITIONS {
            found.positions.extend_from_slice(&positions[..count]);
            found.token_count += self.count as u64;
        }
    }
}
