//! A mapping compiled for streaming: what happens at each node of the local schema.

use std::sync::atomic::{AtomicU64, Ordering};

use hashbrown::HashMap;

use super::sorted_map::SortedMap;

/// Number of a node of the local schema, or of an attribute that becomes an element.
pub type SchemaNodeId = u32;

/// The virtual node above the root.
pub const VIRTUAL_ROOT: SchemaNodeId = 0;

/// An element that the local schema does not have.
pub const UNKNOWN: SchemaNodeId = u32::MAX;

/// Number of a name within the mapping.
pub type Symbol = u32;

/// A name that does not occur in the mapping.
pub const NO_SYMBOL: Symbol = u32::MAX;

/// An expanded name: namespace URI (empty for none) and local name.
pub type Name = (String, String);

/// Limits on the rewriting of one document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Copied elements and text nodes; a document that exceeds it is stopped with `mapping.copies`.
    pub copies_max: u64,
    /// Bytes buffered at once; a document that exceeds it is stopped with `mapping.held`.
    pub held_bytes_max: usize,
}

/// A node of the local schema, as input to [`Mapping::new`]. The first one is the virtual node above
/// the root, and parents come before their children.
#[derive(Clone, Debug)]
pub struct LocalNode {
    /// The parent's number; the virtual node is its own parent.
    pub parent: SchemaNodeId,
    /// The name of its elements.
    pub name: Name,
    /// Whether it may have text as a direct child.
    pub text: bool,
    /// The operators at this node, in the order of application.
    pub operators: Vec<Operator>,
}

/// An operator at a node. Children are identified by number; attributes that become elements are
/// numbered after all nodes.
#[derive(Clone, Debug)]
pub enum Operator {
    /// Renames the node.
    Rename(Name),
    /// Renames an attribute.
    RenameAttribute(Name, Name),
    /// Turns an attribute into a child element with this name and number.
    ToElement(Name, Name, SchemaNodeId),
    /// Moves the given children, or all, into a new path of elements. As many elements of the path as
    /// the number says are shared with the other Inserts at the node whose paths begin with them; such
    /// Inserts follow each other.
    Insert(Vec<Name>, usize, Option<Vec<SchemaNodeId>>),
    /// Moves the given children, or all, after the node.
    Upgrade(Option<Vec<SchemaNodeId>>),
    /// Moves the given children into another child.
    Downgrade(Vec<SchemaNodeId>, SchemaNodeId),
    /// Exchanges the node with this child.
    Exchange(SchemaNodeId),
}

/// A compiled mapping from a local schema to the global one.
#[derive(Debug)]
pub struct Mapping {
    /// Unique in the process.
    pub(super) serial: u64,
    pub(super) limits: Limits,
    pub(super) names: Vec<Name>,
    pub(super) nodes: Vec<SchemaNode>,
    /// The exchanges as `(node, child)`, in the order of application.
    pub(super) exchanges: Vec<(SchemaNodeId, SchemaNodeId)>,
}

/// What happens at one node of the local schema.
#[derive(Debug)]
pub(super) struct SchemaNode {
    /// By name.
    children: SortedMap<SchemaNodeId>,
    /// The new name, or [`NO_SYMBOL`].
    pub new_name: Symbol,
    /// Whether it is exchanged with a child.
    pub has_exchange: bool,
    /// All other operators.
    pub operators: Option<Box<NodeOperators>>,
}

/// Where a child of an element goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Destination {
    /// It stays in place and is forwarded at once.
    InPlace,
    /// It is forwarded at once, into the open inserted path or after the element.
    Streamed,
    /// It is buffered until it is known whether there is a target to move it into.
    Undecided,
    /// It is buffered for an inserted path.
    InsertedPath(u32),
    /// It is buffered to be placed after the element.
    AfterElement,
}

/// The path of an Insert.
#[derive(Debug)]
pub(super) struct InsertedPath {
    pub names: Vec<Symbol>,
    /// How many elements are shared with other paths that begin with them.
    shared: usize,
}

