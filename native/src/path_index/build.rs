//! Builds a segment: files each class's branches in the trie, then lays everything flat.

use std::cmp::Reverse;

use crate::path_index::branch::{Atom, Branch, Slot, Test, View};
use crate::path_index::compile::compile;
use crate::path_index::flatten::{by_text, Edge, FlatEdges, Table};
use crate::path_index::segment::{
    key_of, next_serial, Comparison, Origin, Segment, SlotRecord, ANY, ROOT, SLOTS_MAX, VERIFY,
};
use crate::path_index::substring_search::{Parts, Starts, PART_BYTES_MAX};
use crate::subscription_store::flat_layout::{TextTable, TextsBuilder};
use crate::subscription_store::subscription_table::RosterBuilder;
use crate::xpath::ast::{Axis, NameTest, Query};

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
    /// By the slots that they look at: where the conditions begin that one nested element must meet.
    joint_roots: Table<Vec<u32>, u32>,
    literals: TextsBuilder,
    literal_numbers: Table<Box<str>, u32>,
    part_literals: Table<u32, ()>,
    part_bytes: usize,
    start_literals: Table<u32, ()>,
    numbers: Vec<f64>,
    number_numbers: Table<u64, u32>,
    queries: TextsBuilder,
    class_numbers: Table<Box<str>, u32>,
    pub(super) roster: RosterBuilder,
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
            joint_roots: Table::default(),
            literals: TextsBuilder::default(),
            literal_numbers: Table::default(),
            part_literals: Table::default(),
            part_bytes: 0,
            start_literals: Table::default(),
            numbers: Vec::new(),
            number_numbers: Table::default(),
            queries: TextsBuilder::default(),
            class_numbers: Table::default(),
            roster: RosterBuilder::default(),
        };
        let any = builder.test_number(&NameTest::default());
        debug_assert_eq!(any, ANY);
        builder
    }
}

impl SegmentBuilder {
    /// Adds a subscription; `canonical` is the canonical text of `query`, which is in normal form,
    /// and `source` is the query as it was given.
    pub fn add(&mut self, id: &str, source: &str, query: &Query, canonical: &str) {
        let class = match self.class_numbers.get(canonical) {
            Some(&class) => class,
            None => self.add_class(query, canonical),
        };
        let source = if source == canonical { "" } else { source };
        self.roster.add(id, source, class);
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

    /// Files one branch; see [`crate::path_index::segment`] for the order of edges.
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
                if let Some((comparison, slot, literal)) = self.condition(atom, &mut verify) {
                    self.wants.push((node, slot));
                    conditions.push((Reverse(number as u32), comparison, slot, literal));
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
        if let Some(&node) = self.edges.get(&(from, edge)) {
            return node;
        }
        let origin = match edge {
            Edge::Child(test) => test,
            Edge::Descendant(test) => test | Origin::DESCENDANT,
            Edge::Condition { step, .. } => step | Origin::CONDITION,
        };
        let node = self.new_node(from, origin);
        self.edges.insert((from, edge), node);
        node
    }

    fn new_node(&mut self, parent: u32, edge: u32) -> u32 {
        self.origins.push(Origin { parent, edge });
        u32::try_from(self.origins.len() - 1).expect("fewer than 2^32 nodes a segment")
    }

    /// The comparison, the slot and the literal of an atom. `None` where it is not filed; `verify` is then
    /// set, as it is where only a part of it is filed.
    fn condition(&mut self, atom: &Atom, verify: &mut bool) -> Option<(u32, u32, u32)> {
        let (slot, joint) = self.slot_number(&atom.slot, verify)?;
        let (comparison, literal) = match &atom.test {
            Test::Exists => match joint {
                Some(node) => (Comparison::EqText, node),
                None => (Comparison::Exists, 0),
            },
            Test::EqText(text) => match self.viewed_literal(text, atom.slot.view()) {
                Some(number) => (Comparison::EqText, number),
                None => {
                    *verify = true;
                    return None;
                }
            },
            Test::NeText(text) => (Comparison::NeText, self.literal_number(text)),
            Test::Number(op, number) => (Comparison::of_numbers(*op), self.number_number(*number)),
        };
        self.slots[slot as usize].comparisons |= comparison.bit();
        Some((comparison as u32, slot, literal))
    }

    /// Files conditions that one nested element must meet: where those on the same slots begin, and the
    /// node that all of them lead to.
    fn joint(&mut self, atoms: &[Atom], verify: &mut bool) -> Option<(u32, u32)> {
        let mut conditions = Vec::with_capacity(atoms.len());
        for atom in atoms {
            conditions.extend(self.condition(atom, verify));
        }
        if conditions.is_empty() {
            return None;
        }
        conditions.sort_unstable();
        conditions.dedup();
        let mut slots: Vec<u32> = conditions.iter().map(|condition| condition.1).collect();
        slots.sort_unstable();
        slots.dedup();
        let root = match self.joint_roots.get(&slots) {
            Some(&root) => root,
            None => {
                let root = self.new_node(ROOT, Origin::CONDITION);
                self.wants.extend(slots.iter().map(|&slot| (root, slot)));
                self.joint_roots.insert(slots, root);
                root
            }
        };
        let mut node = root;
        for (comparison, slot, literal) in conditions {
            let edge = Edge::Condition {
                step: 0,
                slot,
                comparison,
                literal,
            };
            node = self.follow(node, edge);
        }
        Some((root, node))
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

    /// The number of a slot, and the node of the joint conditions that it ends in, if it does.
    fn slot_number(&mut self, slot: &Slot, verify: &mut bool) -> Option<(u32, Option<u32>)> {
        let mut joint = None;
        let mut inner_number = |builder: &mut SegmentBuilder, inner: &Slot| {
            let (number, inner_joint) = builder.slot_number(inner, verify)?;
            joint = inner_joint;
            Some(number)
        };
        let (kind, test, inner, view) = match slot {
            Slot::Attribute(test, view) => {
                (SlotRecord::ATTRIBUTE, self.test_number(test), 0, *view)
            }
            Slot::Value(view) => (SlotRecord::VALUE, ANY, 0, *view),
            Slot::Text(view) => (SlotRecord::TEXT, ANY, 0, *view),
            Slot::Child(test, inner) => {
                let (test, inner) = (self.test_number(test), inner_number(self, inner)?);
                (SlotRecord::CHILD, test, inner, View::Whole)
            }
            Slot::Deep(inner) => {
                let inner = inner_number(self, inner)?;
                (SlotRecord::DEEP, ANY, inner, View::Whole)
            }
            Slot::First(inner) => {
                let inner = inner_number(self, inner)?;
                (SlotRecord::FIRST, ANY, inner, View::Whole)
            }
            Slot::Joint(atoms) => {
                let (root, node) = self.joint(atoms, verify)?;
                joint = Some(node);
                (SlotRecord::JOINT, ANY, root, View::Whole)
            }
        };
        let view = view as u32;
        let slots = &mut self.slots;
        let number = *self
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
            });
        Some((number, joint))
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
    pub(super) fn lay_flat(mut self) -> Segment {
        let (numbers, ranks) = self.sorted_numbers();
        let mut flat = FlatEdges::new(self.origins.len(), &self.edges, &ranks);
        flat.accept(self.accepts);
        self.wants.sort_unstable();
        self.wants.dedup();
        flat.want(self.wants);
        flat.count_steps(&self.origins);
        flat.shorten();
        let roster = self.roster.finish(self.queries.count());
        let (tests, literals) = (self.tests.finish(), self.literals.finish());
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
            queries: self.queries.finish(),
            roster,
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
