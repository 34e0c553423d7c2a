//! Bitmap of matched query classes, set 32 at a time.
//!
//! Classes that match together mostly first occur together: in the accept list of one path, or
//! among the conditions on one value. Bits are therefore assigned in order of first occurrence, and
//! a list of classes becomes a few [`Mask`]s of up to 32 classes each, which cost a few machine
//! words to set. For a class whose match depends on one last condition, the literal is stored with
//! its bit, shared by all lists that contain the class.

use crate::matching::condition_lookup::LiteralRange;
use crate::matching::NONE;
use crate::subscription_store::class_set::ClassSet;
use crate::subscription_store::flat_layout::prefetch;

/// Some classes of one word of the bitmap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mask {
    /// Index of the word.
    pub word: u32,
    /// Bits of the word.
    pub bits: u32,
}

const WORD: usize = u32::BITS as usize;

/// Words in a block, which is a cache line: blocks are cleared and read together.
const BLOCK: usize = 16;

/// Blocks per word of `dirty_blocks`.
const BLOCKS: usize = u64::BITS as usize;

/// The masks of items that are sorted by bit.
pub(super) fn masks<'a, T>(
    sorted: &'a [T],
    bit: impl Fn(&T) -> u32 + Copy + 'a,
) -> impl Iterator<Item = Mask> + 'a {
    let word = move |item: &T| bit(item) / WORD as u32;
    sorted
        .chunk_by(move |a, b| word(a) == word(b))
        .map(move |same_word| Mask {
            word: word(&same_word[0]),
            bits: same_word
                .iter()
                .fold(0, |bits, item| bits | 1 << (bit(item) % WORD as u32)),
        })
}

/// The class of a bit.
#[derive(Clone, Copy)]
struct BitClass {
    class: u32,
    /// The condition whose literal is stored with the bit, by its index in the segment; [`NONE`]
    /// for none.
    condition: u32,
}

/// The classes that match a document. Bits keep their classes when the bitmap is cleared for the
/// next document.
pub struct MatchBitmap {
    words: Vec<u32>,
    /// A bit for each block that may have a match: most documents match in few blocks.
    dirty_blocks: Vec<u64>,
    /// By bit.
    classes: Vec<BitClass>,
    /// By word and bit: the literal of the condition.
    literals: Vec<[u32; WORD]>,
    /// By word and bit: the last byte of the literal, to search a word at once.
    literal_tags: Vec<[u8; WORD]>,
    /// By class: its bit plus one, or 0 if it has none yet.
    bits: Vec<u32>,
    buffer: Vec<u32>,
}

impl MatchBitmap {
    /// Number of upper bits of [`Mask::word`] that are always zero.
    pub(super) const SPARE_BITS: u32 = 6;

    /// An empty bitmap of classes below `count`.
    pub(super) fn new(count: usize) -> MatchBitmap {
        MatchBitmap {
            words: Vec::new(),
            dirty_blocks: Vec::new(),
            classes: Vec::new(),
            literals: Vec::new(),
            literal_tags: Vec::new(),
            bits: vec![0; count],
            buffer: Vec::new(),
        }
    }

    /// Approximate memory of the assignment of bits.
    pub(super) fn bytes(&self) -> usize {
        self.classes.len() * (size_of::<BitClass>() + 4) + self.words.len() * (4 + WORD * 5)
    }

    /// Clears the matches.
    pub(super) fn clear(&mut self) {
        for at in 0..self.dirty_blocks.len() {
            let mut dirty = std::mem::take(&mut self.dirty_blocks[at]);
            while dirty != 0 {
                let block = at * BLOCKS + dirty.trailing_zeros() as usize;
                let end = self.words.len().min((block + 1) * BLOCK);
                self.words[block * BLOCK..end].fill(0);
                dirty &= dirty - 1;
            }
        }
    }

    /// Clears the matches and the assignment of bits, which invalidates all masks.
    pub(super) fn reset(&mut self) {
        for bit in &self.classes {
            self.bits[bit.class as usize] = 0;
        }
        self.classes.clear();
        self.literals.clear();
        self.literal_tags.clear();
        self.words.clear();
        self.dirty_blocks.clear();
    }

