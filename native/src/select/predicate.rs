//! Predicates in three-valued logic: true, false, not known yet.

use crate::value_tests::compare_numbers;
use crate::xpath::ast::{Expr, Op};

/// One predicate of a step.
#[derive(Clone, Debug)]
pub(super) struct Predicate {
    pub formula: Formula,
    /// Whether it uses `position()`.
    pub needs_position: bool,
    /// Whether it uses `last()`.
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

/// A Boolean formula over the atoms of a step, which are numbered within the step.
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

/// The position of a node among its siblings; `None` if it is not known.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SiblingPosition {
    pub position: Option<u64>,
    pub last: Option<u64>,
}

impl Formula {
    /// Always true, or always false.
    pub fn constant(value: bool) -> Self {
        if value {
            Self::And(Vec::new())
        } else {
            Self::Or(Vec::new())
        }
    }

    /// Its value, if positions and the atoms with a value decide it.
    pub fn value(
        &self,
        atom: &impl Fn(usize) -> Option<bool>,
        sibling: SiblingPosition,
    ) -> Option<bool> {
        match self {
            Self::And(parts) => combine(parts, atom, sibling, true),
            Self::Or(parts) => combine(parts, atom, sibling, false),
            Self::Not(part) => part.value(atom, sibling).map(|value| !value),
            Self::Atom(number) => atom(*number),
            Self::Position(op, n) => sibling
                .position
                .map(|position| compare_numbers(position as f64, *op, *n)),
            Self::PositionLast(op) => Some(compare_numbers(
                sibling.position? as f64,
                *op,
                sibling.last? as f64,
            )),
            Self::Last(op, n) => sibling
                .last
                .map(|last| compare_numbers(last as f64, *op, *n)),
        }
    }

    /// Whether a predicate uses `last()` outside its nested paths.
    pub fn uses_last(expr: &Expr) -> bool {
        match expr {
            Expr::And(parts) | Expr::Or(parts) => parts.iter().any(Self::uses_last),
            Expr::Not(part) => Self::uses_last(part),
            Expr::PositionLast(_) | Expr::Last(..) => true,
            Expr::Exists(_)
            | Expr::Compare(..)
            | Expr::Contains(..)
            | Expr::StartsWith(..)
            | Expr::String(_)
            | Expr::Count(..)
            | Expr::ComparePaths(..)
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

/// Evaluates `and` if `neutral` is true and `or` if it is false: one part of the opposite value
/// decides.
fn combine(
    parts: &[Formula],
    atom: &impl Fn(usize) -> Option<bool>,
    sibling: SiblingPosition,
    neutral: bool,
) -> Option<bool> {
    let mut value = Some(neutral);
    for part in parts {
        match part.value(atom, sibling) {
            Some(known) if known != neutral => return Some(!neutral),
            Some(_) => {}
            None => value = None,
        }
    }
    value
}
