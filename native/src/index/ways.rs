//! The ways in which a predicate can hold, as conditions on slots.
//!
//! A predicate is a choice between *ways*, each a conjunction of atoms. What no atom says (`not`,
//! positions) is left out of a way, which is then not *exact*. Conditions of a nested path are turned
//! into atoms of the outermost element, by slots that reach down along the path. Two of them on one
//! nested element, as in `[a[@k]/b]`, must hold for the same `a`, which two atoms do not say: such a way
//! is not exact either.

use super::branch::{Atom, Slot, Test, View};
use crate::values::number;
use crate::xpath::ast::{Axis, Expr, Kind, Literal, Op, Path, Step};

/// A path is filed as at most this many branches, and a predicate as at most this many ways; past it
/// they are left to verification.
pub const WAYS_MAX: usize = 16;

/// Conditions on an element that together let a predicate hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Way {
    /// All of these must hold.
    pub atoms: Vec<Atom>,
    /// Whether the predicate then holds; otherwise it may.
    pub exact: bool,
}

impl Way {
    /// Nothing is known.
    pub const UNKNOWN: Way = Way {
        atoms: Vec::new(),
        exact: false,
    };
    const ALWAYS: Way = Way {
        atoms: Vec::new(),
        exact: true,
    };
}

/// The ways in which all of `predicates` hold on some node at the end of `place`: steps from the
/// element that is asked, none for the element itself.
pub fn all_of(predicates: &[Expr], place: &[&Step]) -> Vec<Way> {
    let mut ways = vec![Way::ALWAYS];
    for predicate in predicates {
        ways = both(ways, ways_of(predicate, place));
    }
    ways
}

fn ways_of(predicate: &Expr, place: &[&Step]) -> Vec<Way> {
    match predicate {
        Expr::And(items) => all_of(items, place),
        Expr::Or(items) => {
            let ways: Vec<Way> = items.iter().flat_map(|item| ways_of(item, place)).collect();
            if ways.len() > WAYS_MAX {
                vec![Way::UNKNOWN]
            } else {
                ways
            }
        }
        Expr::Exists(path) if path.steps.is_empty() => vec![Way::ALWAYS],
        Expr::Exists(path) => some_node(&steps_of(path), &Test::Exists, place),
        Expr::Compare(path, op, literal) => match comparison(*op, literal) {
            Some(test) => some_node(&steps_of(path), &test, place),
            None => Vec::new(),
        },
        // An empty node-set's string-value contains and starts with "" only.
        Expr::Contains(path, text) if !text.is_empty() => {
            first_node(&steps_of(path), View::Parts, text, place)
        }
        Expr::StartsWith(path, text) if !text.is_empty() => {
            first_node(&steps_of(path), View::Starts, text, place)
        }
        _ => vec![Way::UNKNOWN],
    }
}

fn steps_of(path: &Path) -> Vec<&Step> {
    path.steps.iter().collect()
}

/// The ways in which, from a node at the end of `place`, `steps` lead to some node that meets `test`.
pub fn some_node(steps: &[&Step], test: &Test, place: &[&Step]) -> Vec<Way> {
    let mut whole = place.to_vec();
    let mut ways = vec![Way::ALWAYS];
    let mut says_of_last = false;
    for step in steps {
        whole.push(step);
        says_of_last = false;
        if !step.predicates.is_empty() {
            let own = all_of(&step.predicates, &whole);
            says_of_last = own.iter().all(|way| !way.atoms.is_empty());
            ways = both(ways, own);
        }
    }
    // What its predicates say of the last node includes that it exists.
    if *test != Test::Exists || !says_of_last {
        let atom = Atom {
            slot: slot_along(&whole, Slot::Value(View::Whole)),
            test: test.clone(),
        };
        for way in &mut ways {
            way.atoms.push(atom.clone());
        }
    }
    if !is_one_node(&whole) {
        // Each atom may hold on another node.
        for way in &mut ways {
            way.exact &= way.atoms.len() <= 1;
        }
    }
    ways
}

/// The ways in which, from a node at the end of `place`, `steps` lead to nodes the first of which has
/// `text` in that view.
fn first_node(steps: &[&Step], view: View, text: &str, place: &[&Step]) -> Vec<Way> {
    if steps.iter().any(|step| !step.predicates.is_empty()) {
        // Which node is the first depends on them. All that is known is that there must be one.
        let mut ways = some_node(steps, &Test::Exists, place);
        ways.iter_mut().for_each(|way| way.exact = false);
        return ways;
    }
    let mut slot = slot_along(steps, Slot::Value(view));
    if !is_one_node(steps) {
        slot = Slot::First(Box::new(slot));
    }
    vec![Way {
        atoms: vec![Atom {
            slot: slot_along(place, slot),
            test: Test::EqText(text.into()),
        }],
        exact: true,
    }]
}

/// Ways in which both hold.
fn both(left: Vec<Way>, right: Vec<Way>) -> Vec<Way> {
    if left.len() * right.len() > WAYS_MAX {
        let mut fewer = if left.len() < right.len() {
            left
        } else {
            right
        };
        fewer.iter_mut().for_each(|way| way.exact = false);
        return fewer;
    }
    let joined = |left: &Way, right: &Way| Way {
        atoms: [left.atoms.as_slice(), &right.atoms].concat(),
        exact: left.exact && right.exact,
    };
    left.iter()
        .flat_map(|left| right.iter().map(move |right| joined(left, right)))
        .collect()
}

/// Whether `place` leads to one node at most: the element itself, or an attribute of it.
fn is_one_node(place: &[&Step]) -> bool {
    match place {
        [] => true,
        [step] => {
            step.axis == Axis::Child
                && step.kind == Kind::Attribute
                && step.test.uri.is_some()
                && step.test.local.is_some()
        }
        _ => false,
    }
}

/// What `end` is of the elements that steps lead to, predicates aside; where they lead to attributes or
/// text, those in the same view.
fn slot_along(steps: &[&Step], end: Slot) -> Slot {
    steps.iter().rev().fold(end, |inner, step| {
        let slot = match step.kind {
            Kind::Element => Slot::Child(step.test.clone(), Box::new(inner)),
            Kind::Attribute => Slot::Attribute(step.test.clone(), inner.view()),
            Kind::Text => Slot::Text(inner.view()),
        };
        match step.axis {
            Axis::Child => slot,
            Axis::Descendant => Slot::Deep(Box::new(slot)),
        }
    })
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
