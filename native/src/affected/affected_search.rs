//! The index of subscriptions by what they observe, and the search for those that a change may affect.

use hashbrown::HashSet;

use super::element_graph::ElementGraph;
use super::limits::AUTOMATON_CACHE_BYTES_MAX;
use super::observed_paths::{observed_paths, Observation};
use super::path_automaton::{Lists, PathAutomaton, StateNumber};
use super::path_trie::PathTrie;
use super::touch::{LabelTree, Touch, TouchedNode, NO_PARENT};
use crate::xpath::ast::Query;

/// The work of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Labels read: one for each element of the change's label paths.
    pub labels: u64,
    /// Trie nodes visited to compute states and lists that were not cached.
    pub nodes: u64,
    /// Posting lists read.
    pub lists: u64,
    /// Postings read; a subscription has one for each path that it observes.
    pub postings: u64,
}

#[cfg(test)]
impl Counters {
    /// All operations.
    pub fn operations(&self) -> u64 {
        self.labels + self.nodes + self.lists + self.postings
    }
}

/// What counts of the nodes that a subscription selects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Selected {
    /// They and everything below them: the search finds whose restriction may differ.
    #[default]
    Subtrees,
    /// Which they are: the search finds whose selection may differ.
    Nodes,
}

impl Selected {
    fn observation(self) -> Observation {
        match self {
            Selected::Subtrees => Observation::Subtree,
            Selected::Nodes => Observation::Existence,
        }
    }
}

/// Subscriptions by what they observe.
#[derive(Default)]
pub struct AffectedIndex {
    trie: PathTrie,
    automaton: PathAutomaton,
    schema: Option<ElementGraph>,
    cache_bytes_max: Option<usize>,
    selected: Selected,
    found: FoundSet,
    removed: usize,
}

/// The subscriptions found by the current search, each once.
#[derive(Default)]
struct FoundSet {
    /// By subscription: the last search that found it.
    marks: Vec<u32>,
    /// By posting list: the last search that read it. The states on one label path share many lists.
    list_marks: Vec<u32>,
    search: u32,
    subscriptions: Vec<u32>,
}

impl FoundSet {
    fn begin(&mut self, number_count: usize, list_count: usize) {
        if self.search == u32::MAX {
            self.marks.fill(0);
            self.list_marks.fill(0);
            self.search = 0;
        }
        self.search += 1;
        self.marks.resize(number_count, 0);
        self.list_marks.resize(list_count, 0);
        self.subscriptions.clear();
    }

    /// Whether the current search reads a list for the first time.
    fn begins_list(&mut self, list: u32) -> bool {
        let mark = &mut self.list_marks[list as usize];
        let is_new = *mark != self.search;
        *mark = self.search;
        is_new
    }

    fn add(&mut self, subscriptions: &[u32]) {
        for &subscription in subscriptions {
            let mark = &mut self.marks[subscription as usize];
            if *mark != self.search {
                *mark = self.search;
                self.subscriptions.push(subscription);
            }
        }
    }
}

impl AffectedIndex {
    /// An empty index. With a schema, changes are those of documents that are valid before and after.
    pub fn new(
        schema: Option<ElementGraph>,
        cache_bytes_max: Option<usize>,
        selected: Selected,
    ) -> Self {
        AffectedIndex {
            schema,
            cache_bytes_max,
            selected,
            ..AffectedIndex::default()
        }
    }

    /// Adds a subscription; returns its handle: handles are dense.
    pub fn add(&mut self, query: &Query) -> u32 {
        let observed = observed_paths(query, self.selected.observation());
        let observed = observed.iter().map(|(path, &what)| (&path[..], what));
        self.trie.add(observed)
    }

    /// Removes a subscription; returns whether it was there. Its handle is not used again before
    /// [`compact`](Self::compact).
    pub fn remove(&mut self, handle: u32) -> bool {
        if self.trie.posting_count(handle) == 0 {
            return false;
        }
        self.trie.remove(handle);
        self.removed += 1;
        true
    }

    /// Subscriptions.
    pub fn count(&self) -> usize {
        self.trie.number_count() - self.removed
    }

    /// Handles in use, those of removed subscriptions included.
    pub fn handle_count(&self) -> usize {
        self.trie.number_count()
    }

    /// Nodes of the trie.
    pub fn node_count(&self) -> usize {
        self.trie.node_count()
    }

    /// Postings of all subscriptions.
    pub fn posting_count(&self) -> usize {
        let handles = 0..self.trie.number_count() as u32;
        handles.map(|handle| self.trie.posting_count(handle)).sum()
    }

