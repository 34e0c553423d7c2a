//! The classes that match a document, told many at a time.
//!
//! Classes that match together mostly first come up together: in the list of one path, or among the
//! conditions on one value. So they are numbered in the order in which they come up, and a list of them
//! becomes a few [`Mask`]s, each worth up to 32 classes. Telling such a list costs a few machine words,
//! however often its classes were told before. Of a class that matches under one last condition, the
//! literal is kept beside its number, once for all the lists that have it.

use crate::matching::alphabet::NONE;
use crate::matching::conditions::Wanted;
use crate::subscription_store::class_set::ClassSet;

/// Some classes of one word of the set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mask {
    /// Which word.
    pub word: u32,
    /// Which bits of it.
    pub bits: u32,
}

const WORD: usize = u32::BITS as usize;

/// So many words of the set, a line of the processor's cache, are looked at together.
const BLOCK: usize = 16;

const MARKS: usize = u64::BITS as usize;

/// Makes masks of items that are sorted by number.
pub fn masks<'a, T>(
    sorted: &'a [T],
    number: impl Fn(&T) -> u32 + Copy + 'a,
) -> impl Iterator<Item = Mask> + 'a {
    let word = move |item: &T| number(item) / WORD as u32;
    sorted
        .chunk_by(move |a, b| word(a) == word(b))
        .map(move |alike| Mask {
            word: word(&alike[0]),
            bits: alike
                .iter()
                .fold(0, |bits, item| bits | 1 << (number(item) % WORD as u32)),
        })
}

/// What is known of a class by its number.
#[derive(Clone, Copy)]
struct Numbered {
    class: u32,
    /// The condition, by its place in the segment, whose literal is kept; [`NONE`] for none.
    condition: u32,
}

/// A set of classes, filled and emptied once a document. How classes are numbered outlives it.
pub struct Told {
    words: Vec<u32>,
    /// A bit for each block of words that may have a class: few documents reach many of them.
    marks: Vec<u64>,
    /// By number.
    classes: Vec<Numbered>,
    /// By number: the literal of the condition.
    literals: Vec<[u32; WORD]>,
    /// By number: the last byte of the literal, to find it among others.
    tags: Vec<[u8; WORD]>,
    /// By class: its number plus one, or 0 where it has none yet.
    numbers: Vec<u32>,
    work: Vec<u32>,
}

impl Told {
    /// So many upper bits of [`Mask::word`] are always zero.
    pub const SPARE_BITS: u32 = 6;

    /// A set of classes below `count`.
    pub fn new(count: usize) -> Told {
        Told {
            words: Vec::new(),
            marks: Vec::new(),
            classes: Vec::new(),
            literals: Vec::new(),
            tags: Vec::new(),
            numbers: vec![0; count],
            work: Vec::new(),
        }
    }

    /// The memory that the numbering takes, about.
    pub fn bytes(&self) -> usize {
        self.classes.len() * (size_of::<Numbered>() + 4) + self.words.len() * (4 + WORD * 5)
    }

    /// Empties the set.
    pub fn clear(&mut self) {
        for at in 0..self.marks.len() {
            let mut marks = std::mem::take(&mut self.marks[at]);
            while marks != 0 {
                let block = at * MARKS + marks.trailing_zeros() as usize;
                let end = self.words.len().min((block + 1) * BLOCK);
                self.words[block * BLOCK..end].fill(0);
                marks &= marks - 1;
            }
        }
    }

    /// Empties the set and forgets the numbering: no mask made before may be told any more.
    pub fn forget(&mut self) {
        for numbered in &self.classes {
            self.numbers[numbered.class as usize] = 0;
        }
        self.classes.clear();
        self.literals.clear();
        self.tags.clear();
        self.words.clear();
        self.marks.clear();
    }

    /// Adds a class.
    #[inline]
    pub fn insert(&mut self, class: u32) {
        let number = self.number(class) as usize;
        self.add(number / WORD, 1 << (number % WORD));
    }

    #[inline]
    fn add(&mut self, word: usize, bits: u32) {
        self.words[word] |= bits;
        self.marks[word / (BLOCK * MARKS)] |= 1 << (word / BLOCK % MARKS);
    }

    /// Adds the classes of a mask.
    #[inline]
    pub fn tell(&mut self, mask: Mask) {
        self.add(mask.word as usize, mask.bits);
    }

    /// Adds those classes of a mask whose condition has this literal.
    #[inline]
    pub fn tell_equal(&mut self, mask: Mask, literal: u32) {
        let mut rest = mask.bits & equal(&self.tags[mask.word as usize], literal as u8);
        if rest == 0 {
            return;
        }
        let literals = &self.literals[mask.word as usize];
        let mut met = rest;
        while rest != 0 {
            let at = rest.trailing_zeros();
            met ^= u32::from(literals[at as usize] != literal) << at;
            rest &= rest - 1;
        }
        self.add(mask.word as usize, met);
    }

    /// Adds those classes of a mask whose condition has a wanted literal.
    #[inline]
    pub fn tell_wanted(&mut self, mask: Mask, wanted: Wanted) {
        let literals = &self.literals[mask.word as usize];
        let (mut rest, mut met) = (mask.bits, 0);
        while rest != 0 {
            let at = rest.trailing_zeros();
            met |= u32::from(wanted.contains(literals[at as usize])) << at;
            rest &= rest - 1;
        }
        if met != 0 {
            self.add(mask.word as usize, met);
        }
    }

