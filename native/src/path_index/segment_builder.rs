//! Builds a segment: inserts the branches of each class into the trie, then flattens it.

use std::cmp::Reverse;

use crate::path_index::branch::{Atom, AtomTest, Branch, Operand, View};
use crate::path_index::compile::{compile, require_header};
use crate::path_index::flatten::{sort_by_text, Edge, FlatEdges, HashTable, Numbering};
use crate::path_index::node_order::order_nodes;
use crate::path_index::segment::{
    key_of, next_serial, Comparison, OperandRecord, ParentLink, Segment, ANY, OPERANDS_MAX, ROOT,
    VERIFY,
};
use crate::path_index::substring_search::{PrefixSearch, SubstringSearch, SUBSTRING_BYTES_MAX};
use crate::subscription_store::flat_layout::{StringArrayBuilder, StringTable};
use crate::subscription_store::header_tests::HeaderTests;
use crate::subscription_store::subscription_table::SubscriptionTableBuilder;
use crate::xpath::ast::{Axis, NameTest, Query};

/// Builds a [`Segment`].
pub struct SegmentBuilder {
    tests: StringArrayBuilder,
    test_numbers: HashTable<NameTest, u32>,
    edges: HashTable<(u32, Edge), u32>,
    parent_links: Vec<ParentLink>,
    accepts: Vec<(u32, u32)>,
    required: Vec<(u32, u32)>,
    operands: Vec<OperandRecord>,
    operand_numbers: HashTable<[u32; 4], u32>,
    /// The roots of compound conditions, by their operands.
    compound_roots: HashTable<Vec<u32>, u32>,
    literals: StringArrayBuilder,
    literal_indexes: HashTable<Box<str>, u32>,
    substring_literals: HashTable<u32, ()>,
    substring_bytes: usize,
    prefix_literals: HashTable<u32, ()>,
    numbers: Vec<f64>,
    number_indexes: HashTable<u64, u32>,
    queries: StringArrayBuilder,
    class_numbers: HashTable<Box<str>, u32>,
    subscriptions: SubscriptionTableBuilder,
}

impl Default for SegmentBuilder {
    fn default() -> SegmentBuilder {
        let mut builder = SegmentBuilder {
            tests: StringArrayBuilder::default(),
            test_numbers: HashTable::default(),
            edges: HashTable::default(),
            parent_links: vec![ParentLink {
                parent: ROOT,
                edge: ParentLink::CONDITION,
            }],
            accepts: Vec::new(),
            required: Vec::new(),
            operands: Vec::new(),
            operand_numbers: HashTable::default(),
            compound_roots: HashTable::default(),
            literals: StringArrayBuilder::default(),
            literal_indexes: HashTable::default(),
            substring_literals: HashTable::default(),
            substring_bytes: 0,
            prefix_literals: HashTable::default(),
            numbers: Vec::new(),
            number_indexes: HashTable::default(),
            queries: StringArrayBuilder::default(),
            class_numbers: HashTable::default(),
            subscriptions: SubscriptionTableBuilder::default(),
        };
        let any = builder.test_number(&NameTest::default());
        debug_assert_eq!(any, ANY);
        builder
    }
}

impl SegmentBuilder {
    /// How many subscriptions were added.
    pub(super) fn subscription_count(&self) -> usize {
        self.subscriptions.count()
    }

    /// Adds a subscription; `canonical` is the canonical text of `query`, which is in normal form,
    /// and `source` is the query as it was submitted.
    pub fn add(
        &mut self,
        id: &str,
        source: &str,
        query: &Query,
        header: &HeaderTests,
        canonical: &str,
    ) {
        let class = if header.is_empty() {
            self.class_number(query, header, canonical)
        } else {
            self.class_number(query, header, &header.prefixed(canonical))
        };
        let source = if source == canonical { "" } else { source };
        self.subscriptions.add(id, source, class);
    }