    /// Adds a class.
    #[inline]
    pub(super) fn insert(&mut self, class: u32) {
        let bit = self.bit_of(class) as usize;
        self.set_bits(bit / WORD, 1 << (bit % WORD));
    }

    #[inline]
    fn set_bits(&mut self, word: usize, bits: u32) {
        self.words[word] |= bits;
        self.dirty_blocks[word / (BLOCK * BLOCKS)] |= 1 << (word / BLOCK % BLOCKS);
    }

    /// Adds the classes of a mask.
    #[inline]
    pub(super) fn set(&mut self, mask: Mask) {
        self.set_bits(mask.word as usize, mask.bits);
    }

    /// Adds the classes of a mask whose condition has this literal.
    #[inline]
    pub(super) fn set_equal(&mut self, mask: Mask, literal: u32) {
        let mut rest =
            mask.bits & equal_tags(&self.literal_tags[mask.word as usize], literal as u8);
        if rest == 0 {
            return;
        }
        let literals = &self.literals[mask.word as usize];
        let mut equal = rest;
        while rest != 0 {
            let at = rest.trailing_zeros();
            equal ^= u32::from(literals[at as usize] != literal) << at;
            rest &= rest - 1;
        }
        self.set_bits(mask.word as usize, equal);
    }

    /// Adds the classes of a mask whose condition has a literal in the range. Those that match
    /// already are not looked at.
    #[inline]
    pub(super) fn set_in_range(&mut self, mask: Mask, range: LiteralRange) {
        let literals = &self.literals[mask.word as usize];
        let (mut rest, mut inside) = (mask.bits & !self.words[mask.word as usize], 0);
        while rest != 0 {
            let at = rest.trailing_zeros();
            inside |= u32::from(range.contains(literals[at as usize])) << at;
            rest &= rest - 1;
        }
        if inside != 0 {
            self.set_bits(mask.word as usize, inside);
        }
    }

    /// Prefetches the bit of a class.
    #[inline]
    pub(super) fn prefetch_bit(&self, class: u32) {
        prefetch(&self.bits, class as usize);
    }

    /// Appends the masks of some classes.
    pub(super) fn masks_of(&mut self, classes: &[u32], masks_of_classes: &mut Vec<Mask>) {
        let mut bits = std::mem::take(&mut self.buffer);
        bits.clear();
        bits.extend(classes.iter().map(|&class| self.bit_of(class)));
        bits.sort_unstable();
        masks_of_classes.extend(masks(&bits, |&bit| bit));
        self.buffer = bits;
    }

    /// The bit of a class that matches if a condition with this literal holds; `condition` is its
    /// index in the segment. `None` if the bit was assigned for another condition, or without one.
    pub(super) fn conditional_bit(
        &mut self,
        class: u32,
        condition: u32,
        literal: u32,
    ) -> Option<u32> {
        if self.bits[class as usize] == 0 {
            let bit = self.bit_of(class);
            self.classes[bit as usize].condition = condition;
            let (word, at) = (bit as usize / WORD, bit as usize % WORD);
            self.literals[word][at] = literal;
            self.literal_tags[word][at] = literal as u8;
            return Some(bit);
        }
        let bit = self.bits[class as usize] - 1;
        (self.classes[bit as usize].condition == condition).then_some(bit)
    }

    #[inline]
    fn bit_of(&mut self, class: u32) -> u32 {
        match self.bits[class as usize] {
            0 => {
                let bit = self.classes.len();
                self.classes.push(BitClass {
                    class,
                    condition: NONE,
                });
                if bit.is_multiple_of(WORD) {
                    if self.words.len().is_multiple_of(BLOCK * BLOCKS) {
                        self.dirty_blocks.push(0);
                    }
                    self.words.push(0);
                    self.literals.push([NONE; WORD]);
                    self.literal_tags.push([0; WORD]);
                }
                self.bits[class as usize] = bit as u32 + 1;
                bit as u32
            }
            known => known - 1,
        }
    }
}

