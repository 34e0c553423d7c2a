//! The trie as an automaton that reads label paths, determinised lazily.
//!
//! A state is what the trie knows about an element: the nodes whose path selects it, and the nodes above
//! from which a `//` step may still go on. Transitions, and the posting lists that a state gives, are
//! computed when they are first needed and kept until the trie changes or the cache is full, so that a
//! search costs one look-up for each label and one for each subscription found.

use std::sync::Arc;

use hashbrown::HashMap;

use super::element_graph::{ElementGraph, ElementType, LiveLists};
use super::observed_paths::{Observation, OBSERVATION_COUNT};
use super::path_trie::{ListNumber, NameClass, NodeNumber, PathTrie, NONE, ROOT};
use crate::xpath::ast::{Axis, Kind};

/// Number of a state.
pub type StateNumber = u32;

/// Posting lists, ascending.
pub type Lists = Arc<[ListNumber]>;

/// Estimated bytes of an entry in a table, its share of free slots included.
const ENTRY_BYTES: usize = 32;

/// Estimated bytes of a state without its lists.
const STATE_BYTES: usize = 256;

/// A state of the automaton.
#[derive(Debug)]
struct State {
    /// Nodes whose path selects the element, ascending.
    here: Box<[NodeNumber]>,
    /// Nodes with `//` edges whose path selects the element or an ancestor of it, ascending.
    above: Box<[NodeNumber]>,
    /// By observation: the lists of the nodes whose path selects the element.
    accepted: [Lists; OBSERVATION_COUNT],
}

/// The trie nodes of a state: those whose path selects the element, and those above.
type StateKey = (Box<[NodeNumber]>, Box<[NodeNumber]>);

/// What a leaf of an element is: an attribute, by the class of its name, or a text.
type Leaf = Option<NameClass>;

/// The automaton.
#[derive(Debug, Default)]
pub struct PathAutomaton {
    states: Vec<State>,
    numbers: HashMap<StateKey, StateNumber>,
    transitions: HashMap<(StateNumber, NameClass), StateNumber>,
    leaves: HashMap<(StateNumber, Leaf), Lists>,
    live: HashMap<(StateNumber, Option<ElementType>), Lists>,
    structure_version: u64,
    bytes: usize,
    /// How often the cache was cleared because it was full.
    pub evictions: u64,
    /// Look-ups and visits of trie nodes while states and lists were computed.
    pub nodes_visited: u64,
}

impl PathAutomaton {
    /// Prepares a search: forgets what a changed trie makes invalid, or all if more than `bytes_max` bytes
    /// are cached. States are valid until the next call.
    pub fn begin(&mut self, trie: &PathTrie, bytes_max: usize) -> StateNumber {
        let is_full = self.bytes > bytes_max;
        if is_full || self.structure_version != trie.structure_version() || self.states.is_empty() {
            self.evictions += u64::from(is_full);
            self.clear();
            self.structure_version = trie.structure_version();
            // The document node is selected by the empty path.
            self.intern(trie, vec![ROOT], vec![ROOT]);
        }
        0
    }

    /// Forgets everything that is cached.
    pub fn clear(&mut self) {
        self.states.clear();
        self.numbers.clear();
        self.transitions.clear();
        self.leaves.clear();
        self.live.clear();
        self.bytes = 0;
    }

    /// Cached states.
    pub fn state_count(&self) -> usize {
        self.states.len()
    }

    /// Estimated bytes of the cache.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The state of a child of the element of a state.
    pub fn step(&mut self, trie: &PathTrie, from: StateNumber, name: NameClass) -> StateNumber {
        if let Some(&to) = self.transitions.get(&(from, name)) {
            return to;
        }
        let tests = trie.names().accepting(name);
        let state = &self.states[from as usize];
        let mut here = Vec::new();
        let mut visited = 0;
        for (nodes, axis) in [(&state.here, Axis::Child), (&state.above, Axis::Descendant)] {
            for &node in nodes {
                let found = |child| here.push(child);
                visited += 1 + trie.children_by_tests(node, (axis, Kind::Element), &tests, found);
            }
        }
        here.sort_unstable();
        here.dedup();
        let mut above = state.above.to_vec();
        let stays = |node: &&NodeNumber| trie.node(**node).has_descendant_edges();
        above.extend(here.iter().filter(stays));
        above.sort_unstable();
        above.dedup();
        self.nodes_visited += visited as u64;
        let to = self.intern(trie, here, above);
        self.transitions.insert((from, name), to);
        self.bytes += ENTRY_BYTES;
        to
    }