    /// The number of the class with this text, which is added if it is new.
    fn class_number(&mut self, query: &Query, header: &HeaderTests, text: &str) -> u32 {
        if let Some(&class) = self.class_numbers.get(text) {
            return class;
        }
        let class = self.queries.push(text);
        assert!(class < VERIFY, "a segment has fewer than 2^31 classes");
        self.class_numbers.insert(text.into(), class);
        for branch in require_header(compile(query), header) {
            self.insert_branch(class, branch);
        }
        class
    }

    /// Inserts a branch; see [`crate::path_index::segment`] for the order of edges.
    fn insert_branch(&mut self, class: u32, branch: Branch) {
        let mut node = ROOT;
        let mut verify = branch.verify;
        let mut conditions = Vec::new();
        for (number, step) in branch.steps.iter().enumerate() {
            let test = self.test_number(&step.test);
            let edge = match step.axis {
                Axis::Child => Edge::Child(test),
                Axis::Descendant => Edge::Descendant(test),
            };
            node = self.follow(node, edge);
            for atom in &step.atoms {
                if let Some((comparison, operand, literal)) = self.condition(atom, &mut verify) {
                    self.required.push((node, operand));
                    conditions.push((Reverse(number as u32), comparison, operand, literal));
                }
            }
        }
        // The deepest step first; within a step the most selective comparison: equality, ranges,
        // the rest, which is how comparisons are numbered.
        conditions.sort_unstable();
        conditions.dedup();
        for (Reverse(step), comparison, operand, literal) in conditions {
            node = self.follow(
                node,
                Edge::Condition {
                    step,
                    operand,
                    comparison,
                    literal,
                },
            );
        }
        self.accepts
            .push((node, if verify { class | VERIFY } else { class }));
    }

    fn follow(&mut self, from: u32, edge: Edge) -> u32 {
        if let Some(&node) = self.edges.get(&(from, edge)) {
            return node;
        }
        let link = match edge {
            Edge::Child(test) => test,
            Edge::Descendant(test) => test | ParentLink::DESCENDANT,
            Edge::Condition { step, .. } => step | ParentLink::CONDITION,
        };
        let node = self.new_node(from, link);
        self.edges.insert((from, edge), node);
        node
    }

    fn new_node(&mut self, parent: u32, edge: u32) -> u32 {
        self.parent_links.push(ParentLink { parent, edge });
        u32::try_from(self.parent_links.len() - 1).expect("a segment has fewer than 2^32 nodes")
    }

    /// The comparison, operand and literal of an atom. `None` if the atom is not indexed; `verify`
    /// is then set, as it is if only a part of the atom is indexed.
    fn condition(&mut self, atom: &Atom, verify: &mut bool) -> Option<(u32, u32, u32)> {
        let (operand, compound) = self.operand_number(&atom.operand, verify)?;
        let (comparison, literal) = match &atom.test {
            AtomTest::Exists => match compound {
                Some(node) => (Comparison::EqText, node),
                None => (Comparison::Exists, 0),
            },
            AtomTest::EqText(text) => match self.viewed_literal(text, atom.operand.view()) {
                Some(number) => (Comparison::EqText, number),
                None => {
                    *verify = true;
                    return None;
                }
            },
            AtomTest::NeText(text) => (Comparison::NeText, self.literal_index(text)),
            AtomTest::Number(op, number) => {
                (Comparison::of_numbers(*op), self.number_index(*number))
            }
        };
        self.operands[operand as usize].comparisons |= comparison.bit();
        Some((comparison as u32, operand, literal))
    }

    /// Inserts compound conditions; returns their root and the node at which they end.
    fn compound(&mut self, atoms: &[Atom], verify: &mut bool) -> Option<(u32, u32)> {
        let mut conditions = Vec::with_capacity(atoms.len());
        for atom in atoms {
            conditions.extend(self.condition(atom, verify));
        }
        if conditions.is_empty() {
            return None;
        }
        conditions.sort_unstable();
        conditions.dedup();
        let mut operands: Vec<u32> = conditions.iter().map(|condition| condition.1).collect();
        operands.sort_unstable();
        operands.dedup();
        let root = match self.compound_roots.get(&operands) {
            Some(&root) => root,
            None => {
                let root = self.new_node(ROOT, ParentLink::CONDITION);
                self.required
                    .extend(operands.iter().map(|&operand| (root, operand)));
                self.compound_roots.insert(operands, root);
                root
            }
        };
        let mut node = root;
        for (comparison, operand, literal) in conditions {
            let edge = Edge::Condition {
                step: 0,
                operand,
                comparison,
                literal,
            };
            node = self.follow(node, edge);
        }
        Some((root, node))
    }

