//! A segment: an immutable set of path subscriptions as one shared trie.
//!
//! Equal queries form one *class*. The branches of each class are paths in the trie. *Steps* (child
//! or descendant, with a name test) come first; the nodes that steps lead to are *structural*, and
//! the automaton runs on them. *Conditions* follow, each with the step it belongs to: those of the
//! deepest step first, since that element ends first, then those further up. Queries that differ
//! only in a constant therefore diverge at the last edge, where one lookup by value finds those
//! that hold. The edges of a node are sorted and stored together by kind.
//!
//! Conditions that one nested element must meet together (*compound conditions*) start at a
//! separate root. The node at which they end is a value to the conditions above them, like any
//! other value.

use std::sync::atomic::{AtomicU64, Ordering};

use bytemuck::{Pod, Zeroable};

use crate::path_index::branch::View;
use crate::path_index::substring_search::{PrefixSearch, SubstringSearch};
use crate::subscription_store::file_format::{damaged, OpenError};
use crate::subscription_store::flat_layout::{prefetch, FlatArray, StringArray, StringTable};
use crate::subscription_store::header_tests::{HeaderTests, HEADER_URI};
use crate::subscription_store::subscription_table::SubscriptionTable;
use crate::xpath::ast::{NameTest, Op, Query};
use crate::xpath::parse_canonical;

/// The root of the trie: the document node.
pub const ROOT: u32 = 0;

/// Name test 0 of every segment: any name.
pub const ANY: u32 = 0;

/// A segment has fewer operands than this.
pub const OPERANDS_MAX: usize = 1 << 24;

/// Marks a class in an accept list whose matches must be verified.
pub const VERIFY: u32 = 1 << 31;

/// Marks a class in the `node` of a condition that has no further conditions after it.
pub const DIRECT_CLASS: u32 = 1 << 31;

/// Where the edges of a trie node begin; they end where those of the next node begin.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub struct TrieNode {
    /// In `child_edges`.
    pub child: u32,
    /// In `descendant_edges`.
    pub descendant: u32,
    /// In `conditions`.
    pub condition: u32,
    /// In `accepts`.
    pub accept: u32,
    /// In `required`.
    pub required: u32,
    /// Number of steps to this node, with [`TrieNode::AMBIGUOUS`] if one of them is a descendant
    /// step.
    pub steps: u32,
}

impl TrieNode {
    /// Set in `steps` if a label path can align with the steps in more than one way.
    pub const AMBIGUOUS: u32 = 1 << 31;
}

/// The edge that leads to a trie node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct ParentLink {
    /// The parent node.
    pub parent: u32,
    /// The name test, with [`ParentLink::DESCENDANT`] for `//`; or the step that a condition
    /// belongs to, with [`ParentLink::CONDITION`].
    pub edge: u32,
}

impl ParentLink {
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
    /// The step of the branch it belongs to, from 0.
    pub step: u32,
    /// The operand.
    pub operand: u32,
    /// A [`Comparison`].
    pub comparison: u32,
    /// Index of the literal, in `literals` or `numbers`; 0 for existence.
    pub literal: u32,
    /// The node it leads to, or a class with [`DIRECT_CLASS`].
    pub node: u32,
}

/// Comparisons; their numbers are part of the file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u32)]
pub enum Comparison {
    /// Equal as text.
    EqText = 0,
    /// Equal as numbers.
    EqNumber = 1,
    /// Less than the literal.
    Lt = 2,
    /// Less or equal.
    Le = 3,
    /// Greater.
    Gt = 4,
    /// Greater or equal.
    Ge = 5,
    /// Some value exists.
    Exists = 6,
    /// Different as text.
    NeText = 7,
    /// Different as numbers.
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

    /// Number of comparisons.
    pub const COUNT: usize = 9;

    /// The comparison with a number.
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

/// An operand; its numbers are part of the file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Pod, Zeroable)]
#[repr(C)]
pub struct OperandRecord {
    /// One of the constants below.
    pub kind: u32,
    /// The name test, for attributes and children.
    pub test: u32,
    /// The inner operand, for children, deep operands and first nodes; the root of the conditions,
    /// for compounds.
    pub inner: u32,
    /// A [`View`], for attributes, string-values and text nodes; otherwise 0.
    pub view: u32,
    /// The comparisons that use this operand: a bit for each [`Comparison`].
    pub comparisons: u32,
}

impl OperandRecord {
    /// Attributes.
    pub const ATTRIBUTE: u32 = 0;
    /// The string-value.
    pub const VALUE: u32 = 1;
    /// The text nodes.
    pub const TEXT: u32 = 2;
    /// The values of the inner operand in children.
    pub const CHILD: u32 = 3;
    /// The values of the inner operand in the element and its descendants.
    pub const DEEP: u32 = 4;
    /// The values of the inner operand from its first node.
    pub const FIRST: u32 = 5;
    /// The element itself: its values are the trie nodes of the compound conditions that it meets.
    pub const COMPOUND: u32 = 6;

    /// Number of views.
    pub const VIEWS: usize = 8;
    /// [`View::Whole`] as a number.
    pub const WHOLE: usize = View::Whole as usize;
    /// [`View::Substrings`] as a number.
    pub const SUBSTRINGS: usize = View::Substrings as usize;
    /// [`View::Prefixes`] as a number.
    pub const PREFIXES: usize = View::Prefixes as usize;
    /// [`View::CaselessSubstrings`] as a number.
    pub const CASELESS_SUBSTRINGS: usize = View::CaselessSubstrings as usize;
    /// [`View::Length`] as a number.
    pub const LENGTH: usize = View::Length as usize;
    /// [`View::Date`] as a number.
    pub const DATE: usize = View::Date as usize;
    /// [`View::DateTime`] as a number.
    pub const DATE_TIME: usize = View::DateTime as usize;
    /// [`View::NormalizedSpace`] as a number.
    pub const NORMALIZED_SPACE: usize = View::NormalizedSpace as usize;

