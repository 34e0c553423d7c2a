//! Splits text into words: the words of UAX #29 that contain a letter or digit, within each run
//! between white space.
//!
//! The caller lowercases ASCII beforehand, many bytes at a time; no segmentation rule distinguishes
//! case. Three paths, fastest first:
//!
//! * words separated by plain delimiters are found in 64-byte blocks by bit operations;
//! * other words of ASCII and two-byte Latin letters are scanned one at a time, see
//!   [`crate::tokenizer::latin_scanner`];
//! * from any other character to the end of its run, `unicode-segmentation` splits the text.

use std::hint::select_unpredictable;

use unicode_segmentation::UnicodeSegmentation;

use crate::tokenizer::byte_classes::{low_mask, Block};
use crate::tokenizer::case_folding::{case_fold_into, SHRINKING_MAX};
#[cfg(target_arch = "x86_64")]
use crate::tokenizer::cpu_features::has_avx2_bmi2;
use crate::tokenizer::latin_scanner::{scan, LatinWord, ScanResult};
use crate::tokenizer::plain_block::PlainBlock;
use crate::tokenizer::spellings::{may_be_abbreviation, unify, unify_latin};
use crate::tokenizer::tokenizer_options::TokenizerOptions;

/// Longest word, in bytes of its case-folded form, before its spelling is unified: which words are too
/// long does not depend on [`TokenizerOptions`]. Queries with longer words are rejected; longer words in
/// documents are skipped.
pub const WORD_BYTES_MAX: usize = 256;

/// Receives the tokens of a text in order, in the common form of their spellings.
pub trait TokenVisitor {
    /// Receives the next token, which starts at byte `start` of the text.
    fn token(&mut self, at: usize, word: &[u8]);

    /// A word that is too long is skipped here.
    fn overlong(&mut self, _at: usize) {}

    /// Receives several tokens: their offsets, and ranges of texts that are already folded.
    #[inline(always)]
    fn tokens_in<'t>(
        &mut self,
        tokens: impl ExactSizeIterator<Item = (usize, &'t [u8], (usize, usize))>,
    ) {
        for (offset, text, (start, end)) in tokens {
            self.token(offset, &text[start..end]);
        }
    }
}

/// How far a block was tokenized.
enum BlockOutcome {
    /// Up to this position; continue with the next block.
    Continue(usize),
    /// Up to this position; the next word needs [`scan`].
    NeedsScan(usize),
    /// Up to the end of the text.
    End,
}

/// Maximum number of words in a block, and so of tokens passed on together.
pub const BLOCK_TOKENS_MAX: usize = Block::BYTES / 2;

/// The words of a block, as byte ranges of the text.
struct BlockWords {
    /// Position of the block.
    at: usize,
    /// First bytes of words.
    starts: u64,
    /// Last bytes of words; the words after them are not emitted.
    lasts: u64,
}

impl Iterator for BlockWords {
    type Item = (usize, usize);

    #[inline(always)]
    fn next(&mut self) -> Option<(usize, usize)> {
        if self.lasts == 0 {
            return None;
        }
        let start = self.starts.trailing_zeros() as usize;
        let last = self.lasts.trailing_zeros() as usize;
        self.starts &= self.starts.wrapping_sub(1);
        self.lasts &= self.lasts - 1;
        Some((self.at + start, self.at + last + 1))
    }

    #[inline(always)]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let count = self.lasts.count_ones() as usize;
        (count, Some(count))
    }
}

impl ExactSizeIterator for BlockWords {}

/// A reusable tokenizer.
pub struct Tokenizer {
    word_bytes_max: usize,
    options: TokenizerOptions,
    folded: String,
}

impl Default for Tokenizer {
    fn default() -> Tokenizer {
        Tokenizer::new(TokenizerOptions::default(), WORD_BYTES_MAX)
    }
}

impl Tokenizer {
    /// Creates a tokenizer that skips longer words.
    pub fn new(options: TokenizerOptions, word_bytes_max: usize) -> Tokenizer {
        Tokenizer {
            word_bytes_max,
            options,
            folded: String::new(),
        }
    }

    /// Replaces the options.
    pub fn set_options(&mut self, options: TokenizerOptions) {
        self.options = options;
    }

