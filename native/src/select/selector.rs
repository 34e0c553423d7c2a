//! Compiled queries.
//!
//! A query is compiled by a [`super::SelectorCompiler`]. Equal steps after equal steps are the same object
//! in all queries that one compiler compiled, and so are equal tests in predicates, the *atoms*: this is
//! what [`super::QuerySteps`] recognises shared parts by.

use std::sync::Arc;

use crate::value_tests::ValueTest;
use crate::xpath::ast::{Axis, Kind, NameTest, Op, Query};
use crate::xpath::number::number;

use super::accumulator::{ComparedValue, Side};
use super::predicate::Predicate;
use super::query_work::STEPS_PER_PREPARED_ATOM;
use super::selector_compiler::SelectorCompiler;

/// A compiled query. It is immutable, so threads and documents can share it.
#[derive(Clone, Debug)]
pub struct Selector {
    /// The steps of each branch of the union.
    pub(super) branches: Box<[Box<[Arc<Step>]>]>,
    /// Steps to prepare it in a [`super::QuerySteps`] in which it shares nothing.
    pub(super) preparation: u64,
}

impl Selector {
    /// Compiles a query that shares nothing with others.
    pub fn compile(query: &Query) -> Self {
        SelectorCompiler::default().compile(query)
    }
}

/// One step, of a branch of a query or of a path nested in a predicate.
#[derive(Debug)]
pub(super) struct Step {
    pub axis: Axis,
    pub kind: Kind,
    pub test: NameTest,
    pub predicates: Box<[Predicate]>,
    /// Whether a predicate uses `position()`.
    pub has_position: bool,
    /// Index of the first predicate that uses `last()`; it and those after it are decided only when
    /// the parent ends. The number of predicates if none uses it.
    pub first_deferred: usize,
    /// Whether that predicate is `[last()]`: among deferred siblings, only the last one matters.
    pub last_only: bool,
    /// The distinct tests of the predicates on nested paths and on the node's own value.
    pub atoms: Box<[Arc<Atom>]>,
    /// Steps to prepare it with its atoms.
    pub preparation: u64,
}

impl Step {
    /// Whether its nodes are attributes of its context node.
    pub fn is_own_attribute(&self) -> bool {
        self.kind == Kind::Attribute && self.axis == Axis::Child
    }
}

/// A test in a predicate whose value becomes known while the node is read. It depends only on the node.
#[derive(Debug)]
pub(super) struct Atom {
    pub test: AtomTest,
    /// The nested paths: none for a test of the node's own value, up to two for a comparison of paths.
    pub paths: Box<[NestedPath]>,
    /// Whether all paths start at the node's own attributes, so that the start tag decides it.
    pub at_start_tag: bool,
    /// Steps to prepare it with its paths.
    pub preparation: u64,
}

impl Atom {
    pub fn new(test: AtomTest, paths: Box<[NestedPath]>, at_start_tag: bool) -> Self {
        let steps = paths.iter().flat_map(|path| &path.steps);
        let of_steps: u64 = steps.map(|step| step.preparation).sum();
        Self {
            test,
            paths,
            at_start_tag,
            preparation: STEPS_PER_PREPARED_ATOM + of_steps,
        }
    }
}

/// What an atom tests.
#[derive(Debug)]
pub(super) enum AtomTest {
    /// The node's own string-value.
    Value(ValueTest),
    /// The nodes of a nested path.
    Path {
        /// The value if the path selects nothing, or nothing that passes.
        default: bool,
        /// Whether nodes become certain in document order, so that the first to arrive decides.
        in_order: bool,
    },
    /// The number of nodes of a nested path.
    Count {
        op: Op,
        n: f64,
        /// Whether a node may arrive more than once: by several ways through nested elements.
        may_repeat: bool,
    },
    /// The nodes of two nested paths, compared with each other.
    Pair {
        op: Op,
        /// For each path, whether it is the node itself.
        is_self: [bool; 2],
    },
}

impl AtomTest {
    /// Whether the node's own value is compared with that of a path, and how.
    pub fn own_value(&self) -> Option<ValueType> {
        match self {
            Self::Pair { op, is_self } if is_self.contains(&true) => Some(ValueType::of(*op)),
            _ => None,
        }
    }
}

/// A path in a predicate, with at least one step.
#[derive(Debug)]
pub(super) struct NestedPath {
    pub steps: Box<[Step]>,
    pub goal: Goal,
}

/// What a path is for.
#[derive(Debug)]
pub(super) enum Goal {
    /// The nodes themselves: a branch of the query.
    Select,
    /// Whether there is a node.
    Exists,
    /// Whether the value of some node passes.
    AnyPasses(ValueTest),
    /// Whether the value of the first node passes.
    FirstPasses(ValueTest),
    /// The number of nodes.
    Count,
    /// The values of the nodes, which are compared with those of another path.
    Compare(Side, ValueType),
}

/// As what values of two paths are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueType {
    Text,
    Number,
}

impl ValueType {
    pub fn of(op: Op) -> Self {
        match op {
            Op::Eq | Op::Ne => Self::Text,
            Op::Lt | Op::Le | Op::Gt | Op::Ge => Self::Number,
        }
    }

    /// A complete value.
    pub fn of_text(self, text: &str) -> ComparedValue {
        match self {
            Self::Text => ComparedValue::Text(text.into()),
            Self::Number => ComparedValue::Number(number(text)),
        }
    }
}