impl InsertedPath {
    /// How many elements this path has in common with another one of the same node.
    pub fn common(&self, other: &InsertedPath) -> usize {
        let same = self.names.iter().zip(&other.names);
        let same = same.take_while(|(one, other)| one == other).count();
        same.min(self.shared).min(other.shared)
    }
}

/// The operators at one node, except Rename and Exchange.
#[derive(Debug, Default)]
pub(super) struct NodeOperators {
    /// Name and number of each element made from an attribute, in order.
    pub attribute_elements: Vec<(Symbol, SchemaNodeId)>,
    /// Index in `attribute_elements` by attribute name.
    pub element_of_attribute: SortedMap<u32>,
    /// New attribute names by old ones.
    pub attribute_names: SortedMap<Symbol>,
    /// Old attribute names by new ones.
    pub renamed_from: SortedMap<Symbol>,
    /// The target of each Downgrade, in order.
    pub downgrade_targets: Vec<SchemaNodeId>,
    /// Index in `downgrade_targets` by moved child; each child has at most one.
    pub downgraded_by: SortedMap<u32>,
    /// The paths of the Inserts, in order.
    pub inserted_paths: Vec<InsertedPath>,
    /// The children that a Downgrade moves, and its targets.
    in_downgrade: SortedMap<()>,
    /// The destinations of children that an operator names.
    destinations: SortedMap<Destination>,
    /// The destination of all other children.
    other_children: Option<Destination>,
    /// Whether streamed children go into the first inserted path.
    pub streams_into_path: bool,
    /// Whether all children move after the element.
    pub upgrades_all: bool,
    /// Whether streamed children go after the element, which therefore ends before them.
    pub ends_before_children: bool,
}

static MAPPINGS_MADE: AtomicU64 = AtomicU64::new(0);

impl Mapping {
    /// Compiles a mapping; `attributes` is the number of attributes that become elements.
    pub fn new(nodes: &[LocalNode], attributes: usize, limits: Limits) -> Mapping {
        let mut symbols = SymbolTable::default();
        let mut compiled: Vec<SchemaNode> = nodes
            .iter()
            .map(|node| SchemaNode::new(node, &mut symbols))
            .collect();
        for (number, node) in nodes.iter().enumerate().skip(1) {
            let name = symbols.intern(&node.name);
            let number = u32::try_from(number).expect("fewer than 2^32 nodes");
            compiled[node.parent as usize].children.insert(name, number);
        }
        compiled.iter_mut().for_each(|node| node.children.sort());
        compiled.extend((0..attributes).map(|_| SchemaNode::default()));
        let exchanges = nodes.iter().zip(0..).flat_map(|(node, number)| {
            node.operators.iter().filter_map(move |each| match each {
                Operator::Exchange(child) => Some((number, *child)),
                _ => None,
            })
        });
        Mapping {
            serial: MAPPINGS_MADE.fetch_add(1, Ordering::Relaxed),
            limits,
            exchanges: exchanges.collect(),
            names: symbols.names,
            nodes: compiled,
        }
    }

    /// Namespace URI and local name of a symbol.
    pub fn name(&self, symbol: Symbol) -> (&str, &str) {
        let (uri, local) = &self.names[symbol as usize];
        (uri, local)
    }
}

#[derive(Default)]
struct SymbolTable {
    symbols: HashMap<Name, Symbol>,
    names: Vec<Name>,
}

impl SymbolTable {
    fn intern(&mut self, name: &Name) -> Symbol {
        *self.symbols.entry(name.clone()).or_insert_with(|| {
            self.names.push(name.clone());
            u32::try_from(self.names.len() - 1).expect("fewer than 2^32 names")
        })
    }
}

impl Default for SchemaNode {
    fn default() -> SchemaNode {
        SchemaNode {
            children: SortedMap::default(),
            new_name: NO_SYMBOL,
            has_exchange: false,
            operators: None,
        }
    }
}

