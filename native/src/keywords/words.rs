//! Cuts text into words: the words of UAX #29 that hold a letter or digit, in each run of text between
//! white space.
//!
//! Capital letters of ASCII are made small beforehand, many at a time: no rule tells them from small ones.
//! For ASCII and the accented Latin letters of two bytes the rules come down to a few: see [`super::scan`].
//! Where words stand between spaces, even those need not be asked, and text is cut many bytes at a time.
//! From where any other character has a say to the end of its run, text is cut by `unicode-segmentation`.

use unicode_segmentation::UnicodeSegmentation;

use super::eights::{first_bits, sixteen_at, Block};
use super::folding::{fold_into, fold_latin, SHRINKING_MAX};
use super::scan::{scan, PlainWord, Scanned};

/// Longer words, in bytes of their folded form, are no words: no query has one, and a document's are
/// passed over.
pub const WORD_BYTES_MAX: usize = 256;

/// Takes the words of a text in their order, each with the place in the text that it begins at.
pub trait Words {
    /// The next word.
    fn word(&mut self, at: usize, word: Word<'_>);
}

/// A folded word.
#[derive(Clone, Copy, Debug)]
pub struct Word<'a> {
    /// What it stands in, from here to there.
    text: &'a [u8],
    start: usize,
    end: usize,
    /// Its first sixteen bytes as two numbers whose lowest byte is the first; zeros where it is shorter.
    pub sixteen: [u64; 2],
}

impl<'a> Word<'a> {
    /// All of a text that is a folded word.
    #[inline]
    pub fn new(word: &'a str) -> Word<'a> {
        Word::within(word.as_bytes(), 0, word.len())
    }

    /// The word from `start` to `end` in a text, which is folded there.
    #[inline(always)]
    fn within(text: &'a [u8], start: usize, end: usize) -> Word<'a> {
        Word {
            text,
            start,
            end,
            sixteen: sixteen_at(text, start, end - start),
        }
    }

    /// How many bytes it has.
    #[inline(always)]
    pub fn bytes_count(&self) -> usize {
        self.end - self.start
    }

    /// All of it.
    #[inline]
    pub fn bytes(&self) -> &'a [u8] {
        &self.text[self.start..self.end]
    }
}

/// How far a block was cut.
enum Cut {
    /// To here; what follows is not looked at yet.
    Until(usize),
    /// To here; what follows takes a closer look.
    Scan(usize),
    /// To the end of the text.
    End,
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

    /// Hands out the words of a text that goes on neither before nor after; its capital letters of ASCII
    /// were made small.
    pub fn cut<W: Words>(&mut self, text: &str, words: &mut W) {
        debug_assert!(!text.bytes().any(|byte| byte.is_ascii_uppercase()));
        let mut at = 0;
        loop {
            at = match self.cut_block(text.as_bytes(), at, words) {
                Cut::Until(end) => end,
                Cut::Scan(from) => match self.cut_scanned(text, from, words) {
                    Some(end) => end,
                    None => return,
                },
                Cut::End => return,
            }
        }
    }

    /// Hands out the words of the next few bytes, up to the first that takes a closer look.
    #[inline]
    fn cut_block<W: Words>(&mut self, bytes: &[u8], at: usize, words: &mut W) -> Cut {
        let block = Block::at(bytes, at);
        let is_last = at + block.len == bytes.len();
        // What the last byte is to the words beside it is seen only with what follows, in the next block.
        let seen = if is_last { u64::MAX } else { u64::MAX >> 1 };
        let closer = block.closer() & seen;
        // Of the words that are handed out, this is behind the last bytes: what takes a closer look may
        // belong to the word in front of it.
        let end = match (closer, is_last) {
            (0, true) => block.len,
            (0, false) => Block::BYTES - 2,
            _ => (closer.trailing_zeros() as usize).saturating_sub(1),
        };
        let mut starts = block.words & !(block.words << 1);
        let mut lasts = block.words & !(block.words >> 1) & first_bits(end);
        let mut passed = 0;
        while lasts != 0 {
            let start = at + starts.trailing_zeros() as usize;
            passed = lasts.trailing_zeros() as usize + 1;
            starts &= starts - 1;
            lasts &= lasts - 1;
            if at + passed - start <= self.word_bytes_max {
                words.word(start, Word::within(bytes, start, at + passed));
            }
        }
        match (closer, is_last, starts) {
            (0, true, _) => Cut::End,
            // The last byte, which was not looked at, may begin what extends the character before it.
            (0, false, 0) => Cut::Until(at + block.len - 2),
            (0, false, _) if starts & 1 == 0 => Cut::Until(at + starts.trailing_zeros() as usize),
            _ => Cut::Scan(at + passed),
        }
    }

    /// Hands out the next word, by a closer look: where to go on, if there is more.
    fn cut_scanned<W: Words>(&mut self, text: &str, from: usize, words: &mut W) -> Option<usize> {
        match scan(text.as_bytes(), from) {
            Scanned::Word(word) => {
                self.tell(text.as_bytes(), word, words);
                Some(word.end)
            }
            Scanned::Other { start, place } => {
                let mut rest = text[place..].char_indices();
                match rest.find(|(_, character)| character.is_whitespace()) {
                    None => {
                        self.cut_run(text, start, text.len(), words);
                        None
                    }
                    Some((space, character)) => {
                        self.cut_run(text, start, place + space, words);
                        Some(place + space + character.len_utf8())
                    }
                }
            }
            Scanned::End => None,
        }
    }

    /// Hands out a word of a text.
    #[inline]
    fn tell<W: Words>(&mut self, text: &[u8], word: PlainWord, words: &mut W) {
        let PlainWord { start, end, .. } = word;
        if word.needs_table {
            self.tell_latin(start, &text[start..end], words);
        } else if end - start <= self.word_bytes_max {
            words.word(start, Word::within(text, start, end));
        }
    }

    fn tell_latin<W: Words>(&mut self, at: usize, word: &[u8], words: &mut W) {
        if word.len() > self.unfolded_bytes_max() {
            return;
        }
        fold_latin(word, &mut self.folded);
        if self.folded.len() <= self.word_bytes_max {
            words.word(at, Word::new(&self.folded));
        }
    }

    /// A part of a text without white space.
    #[cold]
    fn cut_run<W: Words>(&mut self, text: &str, start: usize, end: usize, words: &mut W) {
        for (at, word) in text[start..end].unicode_word_indices() {
            if word.len() > self.unfolded_bytes_max() {
                continue;
            }
            if word.is_ascii() {
                let word = PlainWord {
                    start: start + at,
                    end: start + at + word.len(),
                    needs_table: false,
                };
                self.tell(text.as_bytes(), word, words);
                continue;
            }
            fold_into(word, &mut self.folded);
            if self.folded.len() <= self.word_bytes_max {
                words.word(start + at, Word::new(&self.folded));
            }
        }
    }
}

/// The words of a text, folded.
pub fn words_of(text: &str) -> Vec<String> {
    let mut words = Folded::default();
    Cutter::default().cut(&text.to_ascii_lowercase(), &mut words);
    words.0
}

/// Collects words.
#[derive(Default)]
pub struct Folded(pub Vec<String>);

impl Words for Folded {
    fn word(&mut self, _: usize, word: Word<'_>) {
        let text = std::str::from_utf8(word.bytes());
        self.0.push(text.expect("words are UTF-8").to_owned());
    }
}

#[cfg(test)]
mod tests;
