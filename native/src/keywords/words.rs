//! Cuts text into words: the words of UAX #29 that hold a letter or digit, in each run of text between
//! white space.
//!
//! For ASCII and the accented Latin letters of two bytes the rules come down to a few: letters, digits and
//! underscores hold together; of two letters also what stands between them alone of `:`, `.` and `'`, of
//! two digits `,`, `;`, `.` and `'`. From where any other character has a say to the end of its run, text
//! is cut by `unicode-segmentation`.

use std::convert::Infallible;

use unicode_segmentation::UnicodeSegmentation;

use super::eights::{eight_at, first_bytes, fold_ascii, plain_run};
use super::folding::{fold_into, fold_latin, is_latin, is_latin_lead, SHRINKING_MAX};

/// Longer words, in bytes of their folded form, are no words: no query has one, and a document's are
/// passed over.
pub const WORD_BYTES_MAX: usize = 256;

/// Takes the words of a text in their order.
pub trait Words {
    /// Why no more words are wanted.
    type Stop;
    /// A word of ASCII alone.
    fn ascii(&mut self, word: AsciiWord<'_>) -> Result<(), Self::Stop>;
    /// Any other word, folded.
    fn folded(&mut self, word: &str) -> Result<(), Self::Stop>;
}

/// A word of ASCII as it stands, not folded.
#[derive(Clone, Copy, Debug)]
pub struct AsciiWord<'a> {
    /// All of it.
    pub bytes: &'a [u8],
    /// Its first eight bytes, folded, the first one lowest; zeros where it is shorter.
    pub eight: u64,
}

impl<'a> AsciiWord<'a> {
    /// The word from `start` to `end` in a text.
    #[inline]
    fn within(text: &'a [u8], start: usize, end: usize) -> AsciiWord<'a> {
        let bytes = &text[start..end];
        // The text goes on behind most words: all eight are read at once.
        let eight = eight_at(text, start) & first_bytes(bytes.len());
        AsciiWord {
            bytes,
            eight: fold_ascii(eight),
        }
    }
}

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
const STARTS: u8 = IN_WORD | LATIN | OTHER;

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

#[inline]
fn kind(byte: u8) -> u8 {
    KINDS[byte as usize]
}

/// What a scan of plain text comes to.
enum Scanned {
    /// Letters, digits and what holds them together.
    Word(PlainWord),
    /// The crate must cut from `start` on, since the character at `place` is none of ours.
    Other { start: usize, place: usize },
    /// There is no word left.
    End,
}

/// The next word of `bytes`, which are UTF-8, from `from` on.
#[inline]
fn scan(bytes: &[u8], from: usize) -> Scanned {
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
        let mut has_latin = false;
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
                has_latin = true;
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
        if is_word || has_latin {
            return Scanned::Word(PlainWord {
                start,
                end,
                has_latin,
            });
        }
        start = end;
    }
}

/// What a text ends in that may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// From here on, where that is not the end already, one character that is in no word. What comes may
    /// extend it.
    Mark(usize),
    /// A word of ASCII and accented Latin letters, and nothing behind it but what could hold it and more
    /// together.
    Word(PlainWord),
    /// From here on, text of any kind.
    Other(usize),
}

/// Where a word of ASCII and accented Latin letters is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainWord {
    /// The first byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// Whether some letters are beyond ASCII.
    pub has_latin: bool,
}

/// Cuts texts.
pub struct Cutter {
    word_bytes_max: usize,
    folded: String,
}

impl Default for Cutter {
    fn default() -> Cutter {
        Cutter::new(WORD_BYTES_MAX)
    }
}

impl Cutter {
    /// A cutter that passes over longer words.
    pub fn new(word_bytes_max: usize) -> Cutter {
        Cutter {
            word_bytes_max,
            folded: String::new(),
        }
    }

    /// A word that is longer than this before it is folded is too long after it, too.
    pub fn unfolded_bytes_max(&self) -> usize {
        self.word_bytes_max * SHRINKING_MAX
    }

    /// Hands out the words of a text that goes on neither before nor after.
    #[inline]
    pub fn cut<W: Words>(&mut self, text: &str, words: &mut W) -> Result<(), W::Stop> {
        match self.cut_open(text, words)? {
            Rest::Mark(_) => Ok(()),
            Rest::Word(word) => self.tell(text.as_bytes(), word, words),
            Rest::Other(start) => self.cut_run(&text[start..], words),
        }
    }

    /// Hands out the words of a text that may go on, and tells what of it must be cut with what comes.
    pub fn cut_open<W: Words>(&mut self, text: &str, words: &mut W) -> Result<Rest, W::Stop> {
        let bytes = text.as_bytes();
        let mut at = 0;
        loop {
            match scan(bytes, at) {
                Scanned::Word(word) => {
                    match &bytes[word.end..] {
                        [] => return Ok(Rest::Word(word)),
                        [mark] if kind(*mark) != 0 => return Ok(Rest::Word(word)),
                        _ => {}
                    }
                    self.tell(bytes, word, words)?;
                    at = word.end;
                }
                Scanned::Other { start, place } => {
                    let rest = text[place..].char_indices();
                    let Some((space, character)) = rest
                        .clone()
                        .find(|(_, character)| character.is_whitespace())
                    else {
                        return Ok(Rest::Other(start));
                    };
                    self.cut_run(&text[start..place + space], words)?;
                    at = place + space + character.len_utf8();
                }
                Scanned::End => {
                    // What comes may extend the last character.
                    let extended = bytes[at..]
                        .last()
                        .filter(|last| !last.is_ascii_whitespace());
                    return Ok(Rest::Mark(bytes.len() - usize::from(extended.is_some())));
                }
            }
        }
    }

