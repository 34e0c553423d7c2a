//! Cuts text into words: the words of UAX #29 that hold a letter or digit, in each run of text between
//! white space.
//!
//! Most text is ASCII, and there the rules come down to a few: letters, digits and underscores hold
//! together; of two letters also what stands between them alone of `:`, `.` and `'`, of two digits
//! `,`, `;`, `.` and `'`. Everything else is cut by `unicode-segmentation`.

use std::convert::Infallible;

use unicode_segmentation::UnicodeSegmentation;

use super::folding::{fold_into, SHRINKING_MAX};

/// Longer words, in bytes of their folded form, are no words: no query has one, and a document's are
/// passed over.
pub const WORD_BYTES_MAX: usize = 256;

/// Takes the words of a text in their order.
pub trait Words {
    /// Why no more words are wanted.
    type Stop;
    /// A word of ASCII alone, as it stands: not folded.
    fn ascii(&mut self, word: &[u8]) -> Result<(), Self::Stop>;
    /// Any other word, folded.
    fn folded(&mut self, word: &str) -> Result<(), Self::Stop>;
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

/// What each byte of ASCII is to a word.
static KINDS: [u8; 256] = kinds();

const fn kinds() -> [u8; 256] {
    let mut kinds = [0; 256];
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
    kinds
}

#[inline]
fn kind(byte: u8) -> u8 {
    KINDS[byte as usize]
}

/// Cuts whole texts.
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
        if text.is_ascii() {
            return self.cut_ascii(text.as_bytes(), words);
        }
        for run in text.split(char::is_whitespace) {
            if run.is_ascii() {
                self.cut_ascii(run.as_bytes(), words)?;
            } else {
                self.cut_run(run, words)?;
            }
        }
        Ok(())
    }

    #[inline]
    fn cut_ascii<W: Words>(&self, bytes: &[u8], words: &mut W) -> Result<(), W::Stop> {
        let mut at = 0;
        while at < bytes.len() {
            if kind(bytes[at]) & IN_WORD == 0 {
                at += 1;
                continue;
            }
            let start = at;
            let mut kinds = 0;
            loop {
                let mut last = 0;
                while at < bytes.len() && kind(bytes[at]) & IN_WORD != 0 {
                    last = kind(bytes[at]);
                    kinds |= last;
                    at += 1;
                }
                match bytes.get(at..at + 2) {
                    Some(&[between, next]) if kind(between) >> MID & last & kind(next) != 0 => {
                        at += 1
                    }
                    _ => break,
                }
            }
            if kinds & (LETTER | DIGIT) != 0 && at - start <= self.word_bytes_max {
                words.ascii(&bytes[start..at])?;
            }
        }
        Ok(())
    }

    /// Text without white space.
    #[cold]
    fn cut_run<W: Words>(&mut self, run: &str, words: &mut W) -> Result<(), W::Stop> {
        for word in run.unicode_words() {
            if word.len() > self.unfolded_bytes_max() {
                continue;
            }
            if word.is_ascii() {
                if word.len() <= self.word_bytes_max {
                    words.ascii(word.as_bytes())?;
                }
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

    fn ascii(&mut self, word: &[u8]) -> Result<(), Infallible> {
        let small = word.iter().map(|byte| byte.to_ascii_lowercase() as char);
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
        fn runs_of_other_text_are_cut_as_the_crate_cuts_them(text in "[a1 .'_éאア日👩\u{301}]{0,16}") {
            prop_assert_eq!(words_of(&text), by_the_crate(&text));
        }
    }
}
