//! Answers OR queries (Section 4.6 of the KEMB paper) from the retained elements of a document.
//!
//! The elements that contain any of a query's words form the query's tree, which is examined from
//! the root. Let `CK(e)` be the query's words in the subtree of `e`. `e` is an answer if it still
//! contains `CK(e)` without the children that contain `CK(e)` themselves. Those children are then
//! examined separately. Each other child is released, except for its own words, if `e` can spare
//! what is below it, and the children of a released child are examined. If `e` is not an answer,
//! all of its children are examined. The paper leaves these details open.

use hashbrown::{HashMap, HashSet};

use crate::baselines::limits::BaselineLimits;
use crate::baselines::results::BaselineResults;
use crate::baselines::retained_elements::RetainedElements;
use crate::events::Stop;
use crate::keywords::token_sink::WordId;

const BLOCK_BITS: usize = u64::BITS as usize;

/// The OR queries of an engine.
#[derive(Debug, Default)]
pub struct DisjunctiveQueries {
    words: HashMap<u32, Box<[WordId]>, foldhash::fast::RandomState>,
    by_word: HashMap<WordId, Vec<u32>, foldhash::fast::RandomState>,
}

impl DisjunctiveQueries {
    /// Whether there are no queries.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Whether a query contains this word.
    #[inline]
    pub fn uses(&self, word: WordId) -> bool {
        self.by_word.contains_key(&word)
    }

    /// Adds a query.
    pub fn insert(&mut self, query: u32, words: &[WordId]) {
        for &word in words {
            self.by_word.entry(word).or_default().push(query);
        }
        self.words.insert(query, words.into());
    }

    /// Removes a query; returns whether it existed.
    pub fn remove(&mut self, query: u32) -> bool {
        let Some(words) = self.words.remove(&query) else {
            return false;
        };
        for word in &words {
            if let Some(queries) = self.by_word.get_mut(word) {
                queries.retain(|&other| other != query);
                if queries.is_empty() {
                    self.by_word.remove(word);
                }
            }
        }
        true
    }
}

/// Runs OR queries on documents: reports matches as words arrive and answers at the end.
#[derive(Debug, Default)]
pub struct DisjunctionRunner {
    /// Parent of each retained element, by position.
    parents: Vec<u32>,
    /// Number of each retained element in the query's tree, plus one; 0 if absent.
    numbers: Vec<u32>,
    /// Occurrences of the queries' words, sorted by word.
    occurrences: Vec<(WordId, u32)>,
    candidates: Vec<u32>,
    tree: QueryTree,
    words_seen: HashSet<WordId, foldhash::fast::RandomState>,
}

impl DisjunctionRunner {
    /// Starts a document.
    pub fn begin(&mut self) {
        self.words_seen.clear();
    }

    /// The document contains this word, so the OR queries that contain it match.
    pub fn add_word(
        &mut self,
        queries: &DisjunctiveQueries,
        word: WordId,
        results: &mut BaselineResults,
    ) {
        if self.words_seen.insert(word) {
            for &query in queries.by_word.get(&word).into_iter().flatten() {
                results.add_match(query);
            }
        }
    }

    /// Reports all answers at the end of the document.
    pub fn answer_queries(
        &mut self,
        queries: &DisjunctiveQueries,
        retained: &RetainedElements,
        limits: &BaselineLimits,
        results: &mut BaselineResults,
    ) -> Result<(), Stop> {
        self.occurrences.clear();
        let used = retained
            .occurrences()
            .filter(|&(word, _)| queries.uses(word));
        self.occurrences.extend(used);
        self.occurrences.sort_unstable();
        self.candidates.clear();
        for group in self.occurrences.chunk_by(|one, other| one.0 == other.0) {
            self.candidates.extend(&queries.by_word[&group[0].0]);
        }
        self.candidates.sort_unstable();
        self.candidates.dedup();
        retained.parents(&mut self.parents);
        self.numbers.clear();
        self.numbers.resize(self.parents.len(), 0);
        for at in 0..self.candidates.len() {
            let query = self.candidates[at];
            self.build_tree(&queries.words[&query]);
            self.tree
                .examine_all(|position| results.add_answer(query, retained.element(position)));
            limits.check_answers(results.answers().len())?;
        }
        Ok(())
    }

    /// Builds the tree of a query with these words.
    fn build_tree(&mut self, words: &[WordId]) {
        let tree = &mut self.tree;
        tree.positions.clear();
        for &word in words {
            for &(_, position) in of_word(&self.occurrences, word) {
                let mut at = position;
                while self.numbers[at as usize] == 0 {
                    self.numbers[at as usize] = 1;
                    tree.positions.push(at);
                    at = self.parents[at as usize];
                }
            }
        }
        // Elements are ordered by their ends: children before parents, siblings in document order.
        tree.positions.sort_unstable();
        for (number, &position) in (1..).zip(&tree.positions) {
            self.numbers[position as usize] = number;
        }
        tree.clear(words.len());
        for (bit, &word) in words.iter().enumerate() {
            for &(_, position) in of_word(&self.occurrences, word) {
                tree.add_occurrence(self.numbers[position as usize] - 1, bit);
            }
        }
        for &position in &tree.positions {
            let parent = self.parents[position as usize];
            tree.parents.push(self.numbers[parent as usize] - 1);
        }
        for &position in &tree.positions {
            self.numbers[position as usize] = 0;
        }
        tree.link();
    }
}