    /// The lists of the nodes whose path selects the element of a state.
    pub fn accepted(&self, state: StateNumber, what: Observation) -> &Lists {
        &self.states[state as usize].accepted[what as usize]
    }

    /// The lists of the paths that select a leaf of the element of a state.
    pub fn leaf_lists(&mut self, trie: &PathTrie, at: StateNumber, leaf: Leaf) -> Lists {
        if let Some(lists) = self.leaves.get(&(at, leaf)) {
            return Arc::clone(lists);
        }
        // A text has no name, and its only test is `*`.
        let (kind, class) = match leaf {
            Some(class) => (Kind::Attribute, class),
            None => (Kind::Text, (NONE, NONE)),
        };
        let tests = trie.names().accepting(class);
        let state = &self.states[at as usize];
        let mut lists = Vec::new();
        let mut visited = 0;
        for (nodes, axis) in [(&state.here, Axis::Child), (&state.above, Axis::Descendant)] {
            for &node in nodes {
                let found = |child| lists.extend(trie.node(child).lists().map(|(_, list)| list));
                visited += 1 + trie.children_by_tests(node, (axis, kind), &tests, found);
            }
        }
        self.nodes_visited += visited as u64;
        let lists = self.sorted(lists);
        self.leaves.insert((at, leaf), Arc::clone(&lists));
        lists
    }

    /// The lists of the paths that may select something below the element of a state; with its type in a
    /// schema, only those that select something in a valid document.
    pub fn live_lists(
        &mut self,
        trie: &PathTrie,
        at: StateNumber,
        schema: Option<(&ElementGraph, ElementType)>,
    ) -> Lists {
        let key = (at, schema.map(|(_, element)| element));
        if let Some(lists) = self.live.get(&key) {
            return Arc::clone(lists);
        }
        let state = &self.states[at as usize];
        let found = match schema {
            Some((graph, element)) => graph.live_lists(trie, (&state.here, &state.above), element),
            None => live_lists(trie, &state.here, &state.above),
        };
        self.nodes_visited += found.visited as u64;
        let lists = self.sorted(found.lists);
        self.live.insert(key, Arc::clone(&lists));
        lists
    }

    fn sorted(&mut self, mut lists: Vec<ListNumber>) -> Lists {
        lists.sort_unstable();
        lists.dedup();
        self.bytes += ENTRY_BYTES + lists.len() * size_of::<ListNumber>();
        lists.into()
    }

    fn intern(
        &mut self,
        trie: &PathTrie,
        here: Vec<NodeNumber>,
        above: Vec<NodeNumber>,
    ) -> StateNumber {
        let key = (here.into_boxed_slice(), above.into_boxed_slice());
        if let Some(&number) = self.numbers.get(&key) {
            return number;
        }
        let (here, above) = key.clone();
        let mut accepted: [Vec<ListNumber>; OBSERVATION_COUNT] = Default::default();
        for &node in &here {
            for (what, list) in trie.node(node).lists() {
                accepted[what].push(list);
            }
        }
        let accepted = accepted.map(|lists| self.sorted(lists));
        let nodes = 2 * (here.len() + above.len());
        self.bytes += STATE_BYTES + nodes * size_of::<NodeNumber>();
        let number = self.states.len() as StateNumber;
        self.states.push(State {
            here,
            above,
            accepted,
        });
        self.numbers.insert(key, number);
        number
    }
}

/// Without a schema, everything below the nodes of a state is live.
fn live_lists(trie: &PathTrie, here: &[NodeNumber], above: &[NodeNumber]) -> LiveLists {
    let mut waiting: Vec<NodeNumber> = Vec::new();
    for &node in here {
        waiting.extend(trie.children(node));
    }
    for &node in above {
        if here.binary_search(&node).is_err() {
            let below = trie.children(node);
            waiting
                .extend(below.filter(|&child| trie.node(child).edge().axis() == Axis::Descendant));
        }
    }
    // A subtree inside another one would be visited twice.
    waiting.sort_unstable();
    let roots = waiting.clone();
    let is_root = |node: NodeNumber| roots.binary_search(&node).is_ok();
    waiting.retain(|&node| {
        let mut at = trie.node(node).parent();
        while at != ROOT && !is_root(at) {
            at = trie.node(at).parent();
        }
        at == ROOT
    });
    let mut found = LiveLists::default();
    while let Some(node) = waiting.pop() {
        found.visited += 1;
        found
            .lists
            .extend(trie.node(node).lists().map(|(_, list)| list));
        waiting.extend(trie.children(node));
    }
    found
}
