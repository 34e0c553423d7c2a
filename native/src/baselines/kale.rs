//! KALE (Section 3.3 of the KEMB paper): a stack for each AND query.
//!
//! The paper's rule, by which an element that contains all keywords is an answer and one that
//! contains some hands its subtree to its parent, is wrong where an element contains all of them
//! only thanks to an answer below it: for {a, b}, `<e><c><d>a b</d>a</c>b</e>` would make e an
//! answer. Here an element that contains all keywords, answer or not, hands nothing upwards but
//! that very fact.
//!
//! Of a query's stack only those elements are held that contain one of its keywords, so a query
//! costs something where one of its words stands, and nothing elsewhere.

use hashbrown::HashMap;

use crate::baselines::kemb::results::Told;
use crate::keywords::token_sink::WordId;

pub mod engine;

const BLOCK_BITS: usize = u64::BITS as usize;

/// An open element on one query's stack.
#[derive(Clone, Copy, Debug)]
struct Level {
    /// How many elements are open around it.
    depth: u32,
    /// Whether a child contains all keywords.
    complete_below: bool,
}

/// One query's stack: the open elements that contain a keyword, each with its set of keywords that
/// are not set aside.
#[derive(Debug, Default)]
struct Stack {
    levels: Vec<Level>,
    /// The levels' sets, in so many blocks each as the query needs.
    sets: Vec<u64>,
}

impl Stack {
    /// Makes sure that the element at this depth is on the stack, whose other elements are around
    /// it. Whether it was not.
    fn enter(&mut self, depth: u32, blocks: usize) -> bool {
        if self.levels.last().is_some_and(|top| top.depth == depth) {
            return false;
        }
        debug_assert!(self.levels.last().is_none_or(|top| top.depth < depth));
        self.levels.push(Level {
            depth,
            complete_below: false,
        });
        self.sets.resize(self.sets.len() + blocks, 0);
        true
    }

    /// The innermost element on the stack contains a keyword.
    fn contain(&mut self, bit: usize, blocks: usize) {
        let top = self.sets.len() - blocks;
        self.sets[top + bit / BLOCK_BITS] |= 1 << (bit % BLOCK_BITS);
    }

    /// The innermost element, at this depth, ends: what it contains goes to its parent. Whether it
    /// is an answer, and whether its parent is new on the stack.
    fn leave(&mut self, depth: u32, query: &AllQuery) -> (bool, bool) {
        let level = self.levels.pop().expect("an element is on the stack");
        debug_assert_eq!(level.depth, depth);
        let top = self.sets.len() - query.blocks();
        let count: u32 = self.sets[top..].iter().map(|set| set.count_ones()).sum();
        let answers = count as usize == query.word_count;
        if depth == 0 {
            self.sets.truncate(top);
            return (answers, false);
        }
        let parent_stands = self.levels.last().is_some_and(|top| top.depth + 1 == depth);
        if !parent_stands {
            // The element's own place becomes its parent's.
            let complete_below = answers || level.complete_below;
            self.levels.push(Level {
                depth: depth - 1,
                complete_below,
            });
            if complete_below {
                self.sets[top..].fill(0);
            }
            return (answers, true);
        }
        if answers || level.complete_below {
            let parent = self.levels.last_mut().expect("the parent stands");
            parent.complete_below = true;
        } else {
            let (below, own) = self.sets.split_at_mut(top);
            let parent = &mut below[top - own.len()..];
            for (parent, own) in parent.iter_mut().zip(own) {
                *parent |= *own;
            }
        }
        self.sets.truncate(top);
        (answers, false)
    }

    fn clear(&mut self) {
        self.levels.clear();
        self.sets.clear();
    }
}

/// An AND query.
#[derive(Clone, Copy, Debug)]
struct AllQuery {
    query: u32,
    word_count: usize,
}

impl AllQuery {
    fn blocks(&self) -> usize {
        self.word_count.div_ceil(BLOCK_BITS)
    }
}

/// The AND queries that are answered by a stack each.
#[derive(Debug, Default)]
pub struct AllQueries {
    /// By place; a place is given again.
    queries: Vec<AllQuery>,
    free: Vec<u32>,
    /// For each word the places of its queries, and its number among their words.
    by_word: HashMap<WordId, Vec<(u32, u32)>, foldhash::fast::RandomState>,
}

impl AllQueries {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.queries.len() - self.free.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a query.
    pub fn insert(&mut self, query: u32, words: &[WordId]) {
        let entry = AllQuery {
            query,
            word_count: words.len(),
        };
        let place = if let Some(place) = self.free.pop() {
            self.queries[place as usize] = entry;
            place
        } else {
            self.queries.push(entry);
            (self.queries.len() - 1) as u32
        };
        for (bit, &word) in (0..).zip(words) {
            self.by_word.entry(word).or_default().push((place, bit));
        }
    }

    /// Takes a query out, of the words it was added with. Whether it was there.
    pub fn remove(&mut self, query: u32, words: &[WordId]) -> bool {
        let Some(first) = words.first().and_then(|word| self.by_word.get(word)) else {
            return false;
        };
        let is_it = |&(place, _): &(u32, u32)| self.queries[place as usize].query == query;
        let Some((place, _)) = first.iter().copied().find(is_it) else {
            return false;
        };
        for word in words {
            if let Some(queries) = self.by_word.get_mut(word) {
                queries.retain(|&(other, _)| other != place);
                if queries.is_empty() {
                    self.by_word.remove(word);
                }
            }
        }
        self.free.push(place);
        true
    }
}

