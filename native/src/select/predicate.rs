//! Predicates in three values: true, false, not known yet.

use crate::values::compare_numbers;
use crate::xpath::ast::{Expr, Op};

/// One predicate of a step.
#[derive(Clone, Debug)]
pub(super) struct Predicate {
    pub formula: Formula,
    /// Whether it asks for `position()`.
    pub needs_position: bool,
    /// Whether it asks for `last()`.
    pub needs_last: bool,
}

impl Predicate {
    pub fn new(formula: Formula) -> Self {
        let (mut needs_position, mut needs_last) = (false, false);
        formula.visit(&mut |part| {
            needs_position |= matches!(part, Formula::Position(..) | Formula::PositionLast(_));
            needs_last |= matches!(part, Formula::Last(..) | Formula::PositionLast(_));
        });
        Self {
            formula,
            needs_position,
            needs_last,
        }
    }
}

/// A predicate's formula; its atoms are numbered within the step.
#[derive(Clone, Debug)]
pub(super) enum Formula {
    And(Vec<Formula>),
    Or(Vec<Formula>),
    Not(Box<Formula>),
    Atom(usize),
    Position(Op, f64),
    PositionLast(Op),
    Last(Op, f64),
}

/// What is known of an atom.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Answer {
    Unknown,
    Known(bool),
    /// Of the nodes so far, the first in document order gives this; an earlier one may still come.
    First(u64, bool),
}

/// Where a node stands among its siblings; what is not known is `None`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    pub position: Option<u64>,
    pub last: Option<u64>,
}

impl Formula {
    /// Its value, where what is known decides it.
    pub fn value(&self, answers: &[Answer], place: Place) -> Option<bool> {
        match self {
            Self::And(parts) => all(parts, answers, place, true),
            Self::Or(parts) => all(parts, answers, place, false),
            Self::Not(part) => part.value(answers, place).map(|value| !value),
            Self::Atom(id) => match answers[*id] {
                Answer::Known(value) => Some(value),
                Answer::Unknown | Answer::First(..) => None,
            },
            Self::Position(op, n) => place
                .position
                .map(|position| compare_numbers(position as f64, *op, *n)),
            Self::PositionLast(op) => Some(compare_numbers(
                place.position? as f64,
                *op,
                place.last? as f64,
            )),
            Self::Last(op, n) => place.last.map(|last| compare_numbers(last as f64, *op, *n)),
        }
    }

    /// Whether a predicate asks for `last()`, outside its nested paths.
    pub fn asks_for_last(expr: &Expr) -> bool {
        match expr {
            Expr::And(parts) | Expr::Or(parts) => parts.iter().any(Self::asks_for_last),
            Expr::Not(part) => Self::asks_for_last(part),
            Expr::PositionLast(_) | Expr::Last(..) => true,
            Expr::Exists(_)
            | Expr::Compare(..)
            | Expr::Contains(..)
            | Expr::StartsWith(..)
            | Expr::Position(..) => false,
        }
    }

    fn visit(&self, visit: &mut impl FnMut(&Self)) {
        visit(self);
        match self {
            Self::And(parts) | Self::Or(parts) => parts.iter().for_each(|part| part.visit(visit)),
            Self::Not(part) => part.visit(visit),
            Self::Atom(_) | Self::Position(..) | Self::PositionLast(_) | Self::Last(..) => {}
        }
    }
}

/// `and` where `neutral` is true, `or` where it is false: one part against it decides.
fn all(parts: &[Formula], answers: &[Answer], place: Place, neutral: bool) -> Option<bool> {
    let mut value = Some(neutral);
    for part in parts {
        match part.value(answers, place) {
            Some(known) if known != neutral => return Some(!neutral),
            Some(_) => {}
            None => value = None,
        }
    }
    value
}
