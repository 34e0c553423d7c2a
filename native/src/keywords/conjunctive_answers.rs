//! Answers of an AND query on the postings of a document.
//!
//! An element is *complete* when its subtree has all words. Each element that directly contains a
//! word belongs to its lowest complete ancestor-or-self, and a complete element answers when one of
//! every word belongs to it. So every answer is the lowest complete element around some element of
//! the query's rarest word, and only those are looked at.

use crate::keywords::element_window::Window;
use crate::keywords::postings::{gallop, Postings};
use crate::keywords::token_sink::WordId;

/// Consecutive elements: the first and the last number.
pub type Stretch = (u32, u32);

/// Which complete elements answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// Those that keep all words once complete children are set aside: CLCA.
    Compact,
    /// Those without complete children: SLCA.
    Smallest,
}

/// Answers AND queries; kept so that its memory is used again.
#[derive(Debug, Default)]
pub struct Conjunctions {
    /// The query's words, that with the fewest elements first.
    lists: Vec<List>,
    /// CompleteQuery elements that are the lowest around an element of the first word.
    candidates: Vec<u32>,
    kept: Vec<Stretch>,
}

#[derive(Clone, Copy, Debug)]
struct List {
    start: u32,
    end: u32,
    /// The first that is not before the element looked at.
    at: u32,
}

impl Conjunctions {
    /// Calls `answer` for each element that answers, in document order, with the elements that are
    /// left to it. Every word occurs, and everything is under one element.
    #[inline]
    pub fn answers(
        &mut self,
        window: &Window,
        postings: &Postings,
        words: &[WordId],
        which: Which,
        mut answer: impl FnMut(u32, &[Stretch]),
    ) {
        self.find_candidates(window, postings, words);
        for at in 0..self.candidates.len() {
            let element = self.candidates[at];
            let last = window.last(element);
            let is_smallest = self.candidates.get(at + 1).is_none_or(|&next| next > last);
            if is_smallest {
                answer(element, &[(element, last)]);
            } else if which == Which::Compact {
                self.set_aside(window, at);
                // The first word is left: that is how the element became a candidate.
                if self.lists[1..]
                    .iter()
                    .all(|list| self.is_left(postings, *list))
                {
                    answer(element, &self.kept);
                }
            }
        }
    }

    fn find_candidates(&mut self, window: &Window, postings: &Postings, words: &[WordId]) {
        self.lists.clear();
        self.candidates.clear();
        let mut rarest = (0, u32::MAX);
        for (at, &word) in words.iter().enumerate() {
            let range = postings.range(word);
            debug_assert!(range.start < range.end, "every word occurs");
            if range.end - range.start < rarest.1 {
                rarest = (at, range.end - range.start);
            }
            self.lists.push(List {
                start: range.start,
                end: range.end,
                at: range.start,
            });
        }
        self.lists.swap(0, rarest.0);
        let elements = postings.elements();
        let (first, others) = self.lists.split_first_mut().expect("a query has words");
        let mut sorted = true;
        for &content in &elements[first.start as usize..first.end as usize] {
            let mut element = content;
            for list in &mut *others {
                let listed = &elements[..list.end as usize];
                let at = gallop(listed, list.at as usize, content);
                list.at = at as u32;
                // Nearest before, as one more than its number, and nearest behind.
                let before = if at > list.start as usize {
                    listed[at - 1] + 1
                } else {
                    0
                };
                let behind = listed.get(at).copied().unwrap_or(u32::MAX);
                while before <= element && behind > window.last(element) {
                    element = window.parent(element);
                }
            }
            match self.candidates.last() {
                Some(&last) if last == element => {}
                Some(&last) => {
                    sorted &= last < element;
                    self.candidates.push(element);
                }
                None => self.candidates.push(element),
            }
        }
        if !sorted {
            self.candidates.sort_unstable();
            self.candidates.dedup();
        }
    }

    /// What is left to a candidate without its complete children: those on the way to other
    /// candidates.
    fn set_aside(&mut self, window: &Window, candidate: usize) {
        let element = self.candidates[candidate];
        let last = window.last(element);
        self.kept.clear();
        let mut start = element;
        let mut at = candidate + 1;
        while let Some(&below) = self.candidates.get(at).filter(|&&below| below <= last) {
            let mut child = below;
            while window.parent(child) != element {
                child = window.parent(child);
            }
            if start < child {
                self.kept.push((start, child - 1));
            }
            start = window.last(child) + 1;
            at = gallop(&self.candidates, at, start);
        }
        if start <= last {
            self.kept.push((start, last));
        }
    }

    /// Whether a word is in what is left.
    fn is_left(&self, postings: &Postings, list: List) -> bool {
        let elements = &postings.elements()[..list.end as usize];
        let mut at = list.start as usize;
        self.kept.iter().any(|&(start, last)| {
            at = gallop(elements, at, start);
            elements.get(at).is_some_and(|&element| element <= last)
        })
    }
}