    /// The index of a literal that values equal, contain or start with; `None` if the limit of
    /// substring literals is reached.
    fn viewed_literal(&mut self, text: &str, view: View) -> Option<u32> {
        let is_substring = matches!(view, View::Substrings | View::CaselessSubstrings);
        if is_substring && self.substring_bytes + text.len() > SUBSTRING_BYTES_MAX {
            return None;
        }
        let number = self.literal_index(text);
        match view {
            View::Whole | View::Length | View::Date | View::DateTime | View::NormalizedSpace => {}
            View::Substrings | View::CaselessSubstrings => {
                if self.substring_literals.insert(number, ()).is_none() {
                    self.substring_bytes += text.len();
                }
            }
            View::Prefixes => {
                self.prefix_literals.insert(number, ());
            }
        }
        Some(number)
    }

    fn test_number(&mut self, test: &NameTest) -> u32 {
        if let Some(&number) = self.test_numbers.get(test) {
            return number;
        }
        let number = self.tests.push(&key_of(test));
        self.test_numbers.insert(test.clone(), number);
        number
    }

    /// The number of an operand, and the node at which its compound conditions end, if it has any.
    fn operand_number(
        &mut self,
        operand: &Operand,
        verify: &mut bool,
    ) -> Option<(u32, Option<u32>)> {
        let mut compound = None;
        let mut inner_number = |builder: &mut SegmentBuilder, inner: &Operand| {
            let (number, inner_compound) = builder.operand_number(inner, verify)?;
            compound = inner_compound;
            Some(number)
        };
        let (kind, test, inner, view) = match operand {
            Operand::Attribute(test, view) => {
                (OperandRecord::ATTRIBUTE, self.test_number(test), 0, *view)
            }
            Operand::Value(view) => (OperandRecord::VALUE, ANY, 0, *view),
            Operand::Text(view) => (OperandRecord::TEXT, ANY, 0, *view),
            Operand::Child(test, inner) => {
                let (test, inner) = (self.test_number(test), inner_number(self, inner)?);
                (OperandRecord::CHILD, test, inner, View::Whole)
            }
            Operand::Deep(inner) => {
                let inner = inner_number(self, inner)?;
                (OperandRecord::DEEP, ANY, inner, View::Whole)
            }
            Operand::First(inner) => {
                let inner = inner_number(self, inner)?;
                (OperandRecord::FIRST, ANY, inner, View::Whole)
            }
            Operand::Compound(atoms) => {
                let (root, node) = self.compound(atoms, verify)?;
                compound = Some(node);
                (OperandRecord::COMPOUND, ANY, root, View::Whole)
            }
        };
        let view = view as u32;
        let operands = &mut self.operands;
        let number = *self
            .operand_numbers
            .entry([kind, test, inner, view])
            .or_insert_with(|| {
                operands.push(OperandRecord {
                    kind,
                    test,
                    inner,
                    view,
                    comparisons: 0,
                });
                assert!(
                    operands.len() < OPERANDS_MAX,
                    "a segment has fewer than 2^24 operands"
                );
                operands.len() as u32 - 1
            });
        Some((number, compound))
    }

    fn literal_index(&mut self, text: &str) -> u32 {
        if let Some(&number) = self.literal_indexes.get(text) {
            return number;
        }
        let number = self.literals.push(text);
        self.literal_indexes.insert(text.into(), number);
        number
    }

