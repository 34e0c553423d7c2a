//! Compiles a query to its branches.
//!
//! A *branch* is one path of the union as a sequence of element steps, each with a conjunction of
//! *atoms*: conditions on *operands* of that element. A path whose predicates say `or` becomes
//! several branches. Conditions that atoms cannot express are dropped ([`crate::path_index::dnf`]),
//! which can only let more documents through; the branch is then marked `verify`, and documents
//! that match it are evaluated exactly.

use std::slice;

use crate::path_index::branch::{Atom, AtomTest, Branch, BranchStep, Operand, View};
use crate::path_index::dnf::{
    conjunctions_of_existence, conjunctions_of_predicates, Conjunction, CONJUNCTIONS_MAX,
};
use crate::subscription_store::header_tests::{attribute_test, HeaderTests};
use crate::xpath::ast::{Axis, Kind, NameTest, Path, Query, Step};

/// The branches of a query, without those that can never match.
pub fn compile(query: &Query) -> Vec<Branch> {
    query.branches.iter().flat_map(compile_path).collect()
}

/// Requires tests of header fields in each branch, as conditions on attributes of the root element.
///
/// A branch that begins with `//` selects the root element or something below it, which makes two
/// branches.
pub fn require_header(branches: Vec<Branch>, header: &HeaderTests) -> Vec<Branch> {
    if header.is_empty() {
        return branches;
    }
    let atoms: Vec<Atom> = header
        .iter()
        .map(|(field, value)| Atom {
            operand: Operand::Attribute(attribute_test(field), View::Whole),
            test: AtomTest::EqText(value.into()),
        })
        .collect();
    let mut required = Vec::with_capacity(branches.len());
    for mut branch in branches {
        if branch.steps[0].axis == Axis::Descendant {
            let mut below = branch.clone();
            below.steps.insert(
                0,
                BranchStep {
                    axis: Axis::Child,
                    test: NameTest::default(),
                    atoms: atoms.clone(),
                },
            );
            required.push(below);
        }
        let first = &mut branch.steps[0];
        first.axis = Axis::Child;
        first.atoms.extend(atoms.iter().cloned());
        required.push(branch);
    }
    required
}

fn compile_path(path: &Path) -> Vec<Branch> {
    let mut branches = vec![Branch {
        steps: Vec::with_capacity(path.steps.len()),
        verify: false,
    }];
    for step in &path.steps {
        if step.kind == Kind::Element {
            push_step(&mut branches, step.axis, &step.test);
            if !step.predicates.is_empty() {
                branches = require_any(branches, conjunctions_of_predicates(&step.predicates));
            }
        } else {
            branches = compile_leaf(branches, step);
        }
    }
    branches.retain(|branch| !branch.steps.is_empty());
    branches
}

fn push_step(branches: &mut [Branch], axis: Axis, test: &NameTest) {
    for branch in branches {
        branch.steps.push(BranchStep {
            axis,
            test: test.clone(),
            atoms: Vec::new(),
        });
    }
}

/// Compiles an attribute or text step to a condition on the element before it.
fn compile_leaf(mut branches: Vec<Branch>, leaf: &Step) -> Vec<Branch> {
    let from_document = branches.iter().all(|branch| branch.steps.is_empty());
    match (from_document, leaf.axis) {
        (false, _) => require_any(branches, conjunctions_of_existence(slice::from_ref(leaf))),
        // The document node has neither attributes nor text.
        (true, Axis::Child) => Vec::new(),
        // `//@a`: any element may have it.
        (true, Axis::Descendant) => {
            push_step(&mut branches, Axis::Descendant, &NameTest::default());
            let own = Step {
                axis: Axis::Child,
                ..leaf.clone()
            };
            require_any(branches, conjunctions_of_existence(slice::from_ref(&own)))
        }
    }
}

/// Requires one of `conjunctions` of the last step of each branch.
fn require_any(mut branches: Vec<Branch>, mut conjunctions: Vec<Conjunction>) -> Vec<Branch> {
    if branches.len() * conjunctions.len() > CONJUNCTIONS_MAX {
        conjunctions = vec![Conjunction::UNKNOWN];
    }
    match conjunctions.len() {
        0 => Vec::new(),
        1 => {
            let conjunction = conjunctions.remove(0);
            for branch in &mut branches {
                require(branch, conjunction.clone());
            }
            branches
        }
        _ => {
            let mut all = Vec::with_capacity(branches.len() * conjunctions.len());
            for branch in &branches {
                all.extend(conjunctions.iter().map(|conjunction| {
                    let mut branch = branch.clone();
                    require(&mut branch, conjunction.clone());
                    branch
                }));
            }
            all
        }
    }
}

fn require(branch: &mut Branch, conjunction: Conjunction) {
    let last = branch.steps.last_mut().expect("a predicate has a step");
    last.atoms.extend(conjunction.atoms);
    branch.verify |= !conjunction.exact;
}
