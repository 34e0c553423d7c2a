//! Answers of AND queries in a document of few elements, by sets of elements with a bit for each.
//!
//! An element is *complete* when its subtree has all words: those elements are what the words' sets have in
//! common. Gone through from the last to the first, an element comes behind all that are in it. It answers if
//! it has each word outside of the complete elements in it. Hardly anything is branched on: it cannot be
//! foretold.

use crate::events::Stop;

use crate::keywords::conjunction_index::{ensure_len, CompleteQuery, PresenceMask};
use crate::keywords::element_window::{Window, MANY, NONE};
use crate::keywords::postings::Postings;
use crate::keywords::token_sink::WordId;
#[cfg(target_arch = "x86_64")]
use crate::tokenizer::cpu_features::has_avx2_bmi2;

/// Sets for documents of few, more and many elements; kept so that the memory is used again.
#[derive(Debug, Default)]
pub struct AnySets {
    few: ElementSets<4>,
    more: ElementSets<8>,
    many: ElementSets<16>,
    answers: Vec<u32>,
}

/// Takes the number of a query and the elements that answer it.
type Take<'t> = &'t mut dyn FnMut(u32, &[u32]) -> Result<(), Stop>;

impl AnySets {
    /// Documents have up to so many elements.
    pub const ELEMENTS_MAX: u32 = ElementSets::<16>::ELEMENTS_MAX;

    /// Answers queries that were found in a document, each with its words, all of which are wanted.
    pub fn answer<'w>(
        &mut self,
        window: &Window,
        postings: &mut Postings,
        asked: impl Iterator<Item = (CompleteQuery, &'w [WordId])>,
        take: Take<'_>,
    ) -> Result<(), Stop> {
        #[cfg(target_arch = "x86_64")]
        if has_avx2_bmi2() {
            // SAFETY: the processor has what it takes.
            return unsafe { self.answer_wide(window, postings, asked, take) };
        }
        self.answer_any(window, postings, asked, take)
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    fn answer_wide<'w>(
        &mut self,
        window: &Window,
        postings: &mut Postings,
        asked: impl Iterator<Item = (CompleteQuery, &'w [WordId])>,
        take: Take<'_>,
    ) -> Result<(), Stop> {
        self.answer_any(window, postings, asked, take)
    }

    #[inline(always)]
    fn answer_any<'w>(
        &mut self,
        window: &Window,
        postings: &mut Postings,
        asked: impl Iterator<Item = (CompleteQuery, &'w [WordId])>,
        take: Take<'_>,
    ) -> Result<(), Stop> {
        let answers = &mut self.answers;
        if window.elements() <= ElementSets::<4>::ELEMENTS_MAX {
            self.few.answer(window, postings, asked, answers, take)
        } else if window.elements() <= ElementSets::<8>::ELEMENTS_MAX {
            self.more.answer(window, postings, asked, answers, take)
        } else {
            self.many.answer(window, postings, asked, answers, take)
        }
    }
}

/// Sets of a document's elements, each of so many numbers.
#[derive(Debug)]
struct ElementSets<const NUMBERS: usize> {
    /// For each element itself and those that it is in.
    around: Vec<Set<NUMBERS>>,
    /// For each element itself and those that are in it.
    inside: Vec<Set<NUMBERS>>,
    /// For each word that is wanted the elements that directly contain it.
    having: Vec<Set<NUMBERS>>,
    /// The elements that contain it, directly or inside of them.
    containing: Vec<Set<NUMBERS>>,
}

impl<const NUMBERS: usize> Default for ElementSets<NUMBERS> {
    fn default() -> Self {
        ElementSets {
            around: Vec::new(),
            inside: Vec::new(),
            having: Vec::new(),
            containing: Vec::new(),
        }
    }
}

impl<const NUMBERS: usize> ElementSets<NUMBERS> {
    /// Sets are of up to so many elements.
    const ELEMENTS_MAX: u32 = NUMBERS as u32 * u64::BITS;

    #[inline(always)]
    fn answer<'w>(
        &mut self,
        window: &Window,
        postings: &mut Postings,
        asked: impl Iterator<Item = (CompleteQuery, &'w [WordId])>,
        answers: &mut Vec<u32>,
        take: Take<'_>,
    ) -> Result<(), Stop> {
        self.gather(window, postings);
        for (found, words) in asked {
            self.answers(postings, words, found.presence, answers);
            take(found.query, answers)?;
        }
        Ok(())
    }

