//! Answers OR queries from the posting lists of a document.
//!
//! By definition, all elements are examined from the root downwards. Only two kinds matter:
//! elements that directly contain a word of the query, and lowest common ancestors of two such
//! elements. They are the nodes of a small tree. An element between two nodes contains the same
//! words as the node below it and none directly, so that it is never an answer; it only implies
//! that releasing a child's descendants releases the node below, too.

use crate::keywords::answer_budget::AnswerBudget;
use crate::keywords::conjunctive_answers::{ElementRange, STEPS_PER_LEVEL};
use crate::keywords::element_window::ElementWindow;
use crate::keywords::postings::Postings;
use crate::keywords::token_sink::WordId;

/// Steps to sort an occurrence and to build its node.
const STEPS_PER_OCCURRENCE: usize = 60;

/// Steps to count or release a word of a child.
const STEPS_PER_WORD: usize = 6;

/// Answers OR queries. Reused across queries to avoid reallocation.
#[derive(Debug, Default)]
pub struct DisjunctiveAnswers {
    /// Element and index of the word in the query, sorted by element.
    occurrences: Vec<(u32, u32)>,
    /// In document order, so that the descendants of a node follow it.
    nodes: Vec<WordTreeNode>,
    words: WordSets,
    /// Open nodes while the tree is built.
    open: Vec<u32>,
    /// Nodes to examine; the first in document order is last.
    pending: Vec<u32>,
    /// Number of parts of the examined element that contain each word.
    counts: Vec<u32>,
    claimed: Vec<ElementRange>,
}

#[derive(Clone, Copy, Debug)]
struct WordTreeNode {
    element: u32,
    /// One past its last descendant.
    end: u32,
}

/// Two word sets for each node.
#[derive(Debug, Default)]
struct WordSets {
    /// Number of 64-bit blocks in a set.
    stride: usize,
    own: Vec<u64>,
    contained: Vec<u64>,
}

impl WordSets {
    fn clear(&mut self, words: usize, nodes: usize) {
        self.stride = words.div_ceil(64);
        for sets in [&mut self.own, &mut self.contained] {
            sets.clear();
            sets.resize(nodes * self.stride, 0);
        }
    }

    /// The words a node directly contains.
    fn own(&self, node: u32) -> &[u64] {
        &self.own[node as usize * self.stride..][..self.stride]
    }

    /// The words in a node's subtree.
    fn contained(&self, node: u32) -> &[u64] {
        &self.contained[node as usize * self.stride..][..self.stride]
    }

    fn add(&mut self, node: usize, word: u32) {
        let at = node * self.stride + word as usize / 64;
        self.own[at] |= 1 << (word % 64);
        self.contained[at] |= 1 << (word % 64);
    }

    /// Adds the words of a node's subtree to its parent.
    fn propagate(&mut self, node: usize, parent: usize) {
        for at in 0..self.stride {
            self.contained[parent * self.stride + at] |= self.contained[node * self.stride + at];
        }
    }
}

/// The members of a set.
fn members(set: &[u64]) -> impl Iterator<Item = usize> + '_ {
    set.iter().enumerate().flat_map(|(at, &bits)| {
        let next = |&bits: &u64| Some(bits & (bits - 1)).filter(|&rest| rest != 0);
        std::iter::successors(Some(bits).filter(|&bits| bits != 0), next)
            .map(move |bits| at * 64 + bits.trailing_zeros() as usize)
    })
}

impl DisjunctiveAnswers {
    /// Calls `answer` for each answer in document order, with the elements whose words it claims.
    /// All occurrences must have a common ancestor-or-self. Stops when the budget is spent.
    pub fn answers(
        &mut self,
        window: &ElementWindow,
        postings: &Postings,
        words: &[WordId],
        budget: &mut AnswerBudget,
        mut answer: impl FnMut(&mut AnswerBudget, u32, &[ElementRange]),
    ) {
        let count: usize = words.iter().map(|&word| postings.get(word).len()).sum();
        budget.spend(STEPS_PER_OCCURRENCE * count);
        if count == 0 || budget.is_spent() {
            return;
        }
        self.collect_occurrences(postings, words);
        self.build_tree(window, words.len(), budget);
        self.counts.clear();
        self.counts.resize(words.len(), 0);
        self.pending.clear();
        self.pending.push(0);
        while let Some(node) = self.pending.pop() {
            if budget.is_spent() {
                return;
            }
            let waiting = self.pending.len();
            if self.is_answer(node, budget) {
                self.claim(window, node);
                answer(budget, self.nodes[node as usize].element, &self.claimed);
            } else {
                self.queue_children(node);
            }
            self.pending[waiting..].reverse();
        }
    }

