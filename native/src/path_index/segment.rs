//! A segment: an immutable set of subscriptions as one shared trie.
//!
//! Equal queries are one *class*. Each class's branches are paths in the trie. First come the
//! *steps* (child or descendant, with a name test); nodes reached by steps alone are *structural*,
//! and they are what the automaton runs on. Then come the *conditions*, each with the step that it
//! belongs to: those of the deepest step first, since that element ends first, then those further up.
//! So queries that differ only in a constant part company at the last, where one lookup by value
//! tells which of them hold. A node's edges of one kind stand together, sorted.
//!
//! Conditions that one nested element must meet together (*joint* ones) begin at a node of their own, to
//! which no step leads; to the conditions above, the node where they end is a value like any other.

use std::sync::atomic::{AtomicU64, Ordering};

use bytemuck::{Pod, Zeroable};

use crate::path_index::branch::View;
use crate::path_index::substring_search::{Parts, Starts};
use crate::subscription_store::flat_layout::{Flat, TextTable, Texts};
use crate::subscription_store::subscription_table::Roster;
use crate::xpath::ast::{NameTest, Op, Query};
use crate::xpath::parse_canonical;

/// The root of the trie: the document node.
pub const ROOT: u32 = 0;

/// Name test 0 of every segment: any name.
pub const ANY: u32 = 0;

/// A segment has fewer slots than this: engines pack a slot with a depth.
pub const SLOTS_MAX: usize = 1 << 24;

/// Marks a class in an accept list whose documents must still be verified.
pub const VERIFY: u32 = 1 << 31;

/// Marks, in a condition's `node`, a class: all that stands behind the condition is that it matches.
pub const DIRECT: u32 = 1 << 31;

/// Where a node's edges begin; they end where the next node's begin.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub struct Node {
    /// In `child_edges`.
    pub child: u32,
    /// In `descendant_edges`.
    pub descendant: u32,
    /// In `conditions`.
    pub condition: u32,
    /// In `accepts`.
    pub accept: u32,
    /// In `wants`.
    pub want: u32,
    /// How many steps lead here, with [`Node::LOOSE`] where one of them is a descendant step.
    pub steps: u32,
}

impl Node {
    /// Set in `steps` where a path can meet the steps in more than one way.
    pub const LOOSE: u32 = 1 << 31;
}

/// How a node was reached: for structural nodes, the way back up.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub struct Origin {
    /// The node above.
    pub parent: u32,
    /// The name test, with [`Origin::DESCENDANT`] for `//`; or the step that a condition belongs to,
    /// with [`Origin::CONDITION`].
    pub edge: u32,
}

impl Origin {
    /// Set in `edge` for a descendant step.
    pub const DESCENDANT: u32 = 1 << 31;
    /// Set in `edge` for a condition.
    pub const CONDITION: u32 = 1 << 30;
}

/// A step edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Pod, Zeroable)]
#[repr(C)]
pub struct StepEdge {
    /// The name test.
    pub test: u32,
    /// The node it leads to.
    pub node: u32,
}

/// A condition edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Pod, Zeroable)]
#[repr(C)]
pub struct Condition {
    /// Which step of the branch it belongs to, from 0.
    pub step: u32,
    /// The slot.
    pub slot: u32,
    /// A [`Comparison`].
    pub comparison: u32,
    /// Number of the literal: of a text, or of a number in ascending order; 0 for existence.
    pub literal: u32,
    /// The node it leads to, or a class with [`DIRECT`].
    pub node: u32,
}

/// The kinds of tests, as numbers that stand in files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u32)]
pub enum Comparison {
    /// Equal as text.
    EqText = 0,
    /// Equal as numbers.
    EqNumber = 1,
    /// Some value is less than the literal.
    Lt = 2,
    /// Less or equal.
    Le = 3,
    /// Greater.
    Gt = 4,
    /// Greater or equal.
    Ge = 5,
    /// There is a value.
    Exists = 6,
    /// Some value differs as text.
    NeText = 7,
    /// Some value differs as a number.
    NeNumber = 8,
}