/// The stacks of all queries.
#[derive(Debug, Default)]
pub struct AllStacks {
    /// By the queries' places.
    stacks: Vec<Stack>,
    /// By depth: whose stacks hold the open element.
    holding: Vec<Vec<u32>>,
}

impl AllStacks {
    /// Begins a document.
    pub fn begin(&mut self, queries: &AllQueries) {
        for place in self.holding.iter_mut().flat_map(|places| places.drain(..)) {
            self.stacks[place as usize].clear();
        }
        self.stacks
            .resize_with(queries.queries.len(), Stack::default);
    }

    /// The open element, with `depth` elements around it, directly contains a word.
    pub fn word(&mut self, queries: &AllQueries, depth: u32, word: WordId) {
        let Some(found) = queries.by_word.get(&word) else {
            return;
        };
        let depth_at = depth as usize;
        if self.holding.len() <= depth_at {
            self.holding.resize_with(depth_at + 1, Vec::new);
        }
        for &(place, bit) in found {
            let blocks = queries.queries[place as usize].blocks();
            let stack = &mut self.stacks[place as usize];
            if stack.enter(depth, blocks) {
                self.holding[depth_at].push(place);
            }
            stack.contain(bit as usize, blocks);
        }
    }

    /// The open element ends: it is told where it is an answer.
    pub fn close(&mut self, queries: &AllQueries, depth: u32, element: u32, told: &mut Told) {
        let Some(places) = self.holding.get_mut(depth as usize) else {
            return;
        };
        let mut places = std::mem::take(places);
        for place in places.drain(..) {
            let query = &queries.queries[place as usize];
            let (answers, rises) = self.stacks[place as usize].leave(depth, query);
            if answers {
                told.tell(query.query, element);
            }
            if rises {
                self.holding[depth as usize - 1].push(place);
            }
        }
        self.holding[depth as usize] = places;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baselines::kemb::results::Want;

    /// Example 1 step by step, as Fig. 3 draws it: for {a, c, d}, what each element on the stack
    /// contains. Elements without a keyword are not on it.
    #[test]
    fn figure_3_step_by_step() {
        let [a, b, c, d, e, f] = [0, 1, 2, 3, 4, 5];
        let mut queries = AllQueries::default();
        queries.insert(0, &[a, c, d]);
        let mut stacks = AllStacks::default();
        stacks.begin(&queries);
        let mut told = Told::default();
        told.begin(Want::Answers, 1);
        let (mut open, mut count) = (Vec::new(), 0);
        let mut step = |tag: Option<WordId>| {
            if let Some(tag) = tag {
                stacks.word(&queries, open.len() as u32, tag);
                open.push(count);
                count += 1;
            } else {
                let element = open.pop().expect("an element is open");
                stacks.close(&queries, open.len() as u32, element, &mut told);
            }
            let Stack { levels, sets } = &stacks.stacks[0];
            let named = |(level, &set): (&Level, &u64)| {
                let words = ["a", "c", "d"].iter().enumerate();
                let words = words.filter(|(bit, _)| set >> bit & 1 == 1);
                let words: String = words.map(|(_, &word)| word).collect();
                format!("{}:{words}", level.depth)
            };
            let shown: Vec<String> = levels.iter().zip(sets).map(named).collect();
            (shown.join(" "), told.answers().len())
        };
        let steps = [
            (Some(a), "0:a", 0),
            (Some(b), "0:a", 0),
            (None, "0:a", 0),
            (Some(d), "0:a 1:d", 0),
            (Some(e), "0:a 1:d", 0),
            (None, "0:a 1:d", 0),
            (Some(f), "0:a 1:d", 0),
            (None, "0:a 1:d", 0),
            (None, "0:ad", 0),
            (Some(b), "0:ad", 0),
            (Some(a), "0:ad 2:a", 0),
            (Some(c), "0:ad 2:a 3:c", 0),
            (None, "0:ad 2:ac", 0),
            (Some(d), "0:ad 2:ac 3:d", 0),
            (None, "0:ad 2:acd", 0),
            // a2 answers and hands nothing to b2 but that it did.
            (None, "0:ad 1:", 1),
            (None, "0:ad", 1),
            (Some(c), "0:ad 1:c", 1),
            (None, "0:acd", 1),
            (None, "", 2),
        ];
        for (at, (tag, stack, answers)) in steps.into_iter().enumerate() {
            assert_eq!(step(tag), (stack.to_string(), answers), "step {at}");
        }
        let elements: Vec<u32> = told.answers().iter().map(|answer| answer.element).collect();
        assert_eq!(elements, [6, 0]);
    }

    #[test]
    fn a_removed_query_is_not_answered_and_its_place_is_given_again() {
        let mut queries = AllQueries::default();
        queries.insert(7, &[0, 1]);
        queries.insert(8, &[1]);
        assert!(queries.remove(7, &[0, 1]));
        assert!(!queries.remove(7, &[0, 1]));
        let long: Vec<WordId> = (0..70).collect();
        queries.insert(9, &long);
        assert_eq!((queries.len(), queries.queries.len()), (2, 2));
        let mut stacks = AllStacks::default();
        stacks.begin(&queries);
        let mut told = Told::default();
        told.begin(Want::Matches, 10);
        for word in long {
            stacks.word(&queries, 0, word);
        }
        stacks.close(&queries, 0, 0, &mut told);
        told.finish();
        assert_eq!(told.matches(), [8, 9]);
    }
}
