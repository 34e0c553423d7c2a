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
    /// The first node that is not below this one.
    pub skip: u32,
    /// The query whose last word this is, or [`NONE`].
    pub query: u32,
}

/// The AND queries, each with the word that the fewest of them have first.
///
/// Nodes stand in depth-first order, so that a walk only ever goes forward: to the next node where
/// the word is there, to [`Node::skip`] where it is not. A query is looked at only where its rarest
/// word is in the document.
pub struct AndTrie {
    /// For each word where the queries that begin with it start; one more than there are words.
    pub starts: Flat<u32>,
    /// All nodes.
    pub nodes: Flat<Node>,
}

impl AndTrie {
    /// A trie over all AND queries.
    pub fn build(queries: &dyn Queries) -> AndTrie {
        let keys = Keys::new(queries);
        let mut nodes: Vec<Node> = Vec::with_capacity(keys.words.len());
        let mut starts = vec![0; queries.word_count() + 1];
        // The nodes of the key before, each below the one in front of it.
        let mut path: Vec<usize> = Vec::new();
        let mut before: &[WordId] = &[];
        for &at in &keys.order {
            let key = keys.get(at);
            let shared = key.iter().zip(before).take_while(|(a, b)| a == b).count();
            // Two queries of the same words: the second has a last node of its own.
            let shared = shared.min(key.len() - 1);
            close(&mut nodes, &mut path, shared);
            for &word in &key[shared..] {
                path.push(nodes.len());
                nodes.push(Node {
                    word,
                    skip: 0,
                    query: NONE,
                });
            }
            nodes[path[key.len() - 1]].query = keys.queries[at as usize];
            starts[key[0] as usize + 1] = u32::try_from(nodes.len()).expect("fewer than 2^32");
            before = key;
        }
        close(&mut nodes, &mut path, 0);
        // A word that no query begins with ends where it starts.
        for word in 1..starts.len() {
            starts[word] = starts[word].max(starts[word - 1]);
        }
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
        words: &[WordId],
        is_there: impl Fn(WordId) -> bool,
        mut found: impl FnMut(u32),
    ) {
        for &word in words {
            let end = self.starts[word as usize + 1] as usize;
            let mut at = self.starts[word as usize] as usize;
            while at < end {
                let node = &self.nodes[at];
                if !is_there(node.word) {
                    at = node.skip as usize;
                    continue;
                }
                if node.query != NONE {
                    found(node.query);
                }
                at += 1;
            }
        }
    }
}

/// Closes the nodes of a path from the one at `keep` on.
fn close(nodes: &mut [Node], path: &mut Vec<usize>, keep: usize) {
    let skip = u32::try_from(nodes.len()).expect("fewer than 2^32 nodes");
    for node in path.drain(keep..) {
        nodes[node].skip = skip;
    }
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
        assert_eq!(AndTrie::build(&queries).nodes.len(), 7);
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