    /// Whether a view is a number other than that of the text.
    pub const fn is_numeric_view(view: usize) -> bool {
        matches!(view, Self::LENGTH | Self::DATE | Self::DATE_TIME)
    }
}

/// An immutable set of subscriptions.
pub struct Segment {
    /// Identifies the segment in this process; not in files.
    pub serial: u64,
    /// Name tests as [`test_key`]s; the first is `*`.
    pub tests: StringArray,
    /// Finds a name test.
    pub test_table: StringTable,
    /// One entry more than nodes.
    pub nodes: FlatArray<TrieNode>,
    /// By node.
    pub parent_links: FlatArray<ParentLink>,
    /// Child steps.
    pub child_edges: FlatArray<StepEdge>,
    /// Descendant steps.
    pub descendant_edges: FlatArray<StepEdge>,
    /// Conditions.
    pub conditions: FlatArray<Condition>,
    /// Classes, with [`VERIFY`].
    pub accepts: FlatArray<u32>,
    /// Operands whose values the elements at a node must record.
    pub required: FlatArray<u32>,
    /// By number.
    pub operands: FlatArray<OperandRecord>,
    /// Strings that conditions compare with.
    pub literals: StringArray,
    /// Finds a literal.
    pub literal_table: StringTable,
    /// Indexes of the literals that `substrings` searches.
    pub substring_literals: FlatArray<u32>,
    /// Indexes of the literals that `prefixes` searches.
    pub prefix_literals: FlatArray<u32>,
    /// Finds the literals that a value contains; not in files.
    pub substrings: SubstringSearch,
    /// Finds the literals that a value starts with; not in files.
    pub prefixes: PrefixSearch,
    /// Numbers that conditions compare with, ascending.
    pub numbers: FlatArray<f64>,
    /// The canonical query of each class.
    pub queries: StringArray,
    /// The subscriptions; the source is empty where it is the canonical query.
    pub subscriptions: SubscriptionTable,
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
        required_of,
        required,
        required,
        u32,
        "The operands whose values the elements at a node must record."
    );

    /// Where the edges of a node begin, and those of the next node: all its lists at once.
    #[inline]
    pub fn edges_of(&self, node: u32) -> (TrieNode, TrieNode) {
        let node = node as usize;
        (self.nodes[node], self.nodes[node + 1])
    }

    /// Prefetches what [`Segment::edges_of`] returns.
    #[inline]
    pub fn prefetch_node(&self, node: u32) {
        // Two nodes may lie in two cache lines.
        prefetch(&self.nodes, node as usize);
        prefetch(&self.nodes, node as usize + 1);
    }

    /// The number of steps to a node.
    pub fn steps_to(&self, node: u32) -> u32 {
        self.nodes[node as usize].steps & !TrieNode::AMBIGUOUS
    }

    /// Whether a label path can align with the steps to a node in more than one way.
    pub fn is_ambiguous(&self, node: u32) -> bool {
        self.nodes[node as usize].steps & TrieNode::AMBIGUOUS != 0
    }

    /// How many classes there are.
    pub fn class_count(&self) -> usize {
        self.subscriptions.class_count()
    }

    /// The query of a class, without its header tests. Queries of a file are first checked here.
    pub fn query_of(&self, class: u32) -> Result<Query, OpenError> {
        let (_, query) = HeaderTests::split(self.queries.get(class));
        parse_canonical(query).map_err(|_| damaged("one of its queries is not canonical"))
    }

    /// The header fields that some class tests.
    pub fn header_fields(&self) -> Vec<String> {
        let prefix = test_key(Some(HEADER_URI), Some(""));
        (0..self.tests.count() as u32)
            .filter_map(|test| self.tests.get(test).strip_prefix(prefix.as_str()))
            .map(str::to_owned)
            .collect()
    }

    /// The name tests that an expanded name passes, most specific first.
    pub fn matching_tests(&self, uri: &str, local: &str) -> Vec<u32> {
        if uri == HEADER_URI {
            // Wildcards of queries are about the document.
            return self.find_test(Some(uri), Some(local)).into_iter().collect();
        }
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

    /// Where an operand gets values from within the element: the inner operand of a deep operand,
    /// otherwise the operand itself.
    #[inline]
    pub fn source_operand(&self, operand: u32) -> &OperandRecord {
        let record = &self.operands[operand as usize];
        if record.kind == OperandRecord::DEEP {
            &self.operands[record.inner as usize]
        } else {
            record
        }
    }

    /// The index of a number that some condition compares with.
    #[inline]
    pub fn find_number(&self, number: f64) -> Option<u32> {
        self.numbers
            .binary_search_by(|other| other.total_cmp(&number))
            .ok()
            .map(|at| at as u32)
    }
}

/// A name test as a string; it is unambiguous, since names contain no NUL.
pub fn test_key(uri: Option<&str>, local: Option<&str>) -> String {
    let part = |text: Option<&str>| text.map_or("*".to_owned(), |text| format!("={text}"));
    format!("{}\0{}", part(uri), part(local))
}

/// [`test_key`] of a name test.
pub fn key_of(test: &NameTest) -> String {
    test_key(test.uri.as_deref(), test.local.as_deref())
}
