//! The ways in which a predicate can hold, as conditions on slots.
//!
//! A predicate is a choice between *ways*, each a conjunction of atoms. What no atom says (`not`,
//! positions) is left out of a way, which is then not *exact*. Conditions on a nested element are first
//! worked out as seen from that element, then turned into one of the element above: a slot that reaches
//! down to it, of all of them together where there are several.

use crate::path_index::branch::{Atom, Slot, Test, View};
use crate::xpath::ast::{Axis, Expr, Kind, Literal, Op, Step};
use crate::xpath::number::number;

/// A path is filed as at most this many branches, and a predicate as at most this many ways; past it
/// they are left to verification.
pub const WAYS_MAX: usize = 16;

/// Conditions on a node that together let a predicate hold.
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

    fn of(slot: Slot, test: Test) -> Way {
        Way {
            atoms: vec![Atom { slot, test }],
            exact: true,
        }
    }
}

/// The node that a predicate is about.
#[derive(Clone, Copy)]
enum Node<'a> {
    /// The element that slots start from.
    Element,
    /// An attribute or text of it that this step leads to.
    Leaf(&'a Step),
}

impl Node<'_> {
    fn slot(self, view: View) -> Slot {
        match self {
            Node::Element => Slot::Value(view),
            Node::Leaf(step) if step.kind == Kind::Attribute => {
                Slot::Attribute(step.test.clone(), view)
            }
            Node::Leaf(_) => Slot::Text(view),
        }
    }
}

/// The ways in which an element meets all of `predicates`.
pub fn of_predicates(predicates: &[Expr]) -> Vec<Way> {
    all_of(predicates, Node::Element)
}

/// The ways in which `steps` lead from an element to some node.
pub fn of_existence(steps: &[Step]) -> Vec<Way> {
    some_node(steps, &Test::Exists, Node::Element)
}

fn all_of(predicates: &[Expr], node: Node<'_>) -> Vec<Way> {
    predicates
        .iter()
        .fold(vec![Way::ALWAYS], |ways, predicate| {
            both(ways, ways_of(predicate, node))
        })
}

fn ways_of(predicate: &Expr, node: Node<'_>) -> Vec<Way> {
    match predicate {
        Expr::And(items) => all_of(items, node),
        Expr::Or(items) => {
            let ways: Vec<Way> = items.iter().flat_map(|item| ways_of(item, node)).collect();
            if ways.len() > WAYS_MAX {
                vec![Way::UNKNOWN]
            } else {
                ways
            }
        }
        Expr::Exists(path) if path.steps.is_empty() => vec![Way::ALWAYS],
        Expr::Exists(path) => some_node(&path.steps, &Test::Exists, node),
        Expr::Compare(path, op, literal) => match comparison(*op, literal) {
            Some(test) => some_node(&path.steps, &test, node),
            None => Vec::new(),
        },
        // An empty node-set's string-value contains and starts with "" only.
        Expr::Contains(path, text) if !text.is_empty() => {
            first_node(&path.steps, View::Parts, text, node)
        }
        Expr::StartsWith(path, text) if !text.is_empty() => {
            first_node(&path.steps, View::Starts, text, node)
        }
        _ => vec![Way::UNKNOWN],
    }
}

/// The ways in which `steps` lead from `node` to some node that meets `test`.
fn some_node(steps: &[Step], test: &Test, node: Node<'_>) -> Vec<Way> {
    let Some((step, rest)) = steps.split_first() else {
        return vec![Way::of(node.slot(View::Whole), test.clone())];
    };
    let next = match step.kind {
        Kind::Element => Node::Element,
        Kind::Attribute | Kind::Text => Node::Leaf(step),
    };
    let mut ways = all_of(&step.predicates, next);
    // That the node exists need not be said of itself.
    if !rest.is_empty() || *test != Test::Exists {
        ways = both(ways, some_node(rest, test, next));
    }
    for way in &mut ways {
        reach(step, next, way);
    }
    ways
}

/// Turns conditions on `node`, to which `step` leads, into conditions on the element it starts from.
fn reach(step: &Step, node: Node<'_>, way: &mut Way) {
    if way.atoms.is_empty() {
        *way = Way {
            exact: way.exact,
            ..Way::of(node.slot(View::Whole), Test::Exists)
        };
    }
    match node {
        Node::Element => {
            let mut atoms = std::mem::take(&mut way.atoms);
            let inner = match atoms.len() {
                1 => atoms.remove(0),
                _ => Atom {
                    slot: Slot::Joint(atoms),
                    test: Test::Exists,
                },
            };
            way.atoms.push(Atom {
                slot: Slot::Child(step.test.clone(), Box::new(inner.slot)),
                test: inner.test,
            });
        }
        // Each atom may hold on another attribute or text.
        Node::Leaf(_) => way.exact &= way.atoms.len() == 1 || is_one_node(step),
    }
    if step.axis == Axis::Descendant {
        for atom in &mut way.atoms {
            let slot = std::mem::replace(&mut atom.slot, Slot::Value(View::Whole));
            atom.slot = Slot::Deep(Box::new(slot));
        }
    }
}

/// The ways in which `steps` lead from `node` to nodes the first of which has `text` in that view.
fn first_node(steps: &[Step], view: View, text: &str, node: Node<'_>) -> Vec<Way> {
    if steps.iter().any(|step| !step.predicates.is_empty()) {
        // Which node is the first depends on them. All that is known is that there must be one.
        let mut ways = some_node(steps, &Test::Exists, node);
        ways.iter_mut().for_each(|way| way.exact = false);
        return ways;
    }
    let leaf = |step| Node::Leaf(step).slot(view);
    let along = steps.iter().rfold(node.slot(view), |inner, step| {
        let slot = match step.kind {
            Kind::Element => Slot::Child(step.test.clone(), Box::new(inner)),
            Kind::Attribute | Kind::Text => leaf(step),
        };
        match step.axis {
            Axis::Child => slot,
            Axis::Descendant => Slot::Deep(Box::new(slot)),
        }
    });
    let slot = match steps {
        [] => along,
        [step] if is_one_node(step) => along,
        _ => Slot::First(Box::new(along)),
    };
    vec![Way::of(slot, Test::EqText(text.into()))]
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

/// Whether a step leads to one node at most.
fn is_one_node(step: &Step) -> bool {
    step.axis == Axis::Child
        && step.kind == Kind::Attribute
        && step.test.uri.is_some()
        && step.test.local.is_some()
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
