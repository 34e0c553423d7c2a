//! The relations on small queries, on queries made to be expensive, and their parts by enumeration.

use proptest::prelude::*;

use super::name_tests::{includes, intersects, join, meet};
use super::position_facts::{impossible, PositionCondition};
use super::value_facts::{implies, satisfying_value, unsatisfiable, ValueFact, ValuePredicate};
use super::{contains, covers, generalise, overlaps, CompiledQuery, Domain};
use crate::xpath::ast::{Literal, NameTest, Op};
use crate::xpath::{canonical_text, parse, Namespaces};

fn compiled(query: &str) -> CompiledQuery {
    let query = parse(query, &Namespaces::default()).expect("a query");
    CompiledQuery::new(query, Domain::default())
}

#[test]
fn documents_are_contained() {
    for (p, q) in [
        ("/product/*", "/product/computers"),
        ("/a/b", "/a[b]"),
        ("/a/*//b", "/a//*/b"),
        ("//*/@p", "//@p"),
        ("/a[b] | /a[c]", "/a[b or c]"),
        ("/a/b/c", "/a/b[c]"),
        ("/a[@n < 10]", "/a[@n = 5]"),
        ("/a[not(b[c])]", "/a[not(b)]"),
        ("/a/b[position() > 1]", "/a/b[3]"),
        ("/x", "/a[@n < 1][@n > 2]"),
    ] {
        assert!(contains(&compiled(p), &compiled(q)), "{p} contains {q}");
    }
    for (p, q) in [
        ("/product/computers", "/product/*"),
        ("/a/*/b", "/a/*//b"),
        ("//a/@p", "//@p"),
        ("/a[@n = 5]", "/a[@n < 10]"),
        ("/a[b/c]", "/a[b][c]"),
    ] {
        assert!(!contains(&compiled(p), &compiled(q)), "{p} contains {q}");
    }
}

#[test]
fn nodes_are_covered_or_apart() {
    assert!(covers(&compiled("/a/b"), &compiled("/a/b/c")));
    assert!(!covers(&compiled("/a/b"), &compiled("/a[b]")));
    assert!(!overlaps(
        &compiled("/a[@n < 1]"),
        &compiled("/a[@n > 2]/b")
    ));
    assert!(overlaps(&compiled("//a[@n < 1]"), &compiled("//a[@n > 2]")));
}

#[test]
fn a_single_valued_element_has_one_value() {
    let query = |text: &str, names: &[(String, String)]| {
        let query = parse(text, &Namespaces::default()).expect("a query");
        CompiledQuery::new(query, Domain::new(names.iter().cloned()))
    };
    let one = [(String::new(), "b".to_owned())];
    for (names, may) in [(&one[..0], true), (&one[..], false)] {
        let (p, q) = (query("/a[b < 1]", names), query("/a[b > 2]", names));
        assert_eq!(overlaps(&p, &q), may);
    }
}

#[test]
fn what_two_queries_share_is_found() {
    let general = |p, q| canonical_text(&generalise(&compiled(p), &compiled(q)));
    assert_eq!(general("/n/i/t", "/n/f/t"), canonical("/n/*/t"));
    assert_eq!(
        general("/a[@n = 3]", "/a[@n = 7]"),
        canonical("/a[@n >= 3][@n <= 7]")
    );
    assert_eq!(general("/a[@n < 1][@n > 2]", "/b"), canonical("/b"));
}

fn canonical(query: &str) -> String {
    canonical_text(&parse(query, &Namespaces::default()).expect("a query"))
}

/// Each takes as long as its limits allow, or is decided by an antichain.
#[test]
fn expensive_pairs_are_given_up() {
    let nested = format!("/r{}{}", "[.//*[a]".repeat(15), "]".repeat(15));
    let unions = ["//a//*/a//*/a//*/a"; 60].join(" | ");
    let negations: String = (0..60).map(|n| format!("[not(a{n} and b{n})]")).collect();
    let values: String = (0..200).map(|n| format!("[@a != '{n}']")).collect();
    let queries = [
        format!("//a{}", "//*/a".repeat(60)),
        format!("//*{}//b", "//a/*".repeat(60)),
        format!("/r{}", "[.//a[.//b]]".repeat(80)),
        format!("/r{}", "[.//a//*//c]".repeat(80)),
        nested,
        unions,
        format!("/r{negations}"),
        format!("/r{values}"),
        "/a".repeat(512),
    ];
    let queries: Vec<CompiledQuery> = queries.iter().map(|text| compiled(text)).collect();
    for p in &queries {
        for q in &queries {
            let contained = contains(p, q);
            assert!(contained || !std::ptr::eq(p, q));
            covers(p, q);
            overlaps(p, q);
        }
    }
    let general = CompiledQuery::new(generalise(&queries[0], &queries[1]), Domain::default());
    assert!(contains(&general, &queries[0]) && contains(&general, &queries[1]));
}

