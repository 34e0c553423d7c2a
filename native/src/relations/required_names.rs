//! Names by which contained queries are found: a proof of containment matches each named step of the
//! container with a node of the contained query, so that this one mentions the same name.

use std::collections::BTreeSet;

use super::compiled_query::CompiledQuery;
use crate::xpath::ast::{Expr, Path, Query};

/// The local names that a query mentions, each once.
pub fn mentioned_names(query: &Query) -> Vec<&str> {
    let mut found = BTreeSet::new();
    for path in &query.branches {
        collect(path, &mut found, true);
    }
    found.into_iter().collect()
}

impl CompiledQuery {
    /// For each branch, local names that any query mentions that this one provably contains because of
    /// the branch, unless that query never matches.
    pub fn required_names(&self) -> Vec<Vec<&str>> {
        let branches = self.query().branches.iter();
        branches
            .map(|branch| {
                let mut found = BTreeSet::new();
                collect(branch, &mut found, false);
                found.into_iter().collect()
            })
            .collect()
    }
}

/// Collects the names of a path's steps and predicates: all of them, or those without which the path is
/// never proved to select a node.
fn collect<'a>(path: &'a Path, found: &mut BTreeSet<&'a str>, all: bool) {
    for step in &path.steps {
        found.extend(step.test.local.as_deref());
        for predicate in &step.predicates {
            collect_of_predicate(predicate, found, all);
        }
    }
}

fn collect_of_predicate<'a>(expr: &'a Expr, found: &mut BTreeSet<&'a str>, all: bool) {
    match expr {
        Expr::And(items) => {
            for item in items {
                collect_of_predicate(item, found, all);
            }
        }
        // One of the items suffices, and a negation is proved without mentioning its names.
        Expr::Or(items) if all => {
            for item in items {
                collect_of_predicate(item, found, all);
            }
        }
        Expr::Not(item) if all => collect_of_predicate(item, found, all),
        Expr::Or(_) | Expr::Not(_) => {}
        Expr::Exists(path) | Expr::Compare(path, ..) | Expr::Count(path, ..) => {
            collect(path, found, all);
        }
        Expr::Contains(path, text) | Expr::StartsWith(path, text) => {
            // It holds whatever the path selects.
            if all || !text.is_empty() {
                collect(path, found, all);
            }
        }
        Expr::String(test) => collect(&test.path, found, all),
        Expr::ComparePaths(left, _, right) => {
            collect(left, found, all);
            collect(right, found, all);
        }
        Expr::Position(..) | Expr::PositionLast(_) | Expr::Last(..) => {}
    }
}