    /// Hands out a word of a text.
    #[inline]
    pub fn tell<W: Words>(
        &mut self,
        text: &[u8],
        word: PlainWord,
        words: &mut W,
    ) -> Result<(), W::Stop> {
        if word.has_latin {
            return self.tell_latin(&text[word.start..word.end], words);
        }
        if word.end - word.start > self.word_bytes_max {
            return Ok(());
        }
        words.ascii(AsciiWord::within(text, word.start, word.end))
    }

    fn tell_latin<W: Words>(&mut self, word: &[u8], words: &mut W) -> Result<(), W::Stop> {
        if word.len() > self.unfolded_bytes_max() {
            return Ok(());
        }
        fold_latin(word, &mut self.folded);
        if self.folded.len() > self.word_bytes_max {
            return Ok(());
        }
        words.folded(&self.folded)
    }

    /// Text without white space.
    #[cold]
    fn cut_run<W: Words>(&mut self, run: &str, words: &mut W) -> Result<(), W::Stop> {
        for word in run.unicode_words() {
            if word.len() > self.unfolded_bytes_max() {
                continue;
            }
            if word.is_ascii() {
                let all = PlainWord {
                    start: 0,
                    end: word.len(),
                    has_latin: false,
                };
                self.tell(word.as_bytes(), all, words)?;
                continue;
            }
            fold_into(word, &mut self.folded);
            if self.folded.len() <= self.word_bytes_max {
                words.folded(&self.folded)?;
            }
        }
        Ok(())
    }
}

/// The words of a text, folded.
pub fn words_of(text: &str) -> Vec<String> {
    let mut words = Folded::default();
    let Ok(()) = Cutter::default().cut(text, &mut words);
    words.0
}

/// Collects words, folded.
#[derive(Default)]
pub(super) struct Folded(pub Vec<String>);

impl Words for Folded {
    type Stop = Infallible;

    fn ascii(&mut self, word: AsciiWord<'_>) -> Result<(), Infallible> {
        let small = word
            .bytes
            .iter()
            .map(|byte| byte.to_ascii_lowercase() as char);
        self.0.push(small.collect());
        Ok(())
    }

    fn folded(&mut self, word: &str) -> Result<(), Infallible> {
        self.0.push(word.to_owned());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn by_the_crate(text: &str) -> Vec<String> {
        let fold = |word| {
            let mut folded = String::new();
            fold_into(word, &mut folded);
            folded
        };
        text.unicode_words().map(fold).collect()
    }

    #[test]
    fn words_hold_a_letter_or_digit_and_lose_their_case() {
        for (text, words) in [
            ("Storm warning, COAST!", vec!["storm", "warning", "coast"]),
            ("news-item", vec!["news", "item"]),
            ("body.content", vec!["body.content"]),
            ("event_code", vec!["event_code"]),
            (
                "can't 3.14 1,000 a:b e.g.",
                vec!["can't", "3.14", "1,000", "a:b", "e.g"],
            ),
            ("__ -- ... '", vec![]),
            ("\u{201c}Été\u{201d} naïve-ish", vec!["été", "naïve", "ish"]),
            ("日本 kana カタカナ", vec!["日", "本", "kana", "カタカナ"]),
            ("", vec![]),
        ] {
            assert_eq!(words_of(text), words, "{text}");
        }
    }

    #[test]
    fn a_word_too_long_is_passed_over() {
        let fits = "a".repeat(WORD_BYTES_MAX);
        let long = "a".repeat(WORD_BYTES_MAX + 1);
        assert_eq!(words_of(&format!("{fits} {long} b")), [fits.as_str(), "b"]);
        let fits = "é".repeat(WORD_BYTES_MAX / 2);
        let long = "É".repeat(WORD_BYTES_MAX / 2 + 1);
        assert_eq!(words_of(&format!("{fits} {long} b")), [fits.as_str(), "b"]);
        let decomposed = "e\u{301}".repeat(WORD_BYTES_MAX / 2);
        assert_eq!(words_of(&decomposed), [fits]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn ascii_is_cut_as_the_crate_cuts_it(text in "[a-cA1-2_:.,;'\"! \t\n\\-]{0,16}") {
            prop_assert_eq!(words_of(&text), by_the_crate(&text));
        }

        #[test]
        fn any_ascii_is_cut_as_the_crate_cuts_it(text in "[\x00-\x7f]{0,24}") {
            prop_assert_eq!(words_of(&text), by_the_crate(&text));
        }

        #[test]
        fn runs_of_other_text_are_cut_as_the_crate_cuts_them(text in "[a1 .'_!-éßŉİ×אア日👩\u{301}]{0,16}") {
            prop_assert_eq!(words_of(&text), by_the_crate(&text));
        }
    }
}
