//! Cuts text into words: the words of UAX #29 that hold a letter or digit, in each run of text between
//! white space.
//!
//! Capital letters of ASCII are made small beforehand, many at a time: no rule tells them from small ones.
//! For ASCII and the accented Latin letters of two bytes the rules come down to a few: see [`crate::tokenizer::latin_scanner`].
//! Where words stand between spaces, even those need not be asked, and text is cut many bytes at a time.
//! From where any other character has a say to the end of its run, text is cut by `unicode-segmentation`.

use unicode_segmentation::UnicodeSegmentation;

use crate::tokenizer::byte_classes::{first_bits, Block};
use crate::tokenizer::case_folding::{fold_into, fold_latin, SHRINKING_MAX};
#[cfg(target_arch = "x86_64")]
use crate::tokenizer::cpu_features::is_wide;
use crate::tokenizer::latin_scanner::{scan, PlainWord, Scanned};

/// Longer words, in bytes of their folded form, are no words: no query has one, and a document's are
/// passed over.
pub const WORD_BYTES_MAX: usize = 256;

/// Takes the words of a text in their order, folded.
pub trait Words {
    /// The next word, which begins at a place in the text.
    fn word(&mut self, at: usize, word: &[u8]);

    /// The next few, each from here to there in a text that is folded.
    #[inline(always)]
    fn words(&mut self, text: &[u8], ranges: &[(usize, usize)]) {
        for &(start, end) in ranges {
            self.word(start, &text[start..end]);
        }
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

/// No block has more words, and so many are handed out together at most.
pub const BLOCK_WORDS_MAX: usize = Block::BYTES / 2;

/// Cuts texts.
pub struct Cutter {
    word_bytes_max: usize,
    folded: String,
    /// Memory for the words of a block.
    ranges: [(usize, usize); BLOCK_WORDS_MAX],
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
            ranges: [(0, 0); BLOCK_WORDS_MAX],
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
        #[cfg(target_arch = "x86_64")]
        if is_wide() {
            // SAFETY: the processor has what it takes.
            return unsafe { self.cut_wide(text, words) };
        }
        self.cut_by(text, words, Block::of_any);
    }

    /// The same where the processor looks at many bytes at once.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    fn cut_wide<W: Words>(&mut self, text: &str, words: &mut W) {
        self.cut_by(text, words, |len, block| Block::of_wide(len, block));
    }

    #[inline(always)]
    fn cut_by<W: Words>(
        &mut self,
        text: &str,
        words: &mut W,
        look: impl Fn(usize, &[u8; Block::BYTES]) -> Block,
    ) {
        let mut at = 0;
        loop {
            at = match self.cut_block(text.as_bytes(), at, words, &look) {
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
    #[inline(always)]
    fn cut_block<W: Words>(
        &mut self,
        bytes: &[u8],
        at: usize,
        words: &mut W,
        look: impl Fn(usize, &[u8; Block::BYTES]) -> Block,
    ) -> Cut {
        let rest = &bytes[at..];
        let mut last;
        let block = match rest.first_chunk() {
            Some(whole) => whole,
            None => {
                last = [0; Block::BYTES];
                last[..rest.len()].copy_from_slice(rest);
                &last
            }
        };
        let block = look(rest.len().min(Block::BYTES), block);
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
        let (mut passed, mut count) = (0, 0);
        while lasts != 0 {
            let start = starts.trailing_zeros() as usize;
            passed = lasts.trailing_zeros() as usize + 1;
            starts &= starts - 1;
            lasts &= lasts - 1;
            self.ranges[count % BLOCK_WORDS_MAX] = (at + start, at + passed);
            count += 1;
        }
        if self.word_bytes_max < Block::BYTES {
            count = self.leave_out_long(count);
        }
        words.words(bytes, &self.ranges[..count]);
        match (closer, is_last, starts) {
            (0, true, _) => Cut::End,
            // The last byte, which was not looked at, may begin what extends the character before it.
            (0, false, 0) => Cut::Until(at + block.len - 2),
            (0, false, _) if starts & 1 == 0 => Cut::Until(at + starts.trailing_zeros() as usize),
            _ => Cut::Scan(at + passed),
        }
    }

    /// Moves those of so many words of a block that are not too long to the front; how many they are.
    #[cold]
    fn leave_out_long(&mut self, count: usize) -> usize {
        let mut left = 0;
        for at in 0..count {
            let (start, end) = self.ranges[at];
            self.ranges[left] = (start, end);
            left += usize::from(end - start <= self.word_bytes_max);
        }
        left
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
            words.words(text, &[(start, end)]);
        }
    }

    fn tell_latin<W: Words>(&mut self, at: usize, word: &[u8], words: &mut W) {
        if word.len() > self.unfolded_bytes_max() {
            return;
        }
        fold_latin(word, &mut self.folded);
        if self.folded.len() <= self.word_bytes_max {
            words.word(at, self.folded.as_bytes());
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
                words.word(start + at, self.folded.as_bytes());
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
    fn word(&mut self, _: usize, word: &[u8]) {
        let text = std::str::from_utf8(word);
        self.0.push(text.expect("words are UTF-8").to_owned());
    }
}

#[cfg(test)]
mod tests;