    /// Makes masks of some classes.
    pub fn masks(&mut self, classes: impl Iterator<Item = u32>, into: &mut Vec<Mask>) {
        let mut numbers = std::mem::take(&mut self.work);
        numbers.clear();
        numbers.extend(classes.map(|class| self.number(class)));
        numbers.sort_unstable();
        into.extend(masks(&numbers, |&number| number));
        self.work = numbers;
    }

    /// The number of a class that matches under the condition at a place in the segment, which has this
    /// literal. Nothing where the class can match otherwise too, and came up so before.
    pub fn number_under(&mut self, class: u32, condition: u32, literal: u32) -> Option<u32> {
        if self.numbers[class as usize] == 0 {
            let number = self.number(class);
            self.classes[number as usize].condition = condition;
            let (word, bit) = (number as usize / WORD, number as usize % WORD);
            self.literals[word][bit] = literal;
            self.tags[word][bit] = literal as u8;
            return Some(number);
        }
        let number = self.numbers[class as usize] - 1;
        (self.classes[number as usize].condition == condition).then_some(number)
    }

    #[inline]
    fn number(&mut self, class: u32) -> u32 {
        match self.numbers[class as usize] {
            0 => {
                let number = self.classes.len();
                self.classes.push(Numbered {
                    class,
                    condition: NONE,
                });
                if number.is_multiple_of(WORD) {
                    if self.words.len().is_multiple_of(BLOCK * MARKS) {
                        self.marks.push(0);
                    }
                    self.words.push(0);
                    self.literals.push([NONE; WORD]);
                    self.tags.push([0; WORD]);
                }
                self.numbers[class as usize] = number as u32 + 1;
                number as u32
            }
            known => known - 1,
        }
    }
}

/// Which of the tags equal one.
#[cfg(target_arch = "x86_64")]
#[inline]
fn equal(tags: &[u8; WORD], tag: u8) -> u32 {
    use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8};
    // SAFETY: every x86-64 has SSE2, and both halves lie within the array.
    unsafe {
        let wanted = _mm_set1_epi8(tag as i8);
        let half = |at: usize| {
            let half = _mm_loadu_si128(tags.as_ptr().add(at).cast());
            _mm_movemask_epi8(_mm_cmpeq_epi8(half, wanted)) as u32
        };
        half(0) | half(WORD / 2) << (WORD / 2)
    }
}

/// Which of the tags equal one.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn equal(tags: &[u8; WORD], tag: u8) -> u32 {
    let bit = |(at, &other): (usize, &u8)| u32::from(other == tag) << at;
    tags.iter()
        .enumerate()
        .map(bit)
        .fold(0, |bits, bit| bits | bit)
}

impl ClassSet for Told {
    fn contains(&self, class: u32) -> bool {
        let number = self.numbers[class as usize] as usize;
        number > 0 && self.words[(number - 1) / WORD] >> ((number - 1) % WORD) & 1 == 1
    }

    #[inline]
    fn for_each(&self, mut act: impl FnMut(u32)) {
        for (at, &marks) in self.marks.iter().enumerate() {
            let mut marks = marks;
            while marks != 0 {
                let first = (at * MARKS + marks.trailing_zeros() as usize) * BLOCK;
                marks &= marks - 1;
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

    fn all(told: &Told) -> Vec<u32> {
        let mut classes = Vec::new();
        told.for_each(|class| classes.push(class));
        classes.sort_unstable();
        classes
    }

    #[test]
    fn a_class_is_told_once_however_it_comes() {
        let mut told = Told::new(200);
        told.insert(7);
        let mut masks = Vec::new();
        told.masks([130, 7, 130, 0, 199].into_iter(), &mut masks);
        assert_eq!(masks.len(), 1);
        told.tell(masks[0]);
        told.insert(0);
        assert_eq!(all(&told), [0, 7, 130, 199]);
        assert!(told.contains(199) && !told.contains(64));
    }

    #[test]
    fn masks_outlive_a_document_and_not_the_numbering() {
        let mut told = Told::new(200);
        let mut masks = Vec::new();
        told.masks(100..180, &mut masks);
        assert_eq!(masks.len(), 3);
        told.clear();
        assert!(all(&told).is_empty() && !told.contains(100));
        masks.iter().for_each(|&mask| told.tell(mask));
        assert_eq!(all(&told), (100..180).collect::<Vec<u32>>());
        told.forget();
        assert!(all(&told).is_empty() && told.bytes() == 0);
        told.insert(3);
        assert_eq!(all(&told), [3]);
    }

    #[test]
    fn a_class_under_a_condition_is_told_by_its_literal() {
        let mut told = Told::new(200);
        let number = |told: &mut Told, class, literal| {
            told.number_under(class, 1000 + class, literal)
                .expect("the class is new")
        };
        let mut numbers: Vec<u32> = (0..80)
            .map(|class| number(&mut told, class, class % 3))
            .collect();
        numbers.sort_unstable();
        for mask in masks(&numbers, |&number| number) {
            told.tell_equal(mask, 1);
        }
        let ones: Vec<u32> = (0..80).filter(|class| class % 3 == 1).collect();
        assert_eq!(all(&told), ones);
        assert_eq!(told.number_under(5, 1005, 2), Some(numbers[5]));
        assert_eq!(told.number_under(5, 7, 1), None);
        told.insert(100);
        assert_eq!(told.number_under(100, 7, 1), None);
    }
}