    /// Cached states, their estimated bytes, and how often the cache was full.
    pub fn cache(&self) -> (usize, usize, u64) {
        let automaton = &self.automaton;
        (
            automaton.state_count(),
            automaton.bytes(),
            automaton.evictions,
        )
    }

    /// Gives the subscriptions that are left new handles, in order; returns the old handle of each.
    pub fn compact(&mut self) -> Vec<u32> {
        self.removed = 0;
        self.found = FoundSet::default();
        self.automaton.clear();
        if let Some(schema) = &self.schema {
            schema.forget_tests();
        }
        self.trie.compact()
    }

    /// Forgets cached states, so that the next search is one of a new index.
    pub fn clear_cache(&mut self) {
        self.automaton.clear();
    }

    /// The handles of the subscriptions that the change may affect, each once, in no particular order.
    /// The tree of labels is valid, and each touch names one of its elements.
    pub fn affected(&mut self, labels: &LabelTree, touches: &[Touch]) -> (&[u32], Counters) {
        let mut counters = Counters::default();
        let visited = self.automaton.nodes_visited;
        let limit = self.cache_bytes_max.unwrap_or(AUTOMATON_CACHE_BYTES_MAX);
        let document = self.automaton.begin(&self.trie, limit);
        let (numbers, lists) = (self.trie.number_count(), self.trie.list_count());
        self.found.begin(numbers, lists);
        let mut states: Vec<StateNumber> = Vec::with_capacity(labels.elements.len());
        for (parent, (uri, local)) in &labels.elements {
            let from = match *parent {
                NO_PARENT => document,
                parent => states[parent as usize],
            };
            let class = self.trie.names().class_of(uri, local);
            states.push(self.automaton.step(&self.trie, from, class));
            counters.labels += 1;
        }
        let mut reading = Reading {
            trie: &self.trie,
            found: &mut self.found,
            seen: HashSet::new(),
            counters: &mut counters,
        };
        for touch in touches {
            let state = states[touch.element as usize];
            let mut above = Vec::new();
            let mut at = labels.elements[touch.element as usize].0;
            while at != NO_PARENT {
                above.push(states[at as usize]);
                at = labels.elements[at as usize].0;
            }
            let automaton = &mut self.automaton;
            for &ancestor in &above {
                reading.read(automaton.accepted(ancestor, Observation::Subtree));
            }
            reading.read(automaton.accepted(state, Observation::Subtree));
            let changes_text = match &touch.node {
                TouchedNode::Element { below, text } => {
                    reading.read(automaton.accepted(state, Observation::Value));
                    reading.read(automaton.accepted(state, Observation::Existence));
                    if *below {
                        let name = &labels.elements[touch.element as usize].1;
                        let schema = self.schema.as_ref();
                        let schema = schema.and_then(|graph| Some((graph, graph.element(name)?)));
                        reading.read(&automaton.live_lists(&self.trie, state, schema));
                    }
                    *text
                }
                TouchedNode::Attribute((uri, local)) => {
                    let class = self.trie.names().class_of(uri, local);
                    reading.read(&automaton.leaf_lists(&self.trie, state, Some(class)));
                    false
                }
                TouchedNode::Text => {
                    reading.read(&automaton.leaf_lists(&self.trie, state, None));
                    reading.read(automaton.accepted(state, Observation::Value));
                    true
                }
                TouchedNode::TextBoundary => {
                    reading.read(&automaton.leaf_lists(&self.trie, state, None));
                    false
                }
                TouchedNode::Other => false,
            };
            if changes_text {
                for &ancestor in &above {
                    reading.read(automaton.accepted(ancestor, Observation::Value));
                }
            }
        }
        counters.nodes = self.automaton.nodes_visited - visited;
        (&self.found.subscriptions, counters)
    }
}

/// Reads posting lists into the set of what was found.
struct Reading<'a> {
    trie: &'a PathTrie,
    found: &'a mut FoundSet,
    /// The lists of states that were read already; the touches of one change share most of them.
    seen: HashSet<*const u32>,
    counters: &'a mut Counters,
}

impl Reading<'_> {
    fn read(&mut self, lists: &Lists) {
        if lists.is_empty() || !self.seen.insert(lists.as_ptr()) {
            return;
        }
        for &list in lists.iter() {
            self.counters.lists += 1;
            if !self.found.begins_list(list) {
                continue;
            }
            let subscriptions = self.trie.subscriptions(list);
            self.counters.postings += subscriptions.len() as u64;
            self.found.add(subscriptions);
        }
    }
}
