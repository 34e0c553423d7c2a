//! OR queries (Section 4.6 of the KEMB paper) on the elements that were kept of a document.
//!
//! The document's elements that contain any of a query's words make its own small tree, examined
//! from the root. With `CK(e)` the query's words in `e`'s whole subtree: `e` answers if it keeps
//! `CK(e)` without the children that contain the same. Then those children are examined for
//! themselves, and each other child in turn is released, all but its own words, if `e` can spare
//! what is below it: its children are examined. If `e` does not answer, all its children are
//! examined. That is the design's form of what the paper leaves open.

use hashbrown::{HashMap, HashSet};

use crate::baselines::kemb::limits::Limits;
use crate::baselines::kemb::results::Told;
use crate::baselines::kemb::retained_elements::Kept;
use crate::events::Stop;
use crate::keywords::token_sink::WordId;

const BLOCK_BITS: usize = u64::BITS as usize;

/// The OR queries of an engine.
#[derive(Debug, Default)]
pub struct AnyQueries {
    words: HashMap<u32, Box<[WordId]>, foldhash::fast::RandomState>,
    by_word: HashMap<WordId, Vec<u32>, foldhash::fast::RandomState>,
}

impl AnyQueries {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Whether a query has this word.
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

    /// Takes a query out. Whether it was there.
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

/// Answers OR queries: which match as soon as a word is heard, what answers at the end.
#[derive(Debug, Default)]
pub struct AnyRun {
    /// By place among the kept elements.
    parents: Vec<u32>,
    /// By place: one more than its number in the query's tree, or 0.
    numbers: Vec<u32>,
    /// The occurrences of the queries' words, by word.
    occurrences: Vec<(WordId, u32)>,
    asked: Vec<u32>,
    tree: QueryTree,
    heard: HashSet<WordId, foldhash::fast::RandomState>,
}

impl AnyRun {
    /// Begins a document.
    pub fn begin(&mut self) {
        self.heard.clear();
    }

    /// The document has this word: one of its words is all an OR query takes to match.
    pub fn hear(&mut self, queries: &AnyQueries, word: WordId, told: &mut Told) {
        if self.heard.insert(word) {
            for &query in queries.by_word.get(&word).into_iter().flatten() {
                told.tell_match(query);
            }
        }
    }

    /// Ends the document: tells all answers.
    pub fn answer(
        &mut self,
        queries: &AnyQueries,
        kept: &Kept,
        limits: &Limits,
        told: &mut Told,
    ) -> Result<(), Stop> {
        self.occurrences.clear();
        let used = kept.occurrences().filter(|&(word, _)| queries.uses(word));
        self.occurrences.extend(used);
        self.occurrences.sort_unstable();
        self.asked.clear();
        for heard in self.occurrences.chunk_by(|one, other| one.0 == other.0) {
            self.asked.extend(&queries.by_word[&heard[0].0]);
        }
        self.asked.sort_unstable();
        self.asked.dedup();
        kept.parents(&mut self.parents);
        self.numbers.clear();
        self.numbers.resize(self.parents.len(), 0);
        for at in 0..self.asked.len() {
            let query = self.asked[at];
            self.plant(&queries.words[&query]);
            self.tree
                .examine_all(|place| told.tell(query, kept.element(place)));
            limits.check_answers(told.answers().len())?;
        }
        Ok(())
    }

    /// Makes the tree of a query with these words.
    fn plant(&mut self, words: &[WordId]) {
        let tree = &mut self.tree;
        tree.places.clear();
        for &word in words {
            for &(_, place) in of_word(&self.occurrences, word) {
                let mut at = place;
                while self.numbers[at as usize] == 0 {
                    self.numbers[at as usize] = 1;
                    tree.places.push(at);
                    at = self.parents[at as usize];
                }
            }
        }
        // Elements lie in the order of their ends: children before parents, siblings in order.
        tree.places.sort_unstable();
        for (number, &place) in (1..).zip(&tree.places) {
            self.numbers[place as usize] = number;
        }
        tree.clear(words.len());
        for (bit, &word) in words.iter().enumerate() {
            for &(_, place) in of_word(&self.occurrences, word) {
                tree.add_word(self.numbers[place as usize] - 1, bit);
            }
        }
        for &place in &tree.places {
            let parent = self.parents[place as usize];
            tree.parents.push(self.numbers[parent as usize] - 1);
        }
        for &place in &tree.places {
            self.numbers[place as usize] = 0;
        }
        tree.link();
    }
}

fn of_word(occurrences: &[(WordId, u32)], word: WordId) -> &[(WordId, u32)] {
    let start = occurrences.partition_point(|&(other, _)| other < word);
    let count = occurrences[start..].partition_point(|&(other, _)| other == word);
    &occurrences[start..start + count]
}

/// The elements that contain any of one query's words, children before parents; the root is last.
#[derive(Debug, Default)]
struct QueryTree {
    places: Vec<u32>,
    parents: Vec<u32>,
    /// Sets of words lie side by side, in so many blocks each.
    blocks: usize,
    own: Vec<u64>,
    contained: Vec<u64>,
    first_child: Vec<Option<u32>>,
    next_sibling: Vec<Option<u32>>,
    examined: Vec<u32>,
    /// For each word, in how many parts the examined element contains it.
    parts: Vec<u32>,
}

impl QueryTree {
    fn clear(&mut self, word_count: usize) {
        let count = self.places.len();
        self.blocks = word_count.div_ceil(BLOCK_BITS);
        self.own.clear();
        self.own.resize(count * self.blocks, 0);
        self.parts.clear();
        self.parts.resize(word_count, 0);
        self.parents.clear();
    }

    fn add_word(&mut self, number: u32, bit: usize) {
        let block = number as usize * self.blocks + bit / BLOCK_BITS;
        self.own[block] |= 1 << (bit % BLOCK_BITS);
    }

    /// Finds what each element contains, and its children.
    fn link(&mut self) {
        let root = self.places.len() - 1;
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
        self.examined.push((self.places.len() - 1) as u32);
        while let Some(number) = self.examined.pop() {
            if self.examine(number) {
                answer(self.places[number as usize]);
            }
        }
    }

    /// Whether an element answers; what is to be examined next is noted.
    fn examine(&mut self, element: u32) -> bool {
        self.parts.fill(0);
        self.count_parts(element, false);
        let mut child = self.first_child[element as usize];
        while let Some(other) = child {
            if !self.is_aside(other, element) {
                self.count_parts(other, true);
            }
            child = self.next_sibling[other as usize];
        }
        let kept = bits(self.set(&self.contained, element)).all(|bit| self.parts[bit] > 0);
        let mut child = self.first_child[element as usize];
        while let Some(other) = child {
            if !kept || self.is_aside(other, element) {
                self.examined.push(other);
            } else if self.can_spare(other) {
                self.release(other);
            }
            child = self.next_sibling[other as usize];
        }
        kept
    }

    fn is_aside(&self, child: u32, element: u32) -> bool {
        self.set(&self.contained, child) == self.set(&self.contained, element)
    }

    /// Counts an element's words as a part: its own or all that it contains.
    fn count_parts(&mut self, number: u32, all: bool) {
        let sets = if all { &self.contained } else { &self.own };
        for bit in bits(self.set(sets, number)) {
            self.parts[bit] += 1;
        }
    }

    /// Whether every word that is only below this child stands in another part as well.
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