    fn number_index(&mut self, number: f64) -> u32 {
        let numbers = &mut self.numbers;
        *self
            .number_indexes
            .entry(number.to_bits())
            .or_insert_with(|| {
                numbers.push(number);
                numbers.len() as u32 - 1
            })
    }

    /// The finished segment.
    pub(super) fn flatten(mut self) -> Segment {
        let (numbers, ranks) = self.sorted_numbers();
        let numbering = Numbering {
            nodes: order_nodes(&self.parent_links),
            ranks,
            compounds: self.compound_operands(),
        };
        let mut flat = FlatEdges::new(&self.edges, &numbering);
        self.renumber_nodes(&numbering.nodes);
        // Branches that differ only in what is verified are the same in the trie.
        self.accepts.sort_unstable();
        self.accepts.dedup();
        flat.set_accepts(self.accepts);
        self.required.sort_unstable();
        self.required.dedup();
        flat.set_required(self.required);
        flat.count_steps(&self.parent_links);
        flat.shortcut_to_classes();
        let subscriptions = self.subscriptions.finish(self.queries.count());
        let (tests, literals) = (self.tests.finish(), self.literals.finish());
        let substring_literals = sort_by_text(&literals, self.substring_literals);
        let prefix_literals = sort_by_text(&literals, self.prefix_literals);
        Segment {
            serial: next_serial(),
            test_table: StringTable::build(&tests),
            tests,
            nodes: flat.nodes.into(),
            parent_links: self.parent_links.into(),
            child_edges: flat.children.into(),
            descendant_edges: flat.descendants.into(),
            conditions: flat.conditions.into(),
            accepts: flat.accepts.into(),
            required: flat.required.into(),
            operands: self.operands.into(),
            literal_table: StringTable::build(&literals),
            substrings: SubstringSearch::new(&literals, &substring_literals),
            prefixes: PrefixSearch::new(&literals, &prefix_literals),
            substring_literals: substring_literals.into(),
            prefix_literals: prefix_literals.into(),
            literals,
            numbers: numbers.into(),
            queries: self.queries.finish(),
            subscriptions,
        }
    }

    /// By operand: whether its values are nodes of compound conditions.
    fn compound_operands(&self) -> Vec<bool> {
        let mut compounds: Vec<bool> = Vec::with_capacity(self.operands.len());
        for record in &self.operands {
            compounds.push(match record.kind {
                OperandRecord::COMPOUND => true,
                // An operand follows the one inside it.
                OperandRecord::CHILD | OperandRecord::DEEP | OperandRecord::FIRST => {
                    compounds[record.inner as usize]
                }
                _ => false,
            });
        }
        compounds
    }

    /// Replaces the numbers of nodes, except in edges.
    fn renumber_nodes(&mut self, numbers: &[u32]) {
        let number = |node: u32| numbers[node as usize];
        let links = std::mem::take(&mut self.parent_links);
        self.parent_links = vec![ParentLink::default(); links.len()];
        for (node, link) in (0u32..).zip(links) {
            self.parent_links[number(node) as usize] = ParentLink {
                parent: number(link.parent),
                ..link
            };
        }
        for (node, _) in self.accepts.iter_mut().chain(&mut self.required) {
            *node = number(*node);
        }
        let operands = self.operands.iter_mut();
        for record in operands.filter(|record| record.kind == OperandRecord::COMPOUND) {
            record.inner = number(record.inner);
        }
    }

    /// The numbers in ascending order, and the rank of each number by its provisional index.
    fn sorted_numbers(&mut self) -> (Vec<f64>, Vec<u32>) {
        let mut order: Vec<u32> = (0..self.numbers.len() as u32).collect();
        order.sort_unstable_by(|&a, &b| {
            self.numbers[a as usize].total_cmp(&self.numbers[b as usize])
        });
        let mut ranks = vec![0; order.len()];
        for (rank, &number) in order.iter().enumerate() {
            ranks[number as usize] = rank as u32;
        }
        (
            order
                .iter()
                .map(|&number| self.numbers[number as usize])
                .collect(),
            ranks,
        )
    }
}
