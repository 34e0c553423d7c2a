//! The trie of all observed paths, with posting lists of subscriptions.
//!
//! A node stands for a linear path; its posting lists hold the subscriptions that observe this path, one
//! list for each kind of observation. Nodes without subscriptions at or below them are removed, so that
//! the size of a subtree is at most the length of its paths times its postings.

use hashbrown::HashMap;

use super::observed_paths::{LinearStep, Observation, OBSERVATION_COUNT};
use crate::xpath::ast::{Axis, Kind, NameTest};

/// Number of a node.
pub type NodeNumber = u32;
/// Number of a posting list.
pub type ListNumber = u32;
/// Number of a name test.
pub type TestNumber = u32;

/// No node and no list.
pub const NONE: u32 = u32::MAX;
/// The document node.
pub const ROOT: NodeNumber = 0;

/// An edge to a child: axis, kind and number of the name test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge(u32);

impl Edge {
    fn new(axis: Axis, kind: Kind, test: TestNumber) -> Edge {
        Edge(test << 3 | (kind as u32) << 1 | axis as u32)
    }

    /// The axis.
    pub fn axis(self) -> Axis {
        if self.0 & 1 == 0 {
            Axis::Child
        } else {
            Axis::Descendant
        }
    }

    /// The kind of node.
    pub fn kind(self) -> Kind {
        match self.0 >> 1 & 3 {
            0 => Kind::Element,
            1 => Kind::Attribute,
            _ => Kind::Text,
        }
    }

    /// The name test.
    pub fn test(self) -> TestNumber {
        self.0 >> 3
    }

    fn key(self, parent: NodeNumber) -> u64 {
        u64::from(parent) << 32 | u64::from(self.0)
    }

    /// The bit of [`TrieNode::edges`] for edges of this axis and kind.
    fn bit(self) -> u8 {
        1 << (self.0 & 7)
    }
}

/// A node of the trie.
#[derive(Clone, Debug)]
pub struct TrieNode {
    parent: NodeNumber,
    edge: Edge,
    first_child: NodeNumber,
    next_sibling: NodeNumber,
    previous_sibling: NodeNumber,
    lists: [ListNumber; OBSERVATION_COUNT],
    /// Bit of axis and kind: there is such an edge to a child, or has been.
    edges: u8,
}

impl TrieNode {
    fn new(parent: NodeNumber, edge: Edge) -> TrieNode {
        TrieNode {
            parent,
            edge,
            first_child: NONE,
            next_sibling: NONE,
            previous_sibling: NONE,
            lists: [NONE; OBSERVATION_COUNT],
            edges: 0,
        }
    }

    /// The node above.
    pub fn parent(&self) -> NodeNumber {
        self.parent
    }

    /// The edge from the node above.
    pub fn edge(&self) -> Edge {
        self.edge
    }

    /// The lists there are, with what they observe.
    pub fn lists(&self) -> impl Iterator<Item = (usize, ListNumber)> + '_ {
        let lists = self.lists.iter().copied().enumerate();
        lists.filter(|&(_, list)| list != NONE)
    }

    /// Whether it has `//` edges.
    pub fn has_descendant_edges(&self) -> bool {
        self.edges & 0b10_1010 != 0
    }

    fn has_edges(&self, axis: Axis, kind: Kind) -> bool {
        self.edges & Edge::new(axis, kind, 0).bit() != 0
    }
}

/// A posting list.
#[derive(Clone, Debug, Default)]
struct PostingList {
    node: NodeNumber,
    subscriptions: Vec<u32>,
}

/// The posting of a subscription: the list, and the position there.
type Posting = (ListNumber, u32);

/// The trie.
#[derive(Debug)]
pub struct PathTrie {
    nodes: Vec<TrieNode>,
    free_nodes: Vec<NodeNumber>,
    children: HashMap<u64, NodeNumber>,
    lists: Vec<PostingList>,
    free_lists: Vec<ListNumber>,
    /// By subscription: its postings; none if it was removed.
    postings: Vec<Box<[Posting]>>,
    names: NameTests,
    /// Counts the changes of nodes and lists, not those of postings.
    structure_version: u64,
}

impl Default for PathTrie {
    fn default() -> Self {
        PathTrie {
            nodes: vec![TrieNode::new(NONE, Edge(0))],
            free_nodes: Vec::new(),
            children: HashMap::new(),
            lists: Vec::new(),
            free_lists: Vec::new(),
            postings: Vec::new(),
            names: NameTests::default(),
            structure_version: 0,
        }
    }
}