    /// Lists the elements that directly contain a word.
    fn collect_occurrences(&mut self, postings: &Postings, words: &[WordId]) {
        self.occurrences.clear();
        for (word, listed) in (0..).zip(words.iter().map(|&word| postings.get(word))) {
            self.occurrences
                .extend(listed.iter().map(|&element| (element, word)));
        }
        self.occurrences.sort_unstable();
    }

    /// Builds the tree and its word sets.
    fn build_tree(&mut self, window: &ElementWindow, words: usize, budget: &mut AnswerBudget) {
        self.nodes.clear();
        let node = |element| WordTreeNode { element, end: 0 };
        let mut before = self.occurrences[0].0;
        for &(element, _) in &self.occurrences {
            // The lowest common ancestor of this element and the previous one.
            let mut common_ancestor = before;
            let mut climbed = 0;
            while window.last(common_ancestor) < element {
                common_ancestor = window.parent(common_ancestor);
                climbed += 1;
            }
            budget.spend(STEPS_PER_LEVEL * climbed);
            self.nodes.extend([node(common_ancestor), node(element)]);
            before = element;
        }
        self.nodes.sort_unstable_by_key(|node| node.element);
        self.nodes.dedup_by_key(|node| node.element);
        self.words.clear(words, self.nodes.len());
        let mut at = 0;
        for &(element, word) in &self.occurrences {
            while self.nodes[at].element < element {
                at += 1;
            }
            self.words.add(at, word);
        }
        self.open.clear();
        for at in 0..self.nodes.len() as u32 {
            let element = self.nodes[at as usize].element;
            while let Some(&open) = self.open.last() {
                if window.last(self.nodes[open as usize].element) >= element {
                    break;
                }
                self.close(at);
            }
            self.open.push(at);
        }
        while !self.open.is_empty() {
            self.close(self.nodes.len() as u32);
        }
    }

    /// Closes the innermost open node; `end` is the first node after its subtree.
    fn close(&mut self, end: u32) {
        let node = self.open.pop().expect("an open node");
        self.nodes[node as usize].end = end;
        if let Some(&parent) = self.open.last() {
            self.words.propagate(node as usize, parent as usize);
        }
    }

    fn children(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        let end = self.nodes[node as usize].end;
        let next = move |&child: &u32| Some(self.nodes[child as usize].end).filter(|&c| c < end);
        std::iter::successors(Some(node + 1).filter(|&child| child < end), next)
    }

    fn queue_children(&mut self, node: u32) {
        let end = self.nodes[node as usize].end;
        let mut child = node + 1;
        while child < end {
            self.pending.push(child);
            child = self.nodes[child as usize].end;
        }
    }

    /// Whether a node still contains all of its words without the children that contain all of
    /// them, too. Counts the parts that contain each word. Claiming the node takes as long again.
    fn is_answer(&mut self, node: u32, budget: &mut AnswerBudget) -> bool {
        let contained = self.words.contained(node);
        let mut counts = std::mem::take(&mut self.counts);
        members(contained).for_each(|word| counts[word] = 0);
        members(self.words.own(node)).for_each(|word| counts[word] += 1);
        for child in self.children(node) {
            let inside = self.words.contained(child);
            let mut counted = inside.len();
            if inside != contained {
                members(inside).for_each(|word| {
                    counts[word] += 1;
                    counted += 1;
                });
            }
            budget.spend(STEPS_PER_WORD * counted);
        }
        let is_answer = members(contained).all(|word| counts[word] > 0);
        self.counts = counts;
        is_answer
    }

    /// Determines which descendants belong to an answer and queues the others for examination.
    fn claim(&mut self, window: &ElementWindow, node: u32) {
        let element = self.nodes[node as usize].element;
        self.claimed.clear();
        self.claimed.push((element, element));
        let end = self.nodes[node as usize].end;
        let mut child = node + 1;
        while child < end {
            let inside = self.nodes[child as usize].element;
            let next = self.nodes[child as usize].end;
            let is_direct = window.parent(inside) == element;
            if self.words.contained(child) == self.words.contained(node) {
                self.pending.push(child);
            } else if !self.release(child, is_direct) {
                self.claimed.push((inside, window.last(inside)));
            } else if is_direct {
                self.claimed.push((inside, inside));
                self.queue_children(child);
            } else {
                self.pending.push(child);
            }
            child = next;
        }
    }

    /// Whether the answer still contains all words without the proper descendants of a child. The
    /// node is the child itself if `is_direct`, otherwise inside it. If so, the descendants are no
    /// longer counted.
    fn release(&mut self, node: u32, is_direct: bool) -> bool {
        let (own, contained) = (self.words.own(node), self.words.contained(node));
        let stays = |word: usize| is_direct && own[word / 64] >> (word % 64) & 1 == 1;
        let mut released = members(contained).filter(|&word| !stays(word));
        if !released.all(|word| self.counts[word] > 1) {
            return false;
        }
        for word in members(contained).filter(|&word| !stays(word)) {
            self.counts[word] -= 1;
        }
        true
    }
}
