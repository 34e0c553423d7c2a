//! A mapping, ready to be followed: what happens at each place of the local schema.

use std::sync::atomic::{AtomicU64, Ordering};

use hashbrown::HashMap;

use super::sorted_map::SortedMap;

/// The number of a node of the local schema, or of an attribute that becomes an element.
pub type SchemaNodeId = u32;

/// The virtual node above the root.
pub const VIRTUAL_ROOT: SchemaNodeId = 0;

/// What the local schema does not have.
pub const UNKNOWN: SchemaNodeId = u32::MAX;

/// The number of a name of the mapping.
pub type Symbol = u32;

/// A name that no operator and no node of the mapping has.
pub const NO_SYMBOL: Symbol = u32::MAX;

/// An expanded name: namespace URI (empty for none) and local name.
pub type Name = (String, String);

/// What one document's rewriting may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Elements and texts that are copied; past it the document is stopped with `mapping.copies`.
    pub copies_max: u64,
    /// Bytes that are kept at once; past it the document is stopped with `mapping.held`.
    pub held_bytes_max: usize,
}

/// One node of the local schema, as a mapping is given. The first is the virtual one above the root, and
/// parents come before their children.
#[derive(Clone, Debug)]
pub struct LocalNode {
    /// The number of its parent; of the virtual node its own.
    pub parent: SchemaNodeId,
    /// Its name.
    pub name: Name,
    /// Whether text may stand directly in it.
    pub text: bool,
    /// In the order in which they are applied.
    pub operators: Vec<Operator>,
}

/// An operator at its node. Children are named by number; attributes that become elements have the
/// numbers after all nodes.
#[derive(Clone, Debug)]
pub enum Operator {
    /// Another name.
    Rename(Name),
    /// Another name for an attribute.
    RenameAttribute(Name, Name),
    /// An attribute becomes a child element of this name, at a place of its own.
    ToElement(Name, Name, SchemaNodeId),
    /// Children, or all, are moved into a new path of elements.
    Insert(Vec<Name>, Option<Vec<SchemaNodeId>>),
    /// Children, or all, are moved behind the node.
    Upgrade(Option<Vec<SchemaNodeId>>),
    /// Children are moved into another child.
    Downgrade(Vec<SchemaNodeId>, SchemaNodeId),
    /// The node and this child change places.
    Exchange(SchemaNodeId),
}

/// A mapping.
#[derive(Debug)]
pub struct Mapping {
    /// Tells mappings apart.
    pub serial: u64,
    pub(super) limits: Limits,
    pub(super) names: Vec<Name>,
    pub(super) places: Vec<Place>,
    /// BufferedNode and child, in the order in which they are applied.
    pub(super) exchanges: Vec<(SchemaNodeId, SchemaNodeId)>,
}

/// What happens at one place.
#[derive(Debug)]
pub(super) struct Place {
    /// By name.
    children: SortedMap<SchemaNodeId>,
    /// The new name, if it has one.
    pub renamed: Symbol,
    /// Whether it may change places with a child.
    pub exchanges: bool,
    /// The other operators, if there are any.
    pub operators: Option<Box<Operators>>,
}

/// Where a child of an element goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Destination {
    /// It stays, and passes at once.
    Stays,
    /// It passes at once, into the open inserted path or behind the element.
    Passes,
    /// It is kept until it is known whether there is a target to move it into.
    Waits,
    /// It is kept for an inserted path.
    Inserted(u32),
    /// It is kept to stand behind the element.
    Upgraded,
}

/// What is done at an element beyond giving it another name.
#[derive(Debug, Default)]
pub(super) struct Operators {
    /// The elements that are made of attributes, in order: name and place.
    pub to_elements: Vec<(Symbol, SchemaNodeId)>,
    /// Which of them each attribute becomes.
    pub made_of: SortedMap<u32>,
    /// The new names of attributes.
    pub attribute_names: SortedMap<Symbol>,
    /// The old names by the new ones.
    pub renamed_from: SortedMap<Symbol>,
    /// What each Downgrade moves others into, in order.
    pub downgrades: Vec<SchemaNodeId>,
    /// The Downgrade that moves each child; there is at most one.
    pub downgraded_by: SortedMap<u32>,
    /// Inserted paths.
    pub paths: Vec<Vec<Symbol>>,
    /// Children that a Downgrade moves, or moves others into.
    pub waiting: SortedMap<()>,
    /// Where children go that an operator names.
    pub ways: SortedMap<Destination>,
    /// Where all others go.
    pub others: Option<Destination>,
    /// Whether what passes does so in the first inserted path.
    pub opens_path: bool,
    /// Whether all children stand behind the element.
    pub upgrades_all: bool,
    /// Whether what passes does so behind the element.
    pub ends_early: bool,
}

static MAPPINGS_MADE: AtomicU64 = AtomicU64::new(0);

