//! A total order on syntax trees, for the normal form. It must be the same as in Python
//! (`tree_order.py`): variants and fields are ordered as they are declared.

use std::cmp::Ordering;

use super::ast::{Expr, Literal, Path, Step};

pub(super) fn compare_exprs(left: &Expr, right: &Expr) -> Ordering {
    use Expr::{And, Compare, Contains, Exists, Last, Not, Or, Position, PositionLast, StartsWith};
    match (left, right) {
        (And(left), And(right)) | (Or(left), Or(right)) => {
            compare_lists(left, right, compare_exprs)
        }
        (Not(left), Not(right)) => compare_exprs(left, right),
        (Exists(left), Exists(right)) => compare_paths(left, right),
        (Compare(left, left_op, left_literal), Compare(right, right_op, right_literal)) => {
            compare_paths(left, right)
                .then_with(|| left_op.cmp(right_op))
                .then_with(|| compare_literals(left_literal, right_literal))
        }
        (Contains(left, left_text), Contains(right, right_text))
        | (StartsWith(left, left_text), StartsWith(right, right_text)) => {
            compare_paths(left, right).then_with(|| left_text.cmp(right_text))
        }
        (Position(left, left_number), Position(right, right_number))
        | (Last(left, left_number), Last(right, right_number)) => left
            .cmp(right)
            .then_with(|| compare_numbers(*left_number, *right_number)),
        (PositionLast(left), PositionLast(right)) => left.cmp(right),
        _ => rank(left).cmp(&rank(right)),
    }
}

pub(super) fn compare_paths(left: &Path, right: &Path) -> Ordering {
    compare_lists(&left.steps, &right.steps, compare_steps)
}

fn compare_steps(left: &Step, right: &Step) -> Ordering {
    left.axis
        .cmp(&right.axis)
        .then_with(|| left.kind.cmp(&right.kind))
        .then_with(|| left.test.cmp(&right.test))
        .then_with(|| compare_lists(&left.predicates, &right.predicates, compare_exprs))
}

fn compare_literals(left: &Literal, right: &Literal) -> Ordering {
    match (left, right) {
        (Literal::Text(left), Literal::Text(right)) => left.cmp(right),
        (Literal::Number(left), Literal::Number(right)) => compare_numbers(*left, *right),
        (Literal::Text(_), Literal::Number(_)) => Ordering::Less,
        (Literal::Number(_), Literal::Text(_)) => Ordering::Greater,
    }
}

fn compare_numbers(left: f64, right: f64) -> Ordering {
    // Queries contain no NaN, and 0 equals -0.
    left.partial_cmp(&right).unwrap_or(Ordering::Equal)
}

fn compare_lists<T>(left: &[T], right: &[T], compare: fn(&T, &T) -> Ordering) -> Ordering {
    let different = left
        .iter()
        .zip(right)
        .map(|(left, right)| compare(left, right))
        .find(|ordering| ordering.is_ne());
    different.unwrap_or_else(|| left.len().cmp(&right.len()))
}

fn rank(expr: &Expr) -> u8 {
    match expr {
        Expr::And(_) => 0,
        Expr::Or(_) => 1,
        Expr::Not(_) => 2,
        Expr::Exists(_) => 3,
        Expr::Compare(..) => 4,
        Expr::Contains(..) => 5,
        Expr::StartsWith(..) => 6,
        Expr::Position(..) => 7,
        Expr::PositionLast(_) => 8,
        Expr::Last(..) => 9,
    }
}
