//! Builds a segment: files each class's branches in the trie, then lays everything flat.

use std::cmp::Reverse;

use hashbrown::HashMap;

use super::branch::{Atom, Branch, Slot, Test, View};
use super::compile::compile;
use super::flat::{TextTable, Texts, TextsBuilder};
use super::needles::{Parts, Starts, PART_BYTES_MAX};
use super::segment::{
    key_of, next_serial, Comparison, Condition, Node, Origin, Segment, SlotRecord, StepEdge, ANY,
    DIRECT, ROOT, SLOTS_MAX, VERIFY,
};
use crate::xpath::ast::{Axis, NameTest, Query};

type Table<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// An edge of the trie while it is built. Literals of numbers are numbered as they come; they are
/// renumbered in ascending order at the end.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Edge {
    Child(u32),
    Descendant(u32),
    Condition {
        step: u32,
        slot: u32,
        comparison: u32,
        literal: u32,
    },
}

/// Collects subscriptions for a [`Segment`].
pub struct SegmentBuilder {
    tests: TextsBuilder,
    test_numbers: Table<NameTest, u32>,
    edges: Table<(u32, Edge), u32>,
    origins: Vec<Origin>,
    accepts: Vec<(u32, u32)>,
    wants: Vec<(u32, u32)>,
    slots: Vec<SlotRecord>,
    slot_numbers: Table<[u32; 4], u32>,
    literals: TextsBuilder,
    literal_numbers: Table<Box<str>, u32>,
    part_literals: Table<u32, ()>,
    part_bytes: usize,
    start_literals: Table<u32, ()>,
    numbers: Vec<f64>,
    number_numbers: Table<u64, u32>,
    queries: TextsBuilder,
    class_numbers: Table<Box<str>, u32>,
    handle_classes: Vec<u32>,
    ids: TextsBuilder,
    sources: TextsBuilder,
}

impl Default for SegmentBuilder {
    fn default() -> SegmentBuilder {
        let mut builder = SegmentBuilder {
            tests: TextsBuilder::default(),
            test_numbers: Table::default(),
            edges: Table::default(),
            origins: vec![Origin {
                parent: ROOT,
                edge: Origin::CONDITION,
            }],
            accepts: Vec::new(),
            wants: Vec::new(),
            slots: Vec::new(),
            slot_numbers: Table::default(),
            literals: TextsBuilder::default(),
            literal_numbers: Table::default(),
            part_literals: Table::default(),
            part_bytes: 0,
            start_literals: Table::default(),
            numbers: Vec::new(),
            number_numbers: Table::default(),
            queries: TextsBuilder::default(),
            class_numbers: Table::default(),
            handle_classes: Vec::new(),
            ids: TextsBuilder::default(),
            sources: TextsBuilder::default(),
        };
        let any = builder.test_number(&NameTest::default());
        debug_assert_eq!(any, ANY);
        builder
    }
}

impl SegmentBuilder {
    /// How many subscriptions were added.
    pub fn count(&self) -> usize {
        self.handle_classes.len()
    }

    /// Adds a subscription; `canonical` is the canonical text of `query`, which is in normal form,
    /// and `source` is the query as it was given.
    pub fn add(&mut self, id: &str, source: &str, query: &Query, canonical: &str) {
        let class = match self.class_numbers.get(canonical) {
            Some(&class) => class,
            None => self.add_class(query, canonical),
        };
        self.handle_classes.push(class);
        self.ids.push(id);
        self.sources
            .push(if source == canonical { "" } else { source });
    }

    fn add_class(&mut self, query: &Query, canonical: &str) -> u32 {
        let class = self.queries.push(canonical);
        assert!(class < VERIFY, "fewer than 2^31 classes a segment");
        self.class_numbers.insert(canonical.into(), class);
        for branch in compile(query) {
            self.file(class, branch);
        }
        class
    }