impl Comparison {
    /// The bits of the comparisons of numbers, ranges included.
    pub const NUMERIC: u32 = Comparison::EqNumber.bit()
        | Comparison::NeNumber.bit()
        | Comparison::Lt.bit()
        | Comparison::Le.bit()
        | Comparison::Gt.bit()
        | Comparison::Ge.bit();

    /// The bits of all comparisons.
    pub const ALL: u32 = (1 << Comparison::COUNT) - 1;

    /// The bits of the comparisons of texts.
    pub const TEXTUAL: u32 = Comparison::EqText.bit() | Comparison::NeText.bit();

    /// How many there are.
    pub const COUNT: usize = 9;

    /// The comparison of that number; a file with others is refused when it is opened.
    pub fn from_number(number: u32) -> Comparison {
        use Comparison::{EqNumber, EqText, Exists, Ge, Gt, Le, Lt, NeNumber, NeText};
        [EqText, EqNumber, Lt, Le, Gt, Ge, Exists, NeText, NeNumber][number as usize]
    }

    /// Its bit in a set of comparisons.
    pub const fn bit(self) -> u32 {
        1 << self as u32
    }

    /// The comparison of numbers for an operator.
    pub fn of_numbers(op: Op) -> Comparison {
        match op {
            Op::Eq => Comparison::EqNumber,
            Op::Ne => Comparison::NeNumber,
            Op::Lt => Comparison::Lt,
            Op::Le => Comparison::Le,
            Op::Gt => Comparison::Gt,
            Op::Ge => Comparison::Ge,
        }
    }
}

/// What a slot reads, as numbers that stand in files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Pod, Zeroable)]
#[repr(C)]
pub struct SlotRecord {
    /// One of the constants below.
    pub kind: u32,
    /// The name test, for attributes and children.
    pub test: u32,
    /// The inner slot, for children, what is deep, and first nodes; for joint conditions the node of
    /// the trie where they begin.
    pub inner: u32,
    /// A [`View`], for attributes, string-values and text nodes; 0 for others.
    pub view: u32,
    /// Which comparisons read this slot: a bit for each [`Comparison`].
    pub comparisons: u32,
}

impl SlotRecord {
    /// Attributes.
    pub const ATTRIBUTE: u32 = 0;
    /// The string-value.
    pub const VALUE: u32 = 1;
    /// The text nodes.
    pub const TEXT: u32 = 2;
    /// What the inner slot has in children.
    pub const CHILD: u32 = 3;
    /// What the inner slot has here and below.
    pub const DEEP: u32 = 4;
    /// What the inner slot has from the first node.
    pub const FIRST: u32 = 5;
    /// The element itself: its values are the nodes of the trie whose conditions it meets.
    pub const JOINT: u32 = 6;

    /// How many views there are: the numbers below are views.
    pub const VIEWS: usize = 3;
    /// [`View::Whole`] as a number.
    pub const WHOLE: usize = View::Whole as usize;
    /// [`View::Parts`] as a number.
    pub const PARTS: usize = View::Parts as usize;
    /// [`View::Starts`] as a number.
    pub const STARTS: usize = View::Starts as usize;
}

/// An immutable set of subscriptions.
pub struct Segment {
    /// Tells segments of one process apart; not in files.
    pub serial: u64,
    /// Name tests: `uri` and `local`, a mark for "any" in front. Number 0 is `*`.
    pub tests: Texts,
    /// Finds a name test.
    pub test_table: TextTable,
    /// One more than there are nodes.
    pub nodes: Flat<Node>,
    /// By node.
    pub origins: Flat<Origin>,
    /// Child steps.
    pub child_edges: Flat<StepEdge>,
    /// Descendant steps.
    pub descendant_edges: Flat<StepEdge>,
    /// Conditions.
    pub conditions: Flat<Condition>,
    /// Classes, with [`VERIFY`].
    pub accepts: Flat<u32>,
    /// Slots whose values the elements at a node must keep.
    pub wants: Flat<u32>,
    /// By slot number.
    pub slots: Flat<SlotRecord>,
    /// Texts that conditions compare with.
    pub literals: Texts,
    /// Finds a literal.
    pub literal_table: TextTable,
    /// Literals that conditions look for in values, by number: what `parts` was built of.
    pub part_literals: Flat<u32>,
    /// Literals that conditions want values to start with, by number: what `starts` was built of.
    pub start_literals: Flat<u32>,
    /// Finds which literals a value contains; not in files.
    pub parts: Parts,
    /// Finds which literals a value starts with; not in files.
    pub starts: Starts,
    /// Numbers that conditions compare with, ascending.
    pub numbers: Flat<f64>,
    /// The canonical query of each class.
    pub queries: Texts,
    /// The subscriptions; a source that is the canonical query is left out.
    pub roster: Roster,
}

