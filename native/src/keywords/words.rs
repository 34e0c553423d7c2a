//! Cuts text into words: the words of UAX #29 that hold a letter or digit, in each run of text between
//! white space.
//!
//! For ASCII and the accented Latin letters of two bytes the rules come down to a few: see [`super::scan`].
//! Where words stand between spaces, even those need not be asked, and text is cut many bytes at a time.
//! From where any other character has a say to the end of its run, text is cut by `unicode-segmentation`.

use std::convert::Infallible;

use unicode_segmentation::UnicodeSegmentation;

use super::eights::{eight_at, first_bits, first_bytes, fold_ascii, Block};
use super::folding::{fold_into, fold_latin, SHRINKING_MAX};
use super::scan::{kind, scan, PlainWord, Scanned, STARTS};

/// Longer words, in bytes of their folded form, are no words: no query has one, and a document's are
/// passed over.
pub const WORD_BYTES_MAX: usize = 256;

/// Takes the words of a text in their order.
pub trait Words {
    /// Why no more words are wanted.
    type Stop;
    /// A word that folding changes in capital letters of ASCII alone.
    fn raw(&mut self, word: RawWord<'_>) -> Result<(), Self::Stop>;
    /// Any other word, folded.
    fn folded(&mut self, word: &str) -> Result<(), Self::Stop>;
}

/// A word as it stands, not folded: of ASCII and small accented letters of Latin-1.
#[derive(Clone, Copy, Debug)]
pub struct RawWord<'a> {
    /// All of it.
    pub bytes: &'a [u8],
    /// Its first sixteen bytes, folded, as two numbers whose lowest byte is the first; zeros where it is
    /// shorter.
    pub sixteen: [u64; 2],
}

impl<'a> RawWord<'a> {
    /// The word from `start` to `end` in a text.
    #[inline(always)]
    fn within(text: &'a [u8], start: usize, end: usize) -> RawWord<'a> {
        let bytes = &text[start..end];
        // The text goes on behind most words, so that all sixteen are read without asking how long it is.
        let first = eight_at(text, start) & first_bytes(bytes.len());
        let rest = bytes.len().saturating_sub(8);
        let second = eight_at(text, (start + 8).min(text.len())) & first_bytes(rest);
        RawWord {
            bytes,
            sixteen: [first, second].map(fold_ascii),
        }
    }

    /// All of a text that is a word.
    #[cfg(test)]
    pub(super) fn whole(word: &'a [u8]) -> RawWord<'a> {
        RawWord::within(word, 0, word.len())
    }
}

/// How far a block was cut.
enum Cut {
    /// To here; what follows is not looked at yet.
    Until(usize),
    /// To here; what follows takes a closer look.
    Scan(usize),
    /// To the end of the text.
    End(Rest),
}

/// What a text ends in whose last bytes, of ASCII, are in no word.
fn mark_at_end(last: &[u8], text_bytes: usize) -> Rest {
    // What comes may extend the last character.
    let mark = last.last().filter(|byte| !byte.is_ascii_whitespace());
    Rest::Mark(text_bytes - usize::from(mark.is_some()))
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
            match self.cut_block(bytes, at, words)? {
                Cut::Until(end) => at = end,
                Cut::Scan(from) => match self.cut_scanned(text, from, words)? {
                    Ok(end) => at = end,
                    Err(rest) => return Ok(rest),
                },
                Cut::End(rest) => return Ok(rest),
            }
        }
    }

    /// Hands out the words of the next few bytes, up to the first that takes a closer look.
    #[inline]
    fn cut_block<W: Words>(
        &mut self,
        bytes: &[u8],
        at: usize,
        words: &mut W,
    ) -> Result<Cut, W::Stop> {
        let block = Block::at(bytes, at);
        let is_last = at + block.len == bytes.len();
        let mut left = block.words;
        let mut passed = 0;
        while left != 0 {
            let start = left.trailing_zeros() as usize;
            let end = start + (!(left >> start)).trailing_zeros() as usize;
            let word = PlainWord {
                start: at + start,
                end: at + end,
                needs_table: false,
            };
            if block.others & first_bits(start) & !first_bits(passed) != 0 {
                return Ok(Cut::Scan(at + passed));
            }
            if end >= block.len {
                return Ok(match start {
                    _ if is_last => Cut::End(Rest::Word(word)),
                    0 => Cut::Scan(at),
                    _ => Cut::Until(word.start),
                });
            }
            let next = kind(bytes[word.end]);
            let is_mark = next & STARTS == 0;
            let ends = next == 0
                || is_mark
                    && bytes
                        .get(word.end + 1)
                        .is_some_and(|&after| kind(after) & STARTS == 0);
            if !ends {
                return Ok(Cut::Scan(word.start));
            }
            if end - start <= self.word_bytes_max {
                words.raw(RawWord::within(bytes, word.start, word.end))?;
            }
            left &= !first_bits(end);
            passed = end;
        }
        if block.others & !first_bits(passed) != 0 {
            return Ok(Cut::Scan(at + passed));
        }
        if is_last {
            return Ok(Cut::End(mark_at_end(&bytes[at + passed..], bytes.len())));
        }
        // What comes may extend the last character.
        Ok(Cut::Until(at + block.len - 1))
    }

    /// Hands out the next word, by a closer look: where to go on, or what the text ends in.
    fn cut_scanned<W: Words>(
        &mut self,
        text: &str,
        from: usize,
        words: &mut W,
    ) -> Result<Result<usize, Rest>, W::Stop> {
        let bytes = text.as_bytes();
        Ok(match scan(bytes, from) {
            Scanned::Word(word) => match &bytes[word.end..] {
                [] => Err(Rest::Word(word)),
                [mark] if kind(*mark) != 0 => Err(Rest::Word(word)),
                _ => {
                    self.tell(bytes, word, words)?;
                    Ok(word.end)
                }
            },
            Scanned::Other { start, place } => {
                let mut rest = text[place..].char_indices();
                match rest.find(|(_, character)| character.is_whitespace()) {
                    None => Err(Rest::Other(start)),
                    Some((space, character)) => {
                        self.cut_run(&text[start..place + space], words)?;
                        Ok(place + space + character.len_utf8())
                    }
                }
            }
            Scanned::End => Err(mark_at_end(&bytes[from..], bytes.len())),
        })
    }

    /// Hands out a word of a text.
    #[inline]
    pub fn tell<W: Words>(
        &mut self,
        text: &[u8],
        word: PlainWord,
        words: &mut W,
    ) -> Result<(), W::Stop> {
        if word.needs_table {
            return self.tell_latin(&text[word.start..word.end], words);
        }
        if word.end - word.start > self.word_bytes_max {
            return Ok(());
        }
        words.raw(RawWord::within(text, word.start, word.end))
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
                    needs_table: false,
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

    fn raw(&mut self, word: RawWord<'_>) -> Result<(), Infallible> {
        let small = word.bytes.to_ascii_lowercase();
        self.0
            .push(String::from_utf8(small).expect("words are UTF-8"));
        Ok(())
    }

    fn folded(&mut self, word: &str) -> Result<(), Infallible> {
        self.0.push(word.to_owned());
        Ok(())
    }
}

#[cfg(test)]
mod tests;
