//! Detects positional predicates that contradict the number of candidate nodes.
//!
//! `a[1][2]` selects the second of one node, `@a[2]` a second attribute of one name, `/a[2]` a second
//! root. Sound but incomplete.

use super::name_tests::is_exact;
use super::position_facts::{impossible, PositionCondition};
use crate::xpath::ast::{Axis, Expr, Kind, Op, Path, Step};

/// Whether a path from the document node provably selects nothing in any document.
pub fn miscounts(branch: &Path) -> bool {
    branch.steps.iter().enumerate().any(|(index, step)| {
        let is_root = index == 0 && step.axis == Axis::Child && step.kind == Kind::Element;
        step_miscounts(step, if is_root { 1.0 } else { siblings_max(step) })
    })
}

/// Maximum number of nodes of one parent that satisfy the step's name test.
fn siblings_max(step: &Step) -> f64 {
    if step.kind == Kind::Attribute && is_exact(&step.test) {
        1.0
    } else {
        f64::INFINITY
    }
}

fn step_miscounts(step: &Step, mut count_max: f64) -> bool {
    step.predicates.iter().any(|predicate| {
        let never = never_holds(predicate, count_max);
        count_max = left_max(predicate, count_max);
        never
    })
}

/// Whether the predicate holds for none of at most `count_max` nodes.
fn never_holds(expr: &Expr, count_max: f64) -> bool {
    match expr {
        Expr::And(items) => {
            let counted = items.iter().filter_map(PositionCondition::of);
            is_excluded(counted, count_max) || items.iter().any(|item| never_holds(item, count_max))
        }
        Expr::Or(items) => items.iter().all(|item| never_holds(item, count_max)),
        Expr::Exists(path) | Expr::Compare(path, ..) => nested_miscounts(path),
        Expr::Contains(path, text) | Expr::StartsWith(path, text) => {
            !text.is_empty() && nested_miscounts(path)
        }
        Expr::ComparePaths(left, _, right) => nested_miscounts(left) || nested_miscounts(right),
        Expr::Position(..) | Expr::PositionLast(_) | Expr::Last(..) => {
            is_excluded(PositionCondition::of(expr).into_iter(), count_max)
        }
        Expr::Not(_) | Expr::String(_) | Expr::Count(..) => false,
    }
}

fn is_excluded(counted: impl Iterator<Item = PositionCondition>, count_max: f64) -> bool {
    let mut counted = counted.peekable();
    counted.peek().is_some()
        && impossible(counted.chain([PositionCondition::Last(Op::Le, count_max)]))
}

fn nested_miscounts(path: &Path) -> bool {
    path.steps
        .iter()
        .any(|step| step_miscounts(step, siblings_max(step)))
}

/// How many of at most `count_max` nodes can satisfy the predicate.
fn left_max(expr: &Expr, count_max: f64) -> f64 {
    let left = match expr {
        Expr::And(items) => items
            .iter()
            .map(|item| left_max(item, count_max))
            .fold(count_max, f64::min),
        Expr::Or(items) => items.iter().map(|item| left_max(item, count_max)).sum(),
        Expr::Position(Op::Eq, _) | Expr::PositionLast(Op::Eq | Op::Ge) => 1.0,
        Expr::Position(Op::Le, value) | Expr::Last(Op::Eq | Op::Le, value) => value.max(0.0),
        Expr::Position(Op::Lt, value) | Expr::Last(Op::Lt, value) => (value.ceil() - 1.0).max(0.0),
        _ => count_max,
    };
    left.min(count_max)
}
