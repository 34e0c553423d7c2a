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

/// What is known about an atom.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum AtomValue {
    Unknown,
    Known(bool),
    /// The value for the first node in document order so far, with its document-order number. An
    /// earlier node may still become certain.
    Provisional(u64, bool),
}

/// The position of a node among its siblings; `None` if it is not known.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SiblingPosition {
    pub position: Option<u64>,
    pub last: Option<u64>,
}

impl Formula {
    /// Its value, if the known atoms and positions decide it.
    pub fn value(&self, atoms: &[AtomValue], sibling: SiblingPosition) -> Option<bool> {
        match self {
            Self::And(parts) => combine(parts, atoms, sibling, true),
            Self::Or(parts) => combine(parts, atoms, sibling, false),
            Self::Not(part) => part.value(atoms, sibling).map(|value| !value),
            Self::Atom(id) => match atoms[*id] {
                AtomValue::Known(value) => Some(value),
                AtomValue::Unknown | AtomValue::Provisional(..) => None,
            },
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
    atoms: &[AtomValue],
    sibling: SiblingPosition,
    neutral: bool,
) -> Option<bool> {
    let mut value = Some(neutral);
    for part in parts {
        match part.value(atoms, sibling) {
            Some(known) if known != neutral => return Some(!neutral),
            Some(_) => {}
            None => value = None,
        }
    }
    value
}