impl PathTrie {
    /// Adds a subscription by its observed paths; returns its number.
    pub fn add<'p>(
        &mut self,
        observed: impl Iterator<Item = (&'p [LinearStep], Observation)>,
    ) -> u32 {
        let subscription = self.postings.len() as u32;
        let postings: Box<[Posting]> = observed
            .map(|(path, what)| {
                let node = self.node_of(path);
                let number = self.list_of(node, what);
                let list = &mut self.lists[number as usize].subscriptions;
                list.push(subscription);
                (number, list.len() as u32 - 1)
            })
            .collect();
        self.postings.push(postings);
        subscription
    }

    /// Removes a subscription; its number is not used again.
    pub fn remove(&mut self, subscription: u32) {
        let postings = std::mem::take(&mut self.postings[subscription as usize]);
        for (number, position) in postings {
            let list = &mut self.lists[number as usize].subscriptions;
            list.swap_remove(position as usize);
            if let Some(&moved) = list.get(position as usize) {
                let others = self.postings[moved as usize].iter_mut();
                let other = others.into_iter().find(|(list, _)| *list == number);
                other.expect("the list has its posting").1 = position;
            } else if list.is_empty() {
                self.remove_list(number);
            }
        }
    }

    /// Renumbers the subscriptions that are left, in order; returns the old number of each.
    pub fn compact(&mut self) -> Vec<u32> {
        let mut kept = Vec::new();
        let mut renumbered = vec![NONE; self.postings.len()];
        for (old, postings) in self.postings.iter().enumerate() {
            if !postings.is_empty() {
                renumbered[old] = kept.len() as u32;
                kept.push(old as u32);
            }
        }
        self.postings.retain(|postings| !postings.is_empty());
        for list in &mut self.lists {
            for subscription in &mut list.subscriptions {
                *subscription = renumbered[*subscription as usize];
            }
        }
        self.rebuild_names();
        kept
    }

    /// Forgets the names of removed subscriptions.
    fn rebuild_names(&mut self) {
        self.structure_version += 1;
        let old = std::mem::take(&mut self.names);
        self.children.clear();
        let mut waiting = vec![ROOT];
        while let Some(parent) = waiting.pop() {
            let mut child = self.nodes[parent as usize].first_child;
            while child != NONE {
                let node = &mut self.nodes[child as usize];
                let test = self.names.number_of(old.test(node.edge.test()));
                node.edge = Edge::new(node.edge.axis(), node.edge.kind(), test);
                self.children.insert(node.edge.key(parent), child);
                waiting.push(child);
                child = node.next_sibling;
            }
        }
    }

    /// Subscriptions, removed ones included.
    pub fn number_count(&self) -> usize {
        self.postings.len()
    }

    /// Posting lists, removed ones included.
    pub fn list_count(&self) -> usize {
        self.lists.len()
    }

    /// Nodes, without the removed ones.
    pub fn node_count(&self) -> usize {
        self.nodes.len() - self.free_nodes.len()
    }

    /// Postings of a subscription; 0 if it was removed.
    pub fn posting_count(&self, subscription: u32) -> usize {
        self.postings
            .get(subscription as usize)
            .map_or(0, |postings| postings.len())
    }

    /// Changes whenever nodes or lists are added or removed.
    pub fn structure_version(&self) -> u64 {
        self.structure_version
    }

    /// The name tests of all edges.
    pub fn names(&self) -> &NameTests {
        &self.names
    }

    /// A node.
    pub fn node(&self, number: NodeNumber) -> &TrieNode {
        &self.nodes[number as usize]
    }

    /// The subscriptions of a list.
    pub fn subscriptions(&self, list: ListNumber) -> &[u32] {
        &self.lists[list as usize].subscriptions
    }

