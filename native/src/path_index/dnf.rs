//! Predicates in disjunctive normal form: alternatives, each a conjunction of atoms.
//!
//! What no atom expresses (`not`, positions) is dropped from a conjunction, which is then not
//! *exact*. Conditions on a nested element are first computed relative to that element and then
//! lifted to the element above it: the operand reaches down to the nested element, and several
//! conditions become one compound.

use crate::path_index::branch::{Atom, AtomTest, Operand, View};
use crate::xpath::ast::{
    Axis, DateType, Expr, Kind, Literal, Op, Path, Step, StringCondition, StringFunction,
    StringTest,
};
use crate::xpath::date::milliseconds;
use crate::xpath::number::number;
use crate::xpath::regex;
use crate::xpath::string_functions::{apply, fold_case};

/// Maximum number of branches of a path, and of conjunctions of a predicate; past it they are
/// verified.
pub const CONJUNCTIONS_MAX: usize = 16;

/// One alternative in which a predicate holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Conjunction {
    /// The conditions, all of which must hold.
    pub atoms: Vec<Atom>,
    /// Whether the atoms imply the predicate; otherwise they are only necessary.
    pub exact: bool,
}

impl Conjunction {
    /// No condition is known.
    pub const UNKNOWN: Conjunction = Conjunction {
        atoms: Vec::new(),
        exact: false,
    };
    const TRUE: Conjunction = Conjunction {
        atoms: Vec::new(),
        exact: true,
    };

    fn of(operand: Operand, test: AtomTest) -> Conjunction {
        Conjunction {
            atoms: vec![Atom { operand, test }],
            exact: true,
        }
    }
}

/// The node that a predicate applies to.
#[derive(Clone, Copy)]
enum ContextNode<'a> {
    /// The element that operands are relative to.
    Element,
    /// An attribute or text node of it, reached by this step.
    Leaf(&'a Step),
}

impl ContextNode<'_> {
    fn operand(self, view: View) -> Operand {
        match self {
            ContextNode::Element => Operand::Value(view),
            ContextNode::Leaf(step) if step.kind == Kind::Attribute => {
                Operand::Attribute(step.test.clone(), view)
            }
            ContextNode::Leaf(_) => Operand::Text(view),
        }
    }
}

/// The alternatives in which an element meets all of `predicates`.
pub fn conjunctions_of_predicates(predicates: &[Expr]) -> Vec<Conjunction> {
    all_of(predicates, ContextNode::Element)
}

/// The alternatives in which `steps` lead from an element to some node.
pub fn conjunctions_of_existence(steps: &[Step]) -> Vec<Conjunction> {
    some_node(steps, &AtomTest::Exists, View::Whole, ContextNode::Element)
}

fn all_of(predicates: &[Expr], node: ContextNode<'_>) -> Vec<Conjunction> {
    predicates
        .iter()
        .fold(vec![Conjunction::TRUE], |conjunctions, predicate| {
            conjoin(conjunctions, conjunctions_of(predicate, node))
        })
}

fn conjunctions_of(predicate: &Expr, node: ContextNode<'_>) -> Vec<Conjunction> {
    match predicate {
        Expr::And(items) => all_of(items, node),
        Expr::Or(items) => {
            let alternatives = items.iter().flat_map(|item| conjunctions_of(item, node));
            let alternatives: Vec<Conjunction> = alternatives.collect();
            if alternatives.len() > CONJUNCTIONS_MAX {
                vec![Conjunction::UNKNOWN]
            } else {
                alternatives
            }
        }
        Expr::Exists(path) if path.steps.is_empty() => vec![Conjunction::TRUE],
        Expr::Exists(path) => some_node(&path.steps, &AtomTest::Exists, View::Whole, node),
        Expr::Compare(path, op, literal) => match comparison(*op, literal) {
            Some(test) => some_node(&path.steps, &test, View::Whole, node),
            None => Vec::new(),
        },
        // The string-value of an empty node-set contains and starts with "" only.
        Expr::Contains(path, text) if !text.is_empty() => {
            first_node(&path.steps, View::Substrings, text, node)
        }
        Expr::StartsWith(path, text) if !text.is_empty() => {
            first_node(&path.steps, View::Prefixes, text, node)
        }
        // What cannot hold without a node of a path requires one.
        Expr::String(test) => string_test(test, node),
        Expr::Count(path, op, n) if !op.compare(0.0, *n) => required_node(path, node),
        Expr::ComparePaths(left, _, right) => {
            conjoin(required_node(left, node), required_node(right, node))
        }
        _ => vec![Conjunction::UNKNOWN],
    }
}