    /// Words longer than this before case folding exceed the limit after it, too.
    pub fn unfolded_bytes_max(&self) -> usize {
        self.word_bytes_max * SHRINKING_MAX
    }

    /// Emits the tokens of a complete text whose ASCII letters are lowercase.
    pub fn tokenize<V: TokenVisitor>(&mut self, text: &str, visitor: &mut V) {
        debug_assert!(!text.bytes().any(|byte| byte.is_ascii_uppercase()));
        #[cfg(target_arch = "x86_64")]
        if has_avx2_bmi2() {
            // SAFETY: `has_avx2_bmi2` has verified the required CPU features.
            return unsafe { self.tokenize_avx2(text, visitor) };
        }
        self.tokenize_with(text, visitor, Block::classify_portable);
    }

    /// [`Tokenizer::tokenize`] for CPUs with AVX2 and BMI.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    fn tokenize_avx2<V: TokenVisitor>(&mut self, text: &str, visitor: &mut V) {
        self.tokenize_with(text, visitor, |len, block| Block::classify_avx2(len, block));
    }

    #[inline(always)]
    fn tokenize_with<V: TokenVisitor>(
        &mut self,
        text: &str,
        visitor: &mut V,
        classify: impl Fn(usize, &[u8; Block::BYTES]) -> Block,
    ) {
        let mut at = 0;
        loop {
            at = match self.tokenize_block(text.as_bytes(), at, visitor, &classify) {
                BlockOutcome::Continue(end) => end,
                BlockOutcome::NeedsScan(from) => match self.tokenize_scanned(text, from, visitor) {
                    Some(end) => end,
                    None => return,
                },
                BlockOutcome::End => return,
            }
        }
    }

    /// Emits the words of the next block up to the first position that needs a scan.
    #[inline(always)]
    fn tokenize_block<V: TokenVisitor>(
        &mut self,
        bytes: &[u8],
        at: usize,
        visitor: &mut V,
        classify: impl Fn(usize, &[u8; Block::BYTES]) -> Block,
    ) -> BlockOutcome {
        let rest = &bytes[at..];
        let mut last;
        let block = match rest.first_chunk() {
            Some(block) => block,
            None => {
                last = [0; Block::BYTES];
                last[..rest.len()].copy_from_slice(rest);
                &last
            }
        };
        let block = classify(rest.len().min(Block::BYTES), block);
        let is_last = at + block.len == bytes.len();
        // How the last byte relates to its neighbours is known only with the following byte, in the
        // next block.
        let known = if is_last { u64::MAX } else { u64::MAX >> 1 };
        let needs_scan = block.needs_scan() & known;
        // Emit words up to here. A byte that needs a scan may belong to the word before it.
        let end = match (needs_scan, is_last) {
            (0, true) => block.len,
            (0, false) => Block::BYTES - 2,
            _ => (needs_scan.trailing_zeros() as usize).saturating_sub(1),
        };
        let starts = block.words & !(block.words << 1);
        let lasts = block.words & !(block.words >> 1) & low_mask(end);
        let words = BlockWords { at, starts, lasts };
        let is_plain = block.accented == 0 || !self.options.fold_diacritics;
        if self.word_bytes_max < Block::BYTES {
            self.emit_short_words(bytes, words, visitor);
        } else if is_plain {
            visitor.tokens_in(words.map(|range| (range.0, bytes, range)));
        } else {
            emit_accented(bytes, block.accented, words, visitor);
        }
        let emitted_end = Block::BYTES - lasts.leading_zeros() as usize;
        match (needs_scan, is_last, starts & !low_mask(emitted_end)) {
            (0, true, _) => BlockOutcome::End,
            // The last byte is not classified yet and may start a character that extends the one
            // before it.
            (0, false, 0) => BlockOutcome::Continue(at + block.len - 2),
            (0, false, unfinished) if unfinished & 1 == 0 => {
                BlockOutcome::Continue(at + unfinished.trailing_zeros() as usize)
            }
            _ => BlockOutcome::NeedsScan(at + emitted_end),
        }
    }

    /// Emits the words of a block within the length limit. Only for tests with a small limit, which do
    /// not fold diacritics and do not need to know where overlong words are.
    #[cold]
    fn emit_short_words<V: TokenVisitor>(&self, bytes: &[u8], words: BlockWords, visitor: &mut V) {
        for (start, end) in words.filter(|(start, end)| end - start <= self.word_bytes_max) {
            visitor.token(start, &bytes[start..end]);
        }
    }

    /// Emits the next word using the scanner. Returns where to continue, or `None` at the end.
    fn tokenize_scanned<V: TokenVisitor>(
        &mut self,
        text: &str,
        from: usize,
        visitor: &mut V,
    ) -> Option<usize> {
        match scan(text.as_bytes(), from) {
            ScanResult::Word(word) => {
                self.emit(text.as_bytes(), word, visitor);
                Some(word.end)
            }
            ScanResult::NeedsUnicode { start, at } => {
                let mut rest = text[at..].char_indices();
                match rest.find(|(_, character)| character.is_whitespace()) {
                    None => {
                        self.tokenize_unicode_run(text, start, text.len(), visitor);
                        None
                    }
                    Some((space, character)) => {
                        self.tokenize_unicode_run(text, start, at + space, visitor);
                        Some(at + space + character.len_utf8())
                    }
                }
            }
            ScanResult::End => None,
        }
    }

    /// Emits one word. Case folding does not change its length.
    #[inline]
    fn emit<V: TokenVisitor>(&mut self, text: &[u8], word: LatinWord, visitor: &mut V) {
        let LatinWord { start, end, .. } = word;
        let options = self.options;
        if end - start > self.word_bytes_max {
            visitor.overlong(start);
        } else if word.needs_folding
            || (options.fold_diacritics && !word.is_ascii)
            || (options.unify_abbreviations && may_be_abbreviation(&text[start..end]))
        {
            unify_latin(&text[start..end], options, &mut self.folded);
            visitor.token(start, self.folded.as_bytes());
        } else {
            visitor.tokens_in(std::iter::once((start, text, (start, end))));
        }
    }

    /// Tokenizes part of a run without white space by the full Unicode rules.
    #[cold]
    fn tokenize_unicode_run<V: TokenVisitor>(
        &mut self,
        text: &str,
        start: usize,
        end: usize,
        visitor: &mut V,
    ) {
        for (at, word) in text[start..end].unicode_word_indices() {
            if word.len() > self.unfolded_bytes_max() {
                visitor.overlong(start + at);
                continue;
            }
            if word.is_ascii() {
                let word = LatinWord {
                    start: start + at,
                    end: start + at + word.len(),
                    is_ascii: true,
                    needs_folding: false,
                };
                self.emit(text.as_bytes(), word, visitor);
                continue;
            }
            case_fold_into(word, &mut self.folded);
            if self.folded.len() > self.word_bytes_max {
                visitor.overlong(start + at);
                continue;
            }
            unify(&mut self.folded, self.options);
            visitor.token(start + at, self.folded.as_bytes());
        }
    }
}

