//! KALE's stacks, one per AND query.
//!
//! In the paper, an element that contains all keywords is an answer, and one that contains some
//! passes its subtree to its parent. That is wrong if an element contains all keywords only thanks
//! to an answer below it: for {a, b}, `<e><c><d>a b</d>a</c>b</e>` would make e an answer. Here, an
//! element that contains all keywords, answer or not, passes on only this fact.
//!
//! A stack holds only the elements that contain a keyword of its query, so that a query causes no
//! work elsewhere.

use hashbrown::HashMap;

use crate::baselines::results::BaselineResults;
use crate::keywords::token_sink::WordId;

const BLOCK_BITS: usize = u64::BITS as usize;

/// Which elements answer an AND query. An element is complete if its subtree contains all keywords.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LcaRule {
    /// Complete elements that contain all keywords outside of their complete children: CLCA, the
    /// compact lowest common ancestors of the KEMB paper.
    #[default]
    Clca,
    /// Complete elements without complete children: SLCA, the smallest lowest common ancestors.
    Slca,
}

/// An open element on a query's stack.
#[derive(Clone, Copy, Debug)]
struct StackEntry {
    /// Number of enclosing elements.
    depth: u32,
    /// Whether a child contains all keywords.
    complete_below: bool,
}

/// The stack of one query: the open elements that contain a keyword, each with the set of keywords
/// outside of complete children.
#[derive(Debug, Default)]
struct QueryStack {
    entries: Vec<StackEntry>,
    /// The keyword sets of the entries, each of a fixed number of 64-bit blocks.
    sets: Vec<u64>,
}

impl QueryStack {
    /// Pushes the element at this depth unless it is on top of the stack. Returns whether it was
    /// pushed.
    fn enter(&mut self, depth: u32, blocks: usize) -> bool {
        if self.entries.last().is_some_and(|top| top.depth == depth) {
            return false;
        }
        debug_assert!(self.entries.last().is_none_or(|top| top.depth < depth));
        self.entries.push(StackEntry {
            depth,
            complete_below: false,
        });
        self.sets.resize(self.sets.len() + blocks, 0);
        true
    }

    /// Adds a keyword to the top element.
    fn add_word(&mut self, bit: usize, blocks: usize) {
        let top = self.sets.len() - blocks;
        self.sets[top + bit / BLOCK_BITS] |= 1 << (bit % BLOCK_BITS);
    }

    /// Pops the element at this depth and merges its keywords into its parent. Returns whether it
    /// is an answer, and whether its parent was pushed.
    fn leave(&mut self, depth: u32, query: &StackQuery, rule: LcaRule) -> (bool, bool) {
        let entry = self.entries.pop().expect("an element is on the stack");
        debug_assert_eq!(entry.depth, depth);
        let top = self.sets.len() - query.blocks();
        let count: u32 = self.sets[top..].iter().map(|set| set.count_ones()).sum();
        let answers =
            count as usize == query.word_count && (rule == LcaRule::Clca || !entry.complete_below);
        if depth == 0 {
            self.sets.truncate(top);
            return (answers, false);
        }
        let has_parent_entry = self
            .entries
            .last()
            .is_some_and(|top| top.depth + 1 == depth);
        if !has_parent_entry {
            // The parent takes over the element's keyword set.
            let complete_below = answers || entry.complete_below;
            self.entries.push(StackEntry {
                depth: depth - 1,
                complete_below,
            });
            if complete_below {
                self.sets[top..].fill(0);
            }
            return (answers, true);
        }
        if answers || entry.complete_below {
            let parent = self.entries.last_mut().expect("the parent has an entry");
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
        self.entries.clear();
        self.sets.clear();
    }
}

/// An AND query.
#[derive(Clone, Copy, Debug)]
struct StackQuery {
    query: u32,
    word_count: usize,
}

impl StackQuery {
    fn blocks(&self) -> usize {
        self.word_count.div_ceil(BLOCK_BITS)
    }
}

/// The AND queries answered by a stack each.
#[derive(Debug, Default)]
pub struct StackQueries {
    rule: LcaRule,
    /// Queries by slot; slots are reused.
    queries: Vec<StackQuery>,
    free: Vec<u32>,
    /// Slots of the queries that contain each word, and the word's index in the query.
    by_word: HashMap<WordId, Vec<(u32, u32)>, foldhash::fast::RandomState>,
}

impl StackQueries {
    /// Creates an empty set of queries that are answered by this rule.
    pub fn new(rule: LcaRule) -> StackQueries {
        StackQueries {
            rule,
            ..StackQueries::default()
        }
    }

    /// Number of queries.
    pub fn count(&self) -> usize {
        self.queries.len() - self.free.len()
    }

    /// Adds a query.
    pub fn insert(&mut self, query: u32, words: &[WordId]) {
        let entry = StackQuery {
            query,
            word_count: words.len(),
        };
        let slot = if let Some(slot) = self.free.pop() {
            self.queries[slot as usize] = entry;
            slot
        } else {
            self.queries.push(entry);
            (self.queries.len() - 1) as u32
        };
        for (bit, &word) in (0..).zip(words) {
            self.by_word.entry(word).or_default().push((slot, bit));
        }
    }

