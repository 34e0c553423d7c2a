//! A schema, as a graph of elements: which live paths a valid document may have.
//!
//! An element's type is its name (a local tree grammar). The graph may be cyclic: a `//` step is followed
//! by the transitive closure, and each trie node is visited with the set of types that its step may
//! select, which only shrinks along the path.

use std::cell::RefCell;

use hashbrown::HashMap;

use super::path_trie::{ListNumber, NameTests, NodeNumber, PathTrie, TestNumber};
use super::touch::Name;
use crate::xpath::ast::{Axis, Kind, NameTest};

/// Number of an element of the schema.
pub type ElementType = u32;

/// The declaration of an element.
#[derive(Clone, Debug)]
pub struct ElementRule {
    /// The name of the element.
    pub name: Name,
    /// The numbers of its possible children.
    pub children: Vec<ElementType>,
    /// The names of its possible attributes.
    pub attributes: Vec<Name>,
    /// Whether it may contain text, white space included.
    pub text: bool,
}

/// Posting lists, and how many trie nodes were visited to find them.
#[derive(Debug, Default)]
pub struct LiveLists {
    /// In no particular order, possibly repeated.
    pub lists: Vec<ListNumber>,
    /// Nodes visited.
    pub visited: usize,
}

/// A set of elements of the schema.
#[derive(Clone, Debug, PartialEq)]
struct TypeSet(Box<[u64]>);

impl TypeSet {
    fn empty(count: usize) -> TypeSet {
        TypeSet(vec![0; count.div_ceil(64)].into())
    }

    fn insert(&mut self, element: ElementType) -> bool {
        let (word, bit) = (&mut self.0[element as usize / 64], 1 << (element % 64));
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    fn contains(&self, element: ElementType) -> bool {
        self.0[element as usize / 64] & 1 << (element % 64) != 0
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    fn unite(&mut self, other: &TypeSet) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
    }

    fn intersect(&mut self, other: &TypeSet) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a &= b);
    }

    fn iter(&self) -> impl Iterator<Item = ElementType> + '_ {
        let words = self.0.iter().enumerate();
        words.flat_map(|(at, &word)| {
            let bits = (0..64).filter(move |bit| word & 1 << bit != 0);
            bits.map(move |bit| at as u32 * 64 + bit)
        })
    }
}

/// The elements of a schema.
#[derive(Debug)]
pub struct ElementGraph {
    rules: Vec<ElementRule>,
    numbers: HashMap<Name, ElementType>,
    children: Vec<TypeSet>,
    descendants: Vec<TypeSet>,
    /// By name test: the elements that it accepts. Tests keep their numbers.
    accepted: RefCell<HashMap<TestNumber, TypeSet>>,
}

impl ElementGraph {
    /// Makes a graph; `None` if a child has no rule.
    pub fn new(rules: Vec<ElementRule>) -> Option<ElementGraph> {
        let count = rules.len();
        let mut children = Vec::with_capacity(count);
        for rule in &rules {
            let mut set = TypeSet::empty(count);
            for &child in &rule.children {
                if child as usize >= count {
                    return None;
                }
                set.insert(child);
            }
            children.push(set);
        }
        let descendants = (0..count).map(|at| closure(&children, at)).collect();
        let names = rules.iter().map(|rule| rule.name.clone());
        Some(ElementGraph {
            numbers: names.zip(0..).collect(),
            rules,
            children,
            descendants,
            accepted: RefCell::default(),
        })
    }

    /// The element of a name.
    pub fn element(&self, name: &Name) -> Option<ElementType> {
        self.numbers.get(name).copied()
    }

    /// Forgets what was derived from name tests, whose numbers have changed.
    pub fn forget_tests(&self) {
        self.accepted.borrow_mut().clear();
    }

