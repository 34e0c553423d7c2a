//! A total order on syntax trees, for the normal form. It must be the same as in Python
//! (`tree_order.py`): variants and fields are ordered as they are declared.

use std::cmp::Ordering;

use super::ast::{Expr, Literal, Path, Step, StringCondition, StringTest};

pub(super) fn compare_exprs(left: &Expr, right: &Expr) -> Ordering {
    use Expr::{
        And, Compare, ComparePaths, Contains, Count, Exists, Last, Not, Or, Position, PositionLast,
        StartsWith, String,
    };
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
        (String(left), String(right)) => compare_string_tests(left, right),
        (Count(left, left_op, left_number), Count(right, right_op, right_number)) => {
            compare_paths(left, right)
                .then_with(|| left_op.cmp(right_op))
                .then_with(|| compare_numbers(*left_number, *right_number))
        }
        (ComparePaths(left, left_op, left_other), ComparePaths(right, right_op, right_other)) => {
            compare_paths(left, right)
                .then_with(|| left_op.cmp(right_op))
                .then_with(|| compare_paths(left_other, right_other))
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

fn compare_string_tests(left: &StringTest, right: &StringTest) -> Ordering {
    compare_paths(&left.path, &right.path)
        .then_with(|| left.functions.cmp(&right.functions))
        .then_with(|| compare_conditions(&left.condition, &right.condition))
}

fn compare_conditions(left: &StringCondition, right: &StringCondition) -> Ordering {
    use StringCondition::{Compare, Contains, Date, EndsWith, Length, Matches, StartsWith};
    match (left, right) {
        (Compare(left, left_literal), Compare(right, right_literal)) => left
            .cmp(right)
            .then_with(|| compare_literals(left_literal, right_literal)),
        (Contains(left), Contains(right))
        | (StartsWith(left), StartsWith(right))
        | (EndsWith(left), EndsWith(right)) => left.cmp(right),
        (Matches(left, left_flags), Matches(right, right_flags)) => {
            left.cmp(right).then_with(|| left_flags.cmp(right_flags))
        }
        (Length(left, left_number), Length(right, right_number)) => left
            .cmp(right)
            .then_with(|| compare_numbers(*left_number, *right_number)),
        (Date(left, left_op, left_text), Date(right, right_op, right_text)) => left
            .cmp(right)
            .then_with(|| left_op.cmp(right_op))
            .then_with(|| left_text.cmp(right_text)),
        _ => condition_rank(left).cmp(&condition_rank(right)),
    }
}

fn condition_rank(condition: &StringCondition) -> u8 {
    match condition {
        StringCondition::Compare(..) => 0,
        StringCondition::Contains(_) => 1,
        StringCondition::StartsWith(_) => 2,
        StringCondition::EndsWith(_) => 3,
        StringCondition::Matches(..) => 4,
        StringCondition::Length(..) => 5,
        StringCondition::Date(..) => 6,
    }
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
        Expr::String(_) => 7,
        Expr::Count(..) => 8,
        Expr::ComparePaths(..) => 9,
        Expr::Position(..) => 10,
        Expr::PositionLast(_) => 11,
        Expr::Last(..) => 12,
    }
}