impl SchemaNode {
    fn new(node: &LocalNode, symbols: &mut SymbolTable) -> SchemaNode {
        let mut compiled = SchemaNode::default();
        let mut operators = NodeOperators::default();
        let is_virtual_root = node.name.1.is_empty();
        let mut has_operators = false;
        for operator in &node.operators {
            match operator {
                Operator::Rename(name) => compiled.new_name = symbols.intern(name),
                Operator::Exchange(_) => compiled.has_exchange = true,
                other => {
                    has_operators = true;
                    operators.add(other, node.text, is_virtual_root, symbols);
                }
            }
        }
        operators.sort();
        compiled.operators = has_operators.then(|| Box::new(operators));
        compiled
    }

    /// The child with this name.
    #[inline]
    pub fn child(&self, name: Symbol) -> SchemaNodeId {
        self.children.get(name).unwrap_or(UNKNOWN)
    }
}

impl NodeOperators {
    fn add(
        &mut self,
        operator: &Operator,
        has_text: bool,
        is_virtual_root: bool,
        symbols: &mut SymbolTable,
    ) {
        match operator {
            Operator::RenameAttribute(attribute, name) => {
                let (attribute, name) = (symbols.intern(attribute), symbols.intern(name));
                self.attribute_names.insert(attribute, name);
                self.renamed_from.insert(name, attribute);
            }
            Operator::ToElement(attribute, name, node) => {
                let number = next_index(&self.attribute_elements);
                self.element_of_attribute
                    .insert(symbols.intern(attribute), number);
                self.attribute_elements.push((symbols.intern(name), *node));
            }
            Operator::Downgrade(children, target) => {
                let number = next_index(&self.downgrade_targets);
                for &child in children {
                    self.downgraded_by.insert(child, number);
                    self.in_downgrade.insert(child, ());
                }
                self.in_downgrade.insert(*target, ());
                self.downgrade_targets.push(*target);
            }
            Operator::Insert(path, shared, children) => {
                let buffered = Destination::InsertedPath(next_index(&self.inserted_paths));
                self.inserted_paths.push(InsertedPath {
                    names: path.iter().map(|name| symbols.intern(name)).collect(),
                    shared: *shared,
                });
                // Without text, all children follow each other in the new path. Of the virtual root's
                // children, either all are moved or none.
                let streams = is_virtual_root || (children.is_none() && !has_text);
                self.streams_into_path |= streams;
                let destination = if streams {
                    Destination::Streamed
                } else {
                    buffered
                };
                self.set_destination(children.as_deref(), destination);
            }
            Operator::Upgrade(children) => {
                self.upgrades_all = children.is_none();
                self.ends_before_children = children.is_none() && !has_text;
                let destination = if self.ends_before_children {
                    Destination::Streamed
                } else {
                    Destination::AfterElement
                };
                self.set_destination(children.as_deref(), destination);
            }
            Operator::Rename(_) | Operator::Exchange(_) => {
                unreachable!("the schema node itself records these")
            }
        }
    }

    fn sort(&mut self) {
        self.element_of_attribute.sort();
        self.attribute_names.sort();
        self.renamed_from.sort();
        self.downgraded_by.sort();
        self.in_downgrade.sort();
        self.destinations.sort();
    }

    /// Sets the destination of children, or of all that have none. An earlier operator takes
    /// precedence: the children that it moves are no longer children.
    fn set_destination(&mut self, children: Option<&[SchemaNodeId]>, destination: Destination) {
        match children {
            Some(children) => {
                for &child in children {
                    self.destinations.insert(child, destination);
                }
            }
            None => {
                self.other_children.get_or_insert(destination);
            }
        }
    }

    /// Whether a Downgrade moves this child or moves others into it.
    #[inline]
    pub fn is_in_downgrade(&self, child: SchemaNodeId) -> bool {
        self.in_downgrade.contains(child)
    }

    /// Where a child goes, Downgrades aside.
    #[inline]
    pub fn destination(&self, child: SchemaNodeId) -> Destination {
        let named = self.destinations.get(child);
        named
            .or(self.other_children)
            .unwrap_or(Destination::InPlace)
    }
}

fn next_index<T>(items: &[T]) -> u32 {
    u32::try_from(items.len()).expect("fewer than 2^32 operators")
}
