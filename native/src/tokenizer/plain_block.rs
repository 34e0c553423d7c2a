//! Removes the diacritics of a block of text.

use crate::tokenizer::byte_classes::{low_mask, Block};
use crate::tokenizer::spellings::plain_small_latin;

/// A block of text in which lowercase letters of Latin-1 have no diacritics.
pub struct PlainBlock {
    /// The text, followed by arbitrary bytes.
    pub bytes: [u8; 2 * Block::BYTES],
    /// A bit for each byte of the original that has no counterpart.
    removed: u64,
}

impl PlainBlock {
    /// Replaces the letters of `block`, each two bytes that are set in `accented`.
    #[inline(always)]
    pub fn new(block: &[u8], accented: u64) -> PlainBlock {
        let mut original = [0; 2 * Block::BYTES];
        original[..block.len()].copy_from_slice(block);
        let mut plain = PlainBlock {
            bytes: original,
            removed: 0,
        };
        let mut letters = accented;
        let mut shift = 0;
        while letters != 0 {
            let at = letters.trailing_zeros() as usize;
            letters &= letters - 1;
            letters &= letters.wrapping_sub(1);
            let [first, second] = plain_small_latin(original[at + 1]);
            let to = at - shift;
            plain.bytes[to] = first;
            plain.bytes[to + 1] = second;
            if second == 0 {
                plain.removed |= 2 << at;
                shift += 1;
            }
            // Copies a whole block, because a copy of variable length would be a call.
            let rest = at + 2 - shift;
            let (from, to) = (&original[at + 2..], &mut plain.bytes[rest..]);
            to[..Block::BYTES - 2].copy_from_slice(&from[..Block::BYTES - 2]);
        }
        plain
    }

    /// The position of what was at `at` in the original.
    #[inline(always)]
    pub fn position(&self, at: usize) -> usize {
        at - (self.removed & low_mask(at)).count_ones() as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokenizer::spellings::unify;
    use crate::tokenizer::tokenizer_options::TokenizerOptions;

    /// The bits of the letters that are not ASCII.
    fn accented(text: &str) -> u64 {
        let bytes = text.bytes().enumerate();
        bytes.fold(0, |bits, (at, byte)| bits | u64::from(byte >= 0x80) << at)
    }

    #[test]
    fn blocks_agree_with_the_definition_wherever_the_letters_are() {
        let full = "\u{e9}".repeat(Block::BYTES / 2);
        let texts = [
            "",
            "plain words",
            "\u{e9}",
            "\u{fc}ber",
            "caf\u{e9}",
            "\u{e6}r\u{f8} \u{fe}\u{fe} \u{e0}\u{e6}\u{e9}x 1\u{ff}2",
            &full,
        ];
        for text in texts {
            let block = PlainBlock::new(text.as_bytes(), accented(text));
            for (start, end) in positions(text) {
                let mut expected = text[start..end].to_string();
                unify(&mut expected, TokenizerOptions::default());
                let range = block.position(start)..block.position(end);
                assert_eq!(&block.bytes[range], expected.as_bytes(), "{text} {start}");
            }
        }
    }

    /// All ranges of whole characters.
    fn positions(text: &str) -> Vec<(usize, usize)> {
        let boundaries: Vec<usize> = (0..=text.len())
            .filter(|&at| text.is_char_boundary(at))
            .collect();
        let pairs = boundaries.iter().flat_map(|&start| {
            let ends = boundaries.iter().filter(move |&&end| end >= start);
            ends.map(move |&end| (start, end))
        });
        pairs.collect()
    }
}
