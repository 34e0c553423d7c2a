//! Facts about `position()` and `last()`, and whether several can hold together.
//!
//! Two facts refer to the same count only after the same name test and the same earlier predicates; such
//! a position in a step is a [`Counting`].

use crate::xpath::ast::{Expr, Kind, NameTest, Op, Step};

/// The counted nodes: siblings of this kind and name that satisfy these predicates.
#[derive(Clone, Debug, PartialEq)]
pub struct Counting {
    pub kind: Kind,
    pub test: NameTest,
    pub earlier: Vec<Expr>,
}

/// A [`Counting`] by reference.
#[derive(Clone, Copy)]
pub struct CountingRef<'a> {
    kind: Kind,
    test: &'a NameTest,
    earlier: &'a [Expr],
}

impl Counting {
    pub fn view(&self) -> CountingRef<'_> {
        CountingRef {
            kind: self.kind,
            test: &self.test,
            earlier: &self.earlier,
        }
    }
}

impl<'a> CountingRef<'a> {
    /// The nodes that a predicate of a step counts.
    pub fn of(step: &'a Step, predicate: usize) -> Self {
        CountingRef {
            kind: step.kind,
            test: &step.test,
            earlier: &step.predicates[..predicate],
        }
    }

    pub fn to_counting(self) -> Counting {
        Counting {
            kind: self.kind,
            test: self.test.clone(),
            earlier: self.earlier.to_vec(),
        }
    }
}

/// A condition on a position.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PositionCondition {
    Position(Op, f64),
    PositionLast(Op),
    Last(Op, f64),
}

/// A condition on the position within one counting.
#[derive(Clone, Debug, PartialEq)]
pub struct PositionFact {
    pub counting: Counting,
    pub condition: PositionCondition,
}

impl PositionFact {
    pub fn opposite(mut self) -> Self {
        self.condition = self.condition.opposite();
        self
    }
}

impl PositionCondition {
    /// The condition of an expression, if it is one on a position.
    pub fn of(expr: &Expr) -> Option<Self> {
        match expr {
            Expr::Position(op, value) => Some(Self::Position(*op, *value)),
            Expr::PositionLast(op) => Some(Self::PositionLast(*op)),
            Expr::Last(op, value) => Some(Self::Last(*op, *value)),
            _ => None,
        }
    }

    /// The negated condition; positions are never NaN.
    pub fn opposite(self) -> Self {
        match self {
            Self::Position(op, value) => Self::Position(op.negated(), value),
            Self::PositionLast(op) => Self::PositionLast(op.negated()),
            Self::Last(op, value) => Self::Last(op.negated(), value),
        }
    }

    /// Whether the first or last node of any non-empty list satisfies the condition.
    pub fn is_met_by_some(self) -> bool {
        match self {
            Self::Position(op, value) => op.compare(1.0, value),
            Self::PositionLast(op) => matches!(op, Op::Eq | Op::Le | Op::Ge),
            Self::Last(..) => impossible([self.opposite()].into_iter()),
        }
    }
}

/// Whether provably no node satisfies all facts, `goal` included.
pub fn clash(facts: &[PositionFact], goal: Option<&PositionFact>) -> bool {
    let all = facts.iter().chain(goal);
    all.clone().enumerate().any(|(index, first)| {
        let is_first = !facts[..index.min(facts.len())]
            .iter()
            .any(|fact| fact.counting == first.counting);
        let same = all.clone().filter(|fact| fact.counting == first.counting);
        is_first && impossible(same.map(|fact| fact.condition))
    })
}

/// Whether provably no `1 <= position() <= last()` satisfies all conditions of one counting.
pub fn impossible(conditions: impl Iterator<Item = PositionCondition>) -> bool {
    let (mut can_be_last, mut can_be_earlier) = (true, true);
    let (mut position, mut last) = (Integers::new(), Integers::new());
    for condition in conditions {
        match condition {
            PositionCondition::PositionLast(op) => {
                can_be_last &= matches!(op, Op::Eq | Op::Le | Op::Ge);
                can_be_earlier &= matches!(op, Op::Ne | Op::Lt | Op::Le);
            }
            PositionCondition::Position(op, value) => position.narrow(op, value),
            PositionCondition::Last(op, value) => last.narrow(op, value),
        }
    }
    if !(can_be_last || can_be_earlier) || position.is_empty() || last.is_empty() {
        return true;
    }
    if !can_be_earlier {
        position.low = position.low.max(last.low);
        position.high = position.high.min(last.high);
        position.excluded.append(&mut last.excluded);
        return position.is_empty();
    }
    let smallest = position.smallest() + if can_be_last { 0.0 } else { 1.0 };
    last.low = last.low.max(smallest);
    last.is_empty()
}

/// The positive integers that satisfy some comparisons.
struct Integers {
    low: f64,
    high: f64,
    excluded: Vec<f64>,
}

impl Integers {
    fn new() -> Self {
        Integers {
            low: 1.0,
            high: f64::INFINITY,
            excluded: Vec::new(),
        }
    }

    fn narrow(&mut self, op: Op, value: f64) {
        match op {
            Op::Ne => self.excluded.push(value),
            Op::Eq => {
                self.low = self.low.max(value);
                self.high = self.high.min(value);
            }
            Op::Ge => self.low = self.low.max(value),
            Op::Le => self.high = self.high.min(value),
            Op::Gt => self.low = self.low.max(value.floor() + 1.0),
            Op::Lt => self.high = self.high.min(value.ceil() - 1.0),
        }
    }

    fn smallest(&self) -> f64 {
        let mut candidate = self.low.ceil();
        while self.excluded.contains(&candidate) {
            // From 2^53 on, adding one may change nothing.
            candidate = (candidate + 1.0).max(candidate.next_up());
        }
        candidate
    }

    fn is_empty(&self) -> bool {
        self.low == f64::INFINITY || self.smallest() > self.high
    }
}