    /// The lists of the paths that may select something below an element, given the nodes whose path
    /// selects it, and those from which a `//` step may still go on.
    pub(super) fn live_lists(
        &self,
        trie: &PathTrie,
        (here, above): (&[NodeNumber], &[NodeNumber]),
        element: ElementType,
    ) -> LiveLists {
        let mut own = TypeSet::empty(self.rules.len());
        own.insert(element);
        let mut found = LiveLists::default();
        let mut waiting: Vec<(NodeNumber, TypeSet)> = Vec::new();
        for &node in here {
            self.extend(trie, (node, &own), None, &mut waiting, &mut found);
        }
        for &node in above {
            if here.binary_search(&node).is_err() {
                let only = Some(Axis::Descendant);
                self.extend(trie, (node, &own), only, &mut waiting, &mut found);
            }
        }
        while let Some((node, types)) = waiting.pop() {
            found
                .lists
                .extend(trie.node(node).lists().map(|(_, list)| list));
            self.extend(trie, (node, &types), None, &mut waiting, &mut found);
        }
        found
    }

    /// Adds the children of a node that may select something, if its own step selects these types.
    fn extend(
        &self,
        trie: &PathTrie,
        (node, types): (NodeNumber, &TypeSet),
        only: Option<Axis>,
        waiting: &mut Vec<(NodeNumber, TypeSet)>,
        found: &mut LiveLists,
    ) {
        let mut below = None;
        for child in trie.children(node) {
            let edge = trie.node(child).edge();
            if only.is_some_and(|only| only != edge.axis()) {
                continue;
            }
            found.visited += 1;
            if edge.kind() == Kind::Element {
                let mut reached = match edge.axis() {
                    Axis::Child => self.united(&self.children, types),
                    Axis::Descendant => {
                        let below =
                            below.get_or_insert_with(|| self.united(&self.descendants, types));
                        below.clone()
                    }
                };
                self.keep_accepted(trie.names(), edge.test(), &mut reached);
                if !reached.is_empty() {
                    waiting.push((child, reached));
                }
                continue;
            }
            let owners = match edge.axis() {
                Axis::Child => types.clone(),
                Axis::Descendant => {
                    let mut owners = types.clone();
                    owners
                        .unite(below.get_or_insert_with(|| self.united(&self.descendants, types)));
                    owners
                }
            };
            let test = trie.names().test(edge.test());
            let has_leaf = |owner: ElementType| {
                let rule = &self.rules[owner as usize];
                match edge.kind() {
                    Kind::Attribute => rule.attributes.iter().any(|name| accepts(test, name)),
                    _ => rule.text,
                }
            };
            if owners.iter().any(has_leaf) {
                found
                    .lists
                    .extend(trie.node(child).lists().map(|(_, list)| list));
            }
        }
    }

    fn united(&self, sets: &[TypeSet], types: &TypeSet) -> TypeSet {
        let mut all = TypeSet::empty(self.rules.len());
        for element in types.iter() {
            all.unite(&sets[element as usize]);
        }
        all
    }

    fn keep_accepted(&self, names: &NameTests, number: TestNumber, types: &mut TypeSet) {
        let mut cache = self.accepted.borrow_mut();
        let accepted = cache.entry(number).or_insert_with(|| {
            let test = names.test(number);
            let mut set = TypeSet::empty(self.rules.len());
            for (at, rule) in (0..).zip(&self.rules) {
                if accepts(test, &rule.name) {
                    set.insert(at);
                }
            }
            set
        });
        types.intersect(accepted);
    }
}

fn accepts(test: &NameTest, (uri, local): &Name) -> bool {
    let part = |wanted: &Option<Box<str>>, text: &str| wanted.as_deref().is_none_or(|w| w == text);
    part(&test.uri, uri) && part(&test.local, local)
}

/// What is reachable from an element in one step or more.
fn closure(children: &[TypeSet], from: usize) -> TypeSet {
    let mut reached = children[from].clone();
    let mut waiting: Vec<ElementType> = reached.iter().collect();
    while let Some(element) = waiting.pop() {
        for child in children[element as usize].iter() {
            if !reached.contains(child) {
                reached.insert(child);
                waiting.push(child);
            }
        }
    }
    reached
}