    /// The children of a node.
    pub fn children(&self, number: NodeNumber) -> impl Iterator<Item = NodeNumber> + '_ {
        let mut next = self.node(number).first_child;
        std::iter::from_fn(move || {
            let child = (next != NONE).then_some(next)?;
            next = self.node(child).next_sibling;
            Some(child)
        })
    }

    /// Calls `found` with the child by each of some name tests; returns how many were looked up.
    pub fn children_by_tests(
        &self,
        parent: NodeNumber,
        (axis, kind): (Axis, Kind),
        tests: &[TestNumber],
        mut found: impl FnMut(NodeNumber),
    ) -> usize {
        if !self.node(parent).has_edges(axis, kind) {
            return 0;
        }
        for &test in tests {
            let key = Edge::new(axis, kind, test).key(parent);
            if let Some(&child) = self.children.get(&key) {
                found(child);
            }
        }
        tests.len()
    }

    fn node_of(&mut self, path: &[LinearStep]) -> NodeNumber {
        path.iter().fold(ROOT, |node, step| {
            let edge = Edge::new(step.axis, step.kind, self.names.number_of(&step.test));
            match self.children.get(&edge.key(node)) {
                Some(&child) => child,
                None => self.add_node(node, edge),
            }
        })
    }

    fn add_node(&mut self, parent: NodeNumber, edge: Edge) -> NodeNumber {
        self.structure_version += 1;
        let next = self.nodes[parent as usize].first_child;
        let mut node = TrieNode::new(parent, edge);
        node.next_sibling = next;
        let number = match self.free_nodes.pop() {
            Some(number) => {
                self.nodes[number as usize] = node;
                number
            }
            None => {
                self.nodes.push(node);
                self.nodes.len() as u32 - 1
            }
        };
        if next != NONE {
            self.nodes[next as usize].previous_sibling = number;
        }
        let above = &mut self.nodes[parent as usize];
        above.first_child = number;
        above.edges |= edge.bit();
        self.children.insert(edge.key(parent), number);
        number
    }

    fn list_of(&mut self, node: NodeNumber, what: Observation) -> ListNumber {
        let known = self.nodes[node as usize].lists[what as usize];
        if known != NONE {
            return known;
        }
        self.structure_version += 1;
        let list = PostingList {
            node,
            subscriptions: Vec::new(),
        };
        let number = match self.free_lists.pop() {
            Some(number) => {
                self.lists[number as usize] = list;
                number
            }
            None => {
                self.lists.push(list);
                self.lists.len() as u32 - 1
            }
        };
        self.nodes[node as usize].lists[what as usize] = number;
        number
    }

    /// Removes an empty list, and the nodes above it that are no longer needed.
    fn remove_list(&mut self, number: ListNumber) {
        self.structure_version += 1;
        let mut at = self.lists[number as usize].node;
        let own = self.nodes[at as usize].lists.iter_mut();
        own.filter(|list| **list == number)
            .for_each(|list| *list = NONE);
        self.lists[number as usize].subscriptions = Vec::new();
        self.free_lists.push(number);
        while at != ROOT {
            let node = &self.nodes[at as usize];
            if node.first_child != NONE || node.lists != [NONE; OBSERVATION_COUNT] {
                return;
            }
            let (parent, edge) = (node.parent, node.edge);
            let (previous, next) = (node.previous_sibling, node.next_sibling);
            match previous {
                NONE => self.nodes[parent as usize].first_child = next,
                previous => self.nodes[previous as usize].next_sibling = next,
            }
            if next != NONE {
                self.nodes[next as usize].previous_sibling = previous;
            }
            self.children.remove(&edge.key(parent));
            self.free_nodes.push(at);
            at = parent;
        }
    }
}

/// The name tests of queries, and which of them accept a name.
#[derive(Debug, Default)]
pub struct NameTests {
    uris: HashMap<Box<str>, u32>,
    locals: HashMap<Box<str>, u32>,
    numbers: HashMap<(u32, u32), TestNumber>,
    tests: Vec<NameTest>,
}

/// A name as the name tests see it: the numbers of its URI and local name; [`NONE`] if no test has it.
pub type NameClass = (u32, u32);

impl NameTests {
    /// The class of a name.
    pub fn class_of(&self, uri: &str, local: &str) -> NameClass {
        let number = |known: &HashMap<Box<str>, u32>, text: &str| known.get(text).copied();
        (
            number(&self.uris, uri).unwrap_or(NONE),
            number(&self.locals, local).unwrap_or(NONE),
        )
    }

    /// The tests that accept names of a class.
    pub fn accepting(&self, (uri, local): NameClass) -> Vec<TestNumber> {
        let mut keys = vec![(uri, local), (NONE, local), (uri, NONE), (NONE, NONE)];
        keys.sort_unstable();
        keys.dedup();
        let numbers = keys.iter().filter_map(|key| self.numbers.get(key));
        numbers.copied().collect()
    }

    /// A test.
    pub fn test(&self, number: TestNumber) -> &NameTest {
        &self.tests[number as usize]
    }

    fn number_of(&mut self, test: &NameTest) -> TestNumber {
        let uri = intern(&mut self.uris, test.uri.as_deref());
        let local = intern(&mut self.locals, test.local.as_deref());
        let next = self.tests.len() as u32;
        let number = *self.numbers.entry((uri, local)).or_insert(next);
        if number == next {
            self.tests.push(test.clone());
        }
        number
    }
}

fn intern(known: &mut HashMap<Box<str>, u32>, text: Option<&str>) -> u32 {
    let Some(text) = text else { return NONE };
    let next = known.len() as u32;
    match known.get(text) {
        Some(&number) => number,
        None => {
            known.insert(text.into(), next);
            next
        }
    }
}