    /// Files one branch; see [`super::segment`] for the order of edges.
    fn file(&mut self, class: u32, branch: Branch) {
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
                match self.condition(atom) {
                    Some((slot, comparison, literal)) => {
                        self.wants.push((node, slot));
                        conditions.push((Reverse(number as u32), comparison, slot, literal));
                    }
                    None => verify = true,
                }
            }
        }
        // The deepest step first; of one step, what tells subscriptions apart best: equality before
        // ranges before the rest, which is how comparisons are numbered.
        conditions.sort_unstable();
        conditions.dedup();
        for (Reverse(step), comparison, slot, literal) in conditions {
            node = self.follow(
                node,
                Edge::Condition {
                    step,
                    slot,
                    comparison,
                    literal,
                },
            );
        }
        self.accepts
            .push((node, if verify { class | VERIFY } else { class }));
    }

    fn follow(&mut self, from: u32, edge: Edge) -> u32 {
        let origins = &mut self.origins;
        *self.edges.entry((from, edge)).or_insert_with(|| {
            let edge = match edge {
                Edge::Child(test) => test,
                Edge::Descendant(test) => test | Origin::DESCENDANT,
                Edge::Condition { step, .. } => step | Origin::CONDITION,
            };
            origins.push(Origin { parent: from, edge });
            u32::try_from(origins.len() - 1).expect("fewer than 2^32 nodes a segment")
        })
    }

    /// The slot, the comparison and the literal of an atom; `None` where it is not filed.
    fn condition(&mut self, atom: &Atom) -> Option<(u32, u32, u32)> {
        let (comparison, literal) = match &atom.test {
            Test::Exists => (Comparison::Exists, 0),
            Test::EqText(text) => (
                Comparison::EqText,
                self.viewed_literal(text, atom.slot.view())?,
            ),
            Test::NeText(text) => (Comparison::NeText, self.literal_number(text)),
            Test::Number(op, number) => (Comparison::of_numbers(*op), self.number_number(*number)),
        };
        let slot = self.slot_number(&atom.slot);
        self.slots[slot as usize].comparisons |= comparison.bit();
        Some((slot, comparison as u32, literal))
    }

    /// The number of a text that values equal, contain or start with; `None` where too many are
    /// looked for already.
    fn viewed_literal(&mut self, text: &str, view: View) -> Option<u32> {
        if view == View::Parts && self.part_bytes + text.len() > PART_BYTES_MAX {
            return None;
        }
        let number = self.literal_number(text);
        match view {
            View::Whole => {}
            View::Parts => {
                if self.part_literals.insert(number, ()).is_none() {
                    self.part_bytes += text.len();
                }
            }
            View::Starts => {
                self.start_literals.insert(number, ());
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

    fn slot_number(&mut self, slot: &Slot) -> u32 {
        let (kind, test, inner, view) = match slot {
            Slot::Attribute(test, view) => {
                (SlotRecord::ATTRIBUTE, self.test_number(test), 0, *view)
            }
            Slot::Value(view) => (SlotRecord::VALUE, ANY, 0, *view),
            Slot::Text(view) => (SlotRecord::TEXT, ANY, 0, *view),
            Slot::Child(test, inner) => {
                let (test, inner) = (self.test_number(test), self.slot_number(inner));
                (SlotRecord::CHILD, test, inner, View::Whole)
            }
            Slot::Deep(inner) => (SlotRecord::DEEP, ANY, self.slot_number(inner), View::Whole),
            Slot::First(inner) => (SlotRecord::FIRST, ANY, self.slot_number(inner), View::Whole),
        };
        let view = view as u32;
        let slots = &mut self.slots;
        *self
            .slot_numbers
            .entry([kind, test, inner, view])
            .or_insert_with(|| {
                slots.push(SlotRecord {
                    kind,
                    test,
                    inner,
                    view,
                    comparisons: 0,
                });
                assert!(slots.len() < SLOTS_MAX, "fewer than 2^24 slots a segment");
                slots.len() as u32 - 1
            })
    }

    fn literal_number(&mut self, text: &str) -> u32 {
        if let Some(&number) = self.literal_numbers.get(text) {
            return number;
        }
        let number = self.literals.push(text);
        self.literal_numbers.insert(text.into(), number);
        number
    }

    fn number_number(&mut self, number: f64) -> u32 {
        let numbers = &mut self.numbers;
        *self
            .number_numbers
            .entry(number.to_bits())
            .or_insert_with(|| {
                numbers.push(number);
                numbers.len() as u32 - 1
            })
    }

    /// Lays everything flat.
    pub fn finish(mut self) -> Segment {
        let (numbers, ranks) = self.sorted_numbers();
        let mut flat = FlatEdges::new(self.origins.len(), &self.edges, &ranks);
        flat.accept(self.accepts);
        self.wants.sort_unstable();
        self.wants.dedup();
        flat.want(self.wants);
        flat.count_steps(&self.origins);
        flat.shorten();
        let (class_starts, class_handles) = group(&self.handle_classes, self.queries.count());
        let (tests, literals) = (self.tests.finish(), self.literals.finish());
        let (queries, ids) = (self.queries.finish(), self.ids.finish());
        let part_literals = by_text(&literals, self.part_literals);
        let start_literals = by_text(&literals, self.start_literals);
        Segment {
            serial: next_serial(),
            test_table: TextTable::build(&tests),
            tests,
            nodes: flat.nodes.into(),
            origins: self.origins.into(),
            child_edges: flat.children.into(),
            descendant_edges: flat.descendants.into(),
            conditions: flat.conditions.into(),
            accepts: flat.accepts.into(),
            wants: flat.wants.into(),
            slots: self.slots.into(),
            literal_table: TextTable::build(&literals),
            parts: Parts::new(&literals, &part_literals),
            starts: Starts::new(&literals, &start_literals),
            part_literals: part_literals.into(),
            start_literals: start_literals.into(),
            literals,
            numbers: numbers.into(),
            queries,
            class_starts: class_starts.into(),
            class_handles: class_handles.into(),
            handle_classes: self.handle_classes.into(),
            id_table: TextTable::build(&ids),
            ids,
            sources: self.sources.finish(),
        }
    }

    /// The numbers ascending, and for each number's provisional number its place among them.
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

/// Edges by node and kind.
struct FlatEdges {
    nodes: Vec<Node>,
    children: Vec<StepEdge>,
    descendants: Vec<StepEdge>,
    conditions: Vec<Condition>,
    accepts: Vec<u32>,
    wants: Vec<u32>,
}

impl FlatEdges {
    fn new(node_count: usize, edges: &Table<(u32, Edge), u32>, ranks: &[u32]) -> FlatEdges {
        let rank = |comparison: u32, literal: u32| {
            if Comparison::NUMERIC >> comparison & 1 == 1 {
                ranks[literal as usize]
            } else {
                literal
            }
        };
        let (mut children, mut descendants) = (Vec::new(), Vec::new());
        let mut conditions = Vec::new();
        for (&(from, edge), &node) in edges {
            match edge {
                Edge::Child(test) => children.push((from, StepEdge { test, node })),
                Edge::Descendant(test) => descendants.push((from, StepEdge { test, node })),
                Edge::Condition {
                    step,
                    slot,
                    comparison,
                    literal,
                } => {
                    let literal = rank(comparison, literal);
                    conditions.push((
                        from,
                        Condition {
                            step,
                            slot,
                            comparison,
                            literal,
                            node,
                        },
                    ));
                }
            }
        }
        let mut nodes = vec![Node::default(); node_count + 1];
        FlatEdges {
            children: lay(children, &mut nodes, |node| &mut node.child),
            descendants: lay(descendants, &mut nodes, |node| &mut node.descendant),
            conditions: lay(conditions, &mut nodes, |node| &mut node.condition),
            accepts: Vec::new(),
            wants: Vec::new(),
            nodes,
        }
    }

    fn accept(&mut self, accepts: Vec<(u32, u32)>) {
        self.accepts = lay(accepts, &mut self.nodes, |node| &mut node.accept);
    }

    fn want(&mut self, wants: Vec<(u32, u32)>) {
        self.wants = lay(wants, &mut self.nodes, |node| &mut node.want);
    }

    /// Lets conditions lead straight to a class where nothing else stands behind them.
    fn shorten(&mut self) {
        for condition in &mut self.conditions {
            let (this, next) = (
                self.nodes[condition.node as usize],
                self.nodes[condition.node as usize + 1],
            );
            let accepts = &self.accepts[this.accept as usize..next.accept as usize];
            if let ([class], true) = (accepts, this.condition == next.condition) {
                if class & VERIFY == 0 {
                    condition.node = class | DIRECT;
                }
            }
        }
    }

    fn count_steps(&mut self, origins: &[Origin]) {
        // A node's number is greater than its parent's.
        for (number, origin) in origins.iter().enumerate().skip(1) {
            let above = self.nodes[origin.parent as usize].steps;
            self.nodes[number].steps = match origin.edge {
                edge if edge & Origin::CONDITION != 0 => above,
                edge if edge & Origin::DESCENDANT != 0 => (above + 1) | Node::LOOSE,
                _ => above + 1,
            };
        }
    }
}

/// Sorts `items` by node and value, and notes in each node where its own begin.
fn lay<T: Ord + Copy>(
    mut items: Vec<(u32, T)>,
    nodes: &mut [Node],
    start: impl Fn(&mut Node) -> &mut u32,
) -> Vec<T> {
    items.sort_unstable();
    let mut at = 0;
    for (number, node) in nodes.iter_mut().enumerate() {
        *start(node) = u32::try_from(at).expect("fewer than 2^32 edges a segment");
        while at < items.len() && items[at].0 as usize == number {
            at += 1;
        }
    }
    items.into_iter().map(|(_, item)| item).collect()
}

/// Numbers of texts, ordered by the texts.
fn by_text(texts: &Texts, numbers: Table<u32, ()>) -> Vec<u32> {
    let mut numbers: Vec<u32> = numbers.into_keys().collect();
    numbers.sort_unstable_by_key(|&number| texts.get(number));
    numbers
}

/// Handles by class: where each class's begin, and all of them.
fn group(classes: &[u32], class_count: usize) -> (Vec<u32>, Vec<u32>) {
    let mut starts = vec![0u32; class_count + 1];
    for &class in classes {
        starts[class as usize + 1] += 1;
    }
    for at in 1..starts.len() {
        starts[at] += starts[at - 1];
    }
    let mut next = starts.clone();
    let mut handles = vec![0; classes.len()];
    for (handle, &class) in classes.iter().enumerate() {
        handles[next[class as usize] as usize] = handle as u32;
        next[class as usize] += 1;
    }
    (starts, handles)
}
