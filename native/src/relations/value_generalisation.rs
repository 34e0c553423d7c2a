//! Generalises two sets of facts about a value, without `not`.

use super::value_facts::{implies, known_start, Numbers, ValueFact, ValuePredicate};
use crate::xpath::ast::{Literal, Op};

/// Facts implied by each of the two sets, without redundant ones.
pub fn common(one: &[ValueFact], two: &[ValueFact]) -> Vec<ValueFact> {
    let mut kept: Vec<ValueFact> = Vec::new();
    if one.is_empty() && two.is_empty() {
        return kept;
    }
    for fact in shared(one, two) {
        if !implies(&kept, fact.view()) {
            kept.retain(|other| !implies(std::slice::from_ref(&fact), other.view()));
            kept.push(fact);
        }
    }
    kept
}

fn shared(one: &[ValueFact], two: &[ValueFact]) -> Vec<ValueFact> {
    let mut shared: Vec<ValueFact> = one
        .iter()
        .chain(two)
        .filter_map(positive)
        .filter(|fact| implies(one, fact.view()) && implies(two, fact.view()))
        .collect();
    let numbers = |facts: &[ValueFact]| Numbers::new(facts.iter().map(ValueFact::view));
    hull(&numbers(one), &numbers(two), &mut shared);
    let start = common_start(known_start(one), known_start(two));
    if !start.is_empty() {
        shared.push(ValueFact::new(ValuePredicate::StartsWith(start.into())));
    }
    shared
}

/// An equivalent fact without `not`, if one exists.
fn positive(fact: &ValueFact) -> Option<ValueFact> {
    match &fact.predicate {
        _ if fact.holds => Some(fact.clone()),
        ValuePredicate::Compare(op @ (Op::Eq | Op::Ne), literal) => {
            let opposite = ValuePredicate::Compare(op.negated(), literal.clone());
            Some(ValueFact::new(opposite))
        }
        _ => None,
    }
}

/// The smallest interval that contains both.
fn hull(one: &Numbers, two: &Numbers, shared: &mut Vec<ValueFact>) {
    if one.nan || two.nan || one.no_number() || two.no_number() {
        return;
    }
    let mut bound = |op, bound: f64| {
        if bound.is_finite() {
            let literal = Literal::Number(bound);
            shared.push(ValueFact::new(ValuePredicate::Compare(op, literal)));
        }
    };
    let low = one.low.min(two.low);
    let is_closed = |each: &Numbers| each.low == low && !each.low_open;
    bound(
        if is_closed(one) || is_closed(two) {
            Op::Ge
        } else {
            Op::Gt
        },
        low,
    );
    let high = one.high.max(two.high);
    let is_closed = |each: &Numbers| each.high == high && !each.high_open;
    bound(
        if is_closed(one) || is_closed(two) {
            Op::Le
        } else {
            Op::Lt
        },
        high,
    );
}

fn common_start<'a>(one: &'a str, two: &str) -> &'a str {
    let pairs = one.chars().zip(two.chars());
    let length = pairs
        .take_while(|(one, two)| one == two)
        .map(|(one, _)| one.len_utf8())
        .sum();
    &one[..length]
}