    /// Replaces what was there by what a window of few elements has of the words that are wanted.
    #[inline(always)]
    fn gather(&mut self, window: &Window, postings: &mut Postings) {
        self.relate(window);
        for sets in [&mut self.having, &mut self.containing] {
            sets.clear();
            sets.resize(postings.words().len(), Set::EMPTY);
        }
        let (having, containing) = (&mut self.having[..], &mut self.containing[..]);
        for &(place, element) in postings.wanted(window.occurrences()) {
            having[place as usize].add(element);
            containing[place as usize].unite(&self.around[element as usize]);
        }
    }

    /// Finds what is around each element, and what is inside.
    #[inline(always)]
    fn relate(&mut self, window: &Window) {
        let parents = window.parents();
        for sets in [&mut self.around, &mut self.inside] {
            ensure_len(sets, parents.len());
        }
        for (element, &parent) in (0..).zip(parents) {
            let mut own = match parent {
                NONE => Set::EMPTY,
                _ => self.around[parent as usize],
            };
            own.add(element);
            self.around[element as usize] = own;
            self.inside[element as usize] = Set::EMPTY;
        }
        for (element, &parent) in parents.iter().enumerate().rev() {
            self.inside[element].add(element as u32);
            let own = self.inside[element];
            if parent != NONE {
                self.inside[parent as usize].unite(&own);
            }
        }
    }

    /// Puts the elements that answer a query in `elements`, in document order. All words occur, and `places`
    /// is what their places have in common.
    #[inline(always)]
    fn answers(
        &self,
        postings: &Postings,
        words: &[WordId],
        places: PresenceMask,
        elements: &mut Vec<u32>,
    ) {
        elements.clear();
        let mut complete = Set([u64::MAX; NUMBERS]);
        for &word in words {
            complete.intersect(&self.containing[postings.place(word)]);
        }
        let last = complete.take_last().expect("the first contains all words");
        elements.push(last);
        // Where a single element has one of the words, none but the last has it outside of complete ones.
        if places & MANY == 0 {
            return;
        }
        let mut aside = self.inside[last as usize];
        while let Some(element) = complete.take_last() {
            let inside = &self.inside[element as usize];
            let left = inside.without(&aside);
            aside.unite(inside);
            let is_left = |&word: &WordId| self.having[postings.place(word)].meets(&left);
            if words.iter().all(is_left) {
                elements.push(element);
            }
        }
        elements.reverse();
    }
}

/// A set of elements.
#[derive(Clone, Copy, Debug)]
struct Set<const NUMBERS: usize>([u64; NUMBERS]);

impl<const NUMBERS: usize> Default for Set<NUMBERS> {
    fn default() -> Self {
        Set::EMPTY
    }
}

impl<const NUMBERS: usize> Set<NUMBERS> {
    const EMPTY: Self = Set([0; NUMBERS]);

    #[inline]
    fn add(&mut self, element: u32) {
        self.0[element as usize / 64] |= 1 << (element % 64);
    }

    #[inline]
    fn unite(&mut self, other: &Self) {
        (0..NUMBERS).for_each(|at| self.0[at] |= other.0[at]);
    }

    #[inline]
    fn intersect(&mut self, other: &Self) {
        (0..NUMBERS).for_each(|at| self.0[at] &= other.0[at]);
    }

    #[inline]
    fn without(&self, other: &Self) -> Self {
        Set(std::array::from_fn(|at| self.0[at] & !other.0[at]))
    }

    #[inline]
    fn meets(&self, other: &Self) -> bool {
        (0..NUMBERS).fold(0, |common, at| common | self.0[at] & other.0[at]) != 0
    }

    /// Takes the last element out.
    #[inline]
    fn take_last(&mut self) -> Option<u32> {
        let at = self.0.iter().rposition(|&number| number != 0)?;
        let bit = self.0[at].ilog2();
        self.0[at] ^= 1 << bit;
        Some(at as u32 * u64::BITS + bit)
    }
}
