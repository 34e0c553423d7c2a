//! From a query to what the shared engine files: linear branches with simple conditions.
//!
//! A *branch* is one path of the union as element steps, each with a conjunction of *atoms*: a
//! condition on a *slot* of that element (an attribute, its string-value, its text nodes, a child's
//! string-value). What an atom cannot say (`or`, `not`, positions, deeper nested paths) is left out,
//! which can only let more documents through, and the branch is marked `verify`: documents that pass
//! are then evaluated exactly by [`crate::select`].

use crate::values::number;
use crate::xpath::ast::{Axis, Expr, Kind, Literal, NameTest, Op, Path, Query, Step};

/// What a condition looks at, seen from an element.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Slot {
    /// The attribute of that name.
    Attribute(NameTest),
    /// The element's own string-value.
    Value,
    /// Each text node that is a child of the element.
    Text,
    /// The string-value of each child element of that name.
    Child(NameTest),
}

/// A condition on one value of a slot; it holds when it holds for any of them.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// There is a value.
    Exists,
    /// It equals, as a string.
    EqText(Box<str>),
    /// It differs, as a string.
    NeText(Box<str>),
    /// It compares, as a number.
    Number(Op, f64),
}

/// A slot and a test.
#[derive(Clone, Debug, PartialEq)]
pub struct Atom {
    /// Where to look.
    pub slot: Slot,
    /// What must hold.
    pub test: Test,
}

/// One element step of a branch.
#[derive(Clone, Debug, PartialEq)]
pub struct BranchStep {
    /// `/` or `//`.
    pub axis: Axis,
    /// The element's name.
    pub test: NameTest,
    /// All of these must hold.
    pub atoms: Vec<Atom>,
}

/// One path of a query, as far as the shared engine decides it.
#[derive(Clone, Debug, PartialEq)]
pub struct Branch {
    /// From the document node down; at least one.
    pub steps: Vec<BranchStep>,
    /// Whether the branch says less than the query: a document that passes must be verified.
    pub verify: bool,
}

/// The branches of a query. Those that can never match are left out.
pub fn compile(query: &Query) -> Vec<Branch> {
    query.branches.iter().filter_map(compile_path).collect()
}

/// What became of a predicate.
enum Outcome {
    /// Filed exactly, or always true.
    Exact,
    /// Left out, in part or whole.
    Weakened,
    /// It can never hold.
    Never,
}

fn compile_path(path: &Path) -> Option<Branch> {
    let mut branch = Branch {
        steps: Vec::with_capacity(path.steps.len()),
        verify: false,
    };
    for step in &path.steps {
        if step.kind != Kind::Element {
            return compile_leaf(branch, step);
        }
        let mut atoms = Vec::new();
        for predicate in &step.predicates {
            match file_predicate(predicate, &mut atoms) {
                Outcome::Exact => {}
                Outcome::Weakened => branch.verify = true,
                Outcome::Never => return None,
            }
        }
        branch.steps.push(BranchStep {
            axis: step.axis,
            test: step.test.clone(),
            atoms,
        });
    }
    (!branch.steps.is_empty()).then_some(branch)
}

/// An attribute or text step: a condition on the element that owns it.
fn compile_leaf(mut branch: Branch, leaf: &Step) -> Option<Branch> {
    match (leaf.axis, branch.steps.is_empty()) {
        // The document node has neither attributes nor text.
        (Axis::Child, true) => return None,
        // `//@a` from the document node: some element has it.
        (Axis::Descendant, true) => {
            branch.steps.push(BranchStep {
                axis: Axis::Descendant,
                test: NameTest::default(),
                atoms: Vec::new(),
            });
        }
        // `e//@a`: of `e` or below, which is no condition on `e` alone.
        (Axis::Descendant, false) => {
            branch.verify = true;
            return Some(branch);
        }
        (Axis::Child, false) => {}
    }
    let owner = branch
        .steps
        .last_mut()
        .expect("a step was there or was pushed");
    let Some(slot) = slot_of(leaf.kind, &leaf.test) else {
        branch.verify = true;
        return Some(branch);
    };
    let mut exact = true;
    let mut atoms = Vec::new();
    for predicate in &leaf.predicates {
        match predicate {
            Expr::Compare(path, op, literal) if path.steps.is_empty() => {
                atoms.push(Atom {
                    slot: slot.clone(),
                    test: comparison(*op, literal)?,
                });
            }
            _ => exact = false,
        }
    }
    // Several conditions must hold on one text node; an attribute is one node anyway.
    if slot == Slot::Text && leaf.predicates.len() > 1 {
        exact = false;
    }
    if atoms.is_empty() {
        atoms.push(Atom {
            slot,
            test: Test::Exists,
        });
    }
    owner.atoms.extend(atoms);
    branch.verify |= !exact;
    Some(branch)
}