static SEGMENTS_MADE: AtomicU64 = AtomicU64::new(0);

/// A number for [`Segment::serial`].
pub fn next_serial() -> u64 {
    SEGMENTS_MADE.fetch_add(1, Ordering::Relaxed)
}

macro_rules! edges {
    ($name:ident, $field:ident, $array:ident, $type:ty, $doc:literal) => {
        #[doc = $doc]
        #[inline]
        pub fn $name(&self, node: u32) -> &[$type] {
            let (this, next) = (&self.nodes[node as usize], &self.nodes[node as usize + 1]);
            &self.$array[this.$field as usize..next.$field as usize]
        }
    };
}

impl Segment {
    edges!(
        children_of,
        child,
        child_edges,
        StepEdge,
        "The child steps of a node."
    );
    edges!(
        descendants_of,
        descendant,
        descendant_edges,
        StepEdge,
        "The descendant steps of a node."
    );
    edges!(
        conditions_of,
        condition,
        conditions,
        Condition,
        "The conditions of a node."
    );
    edges!(
        accepts_of,
        accept,
        accepts,
        u32,
        "The classes that end at a node."
    );
    edges!(
        wants_of,
        want,
        wants,
        u32,
        "The slots that elements at a node must keep."
    );

    /// How many steps lead to a node.
    pub fn steps_to(&self, node: u32) -> u32 {
        self.nodes[node as usize].steps & !Node::LOOSE
    }

    /// Whether a path can meet the steps to a node in more than one way.
    pub fn is_loose(&self, node: u32) -> bool {
        self.nodes[node as usize].steps & Node::LOOSE != 0
    }

    /// How many classes there are.
    pub fn class_count(&self) -> usize {
        self.roster.class_count()
    }

    /// The query of a class.
    pub fn query_of(&self, class: u32) -> Query {
        parse_canonical(self.queries.get(class)).expect("an index holds canonical queries")
    }

    /// The name tests of this segment that an expanded name meets, most particular first.
    pub fn tests_met(&self, uri: &str, local: &str) -> Vec<u32> {
        [
            (Some(uri), Some(local)),
            (None, Some(local)),
            (Some(uri), None),
            (None, None),
        ]
        .into_iter()
        .filter_map(|(uri, local)| self.find_test(uri, local))
        .collect()
    }

    /// The number of a name test.
    pub fn find_test(&self, uri: Option<&str>, local: Option<&str>) -> Option<u32> {
        self.test_table
            .find(&self.tests, test_key(uri, local).as_bytes())
    }

    /// The slot that feeds a slot with what the element itself and its children have: for a deep slot
    /// the inner one, for others the slot itself.
    #[inline]
    pub fn source_slot(&self, slot: u32) -> &SlotRecord {
        let record = &self.slots[slot as usize];
        if record.kind == SlotRecord::DEEP {
            &self.slots[record.inner as usize]
        } else {
            record
        }
    }

    /// The number of a number, where some condition compares with it.
    #[inline]
    pub fn find_number(&self, number: f64) -> Option<u32> {
        self.numbers
            .binary_search_by(|other| other.total_cmp(&number))
            .ok()
            .map(|at| at as u32)
    }
}

/// A name test as a text: unambiguous, since neither part of a name holds a NUL.
pub fn test_key(uri: Option<&str>, local: Option<&str>) -> String {
    let part = |text: Option<&str>| text.map_or("*".to_owned(), |text| format!("={text}"));
    format!("{}\0{}", part(uri), part(local))
}

/// [`test_key`] of a name test.
pub fn key_of(test: &NameTest) -> String {
    test_key(test.uri.as_deref(), test.local.as_deref())
}
