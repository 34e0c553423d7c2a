//! Predicates compiled for proofs: nested paths become goal automata.

use std::sync::{Arc, OnceLock};

use super::domain::Domain;
use super::goal_automaton::Goals;
use super::position_facts::{Counting, CountingRef, PositionCondition, PositionFact};
use super::tree_pattern::{facts_of, Facts};
use super::value_facts::{ValueFact, ValuePredicate};
use crate::xpath::ast::{Expr, Path, Step};

/// A predicate to prove of a node.
#[derive(Debug)]
pub enum Condition {
    True,
    All(Vec<Condition>),
    Any(Vec<Condition>),
    Not(Negation),
    /// A test of the node's own string-value.
    Value(ValueFact),
    Nested(NestedCondition),
    /// A condition that the relations do not look into.
    Opaque(Arc<Expr>),
    Position(PositionFact),
}

/// A condition on the nodes of a nested path.
#[derive(Clone, Debug, PartialEq)]
pub enum NestedCondition {
    Exists(Arc<Existence>),
    First(Arc<FirstNode>),
}

/// The nested path selects a node.
#[derive(Debug)]
pub struct Existence {
    path: Path,
    pub goals: Goals,
}

/// The string-value of the first node of a nested path passes a test that `""` does not.
#[derive(Debug)]
pub struct FirstNode {
    pub path: Path,
    pub fact: ValueFact,
    /// Some node of the path passes the test.
    pub some: Existence,
}

/// A negated predicate.
#[derive(Debug)]
pub struct Negation {
    item: Expr,
    counting: Counting,
    /// The ways in which the item can hold.
    alternatives: OnceLock<Vec<Facts>>,
}

impl PartialEq for Existence {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path
    }
}

impl PartialEq for FirstNode {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path && self.fact == other.fact
    }
}

impl Existence {
    pub fn new(path: Path) -> Self {
        let goals = Goals::of_existence(std::slice::from_ref(&path));
        Existence { path, goals }
    }
}

impl FirstNode {
    pub fn new(path: &Path, predicate: ValuePredicate) -> Self {
        FirstNode {
            path: path.clone(),
            some: Existence::new(restricted(path, &predicate)),
            fact: ValueFact::new(predicate),
        }
    }
}

impl Negation {
    pub fn alternatives(&self, domain: &Domain) -> &[Facts] {
        self.alternatives
            .get_or_init(|| facts_of(&self.item, self.counting.view(), domain, true))
    }
}

/// The predicates of a step, compiled.
pub fn conditions_of(step: &Step) -> Box<[Condition]> {
    let predicates = step.predicates.iter().enumerate();
    predicates
        .map(|(index, predicate)| condition(predicate, CountingRef::of(step, index)))
        .collect()
}

fn condition(expr: &Expr, counting: CountingRef<'_>) -> Condition {
    let all = |items: &[Expr]| items.iter().map(|item| condition(item, counting)).collect();
    match expr {
        Expr::And(items) => Condition::All(all(items)),
        Expr::Or(items) => Condition::Any(all(items)),
        Expr::Not(item) => Condition::Not(Negation {
            item: (**item).clone(),
            counting: counting.to_counting(),
            alternatives: OnceLock::new(),
        }),
        Expr::Exists(path) if path.steps.is_empty() => Condition::True,
        Expr::Exists(path) => exists(path.clone()),
        Expr::Compare(path, op, literal) => {
            let predicate = ValuePredicate::Compare(*op, literal.clone());
            if path.steps.is_empty() {
                Condition::Value(ValueFact::new(predicate))
            } else {
                exists(restricted(path, &predicate))
            }
        }
        Expr::Contains(path, text) => first(path, ValuePredicate::Contains(text.clone()), text),
        Expr::StartsWith(path, text) => first(path, ValuePredicate::StartsWith(text.clone()), text),
        Expr::String(_) | Expr::Count(..) | Expr::ComparePaths(..) => {
            Condition::Opaque(Arc::new(expr.clone()))
        }
        Expr::Position(..) | Expr::PositionLast(_) | Expr::Last(..) => {
            Condition::Position(PositionFact {
                counting: counting.to_counting(),
                condition: PositionCondition::of(expr).expect("the expression is positional"),
            })
        }
    }
}

fn exists(path: Path) -> Condition {
    Condition::Nested(NestedCondition::Exists(Arc::new(Existence::new(path))))
}

fn first(path: &Path, predicate: ValuePredicate, text: &str) -> Condition {
    if path.steps.is_empty() {
        Condition::Value(ValueFact::new(predicate))
    } else if text.is_empty() {
        Condition::True
    } else {
        let first = Arc::new(FirstNode::new(path, predicate));
        Condition::Nested(NestedCondition::First(first))
    }
}

/// The path restricted to nodes whose string-value passes a test.
pub fn restricted(path: &Path, predicate: &ValuePredicate) -> Path {
    let mut restricted = path.clone();
    let last = restricted
        .steps
        .last_mut()
        .expect("the path is not the empty path");
    last.predicates.push(self_test(predicate));
    restricted
}

/// The expression of a test of `.`.
pub fn self_test(predicate: &ValuePredicate) -> Expr {
    match predicate {
        ValuePredicate::Compare(op, literal) => {
            Expr::Compare(Path::default(), *op, literal.clone())
        }
        ValuePredicate::Contains(text) => Expr::Contains(Path::default(), text.clone()),
        ValuePredicate::StartsWith(text) => Expr::StartsWith(Path::default(), text.clone()),
    }
}