fn name_tests() -> impl Strategy<Value = NameTest> {
    let part = || prop::option::of(prop::sample::select(vec!["", "a", "b"]));
    (
        part(),
        prop::option::of(prop::sample::select(vec!["a", "b"])),
    )
        .prop_map(|(uri, local)| NameTest {
            uri: uri.map(Into::into),
            local: local.map(Into::into),
        })
}

fn accepts(test: &NameTest, uri: &str, local: &str) -> bool {
    let part = |part: &Option<Box<str>>, name: &str| part.as_deref().is_none_or(|own| own == name);
    part(&test.uri, uri) && part(&test.local, local)
}

fn ops() -> impl Strategy<Value = Op> {
    prop::sample::select(vec![Op::Eq, Op::Ne, Op::Lt, Op::Le, Op::Gt, Op::Ge])
}

const TEXTS: [&str; 8] = ["", "x", "xy", "yx", "1", "2", "1.0", " 2 "];
const VALUES: [&str; 14] = [
    "", "x", "xy", "yx", "1", "2", "1.0", " 2 ", "0", "1.5", "3", "-1", "xyx", "y",
];

fn value_facts() -> impl Strategy<Value = ValueFact> {
    let text = || prop::sample::select(TEXTS.to_vec());
    let literal = prop_oneof![
        text().prop_map(|text| Literal::Text(text.into())),
        prop::sample::select(vec![-1.0, 1.0, 1.5, 2.0]).prop_map(Literal::Number),
    ];
    let predicate = prop_oneof![
        (ops(), literal).prop_map(|(op, literal)| ValuePredicate::Compare(op, literal)),
        text().prop_map(|text| ValuePredicate::Contains(text.into())),
        text().prop_map(|text| ValuePredicate::StartsWith(text.into())),
    ];
    (predicate, any::<bool>()).prop_map(|(predicate, holds)| ValueFact { predicate, holds })
}

fn positions() -> impl Strategy<Value = PositionCondition> {
    let value =
        || prop::sample::select(vec![-1.0, 0.0, 1.0, 1.5, 2.0, 3.0, 9_007_199_254_740_992.0]);
    prop_oneof![
        (ops(), value()).prop_map(|(op, value)| PositionCondition::Position(op, value)),
        (ops(), value()).prop_map(|(op, value)| PositionCondition::Last(op, value)),
        ops().prop_map(PositionCondition::PositionLast),
    ]
}

proptest! {
    #[test]
    fn name_tests_are_sets_of_names(one in name_tests(), two in name_tests()) {
        let names = ["", "a", "b", "c"].into_iter().flat_map(|uri| ["a", "b", "c"].map(|local| (uri, local)));
        let both = meet(&one, &two);
        prop_assert_eq!(both.is_some(), intersects(&one, &two));
        let either = join(&one, &two);
        for (uri, local) in names {
            let (of_one, of_two) = (accepts(&one, uri, local), accepts(&two, uri, local));
            prop_assert_eq!(both.as_ref().is_some_and(|both| accepts(both, uri, local)), of_one && of_two);
            prop_assert!(accepts(&either, uri, local) || !(of_one || of_two));
            prop_assert!(of_one || !of_two || !includes(&one, &two));
        }
    }

    #[test]
    fn values_exclude_each_other(facts in prop::collection::vec(value_facts(), 0..4), goal in value_facts()) {
        let has = |value: &str, fact: &ValueFact| {
            !unsatisfiable([known(value).view(), fact.view()].into_iter())
        };
        let mut passing = VALUES.into_iter().filter(|value| facts.iter().all(|fact| has(value, fact)));
        if unsatisfiable(facts.iter().map(ValueFact::view)) {
            prop_assert_eq!(passing.next(), None);
        } else if implies(&facts, goal.view()) {
            prop_assert!(passing.all(|value| has(value, &goal)));
        }
        if let Some(value) = satisfying_value(&facts, false) {
            prop_assert!(facts.iter().all(|fact| has(&value, fact)));
        }
    }

    #[test]
    fn impossible_positions_are_found(conditions in prop::collection::vec(positions(), 0..4)) {
        let met = |position: f64, last: f64| conditions.iter().all(|condition| match *condition {
            PositionCondition::Position(op, value) => op.compare(position, value),
            PositionCondition::PositionLast(op) => op.compare(position, last),
            PositionCondition::Last(op, value) => op.compare(last, value),
        });
        let is_possible = (1..9).any(|last| (1..=last).any(|position| met(position.into(), last.into())));
        prop_assert!(!(is_possible && impossible(conditions.iter().copied())));
    }
}

/// The fact that a value is exactly this one.
fn known(value: &str) -> ValueFact {
    ValueFact::new(ValuePredicate::Compare(Op::Eq, Literal::Text(value.into())))
}