    /// Removes a query with the words it was added with; returns whether it existed.
    pub fn remove(&mut self, query: u32, words: &[WordId]) -> bool {
        let Some(first) = words.first().and_then(|word| self.by_word.get(word)) else {
            return false;
        };
        let is_it = |&(slot, _): &(u32, u32)| self.queries[slot as usize].query == query;
        let Some((slot, _)) = first.iter().copied().find(is_it) else {
            return false;
        };
        for word in words {
            if let Some(queries) = self.by_word.get_mut(word) {
                queries.retain(|&(other, _)| other != slot);
                if queries.is_empty() {
                    self.by_word.remove(word);
                }
            }
        }
        self.free.push(slot);
        true
    }
}

/// The stacks of all queries.
#[derive(Debug, Default)]
pub struct QueryStacks {
    /// Stacks by query slot.
    stacks: Vec<QueryStack>,
    /// For each depth, the slots of the stacks that contain the open element.
    stacks_at_depth: Vec<Vec<u32>>,
}

impl QueryStacks {
    /// Starts a document.
    pub fn begin(&mut self, queries: &StackQueries) {
        for slot in self
            .stacks_at_depth
            .iter_mut()
            .flat_map(|slots| slots.drain(..))
        {
            self.stacks[slot as usize].clear();
        }
        self.stacks
            .resize_with(queries.queries.len(), QueryStack::default);
    }

    /// The open element, which has `depth` enclosing elements, directly contains a word.
    pub fn add_word(&mut self, queries: &StackQueries, depth: u32, word: WordId) {
        let Some(found) = queries.by_word.get(&word) else {
            return;
        };
        let depth_at = depth as usize;
        if self.stacks_at_depth.len() <= depth_at {
            self.stacks_at_depth.resize_with(depth_at + 1, Vec::new);
        }
        for &(slot, bit) in found {
            let blocks = queries.queries[slot as usize].blocks();
            let stack = &mut self.stacks[slot as usize];
            if stack.enter(depth, blocks) {
                self.stacks_at_depth[depth_at].push(slot);
            }
            stack.add_word(bit as usize, blocks);
        }
    }

    /// The open element ends; reports it where it is an answer.
    pub fn close(
        &mut self,
        queries: &StackQueries,
        depth: u32,
        element: u32,
        results: &mut BaselineResults,
    ) {
        let Some(slots) = self.stacks_at_depth.get_mut(depth as usize) else {
            return;
        };
        let mut slots = std::mem::take(slots);
        for slot in slots.drain(..) {
            let query = &queries.queries[slot as usize];
            let (answers, parent_entered) =
                self.stacks[slot as usize].leave(depth, query, queries.rule);
            if answers {
                results.add_answer(query.query, element);
            }
            if parent_entered {
                self.stacks_at_depth[depth as usize - 1].push(slot);
            }
        }
        self.stacks_at_depth[depth as usize] = slots;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baselines::results::ResultKind;

    /// Example 1 step by step, as in Fig. 3: for {a, c, d}, the keywords of each element on the
    /// stack. Elements without a keyword are not on the stack.
    #[test]
    fn figure_3_step_by_step() {
        let [a, b, c, d, e, f] = [0, 1, 2, 3, 4, 5];
        let mut queries = StackQueries::default();
        queries.insert(0, &[a, c, d]);
        let mut stacks = QueryStacks::default();
        stacks.begin(&queries);
        let mut results = BaselineResults::default();
        results.begin(ResultKind::Answers, 1);
        let (mut open, mut count) = (Vec::new(), 0);
        let mut step = |tag: Option<WordId>| {
            if let Some(tag) = tag {
                stacks.add_word(&queries, open.len() as u32, tag);
                open.push(count);
                count += 1;
            } else {
                let element = open.pop().expect("an element is open");
                stacks.close(&queries, open.len() as u32, element, &mut results);
            }
            let QueryStack { entries, sets } = &stacks.stacks[0];
            let named = |(entry, &set): (&StackEntry, &u64)| {
                let words = ["a", "c", "d"].iter().enumerate();
                let words = words.filter(|(bit, _)| set >> bit & 1 == 1);
                let words: String = words.map(|(_, &word)| word).collect();
                format!("{}:{words}", entry.depth)
            };
            let shown: Vec<String> = entries.iter().zip(sets).map(named).collect();
            (shown.join(" "), results.answers().len())
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
            // a2 is an answer and passes nothing to b2 except this fact.
            (None, "0:ad 1:", 1),
            (None, "0:ad", 1),
            (Some(c), "0:ad 1:c", 1),
            (None, "0:acd", 1),
            (None, "", 2),
        ];
        for (at, (tag, stack, answers)) in steps.into_iter().enumerate() {
            assert_eq!(step(tag), (stack.to_string(), answers), "step {at}");
        }
        let elements: Vec<u32> = results
            .answers()
            .iter()
            .map(|answer| answer.element)
            .collect();
        assert_eq!(elements, [6, 0]);
    }

    #[test]
    fn a_removed_query_is_not_answered_and_its_slot_is_reused() {
        let mut queries = StackQueries::default();
        queries.insert(7, &[0, 1]);
        queries.insert(8, &[1]);
        assert!(queries.remove(7, &[0, 1]));
        assert!(!queries.remove(7, &[0, 1]));
        let long: Vec<WordId> = (0..70).collect();
        queries.insert(9, &long);
        assert_eq!((queries.count(), queries.queries.len()), (2, 2));
        let mut stacks = QueryStacks::default();
        stacks.begin(&queries);
        let mut results = BaselineResults::default();
        results.begin(ResultKind::Matches, 10);
        for word in long {
            stacks.add_word(&queries, 0, word);
        }
        stacks.close(&queries, 0, 0, &mut results);
        results.finish();
        assert_eq!(results.matches(), [8, 9]);
    }
}