/// The tags that equal one.
#[cfg(target_arch = "x86_64")]
#[inline]
fn equal_tags(tags: &[u8; WORD], tag: u8) -> u32 {
    use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8};
    // SAFETY: every x86-64 processor has SSE2, and both halves lie within the array.
    unsafe {
        let wanted = _mm_set1_epi8(tag as i8);
        let half = |at: usize| {
            let half = _mm_loadu_si128(tags.as_ptr().add(at).cast());
            _mm_movemask_epi8(_mm_cmpeq_epi8(half, wanted)) as u32
        };
        half(0) | half(WORD / 2) << (WORD / 2)
    }
}

/// The tags that equal one.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn equal_tags(tags: &[u8; WORD], tag: u8) -> u32 {
    let bit = |(at, &other): (usize, &u8)| u32::from(other == tag) << at;
    tags.iter()
        .enumerate()
        .map(bit)
        .fold(0, |bits, bit| bits | bit)
}

impl ClassSet for MatchBitmap {
    fn contains(&self, class: u32) -> bool {
        let bit = self.bits[class as usize] as usize;
        bit > 0 && self.words[(bit - 1) / WORD] >> ((bit - 1) % WORD) & 1 == 1
    }

    #[inline]
    fn for_each(&self, mut act: impl FnMut(u32)) {
        for (at, &dirty) in self.dirty_blocks.iter().enumerate() {
            let mut dirty = dirty;
            while dirty != 0 {
                let first = (at * BLOCKS + dirty.trailing_zeros() as usize) * BLOCK;
                dirty &= dirty - 1;
                let words = &self.words[first..self.words.len().min(first + BLOCK)];
                for (word, &bits) in (first..).zip(words) {
                    let mut bits = bits;
                    while bits != 0 {
                        let bit = bits.trailing_zeros() as usize;
                        act(self.classes[word * WORD + bit].class);
                        bits &= bits - 1;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bitmap: &MatchBitmap) -> Vec<u32> {
        let mut classes = Vec::new();
        bitmap.for_each(|class| classes.push(class));
        classes.sort_unstable();
        classes
    }

    #[test]
    fn a_class_is_in_the_set_once_however_it_is_added() {
        let mut bitmap = MatchBitmap::new(200);
        bitmap.insert(7);
        let mut masks = Vec::new();
        bitmap.masks_of(&[130, 7, 130, 0, 199], &mut masks);
        assert_eq!(masks.len(), 1);
        bitmap.set(masks[0]);
        bitmap.insert(0);
        assert_eq!(all(&bitmap), [0, 7, 130, 199]);
        assert!(bitmap.contains(199) && !bitmap.contains(64));
    }

    #[test]
    fn masks_stay_valid_until_the_bits_are_reset() {
        let mut bitmap = MatchBitmap::new(200);
        let mut masks = Vec::new();
        bitmap.masks_of(&Vec::from_iter(100..180), &mut masks);
        assert_eq!(masks.len(), 3);
        bitmap.clear();
        assert!(all(&bitmap).is_empty() && !bitmap.contains(100));
        masks.iter().for_each(|&mask| bitmap.set(mask));
        assert_eq!(all(&bitmap), (100..180).collect::<Vec<u32>>());
        bitmap.reset();
        assert!(all(&bitmap).is_empty() && bitmap.bytes() == 0);
        bitmap.insert(3);
        assert_eq!(all(&bitmap), [3]);
    }

    #[test]
    fn a_class_under_a_condition_is_added_by_its_literal() {
        let mut bitmap = MatchBitmap::new(200);
        let bit = |bitmap: &mut MatchBitmap, class, literal| {
            bitmap
                .conditional_bit(class, 1000 + class, literal)
                .expect("the class is new")
        };
        let mut bits: Vec<u32> = (0..80)
            .map(|class| bit(&mut bitmap, class, class % 3))
            .collect();
        bits.sort_unstable();
        for mask in masks(&bits, |&bit| bit) {
            bitmap.set_equal(mask, 1);
        }
        let ones: Vec<u32> = (0..80).filter(|class| class % 3 == 1).collect();
        assert_eq!(all(&bitmap), ones);
        assert_eq!(bitmap.conditional_bit(5, 1005, 2), Some(bits[5]));
        assert_eq!(bitmap.conditional_bit(5, 7, 1), None);
        bitmap.insert(100);
        assert_eq!(bitmap.conditional_bit(100, 7, 1), None);
    }
}