fn of_word(occurrences: &[(WordId, u32)], word: WordId) -> &[(WordId, u32)] {
    let start = occurrences.partition_point(|&(other, _)| other < word);
    let count = occurrences[start..].partition_point(|&(other, _)| other == word);
    &occurrences[start..start + count]
}

/// The elements that contain any of a query's words, children before parents; the root is last.
#[derive(Debug, Default)]
struct QueryTree {
    positions: Vec<u32>,
    parents: Vec<u32>,
    /// Number of 64-bit blocks in a word set; sets are stored contiguously.
    blocks: usize,
    own: Vec<u64>,
    contained: Vec<u64>,
    first_child: Vec<Option<u32>>,
    next_sibling: Vec<Option<u32>>,
    examined: Vec<u32>,
    /// Number of parts in which the examined element contains each word.
    parts: Vec<u32>,
}

impl QueryTree {
    fn clear(&mut self, word_count: usize) {
        let count = self.positions.len();
        self.blocks = word_count.div_ceil(BLOCK_BITS);
        self.own.clear();
        self.own.resize(count * self.blocks, 0);
        self.parts.clear();
        self.parts.resize(word_count, 0);
        self.parents.clear();
    }

    fn add_occurrence(&mut self, number: u32, bit: usize) {
        let block = number as usize * self.blocks + bit / BLOCK_BITS;
        self.own[block] |= 1 << (bit % BLOCK_BITS);
    }

    /// Computes the contained words and the children of each element.
    fn link(&mut self) {
        let root = self.positions.len() - 1;
        self.contained.clone_from(&self.own);
        for number in 0..root {
            let parent = self.parents[number] as usize;
            for block in 0..self.blocks {
                let contained = self.contained[number * self.blocks + block];
                self.contained[parent * self.blocks + block] |= contained;
            }
        }
        for links in [&mut self.first_child, &mut self.next_sibling] {
            links.clear();
            links.resize(root + 1, None);
        }
        for number in (0..root).rev() {
            let parent = self.parents[number] as usize;
            self.next_sibling[number] = self.first_child[parent].replace(number as u32);
        }
    }

    fn examine_all(&mut self, mut answer: impl FnMut(u32)) {
        self.examined.push((self.positions.len() - 1) as u32);
        while let Some(number) = self.examined.pop() {
            if self.examine(number) {
                answer(self.positions[number as usize]);
            }
        }
    }

    /// Returns whether an element is an answer, and queues the elements to examine next.
    fn examine(&mut self, element: u32) -> bool {
        self.parts.fill(0);
        self.count_parts(element, false);
        let mut child = self.first_child[element as usize];
        while let Some(other) = child {
            if !self.is_set_aside(other, element) {
                self.count_parts(other, true);
            }
            child = self.next_sibling[other as usize];
        }
        let answers = bits(self.set(&self.contained, element)).all(|bit| self.parts[bit] > 0);
        let mut child = self.first_child[element as usize];
        while let Some(other) = child {
            if !answers || self.is_set_aside(other, element) {
                self.examined.push(other);
            } else if self.can_spare(other) {
                self.release(other);
            }
            child = self.next_sibling[other as usize];
        }
        answers
    }

    fn is_set_aside(&self, child: u32, element: u32) -> bool {
        self.set(&self.contained, child) == self.set(&self.contained, element)
    }

    /// Counts an element as a part: only its own words, or all that it contains.
    fn count_parts(&mut self, number: u32, all: bool) {
        let sets = if all { &self.contained } else { &self.own };
        for bit in bits(self.set(sets, number)) {
            self.parts[bit] += 1;
        }
    }

    /// Whether every word that is only below this child is in another part, too.
    fn can_spare(&self, child: u32) -> bool {
        self.below(child).all(|bit| self.parts[bit] > 1)
    }

    fn release(&mut self, child: u32) {
        let below: Vec<usize> = self.below(child).collect();
        for bit in below {
            self.parts[bit] -= 1;
        }
        let mut released = self.first_child[child as usize];
        while let Some(number) = released {
            self.examined.push(number);
            released = self.next_sibling[number as usize];
        }
    }

    /// The words that an element contains, but not directly.
    fn below(&self, number: u32) -> impl Iterator<Item = usize> + '_ {
        let own = self.set(&self.own, number);
        bits(self.set(&self.contained, number))
            .filter(|bit| own[bit / BLOCK_BITS] >> (bit % BLOCK_BITS) & 1 == 0)
    }

    fn set<'a>(&self, sets: &'a [u64], number: u32) -> &'a [u64] {
        let start = number as usize * self.blocks;
        &sets[start..start + self.blocks]
    }
}

fn bits(set: &[u64]) -> impl Iterator<Item = usize> + '_ {
    set.iter().enumerate().flat_map(|(block, &bits)| {
        let rest = |&bits: &u64| Some(bits & (bits - 1)).filter(|&bits| bits != 0);
        std::iter::successors(Some(bits).filter(|&bits| bits != 0), rest)
            .map(move |bits| block * BLOCK_BITS + bits.trailing_zeros() as usize)
    })
}
