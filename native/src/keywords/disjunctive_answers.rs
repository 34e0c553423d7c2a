//! Answers of an OR query on the postings of a document.
//!
//! The definition goes top-down over all elements. Only those count that directly contain a word
//! of the query, and those where two such ways meet: the nodes of a small tree. An element between
//! two nodes has the same words as the node below it and none of its own, so that it never answers;
//! it matters only in that releasing a child's descendants then releases the node itself.

use crate::keywords::conjunctive_answers::Stretch;
use crate::keywords::element_window::Window;
use crate::keywords::postings::Postings;
use crate::keywords::token_sink::WordId;

/// Answers OR queries; kept so that its memory is used again.
#[derive(Debug, Default)]
pub struct Disjunctions {
    /// Element and place of the word in the query, by element.
    contents: Vec<(u32, u32)>,
    /// In document order, so that a node's are consecutive.
    nodes: Vec<Node>,
    words: Words,
    /// Open nodes while they are linked.
    open: Vec<u32>,
    /// Nodes to look at, the first in document order last.
    examined: Vec<u32>,
    /// For each word of the query in how many parts of the element looked at it is.
    counts: Vec<u32>,
    kept: Vec<Stretch>,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    element: u32,
    /// One past the last node below.
    end: u32,
}

/// Sets of the query's words: two for each node.
#[derive(Debug, Default)]
struct Words {
    /// How many numbers a set has.
    stride: usize,
    own: Vec<u64>,
    contained: Vec<u64>,
}

impl Words {
    fn clear(&mut self, words: usize, nodes: usize) {
        self.stride = words.div_ceil(64);
        for sets in [&mut self.own, &mut self.contained] {
            sets.clear();
            sets.resize(nodes * self.stride, 0);
        }
    }

    /// What a node directly contains.
    fn own(&self, node: u32) -> &[u64] {
        &self.own[node as usize * self.stride..][..self.stride]
    }

    /// What is in a node's subtree.
    fn contained(&self, node: u32) -> &[u64] {
        &self.contained[node as usize * self.stride..][..self.stride]
    }

    fn add(&mut self, node: usize, word: u32) {
        let at = node * self.stride + word as usize / 64;
        self.own[at] |= 1 << (word % 64);
        self.contained[at] |= 1 << (word % 64);
    }

    /// What a node contains, its parent contains too.
    fn pass_up(&mut self, node: usize, parent: usize) {
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

impl Disjunctions {
    /// Calls `answer` for each element that answers, in document order, with the elements whose
    /// words it claims. Everything is under one element.
    pub fn answers(
        &mut self,
        window: &Window,
        postings: &Postings,
        words: &[WordId],
        mut answer: impl FnMut(u32, &[Stretch]),
    ) {
        self.gather(postings, words);
        if self.contents.is_empty() {
            return;
        }
        self.lay_out(window, words.len());
        self.counts.clear();
        self.counts.resize(words.len(), 0);
        self.examined.clear();
        self.examined.push(0);
        while let Some(node) = self.examined.pop() {
            let waiting = self.examined.len();
            if self.keeps_all(node) {
                self.claim(window, node);
                answer(self.nodes[node as usize].element, &self.kept);
            } else {
                self.examine_children(node);
            }
            self.examined[waiting..].reverse();
        }
    }

    /// Lists the elements that directly contain a word.
    fn gather(&mut self, postings: &Postings, words: &[WordId]) {
        self.contents.clear();
        for (word, listed) in (0..).zip(words.iter().map(|&word| postings.get(word))) {
            self.contents
                .extend(listed.iter().map(|&element| (element, word)));
        }
        self.contents.sort_unstable();
    }

    /// Lays out the nodes and their words.
    fn lay_out(&mut self, window: &Window, words: usize) {
        self.nodes.clear();
        let node = |element| Node { element, end: 0 };
        let mut before = self.contents[0].0;
        for &(element, _) in &self.contents {
            // Where the way from the one before meets the way from this one.
            let mut meeting = before;
            while window.last(meeting) < element {
                meeting = window.parent(meeting);
            }
            self.nodes.extend([node(meeting), node(element)]);
            before = element;
        }
        self.nodes.sort_unstable_by_key(|node| node.element);
        self.nodes.dedup_by_key(|node| node.element);
        self.words.clear(words, self.nodes.len());
        let mut at = 0;
        for &(element, word) in &self.contents {
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

    /// Closes the innermost open node, of which `end` is no longer one.
    fn close(&mut self, end: u32) {
        let node = self.open.pop().expect("an open node");
        self.nodes[node as usize].end = end;
        if let Some(&parent) = self.open.last() {
            self.words.pass_up(node as usize, parent as usize);
        }
    }

    fn children(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        let end = self.nodes[node as usize].end;
        let next = move |&child: &u32| Some(self.nodes[child as usize].end).filter(|&c| c < end);
        std::iter::successors(Some(node + 1).filter(|&child| child < end), next)
    }

    fn examine_children(&mut self, node: u32) {
        let end = self.nodes[node as usize].end;
        let mut child = node + 1;
        while child < end {
            self.examined.push(child);
            child = self.nodes[child as usize].end;
        }
    }

    /// Whether a node has all that it contains even without the children that contain as much;
    /// counts in how many of its parts each word is.
    fn keeps_all(&mut self, node: u32) -> bool {
        let contained = self.words.contained(node);
        let mut counts = std::mem::take(&mut self.counts);
        members(contained).for_each(|word| counts[word] = 0);
        members(self.words.own(node)).for_each(|word| counts[word] += 1);
        for child in self.children(node) {
            let inside = self.words.contained(child);
            if inside != contained {
                members(inside).for_each(|word| counts[word] += 1);
            }
        }
        let keeps_all = members(contained).all(|word| counts[word] > 0);
        self.counts = counts;
        keeps_all
    }

    /// Decides what of an answering node's children stays with it, and lists what is to be
    /// examined by itself.
    fn claim(&mut self, window: &Window, node: u32) {
        let element = self.nodes[node as usize].element;
        self.kept.clear();
        self.kept.push((element, element));
        let end = self.nodes[node as usize].end;
        let mut child = node + 1;
        while child < end {
            let inside = self.nodes[child as usize].element;
            let next = self.nodes[child as usize].end;
            let is_direct = window.parent(inside) == element;
            if self.words.contained(child) == self.words.contained(node) {
                self.examined.push(child);
            } else if !self.release(child, is_direct) {
                self.kept.push((inside, window.last(inside)));
            } else if is_direct {
                self.kept.push((inside, inside));
                self.examine_children(child);
            } else {
                self.examined.push(child);
            }
            child = next;
        }
    }

    /// Whether the answer has all words without the proper descendants of the child that a node is
    /// in or, where it is direct, is; if so they are no longer counted.
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