impl Mapping {
    /// A mapping of a schema; `attributes` become elements.
    pub fn new(nodes: &[LocalNode], attributes: usize, limits: Limits) -> Mapping {
        let mut symbols = Symbols::default();
        let mut places: Vec<Place> = nodes
            .iter()
            .map(|node| Place::new(node, &mut symbols))
            .collect();
        for (number, node) in nodes.iter().enumerate().skip(1) {
            let name = symbols.of(&node.name);
            let number = u32::try_from(number).expect("fewer than 2^32 nodes");
            places[node.parent as usize].children.add(name, number);
        }
        places.iter_mut().for_each(|place| place.children.settle());
        places.extend((0..attributes).map(|_| Place::default()));
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
            places,
        }
    }

    /// A name of the mapping.
    pub fn name(&self, symbol: Symbol) -> (&str, &str) {
        let (uri, local) = &self.names[symbol as usize];
        (uri, local)
    }
}

#[derive(Default)]
struct Symbols {
    numbers: HashMap<Name, Symbol>,
    names: Vec<Name>,
}

impl Symbols {
    fn of(&mut self, name: &Name) -> Symbol {
        *self.numbers.entry(name.clone()).or_insert_with(|| {
            self.names.push(name.clone());
            u32::try_from(self.names.len() - 1).expect("fewer than 2^32 names")
        })
    }
}

impl Default for Place {
    fn default() -> Place {
        Place {
            children: SortedMap::default(),
            renamed: NO_SYMBOL,
            exchanges: false,
            operators: None,
        }
    }
}

impl Place {
    fn new(node: &LocalNode, symbols: &mut Symbols) -> Place {
        let mut place = Place::default();
        let mut operators = Operators::default();
        let is_above = node.name.1.is_empty();
        let mut is_any = false;
        for operator in &node.operators {
            match operator {
                Operator::Rename(name) => place.renamed = symbols.of(name),
                Operator::Exchange(_) => place.exchanges = true,
                other => {
                    is_any = true;
                    operators.add(other, node.text, is_above, symbols);
                }
            }
        }
        operators.settle();
        place.operators = is_any.then(|| Box::new(operators));
        place
    }

    /// The child of this name.
    #[inline]
    pub fn child(&self, name: Symbol) -> SchemaNodeId {
        self.children.get(name).unwrap_or(UNKNOWN)
    }
}

impl Operators {
    fn add(&mut self, operator: &Operator, text: bool, is_above: bool, symbols: &mut Symbols) {
        match operator {
            Operator::RenameAttribute(attribute, name) => {
                let (attribute, name) = (symbols.of(attribute), symbols.of(name));
                self.attribute_names.add(attribute, name);
                self.renamed_from.add(name, attribute);
            }
            Operator::ToElement(attribute, name, place) => {
                let number = numbered(&self.to_elements);
                self.made_of.add(symbols.of(attribute), number);
                self.to_elements.push((symbols.of(name), *place));
            }
            Operator::Downgrade(children, target) => {
                let number = numbered(&self.downgrades);
                for &child in children {
                    self.downgraded_by.add(child, number);
                    self.waiting.add(child, ());
                }
                self.waiting.add(*target, ());
                self.downgrades.push(*target);
            }
            Operator::Insert(path, children) => {
                let kept = Destination::Inserted(numbered(&self.paths));
                self.paths
                    .push(path.iter().map(|name| symbols.of(name)).collect());
                // Above the root all is moved or nothing, and without text everything that follows.
                let passes = is_above || (children.is_none() && !text);
                self.opens_path |= passes;
                self.moves(
                    children.as_deref(),
                    if passes { Destination::Passes } else { kept },
                );
            }
            Operator::Upgrade(children) => {
                self.upgrades_all = children.is_none();
                self.ends_early = children.is_none() && !text;
                let way = if self.ends_early {
                    Destination::Passes
                } else {
                    Destination::Upgraded
                };
                self.moves(children.as_deref(), way);
            }
            Operator::Rename(_) | Operator::Exchange(_) => {
                unreachable!("these are the place's own")
            }
        }
    }

    fn settle(&mut self) {
        self.made_of.settle();
        self.attribute_names.settle();
        self.renamed_from.settle();
        self.downgraded_by.settle();
        self.waiting.settle();
        self.ways.settle();
    }

    /// Notes where children go; what an operator before this one takes is no child any more.
    fn moves(&mut self, children: Option<&[SchemaNodeId]>, way: Destination) {
        match children {
            Some(children) => children.iter().for_each(|&child| self.ways.add(child, way)),
            None => {
                self.others.get_or_insert(way);
            }
        }
    }

    /// Where a child goes, what waits for a target set aside.
    #[inline]
    pub fn way_of(&self, place: SchemaNodeId) -> Destination {
        let named = self.ways.get(place);
        named.or(self.others).unwrap_or(Destination::Stays)
    }
}

/// The number of the next of these.
fn numbered<T>(those_before: &[T]) -> u32 {
    u32::try_from(those_before.len()).expect("fewer than 2^32 operators")
}
