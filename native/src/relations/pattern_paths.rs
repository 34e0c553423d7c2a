//! Converts a pattern to a path, with its positive facts as predicates.

use std::sync::Arc;

use super::conditions::self_test;
use super::tree_pattern::Node;
use crate::xpath::ast::{Axis, Expr, Kind, Path, Step};

/// The path of a pattern from the context of its first node.
pub fn to_path(node: &Node) -> Path {
    let mut steps = Vec::new();
    let mut next = Some(node);
    while let Some(node) = next {
        let onward = onward(node);
        let values = node.facts.values.iter();
        let mut predicates: Vec<Expr> = values.map(|fact| self_test(&fact.predicate)).collect();
        for child in &node.facts.children {
            if !onward.is_some_and(|onward| Arc::ptr_eq(onward, child)) {
                conditions(child, &mut predicates);
            }
        }
        steps.push(Step {
            axis: node.label.axis,
            kind: node.label.kind,
            test: node.label.test.clone(),
            predicates,
        });
        next = onward.map(|onward| &**onward);
    }
    Path { steps }
}

/// The child that continues the path: the spine child, or an only child.
fn onward(node: &Node) -> Option<&Arc<Node>> {
    node.spine_child().or(match &node.facts.children[..] {
        [only] if !node.label.spine => Some(only),
        _ => None,
    })
}

/// The conditions of a child beside the path.
fn conditions(node: &Node, predicates: &mut Vec<Expr>) {
    let mut path = to_path(node);
    let step_count = path.steps.len();
    let last = path.steps.last_mut().expect("a path of a node has a step");
    let is_one_node = step_count == 1 && last.kind == Kind::Attribute && last.axis == Axis::Child;
    let is_own = |each: &Expr| matches!(each, Expr::Compare(path, ..) if path.steps.is_empty());
    let count = last.predicates.len();
    // Comparisons of one node can be written after the path.
    if count == 0 || !last.predicates.iter().all(is_own) || !(is_one_node || count == 1) {
        predicates.push(Expr::Exists(path));
        return;
    }
    let compared = std::mem::take(&mut last.predicates);
    predicates.extend(compared.into_iter().map(|each| match each {
        Expr::Compare(_, op, literal) => Expr::Compare(path.clone(), op, literal),
        other => other,
    }));
}