/// Emits the words of a block, of which the letters in `accented` have diacritics.
#[inline(always)]
fn emit_accented<V: TokenVisitor>(bytes: &[u8], accented: u64, words: BlockWords, visitor: &mut V) {
    let at = words.at;
    let plain = PlainBlock::new(&bytes[at..bytes.len().min(at + Block::BYTES)], accented);
    visitor.tokens_in(words.map(|(start, end)| {
        // Other words are read from the text: bytes that were just written in pieces load slowly.
        let is_accented = accented >> (start - at) & low_mask(end - start) != 0;
        let range = (plain.position(start - at), plain.position(end - at));
        let of_text = (bytes, (start, end));
        let (text, range) = select_unpredictable(is_accented, (&plain.bytes[..], range), of_text);
        (start, text, range)
    }));
}

/// Returns the tokens of a text.
pub fn tokens_of(text: &str, options: TokenizerOptions) -> Vec<String> {
    let mut words = TokenCollector::default();
    Tokenizer::new(options, WORD_BYTES_MAX).tokenize(&text.to_ascii_lowercase(), &mut words);
    words.0
}

/// Collects tokens as strings.
#[derive(Default)]
pub struct TokenCollector(pub Vec<String>);

impl TokenVisitor for TokenCollector {
    fn token(&mut self, _: usize, word: &[u8]) {
        let text = std::str::from_utf8(word);
        self.0.push(text.expect("words are UTF-8").to_owned());
    }
}

#[cfg(test)]
mod tests;
