//! The reference: evaluates queries on a tree, directly after the definition in XPath 1.0.

use std::collections::BTreeSet;

use crate::value_tests::{compare, compare_numbers};
use crate::xpath::ast::{Axis, Expr, Kind, Op, Path, Query, Step, StringCondition};
use crate::xpath::date::milliseconds;
use crate::xpath::number::number;
use crate::xpath::regex::Pattern;
use crate::xpath::string_functions::apply;

use super::document::{NodeKind, TreeNode};

/// The nodes that a query selects, in document order.
pub fn select(tree: &[TreeNode], query: &Query) -> Vec<usize> {
    let mut selected = BTreeSet::new();
    for branch in &query.branches {
        selected.extend(nodes_of(tree, branch, 0));
    }
    selected.into_iter().collect()
}

/// The nodes of a path from one context node: each step starts from every node of the preceding one.
fn nodes_of(tree: &[TreeNode], path: &Path, context: usize) -> BTreeSet<usize> {
    let mut contexts = BTreeSet::from([context]);
    for step in &path.steps {
        if step.axis == Axis::Descendant {
            // `//` is `/descendant-or-self::node()/`
            contexts = contexts
                .iter()
                .flat_map(|&node| descendants_or_self(tree, node))
                .collect();
        }
        contexts = contexts
            .iter()
            .flat_map(|&node| nodes_of_step(tree, step, node))
            .collect();
    }
    contexts
}

fn descendants_or_self(tree: &[TreeNode], node: usize) -> Vec<usize> {
    let mut found = vec![node];
    for &child in &tree[node].children {
        found.extend(descendants_or_self(tree, child));
    }
    found
}

/// One step from one node: the axis, the node test, then the predicates in order.
fn nodes_of_step(tree: &[TreeNode], step: &Step, context: usize) -> Vec<usize> {
    let axis = if step.kind == Kind::Attribute {
        &tree[context].attributes
    } else {
        &tree[context].children
    };
    let mut nodes: Vec<usize> = axis
        .iter()
        .copied()
        .filter(|&node| passes_test(step, &tree[node].kind))
        .collect();
    for predicate in &step.predicates {
        let last = nodes.len();
        nodes = (1..)
            .zip(nodes)
            .filter(|&(position, node)| holds(tree, predicate, node, position, last))
            .map(|(_, node)| node)
            .collect();
    }
    nodes
}

fn passes_test(step: &Step, kind: &NodeKind) -> bool {
    match (step.kind, kind) {
        (Kind::Text, NodeKind::Text(_)) => true,
        (Kind::Element, NodeKind::Element((uri, local)))
        | (Kind::Attribute, NodeKind::Attribute((uri, local), _)) => {
            step.test.uri.as_deref().is_none_or(|wanted| wanted == *uri)
                && step
                    .test
                    .local
                    .as_deref()
                    .is_none_or(|wanted| wanted == *local)
        }
        _ => false,
    }
}

fn holds(tree: &[TreeNode], expr: &Expr, node: usize, position: usize, last: usize) -> bool {
    let (position_f, last_f) = (position as f64, last as f64);
    match expr {
        Expr::And(parts) => parts
            .iter()
            .all(|part| holds(tree, part, node, position, last)),
        Expr::Or(parts) => parts
            .iter()
            .any(|part| holds(tree, part, node, position, last)),
        Expr::Not(part) => !holds(tree, part, node, position, last),
        Expr::Exists(path) => !nodes_of(tree, path, node).is_empty(),
        Expr::Compare(path, op, literal) => nodes_of(tree, path, node)
            .into_iter()
            .any(|node| compare(&string_value(tree, node), *op, literal)),
        Expr::Contains(path, text) => first_value(tree, path, node).contains(&**text),
        Expr::StartsWith(path, text) => first_value(tree, path, node).starts_with(&**text),
        Expr::String(test) => {
            let value = test
                .functions
                .iter()
                .fold(first_value(tree, &test.path, node), |value, function| {
                    apply(function, &value)
                });
            holds_for_string(&test.condition, &value)
        }
        Expr::Count(path, op, n) => {
            compare_numbers(nodes_of(tree, path, node).len() as f64, *op, *n)
        }
        Expr::ComparePaths(left, op, right) => nodes_of(tree, left, node).into_iter().any(|one| {
            nodes_of(tree, right, node).into_iter().any(|two| {
                let (one, two) = (string_value(tree, one), string_value(tree, two));
                match op {
                    Op::Eq => one == two,
                    Op::Ne => one != two,
                    _ => compare_numbers(number(&one), *op, number(&two)),
                }
            })
        }),
        Expr::Position(op, n) => compare_numbers(position_f, *op, *n),
        Expr::PositionLast(op) => compare_numbers(position_f, *op, last_f),
        Expr::Last(op, n) => compare_numbers(last_f, *op, *n),
    }
}

fn holds_for_string(condition: &StringCondition, value: &str) -> bool {
    match condition {
        StringCondition::Compare(op, literal) => compare(value, *op, literal),
        StringCondition::Contains(text) => value.contains(&**text),
        StringCondition::StartsWith(text) => value.starts_with(&**text),
        StringCondition::EndsWith(text) => value.ends_with(&**text),
        StringCondition::Matches(pattern, flags) => {
            Pattern::compile(pattern, flags).unwrap().is_match(value)
        }
        StringCondition::Length(op, n) => compare_numbers(value.chars().count() as f64, *op, *n),
        StringCondition::Date(date_type, op, text) => {
            match (
                milliseconds(*date_type, value),
                milliseconds(*date_type, text),
            ) {
                (Some(value), Some(literal)) => compare_numbers(value, *op, literal),
                _ => false,
            }
        }
    }
}

/// `string(path)`
fn first_value(tree: &[TreeNode], path: &Path, node: usize) -> String {
    nodes_of(tree, path, node)
        .first()
        .map_or(String::new(), |&first| string_value(tree, first))
}

fn string_value(tree: &[TreeNode], node: usize) -> String {
    match &tree[node].kind {
        NodeKind::Attribute(_, value) | NodeKind::Text(value) => value.clone(),
        NodeKind::Document | NodeKind::Element(_) => tree[node]
            .children
            .iter()
            .map(|&child| string_value(tree, child))
            .collect(),
    }
}
