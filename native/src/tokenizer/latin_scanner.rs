//! Scans one word of ASCII and two-byte Latin letters at a time, applying all segmentation rules
//! for these characters.
//!
//! Letters, digits and underscores form a word. A single `:`, `.` or `'` joins two letters; a
//! single `,`, `;`, `.` or `'` joins two digits.

use crate::tokenizer::byte_classes::ascii_word_run;
use crate::tokenizer::case_folding::{is_latin, is_latin_lead, is_small_latin};

const LETTER: u8 = 1;
const DIGIT: u8 = 2;
const UNDERSCORE: u8 = 4;
const IN_WORD: u8 = LETTER | DIGIT | UNDERSCORE;
/// Joins two letters: [`LETTER`], shifted.
const MID_LETTER: u8 = LETTER << MID;
/// Joins two digits: [`DIGIT`], shifted.
const MID_DIGIT: u8 = DIGIT << MID;
const MID: u32 = 3;
/// First byte of a two-byte character that [`is_latin`] may accept as a letter.
const LATIN: u8 = 1 << 6;
/// A byte of any other character, which `unicode-segmentation` must classify.
const OTHER: u8 = 1 << 7;

/// Byte kinds that cannot be skipped between words.
pub const TOKEN_START: u8 = IN_WORD | LATIN | OTHER;

/// The kind of each byte.
static BYTE_KINDS: [u8; 256] = kinds();

const fn kinds() -> [u8; 256] {
    let mut kinds = [OTHER; 256];
    let mut byte = 0;
    while byte < 128 {
        kinds[byte] = match byte as u8 {
            b'A'..=b'Z' | b'a'..=b'z' => LETTER,
            b'0'..=b'9' => DIGIT,
            b'_' => UNDERSCORE,
            b':' => MID_LETTER,
            b',' | b';' => MID_DIGIT,
            b'.' | b'\'' => MID_LETTER | MID_DIGIT,
            _ => 0,
        };
        byte += 1;
    }
    while byte < 256 {
        if is_latin_lead(byte as u8) {
            kinds[byte] = LATIN;
        }
        byte += 1;
    }
    kinds
}

/// The kind of a byte; 0 if it is in no word and joins nothing.
#[inline]
pub fn kind(byte: u8) -> u8 {
    BYTE_KINDS[byte as usize]
}

/// Result of a scan.
pub enum ScanResult {
    /// A word.
    Word(LatinWord),
    /// The text from `start` on needs the full Unicode rules because of the character at `at`.
    NeedsUnicode {
        /// Where to start segmenting.
        start: usize,
        /// Position of the character.
        at: usize,
    },
    /// No word is left.
    End,
}

/// Returns the next word of `bytes`, which are UTF-8, starting at `from`.
#[inline]
pub fn scan(bytes: &[u8], from: usize) -> ScanResult {
    let mut start = from;
    loop {
        start = match bytes[start..]
            .iter()
            .position(|&byte| kind(byte) & TOKEN_START != 0)
        {
            Some(skipped) => start + skipped,
            None => return ScanResult::End,
        };
        if kind(bytes[start]) == OTHER {
            // The character may extend the one before it.
            let extends = start > from && !bytes[start - 1].is_ascii_whitespace();
            return ScanResult::NeedsUnicode {
                start: start - usize::from(extends),
                at: start,
            };
        }
        let mut end = start;
        let (mut is_ascii, mut needs_folding) = (true, false);
        let mut is_word = false;
        loop {
            let run = ascii_word_run(bytes, end);
            end += run.len;
            is_word |= run.is_word;
            let Some(&byte) = bytes.get(end) else {
                break;
            };
            let this = kind(byte);
            if this == LATIN && is_latin(byte, bytes[end + 1]) {
                is_ascii = false;
                needs_folding |= !is_small_latin(byte, bytes[end + 1]);
                is_word = true;
                end += 2;
                continue;
            }
            if this & (LATIN | OTHER) != 0 {
                return ScanResult::NeedsUnicode { start, at: end };
            }
            // A joining character extends the word if a matching letter or digit follows.
            let next = match bytes.get(end + 1) {
                Some(&next) if this != 0 => next,
                _ => break,
            };
            let next_kind = match kind(next) {
                LATIN if is_latin(next, bytes[end + 2]) => LETTER,
                LATIN | OTHER => return ScanResult::NeedsUnicode { start, at: end + 1 },
                next => next,
            };
            let last = match kind(bytes[end - 1]) {
                // Second byte of a Latin letter.
                OTHER => LETTER,
                last => last,
            };
            if this >> MID & last & next_kind == 0 {
                break;
            }
            end += 1;
        }
        if is_word {
            return ScanResult::Word(LatinWord {
                start,
                end,
                is_ascii,
                needs_folding,
            });
        }
        if end == bytes.len() {
            // Underscores, which following text may extend to a word.
            return ScanResult::NeedsUnicode { start, at: end };
        }
        start = end;
    }
}

/// Byte range of a word of ASCII and Latin letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LatinWord {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// Whether it has no letter with a diacritic.
    pub is_ascii: bool,
    /// Whether some letters still need case folding, by table.
    pub needs_folding: bool,
}
