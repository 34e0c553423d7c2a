//! From a query to its branches.
//!
//! A *branch* is one path of the union as element steps, each with a conjunction of *atoms*: a
//! condition on a *slot* of that element. Where predicates say `or`, a path becomes several branches.
//! What atoms cannot say is left out ([`crate::path_index::dnf`]), which can only let more documents through, and
//! the branch is marked `verify`: documents that pass are then evaluated exactly by [`crate::select`].

use std::slice;

use crate::path_index::branch::{Branch, BranchStep};
use crate::path_index::dnf::{of_existence, of_predicates, Way, WAYS_MAX};
use crate::xpath::ast::{Axis, Kind, NameTest, Path, Query, Step};

/// The branches of a query. Those that can never match are left out.
pub fn compile(query: &Query) -> Vec<Branch> {
    query.branches.iter().flat_map(compile_path).collect()
}

fn compile_path(path: &Path) -> Vec<Branch> {
    let mut branches = vec![Branch {
        steps: Vec::with_capacity(path.steps.len()),
        verify: false,
    }];
    for step in &path.steps {
        if step.kind == Kind::Element {
            push(&mut branches, step.axis, &step.test);
            if !step.predicates.is_empty() {
                branches = demand(branches, of_predicates(&step.predicates));
            }
        } else {
            branches = compile_leaf(branches, step);
        }
    }
    branches.retain(|branch| !branch.steps.is_empty());
    branches
}

fn push(branches: &mut [Branch], axis: Axis, test: &NameTest) {
    for branch in branches {
        branch.steps.push(BranchStep {
            axis,
            test: test.clone(),
            atoms: Vec::new(),
        });
    }
}

/// An attribute or text step: a condition on the element that it starts from.
fn compile_leaf(mut branches: Vec<Branch>, leaf: &Step) -> Vec<Branch> {
    let from_document = branches.iter().all(|branch| branch.steps.is_empty());
    match (from_document, leaf.axis) {
        (false, _) => demand(branches, of_existence(slice::from_ref(leaf))),
        // The document node has neither attributes nor text.
        (true, Axis::Child) => Vec::new(),
        // `//@a`: some element has it.
        (true, Axis::Descendant) => {
            push(&mut branches, Axis::Descendant, &NameTest::default());
            let own = Step {
                axis: Axis::Child,
                ..leaf.clone()
            };
            demand(branches, of_existence(slice::from_ref(&own)))
        }
    }
}

/// Lets the last step of each branch meet one of `ways`.
fn demand(mut branches: Vec<Branch>, mut ways: Vec<Way>) -> Vec<Branch> {
    if branches.len() * ways.len() > WAYS_MAX {
        ways = vec![Way::UNKNOWN];
    }
    match ways.len() {
        0 => Vec::new(),
        1 => {
            let way = ways.remove(0);
            for branch in &mut branches {
                add(branch, way.clone());
            }
            branches
        }
        _ => {
            let mut all = Vec::with_capacity(branches.len() * ways.len());
            for branch in &branches {
                all.extend(ways.iter().map(|way| {
                    let mut branch = branch.clone();
                    add(&mut branch, way.clone());
                    branch
                }));
            }
            all
        }
    }
}

fn add(branch: &mut Branch, way: Way) {
    let last = branch.steps.last_mut().expect("a predicate has a step");
    last.atoms.extend(way.atoms);
    branch.verify |= !way.exact;
}