fn file_predicate(predicate: &Expr, atoms: &mut Vec<Atom>) -> Outcome {
    match predicate {
        Expr::And(items) => {
            let mut whole = Outcome::Exact;
            for item in items {
                match file_predicate(item, atoms) {
                    Outcome::Exact => {}
                    Outcome::Weakened => whole = Outcome::Weakened,
                    Outcome::Never => return Outcome::Never,
                }
            }
            whole
        }
        Expr::Exists(path) => file_existence(path, atoms),
        Expr::Compare(path, op, literal) => {
            let Some(test) = comparison(*op, literal) else {
                return Outcome::Never;
            };
            match slot_of_path(path) {
                Some(slot) => {
                    atoms.push(Atom { slot, test });
                    Outcome::Exact
                }
                None => weaken_to_existence(path, atoms),
            }
        }
        // An empty node-set's string-value contains and starts with "" only.
        Expr::Contains(path, text) | Expr::StartsWith(path, text) if !text.is_empty() => {
            weaken_to_existence(path, atoms)
        }
        _ => Outcome::Weakened,
    }
}

fn file_existence(path: &Path, atoms: &mut Vec<Atom>) -> Outcome {
    if path.steps.is_empty() {
        return Outcome::Exact;
    }
    match slot_of_path(path) {
        Some(slot) => {
            atoms.push(Atom {
                slot,
                test: Test::Exists,
            });
            Outcome::Exact
        }
        None => weaken_to_existence(path, atoms),
    }
}

/// Files that the first step of a nested path selects something, where that is an atom.
fn weaken_to_existence(path: &Path, atoms: &mut Vec<Atom>) -> Outcome {
    if let Some(slot) = path.steps.first().and_then(slot_of_step) {
        atoms.push(Atom {
            slot,
            test: Test::Exists,
        });
    }
    Outcome::Weakened
}

fn slot_of_path(path: &Path) -> Option<Slot> {
    match path.steps.as_slice() {
        [] => Some(Slot::Value),
        [step] if step.predicates.is_empty() => slot_of_step(step),
        _ => None,
    }
}

/// The slot a single child step reads, its predicates aside.
fn slot_of_step(step: &Step) -> Option<Slot> {
    (step.axis == Axis::Child)
        .then(|| slot_of(step.kind, &step.test))
        .flatten()
}

fn slot_of(kind: Kind, test: &NameTest) -> Option<Slot> {
    let named = test.uri.is_some() && test.local.is_some();
    match kind {
        Kind::Text => Some(Slot::Text),
        Kind::Attribute if named => Some(Slot::Attribute(test.clone())),
        Kind::Element if named => Some(Slot::Child(test.clone())),
        _ => None,
    }
}

/// The test of a comparison; `None` where it can never hold.
fn comparison(op: Op, literal: &Literal) -> Option<Test> {
    match (op, literal) {
        (Op::Eq, Literal::Text(text)) => Some(Test::EqText(text.clone())),
        (Op::Ne, Literal::Text(text)) => Some(Test::NeText(text.clone())),
        (_, Literal::Number(number)) => number_test(op, *number),
        (_, Literal::Text(text)) => number_test(op, number(text)),
    }
}

fn number_test(op: Op, number: f64) -> Option<Test> {
    // A comparison with NaN is false, except `!=`, which any value meets.
    match (number.is_nan(), op) {
        (true, Op::Ne) => Some(Test::Exists),
        (true, _) => None,
        // One zero, so that equal numbers are one literal.
        (false, _) => Some(Test::Number(op, if number == 0.0 { 0.0 } else { number })),
    }
}
