//! Words of ASCII and accented Latin letters, one at a time, with all that the rules say about them.
//!
//! Letters, digits and underscores hold together; of two letters also what stands between them alone of
//! `:`, `.` and `'`, of two digits `,`, `;`, `.` and `'`.

use crate::tokenizer::byte_classes::plain_run;
use crate::tokenizer::case_folding::{is_latin, is_latin_lead, is_small_latin};

const LETTER: u8 = 1;
const DIGIT: u8 = 2;
const UNDERSCORE: u8 = 4;
const IN_WORD: u8 = LETTER | DIGIT | UNDERSCORE;
/// Holds two letters together: [`LETTER`], shifted.
const MID_LETTER: u8 = LETTER << MID;
/// Holds two digits together: [`DIGIT`], shifted.
const MID_DIGIT: u8 = DIGIT << MID;
const MID: u32 = 3;
/// The first byte of a character of two bytes that [`is_latin`] may know as a letter.
const LATIN: u8 = 1 << 6;
/// A byte of any other character: the crate's tables know what it is.
const OTHER: u8 = 1 << 7;

/// Not to be passed over between words.
pub const STARTS: u8 = IN_WORD | LATIN | OTHER;

/// What each byte is to a word.
static KINDS: [u8; 256] = kinds();

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

/// What a byte is to a word; 0 for what is in none and holds nothing together.
#[inline]
pub fn kind(byte: u8) -> u8 {
    KINDS[byte as usize]
}

/// What a scan of plain text comes to.
pub enum Scanned {
    /// Letters, digits and what holds them together.
    Word(PlainWord),
    /// The crate must cut from `start` on, since the character at `place` is none of ours.
    Other {
        /// Where to begin.
        start: usize,
        /// The character.
        place: usize,
    },
    /// There is no word left.
    End,
}

/// The next word of `bytes`, which are UTF-8, from `from` on.
#[inline]
pub fn scan(bytes: &[u8], from: usize) -> Scanned {
    let mut start = from;
    loop {
        start = match bytes[start..]
            .iter()
            .position(|&byte| kind(byte) & STARTS != 0)
        {
            Some(skipped) => start + skipped,
            None => return Scanned::End,
        };
        if kind(bytes[start]) == OTHER {
            // It may extend what is before it.
            let extends = start > from && !bytes[start - 1].is_ascii_whitespace();
            return Scanned::Other {
                start: start - usize::from(extends),
                place: start,
            };
        }
        let mut end = start;
        let mut needs_table = false;
        let mut is_word = false;
        loop {
            let run = plain_run(bytes, end);
            end += run.len;
            is_word |= run.is_word;
            let Some(&byte) = bytes.get(end) else {
                break;
            };
            let this = kind(byte);
            if this == LATIN && is_latin(byte, bytes[end + 1]) {
                needs_table |= !is_small_latin(byte, bytes[end + 1]);
                is_word = true;
                end += 2;
                continue;
            }
            if this & (LATIN | OTHER) != 0 {
                return Scanned::Other { start, place: end };
            }
            // A letter or digit may follow what holds it and the one before together.
            let next = match bytes.get(end + 1) {
                Some(&next) if this != 0 => next,
                _ => break,
            };
            let next_kind = match kind(next) {
                LATIN if is_latin(next, bytes[end + 2]) => LETTER,
                LATIN | OTHER => {
                    return Scanned::Other {
                        start,
                        place: end + 1,
                    }
                }
                next => next,
            };
            let last = match kind(bytes[end - 1]) {
                // The second byte of a Latin letter.
                OTHER => LETTER,
                last => last,
            };
            if this >> MID & last & next_kind == 0 {
                break;
            }
            end += 1;
        }
        if is_word {
            return Scanned::Word(PlainWord {
                start,
                end,
                needs_table,
            });
        }
        if end == bytes.len() {
            // Underscores, of which what comes may make a word.
            return Scanned::Other { start, place: end };
        }
        start = end;
    }
}

/// Where a word of ASCII and accented Latin letters is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainWord {
    /// The first byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// Whether some letters are not folded yet: by table.
    pub needs_table: bool,
}
