//! Which AND queries have all their words in a document: a trie over words, laid out flat.

use bytemuck::{Pod, Zeroable};

use crate::index::flat::Flat;

use super::listen::{Mode, Queries, WordId};

/// No query ends at a node.
pub const NONE: u32 = u32::MAX;

/// A word of one or more queries, behind the words before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Node {
    /// The word.
    pub word: WordId,
    /// The first of the nodes below it; they end where those of the next node begin.
    pub children: u32,
    /// The query whose last word this is, or [`NONE`].
    pub query: u32,
}

/// The AND queries, each with the word that the fewest of them have first.
///
/// Nodes stand level by level, so that those below a node stand side by side: a walk tests them in a
/// row, none depending on the one before, and keeps those whose word is there. A query is looked at
/// only where its rarest word is in the document.
pub struct AndTrie {
    /// For each word the first node that a query begins with it at; one more than there are words.
    pub starts: Flat<u32>,
    /// All nodes, and one more that ends the last one's children.
    pub nodes: Flat<Node>,
}

/// Memory of a walk, kept so that it is used again.
#[derive(Debug, Default)]
pub struct Walk {
    /// Nodes of one level whose words are there, and of the next.
    reached: Vec<u32>,
    next: Vec<u32>,
}

impl AndTrie {
    /// A trie over all AND queries.
    pub fn build(queries: &dyn Queries) -> AndTrie {
        let keys = Keys::new(queries);
        let laid = lay(&keys);
        let mut starts = vec![0; queries.word_count() + 1];
        for root in laid.iter().filter(|node| node.level == 0) {
            starts[root.word as usize + 1] += 1;
        }
        for word in 1..starts.len() {
            starts[word] += starts[word - 1];
        }
        let nodes = by_level(laid, starts[queries.word_count()]);
        AndTrie {
            starts: starts.into(),
            nodes: nodes.into(),
        }
    }

    /// Calls `found` for each query all of whose words are there; `words` are those that are, in
    /// any order, each once.
    #[inline]
    pub fn walk(
        &self,
        memory: &mut Walk,
        words: &[WordId],
        is_there: impl Fn(WordId) -> bool,
        mut found: impl FnMut(u32),
    ) {
        let Walk { reached, next } = memory;
        reached.clear();
        for &word in words {
            reached.extend(self.starts[word as usize]..self.starts[word as usize + 1]);
        }
        let mut count = reached.len();
        while count > 0 {
            let mut next_count = 0;
            for &at in &reached[..count] {
                let node = self.nodes[at as usize];
                if node.query != NONE {
                    found(node.query);
                }
                let end = self.nodes[at as usize + 1].children;
                let room = next_count + (end - node.children) as usize;
                if next.len() < room {
                    next.resize(2 * room, 0);
                }
                let children = &self.nodes[node.children as usize..end as usize];
                for (at, child) in (node.children..).zip(children) {
                    // Without a branch: whether a word is there cannot be foretold.
                    next[next_count] = at;
                    next_count += usize::from(is_there(child.word));
                }
            }
            std::mem::swap(reached, next);
            count = next_count;
        }
    }
}

/// A node before its level is laid out.
struct Laid {
    word: WordId,
    query: u32,
    level: u32,
    /// How many are directly below it.
    children: u32,
}

/// The nodes of all keys, each in front of those below it.
fn lay(keys: &Keys) -> Vec<Laid> {
    let mut laid: Vec<Laid> = Vec::with_capacity(keys.words.len());
    // The nodes of the key before, each below the one in front of it.
    let mut path: Vec<usize> = Vec::new();
    let mut before: &[WordId] = &[];
    for &at in &keys.order {
        let key = keys.get(at);
        let shared = key.iter().zip(before).take_while(|(a, b)| a == b).count();
        // Two queries of the same words: the second has a last node of its own.
        path.truncate(shared.min(key.len() - 1));
        for &word in &key[path.len()..] {
            if let Some(&parent) = path.last() {
                laid[parent].children += 1;
            }
            let level = path.len() as u32;
            path.push(laid.len());
            laid.push(Laid {
                word,
                query: NONE,
                level,
                children: 0,
            });
        }
        laid[path[key.len() - 1]].query = keys.queries[at as usize];
        before = key;
    }
    laid
}

