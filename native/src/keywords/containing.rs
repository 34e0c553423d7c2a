//! The lowest element around all words of a query, one of which a single element has.
//!
//! Whatever contains all words is then around that element: the lowest such element is the only answer. It is
//! found in sets of elements, a bit for each, without following what cannot be foretold.

use super::elements::{Window, NONE};
use super::listen::WordId;
use super::postings::Postings;

/// Sets are of up to so many elements; a larger document is searched in its postings.
pub const ELEMENTS_MAX: u32 = 1024;

const STRIDE_MAX: usize = ELEMENTS_MAX as usize / 64;

/// For each word of the postings the elements that contain it, directly or inside of them.
#[derive(Debug, Default)]
pub struct Containing {
    /// How many numbers a set has.
    stride: usize,
    /// The sets, in the order of the postings' words.
    sets: Vec<u64>,
}

impl Containing {
    /// Replaces what was there by what a window of at most [`ELEMENTS_MAX`] elements has.
    pub fn gather(&mut self, window: &Window, postings: &Postings) {
        self.stride = (window.elements() as usize).div_ceil(64);
        self.sets.clear();
        self.sets.resize(postings.words().len() * self.stride, 0);
        let sets = self.sets.chunks_exact_mut(self.stride.max(1));
        for (set, &word) in sets.zip(postings.words()) {
            for &element in postings.get(word) {
                let mut around = element;
                while around != NONE && set[around as usize / 64] >> (around % 64) & 1 == 0 {
                    set[around as usize / 64] |= 1 << (around % 64);
                    around = window.parent(around);
                }
            }
        }
    }

    /// The last element in document order that contains all words, all of which occur: the lowest, where a
    /// single element directly contains one of them.
    #[inline]
    pub fn last(&self, postings: &Postings, words: &[WordId]) -> u32 {
        let mut all = [u64::MAX; STRIDE_MAX];
        for &word in words {
            let set = &self.sets[postings.place(word) * self.stride..][..self.stride];
            for (all, some) in all.iter_mut().zip(set) {
                *all &= some;
            }
        }
        let all = &all[..self.stride];
        let at = all.iter().rposition(|&bits| bits != 0);
        let at = at.expect("the first element contains all");
        at as u32 * 64 + all[at].ilog2()
    }
}