/// The alternatives in which a test of a string may hold.
fn string_test(test: &StringTest, node: ContextNode<'_>) -> Vec<Conjunction> {
    let steps = &test.path.steps;
    let is_one_node = match &steps[..] {
        [] => true,
        [step] => selects_one_node(step) && step.predicates.is_empty(),
        _ => false,
    };
    let needs_node = !test.condition.holds_for_empty();
    if !needs_node && !steps.is_empty() {
        return vec![Conjunction::UNKNOWN];
    }
    if let Some((view, op, number)) = numeric_view(test) {
        let Some(number_test) = number_test(op, number) else {
            return Vec::new();
        };
        let mut conjunctions = some_node(steps, &number_test, view, node);
        for conjunction in &mut conjunctions {
            // If the first node passes, some node does.
            conjunction.exact &= is_one_node;
        }
        return conjunctions;
    }
    if let Some(normal) = normalized_text(test) {
        return match &*apply(&StringFunction::NormalizeSpace, normal) == normal {
            true => first_node(steps, View::NormalizedSpace, normal, node),
            false => Vec::new(),
        };
    }
    match required_text(test) {
        Some((text, view, is_exact)) => {
            let mut conjunctions = first_node(steps, view, &text, node);
            for conjunction in &mut conjunctions {
                conjunction.exact &= is_exact;
            }
            conjunctions
        }
        None => required_node(&test.path, node),
    }
}

/// Whether a test normalizes white space and does nothing else.
fn only_normalizes_space(test: &StringTest) -> bool {
    let mut functions = test.functions.iter();
    !test.functions.is_empty() && functions.all(|one| *one == StringFunction::NormalizeSpace)
}

/// The text that the value equals after `normalize-space()`, if that is what is tested.
fn normalized_text(test: &StringTest) -> Option<&str> {
    match &test.condition {
        StringCondition::Compare(Op::Eq, Literal::Text(text)) if only_normalizes_space(test) => {
            Some(text)
        }
        _ => None,
    }
}

/// The view, operator and number of a test that compares numbers, except those of texts.
fn numeric_view(test: &StringTest) -> Option<(View, Op, f64)> {
    if only_normalizes_space(test) {
        // White space at the ends does not change a number, and there is none inside.
        return match &test.condition {
            StringCondition::Compare(op, Literal::Number(n)) => Some((View::Whole, *op, *n)),
            _ => None,
        };
    }
    if !test.functions.is_empty() {
        return None;
    }
    match &test.condition {
        StringCondition::Length(op, n) => Some((View::Length, *op, *n)),
        // NaN would satisfy `!=`, but a text that is not a date does not.
        StringCondition::Date(_, Op::Ne, _) => None,
        StringCondition::Date(date_type, op, text) => {
            let view = match date_type {
                DateType::Date => View::Date,
                DateType::DateTime => View::DateTime,
            };
            Some((view, *op, milliseconds(*date_type, text)?))
        }
        _ => None,
    }
}

/// A text that the string-value must contain, in that view, and whether this suffices.
fn required_text(test: &StringTest) -> Option<(String, View, bool)> {
    let (text, mut is_caseless) = match &test.condition {
        StringCondition::Compare(Op::Eq, Literal::Text(text))
        | StringCondition::Contains(text)
        | StringCondition::StartsWith(text)
        | StringCondition::EndsWith(text) => (text.to_string(), false),
        StringCondition::Matches(pattern, flags) => regex::required_text(pattern, flags),
        _ => return None,
    };
    let mut keeps_space = true;
    for function in &test.functions {
        match function {
            StringFunction::NormalizeSpace => keeps_space = false,
            StringFunction::LowerCase => is_caseless = true,
            StringFunction::Translate(from, to) if changes_only_case(from, to) => {
                is_caseless = true;
            }
            // The upper case of some characters is several characters.
            StringFunction::UpperCase | StringFunction::Translate(..) => return None,
        }
    }
    let text = if keeps_space {
        text
    } else {
        // The original white space is not known.
        let words = text.split([' ', '\t', '\r', '\n']);
        words.max_by_key(|word| word.len())?.to_owned()
    };
    if text.is_empty() {
        return None;
    }
    if !is_caseless {
        return Some((text, View::Substrings, false));
    }
    let folded = fold_case(&text);
    let is_exact = test.functions == [StringFunction::LowerCase]
        && matches!(test.condition, StringCondition::Contains(_))
        && folded == text
        && !text.contains('σ');
    Some((folded, View::CaselessSubstrings, is_exact))
}

/// Whether `translate()` replaces each character by one that differs only in case.
fn changes_only_case(from: &str, to: &str) -> bool {
    let fold = |character: char| fold_case(character.encode_utf8(&mut [0; 4]));
    from.chars().count() <= to.chars().count()
        && from
            .chars()
            .zip(to.chars())
            .all(|(one, other)| fold(one) == fold(other))
}

/// The alternatives in which a path selects some node, which is all that is known about a condition.
fn required_node(path: &Path, node: ContextNode<'_>) -> Vec<Conjunction> {
    if path.steps.is_empty() {
        return vec![Conjunction::UNKNOWN];
    }
    let mut conjunctions = some_node(&path.steps, &AtomTest::Exists, View::Whole, node);
    for conjunction in &mut conjunctions {
        conjunction.exact = false;
    }
    conjunctions
}