/// The nodes level by level, `roots` of them in the first.
fn by_level(mut laid: Vec<Laid>, roots: u32) -> Vec<Node> {
    // Each level stays in order, so that children follow each other as their parents do.
    laid.sort_by_key(|node| node.level);
    let mut children = roots;
    let mut nodes = Vec::with_capacity(laid.len() + 1);
    for node in &laid {
        nodes.push(Node {
            word: node.word,
            children,
            query: node.query,
        });
        children += node.children;
    }
    assert_eq!(
        children as usize,
        laid.len(),
        "all but the roots are below a node"
    );
    nodes.push(Node {
        word: 0,
        children,
        query: NONE,
    });
    nodes
}

/// The words of each AND query, rarest first, in the order in which they are laid out.
struct Keys {
    ends: Vec<usize>,
    words: Vec<WordId>,
    queries: Vec<u32>,
    order: Vec<u32>,
}

impl Keys {
    fn new(queries: &dyn Queries) -> Keys {
        let count = u32::try_from(queries.count()).expect("fewer than 2^32 queries");
        let conjunctions = (0..count).filter(|&query| queries.mode(query) == Mode::All);
        let mut keys = Keys {
            ends: vec![0],
            words: Vec::new(),
            queries: conjunctions.collect(),
            order: Vec::new(),
        };
        let mut frequency = vec![0_u32; queries.word_count()];
        for &query in &keys.queries {
            for &word in queries.words(query) {
                frequency[word as usize] += 1;
            }
        }
        for &query in &keys.queries {
            let start = keys.words.len();
            keys.words.extend_from_slice(queries.words(query));
            keys.words[start..].sort_unstable_by_key(|&word| (frequency[word as usize], word));
            keys.ends.push(keys.words.len());
        }
        let mut order: Vec<u32> = (0..keys.queries.len() as u32).collect();
        order.sort_unstable_by_key(|&at| (keys.get(at), at));
        keys.order = order;
        keys
    }

    fn get(&self, at: u32) -> &[WordId] {
        &self.words[self.ends[at as usize]..self.ends[at as usize + 1]]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::super::testing::{queries, QueryList};
    use super::*;

    fn found(queries: &QueryList, words: &BTreeSet<WordId>) -> Vec<u32> {
        let listed: Vec<WordId> = words.iter().copied().collect();
        let mut found = Vec::new();
        AndTrie::build(queries).walk(
            &mut Walk::default(),
            &listed,
            |word| words.contains(&word),
            |query| {
                found.push(query);
            },
        );
        found.sort_unstable();
        found
    }

    #[test]
    fn queries_share_the_words_they_begin_with() {
        let words = [vec![0, 1], vec![0, 1, 2], vec![2, 3], vec![2, 4]];
        let queries = QueryList::new(words.map(|words| (Mode::All, words)));
        // 0 1 and 0 1 2 share two nodes; 2, which most have, comes last in 3 2 and 4 2.
        assert_eq!(AndTrie::build(&queries).nodes.len(), 7 + 1);
        assert_eq!(found(&queries, &BTreeSet::from([0, 1, 2])), [0, 1]);
        assert_eq!(found(&queries, &BTreeSet::from([2, 4])), [3]);
    }

    #[test]
    fn two_queries_of_the_same_words_are_both_found() {
        let queries = QueryList::new([
            (Mode::All, vec![0, 1]),
            (Mode::All, vec![1, 0]),
            (Mode::All, vec![0, 1, 2, 2]),
        ]);
        assert_eq!(found(&queries, &BTreeSet::from([0, 1])), [0, 1]);
        assert_eq!(found(&queries, &BTreeSet::from([0, 1, 2])), [0, 1, 2]);
    }

    #[test]
    fn without_queries_nothing_is_found() {
        let none = QueryList::default().with_words(3);
        assert_eq!(found(&none, &BTreeSet::from([0, 2])), [0_u32; 0]);
    }

    proptest! {
        #[test]
        fn a_query_is_found_where_all_its_words_are(
            queries in queries(8, 20),
            words in prop::collection::btree_set(0..8_u32, 0..8),
        ) {
            let complete = |&query: &u32| {
                queries.mode(query) == Mode::All
                    && queries.words(query).iter().all(|word| words.contains(word))
            };
            let expected: Vec<u32> = (0..queries.count() as u32).filter(complete).collect();
            prop_assert_eq!(found(&queries, &words), expected);
        }
    }
}
