//! Answers AND queries from the posting lists of a document.
//!
//! An element is *complete* if its subtree contains all words. Each occurrence of a word belongs to
//! its lowest complete ancestor-or-self, and a complete element is an answer (CLCA, compact lowest
//! common ancestor) if occurrences of every word belong to it. So every answer is the lowest
//! complete element around some occurrence of the query's rarest word, and only these candidates
//! are considered.

use crate::keywords::answer_budget::AnswerBudget;
use crate::keywords::element_window::ElementWindow;
use crate::keywords::postings::{gallop, Postings};
use crate::keywords::token_sink::WordId;

/// Steps to find a place in a posting list.
pub(super) const STEPS_PER_PROBE: usize = 8;

/// Steps from an element to its parent.
pub(super) const STEPS_PER_LEVEL: usize = 2;

/// Consecutive elements: the first and the last number.
pub type ElementRange = (u32, u32);

/// Answers AND queries. Reused across queries to avoid reallocation.
#[derive(Debug, Default)]
pub struct ConjunctiveAnswers {
    /// The query's posting lists, the shortest first.
    lists: Vec<PostingCursor>,
    /// The lowest complete elements around occurrences of the first list's word, ascending.
    candidates: Vec<u32>,
    /// The elements of a candidate's subtree outside of its complete children.
    remaining: Vec<ElementRange>,
}

#[derive(Clone, Copy, Debug)]
struct PostingCursor {
    start: u32,
    end: u32,
    /// The first posting that does not precede the current element.
    at: u32,
}

impl ConjunctiveAnswers {
    /// Calls `answer` for each answer in document order, with the elements outside of its complete
    /// children. Every word must occur, and all occurrences must have a common ancestor-or-self.
    /// Stops when the budget is spent.
    #[inline]
    pub fn answers(
        &mut self,
        window: &ElementWindow,
        postings: &Postings,
        words: &[WordId],
        budget: &mut AnswerBudget,
        mut answer: impl FnMut(&mut AnswerBudget, u32, &[ElementRange]),
    ) {
        self.find_candidates(window, postings, words, budget);
        for at in 0..self.candidates.len() {
            if budget.is_spent() {
                return;
            }
            let element = self.candidates[at];
            let last = window.last(element);
            let is_smallest = self.candidates.get(at + 1).is_none_or(|&next| next > last);
            if is_smallest {
                answer(budget, element, &[(element, last)]);
                continue;
            }
            self.exclude_complete_children(window, at, budget);
            // The first list needs no test: one of its occurrences made the element a candidate.
            if self.lists[1..]
                .iter()
                .all(|list| self.occurs_in_remaining(postings, *list, budget))
            {
                answer(budget, element, &self.remaining);
            }
        }
    }

    fn find_candidates(
        &mut self,
        window: &ElementWindow,
        postings: &Postings,
        words: &[WordId],
        budget: &mut AnswerBudget,
    ) {
        self.lists.clear();
        self.candidates.clear();
        let mut rarest = (0, u32::MAX);
        for (at, &word) in words.iter().enumerate() {
            let range = postings.range(word);
            debug_assert!(range.start < range.end, "every word occurs");
            if range.end - range.start < rarest.1 {
                rarest = (at, range.end - range.start);
            }
            self.lists.push(PostingCursor {
                start: range.start,
                end: range.end,
                at: range.start,
            });
        }
        self.lists.swap(0, rarest.0);
        let elements = postings.elements();
        let (first, others) = self.lists.split_first_mut().expect("a query has words");
        let mut sorted = true;
        for &occurrence in &elements[first.start as usize..first.end as usize] {
            let mut element = occurrence;
            let mut climbed = 0;
            for list in &mut *others {
                let listed = &elements[..list.end as usize];
                let at = gallop(listed, list.at as usize, occurrence);
                list.at = at as u32;
                // The nearest posting before the occurrence, plus one, and the nearest after it.
                let before = if at > list.start as usize {
                    listed[at - 1] + 1
                } else {
                    0
                };
                let after = listed.get(at).copied().unwrap_or(u32::MAX);
                while before <= element && after > window.last(element) {
                    element = window.parent(element);
                    climbed += 1;
                }
            }
            budget.spend(STEPS_PER_PROBE * (1 + others.len()) + STEPS_PER_LEVEL * climbed);
            if budget.is_spent() {
                return;
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

    /// Computes the elements of a candidate's subtree outside of its complete children, which are
    /// those on the paths to other candidates.
    fn exclude_complete_children(
        &mut self,
        window: &ElementWindow,
        candidate: usize,
        budget: &mut AnswerBudget,
    ) {
        let element = self.candidates[candidate];
        let last = window.last(element);
        self.remaining.clear();
        let mut start = element;
        let mut at = candidate + 1;
        while let Some(&below) = self.candidates.get(at).filter(|&&below| below <= last) {
            let mut child = below;
            let mut climbed = 0;
            while window.parent(child) != element {
                child = window.parent(child);
                climbed += 1;
            }
            budget.spend(STEPS_PER_PROBE + STEPS_PER_LEVEL * climbed);
            if start < child {
                self.remaining.push((start, child - 1));
            }
            start = window.last(child) + 1;
            at = gallop(&self.candidates, at, start);
        }
        if start <= last {
            self.remaining.push((start, last));
        }
    }

    /// Whether a word occurs in the remaining elements.
    fn occurs_in_remaining(
        &self,
        postings: &Postings,
        list: PostingCursor,
        budget: &mut AnswerBudget,
    ) -> bool {
        let elements = &postings.elements()[..list.end as usize];
        let mut at = list.start as usize;
        self.remaining.iter().any(|&(start, last)| {
            budget.spend(STEPS_PER_PROBE);
            at = gallop(elements, at, start);
            elements.get(at).is_some_and(|&element| element <= last)
        })
    }
}