/// The alternatives in which `steps` lead from `node` to some node that passes `test` in that view.
fn some_node(
    steps: &[Step],
    test: &AtomTest,
    view: View,
    node: ContextNode<'_>,
) -> Vec<Conjunction> {
    let Some((step, rest)) = steps.split_first() else {
        return vec![Conjunction::of(node.operand(view), test.clone())];
    };
    let next = match step.kind {
        Kind::Element => ContextNode::Element,
        Kind::Attribute | Kind::Text => ContextNode::Leaf(step),
    };
    let mut conjunctions = all_of(&step.predicates, next);
    // The last node needs no condition that it exists.
    if !rest.is_empty() || *test != AtomTest::Exists {
        conjunctions = conjoin(conjunctions, some_node(rest, test, view, next));
    }
    for conjunction in &mut conjunctions {
        lift(step, next, conjunction);
    }
    conjunctions
}

/// Turns conditions on `node`, which `step` leads to, into conditions on the element before the
/// step.
fn lift(step: &Step, node: ContextNode<'_>, conjunction: &mut Conjunction) {
    if conjunction.atoms.is_empty() {
        *conjunction = Conjunction {
            exact: conjunction.exact,
            ..Conjunction::of(node.operand(View::Whole), AtomTest::Exists)
        };
    }
    match node {
        ContextNode::Element => {
            let mut atoms = std::mem::take(&mut conjunction.atoms);
            let inner = match atoms.len() {
                1 => atoms.remove(0),
                _ => Atom {
                    operand: Operand::Compound(atoms),
                    test: AtomTest::Exists,
                },
            };
            conjunction.atoms.push(Atom {
                operand: Operand::Child(step.test.clone(), Box::new(inner.operand)),
                test: inner.test,
            });
        }
        // Separate atoms may hold for different attributes or text nodes.
        ContextNode::Leaf(_) => {
            conjunction.exact &= conjunction.atoms.len() == 1 || selects_one_node(step);
        }
    }
    if step.axis == Axis::Descendant {
        for atom in &mut conjunction.atoms {
            let operand = std::mem::replace(&mut atom.operand, Operand::Value(View::Whole));
            atom.operand = Operand::Deep(Box::new(operand));
        }
    }
}

/// The alternatives in which `text` occurs, in that view, in the first node that `steps` select
/// from `node`.
fn first_node(steps: &[Step], view: View, text: &str, node: ContextNode<'_>) -> Vec<Conjunction> {
    if steps.iter().any(|step| !step.predicates.is_empty()) {
        // The predicates decide which node is first; all that is known is that there must be one.
        let mut conjunctions = some_node(steps, &AtomTest::Exists, View::Whole, node);
        for conjunction in &mut conjunctions {
            conjunction.exact = false;
        }
        return conjunctions;
    }
    let leaf = |step| ContextNode::Leaf(step).operand(view);
    let along = steps.iter().rfold(node.operand(view), |inner, step| {
        let operand = match step.kind {
            Kind::Element => Operand::Child(step.test.clone(), Box::new(inner)),
            Kind::Attribute | Kind::Text => leaf(step),
        };
        match step.axis {
            Axis::Child => operand,
            Axis::Descendant => Operand::Deep(Box::new(operand)),
        }
    });
    let operand = match steps {
        [] => along,
        [step] if selects_one_node(step) => along,
        _ => Operand::First(Box::new(along)),
    };
    vec![Conjunction::of(operand, AtomTest::EqText(text.into()))]
}

/// The alternatives in which both disjunctions hold.
fn conjoin(left: Vec<Conjunction>, right: Vec<Conjunction>) -> Vec<Conjunction> {
    if left.len() * right.len() > CONJUNCTIONS_MAX {
        let mut fewer = if left.len() < right.len() {
            left
        } else {
            right
        };
        for conjunction in &mut fewer {
            conjunction.exact = false;
        }
        return fewer;
    }
    let joined = |left: &Conjunction, right: &Conjunction| Conjunction {
        atoms: [left.atoms.as_slice(), &right.atoms].concat(),
        exact: left.exact && right.exact,
    };
    left.iter()
        .flat_map(|left| right.iter().map(move |right| joined(left, right)))
        .collect()
}

/// Whether a step selects at most one node.
fn selects_one_node(step: &Step) -> bool {
    step.axis == Axis::Child
        && step.kind == Kind::Attribute
        && step.test.uri.is_some()
        && step.test.local.is_some()
}

/// The test of a comparison; `None` if it can never hold.
fn comparison(op: Op, literal: &Literal) -> Option<AtomTest> {
    match (op, literal) {
        (Op::Eq, Literal::Text(text)) => Some(AtomTest::EqText(text.clone())),
        (Op::Ne, Literal::Text(text)) => Some(AtomTest::NeText(text.clone())),
        (_, Literal::Number(number)) => number_test(op, *number),
        (_, Literal::Text(text)) => number_test(op, number(text)),
    }
}

fn number_test(op: Op, number: f64) -> Option<AtomTest> {
    // A comparison with NaN is false, except `!=`, which holds for every value.
    match (number.is_nan(), op) {
        (true, Op::Ne) => Some(AtomTest::Exists),
        (true, _) => None,
        // Normalize the sign of zero, so that equal numbers are one literal.
        (false, _) => Some(AtomTest::Number(
            op,
            if number == 0.0 { 0.0 } else { number },
        )),
    }
}
