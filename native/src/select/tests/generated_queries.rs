//! Generated documents and queries of the complete query language. They have few names and values, so
//! that matches, near misses and recursion are common.

use proptest::prelude::*;

use crate::select::{
    QueryResult, QuerySteps, ResultDetail, Selection, SelectionOptions, Selector, SelectorCompiler,
};
use crate::xpath::ast::{
    Axis, DateType, Expr, Kind, Literal, NameTest, Op, Path, Query, Step, StringCondition,
    StringFunction, StringTest,
};

use super::document::{read, tree, Item, Name};
use super::reference;

fn name() -> impl Strategy<Value = Name> {
    prop_oneof![8 => Just(("", "a")), 4 => Just(("", "b")), 1 => Just(("u", "a"))]
}

fn value() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "",
        "1",
        "2",
        "a",
        "ab",
        " 1 ",
        "b",
        "A",
        "aΣ",
        "2018-01-02",
    ])
    .prop_map(str::to_owned)
}

fn attributes() -> impl Strategy<Value = Vec<(Name, String)>> {
    prop::collection::vec((name(), value()), 0..3).prop_map(|mut attributes| {
        attributes.sort();
        attributes.dedup_by_key(|(name, _)| *name);
        attributes
    })
}

pub fn root() -> impl Strategy<Value = Item> {
    let leaf = prop_oneof![
        3 => value().prop_map(Item::Text),
        1 => Just(Item::Break),
        3 => element(Just(Vec::new())),
    ];
    let item = leaf.prop_recursive(7, 60, 4, |inner| {
        element(prop::collection::vec(inner, 0..5))
    });
    element(prop::collection::vec(item, 1..6))
}

fn element(items: impl Strategy<Value = Vec<Item>>) -> impl Strategy<Value = Item> {
    (name(), attributes(), items).prop_map(|(name, attributes, items)| Item::Element {
        name,
        attributes,
        items,
    })
}

fn test() -> impl Strategy<Value = NameTest> {
    let local = |name: &str| Some(name.into());
    prop_oneof![
        5 => Just(NameTest { uri: Some("".into()), local: local("a") }),
        4 => Just(NameTest { uri: Some("".into()), local: local("b") }),
        3 => Just(NameTest { uri: None, local: None }),
        1 => Just(NameTest { uri: Some("u".into()), local: local("a") }),
        1 => Just(NameTest { uri: None, local: local("a") }),
        1 => Just(NameTest { uri: Some("u".into()), local: None }),
    ]
}

fn axis() -> impl Strategy<Value = Axis> {
    prop_oneof![3 => Just(Axis::Child), 2 => Just(Axis::Descendant)]
}

pub fn op() -> impl Strategy<Value = Op> {
    prop::sample::select(vec![Op::Eq, Op::Ne, Op::Lt, Op::Le, Op::Gt, Op::Ge])
}

fn literal() -> impl Strategy<Value = Literal> {
    prop_oneof![
        value().prop_map(|text| Literal::Text(text.into())),
        prop::sample::select(vec![0.0, 1.0, 2.0, 1.5, -1.0]).prop_map(Literal::Number),
    ]
}

fn count() -> impl Strategy<Value = f64> {
    prop::sample::select(vec![1.0, 2.0, 3.0, 1.5, 0.0])
}

fn predicates(predicate: BoxedStrategy<Expr>) -> impl Strategy<Value = Vec<Expr>> {
    prop_oneof![
        4 => Just(Vec::new()),
        3 => prop::collection::vec(predicate.clone(), 1..2),
        1 => prop::collection::vec(predicate, 2..4),
    ]
}

pub fn path(predicate: BoxedStrategy<Expr>, steps: std::ops::Range<usize>) -> BoxedStrategy<Path> {
    let step = |kind: BoxedStrategy<Kind>| {
        (axis(), kind, test(), predicates(predicate.clone())).prop_map(
            |(axis, kind, test, predicates)| {
                let test = if kind == Kind::Text {
                    NameTest::default()
                } else {
                    test
                };
                Step {
                    axis,
                    kind,
                    test,
                    predicates,
                }
            },
        )
    };
    let last =
        prop_oneof![4 => Just(Kind::Element), 2 => Just(Kind::Attribute), 2 => Just(Kind::Text)];
    (
        prop::collection::vec(step(Just(Kind::Element).boxed()), steps),
        step(last.boxed()),
    )
        .prop_map(|(mut steps, last)| {
            steps.push(last);
            Path { steps }
        })
        .boxed()
}

/// A positional predicate.
pub fn positional() -> BoxedStrategy<Expr> {
    prop_oneof![
        3 => (op(), count()).prop_map(|(op, n)| Expr::Position(op, n)),
        1 => op().prop_map(Expr::PositionLast),
        1 => Just(Expr::PositionLast(Op::Eq)),
        1 => (op(), count()).prop_map(|(op, n)| Expr::Last(op, n)),
    ]
    .boxed()
}

fn function() -> impl Strategy<Value = StringFunction> {
    prop_oneof![
        Just(StringFunction::NormalizeSpace),
        Just(StringFunction::LowerCase),
        Just(StringFunction::UpperCase),
        Just(StringFunction::Translate("ab1".into(), "bA".into())),
    ]
}

/// The functions and the condition of a string test.
fn string_test() -> BoxedStrategy<(Vec<StringFunction>, StringCondition)> {
    let text = || value().prop_map(Box::<str>::from);
    let with_function = prop_oneof![
        (op(), literal()).prop_map(|(op, literal)| StringCondition::Compare(op, literal)),
        text().prop_map(StringCondition::Contains),
        text().prop_map(StringCondition::StartsWith),
    ];
    let pattern = prop::sample::select(vec!["a|1", "^a?b?$", "^[^a]", "A$", "^.{2}$", ""]);
    let date = prop::sample::select(vec!["2018-01-01", "2018-01-02", "2018-01-03+01:00"]);
    let without = prop_oneof![
        text().prop_map(StringCondition::EndsWith),
        (pattern, prop::sample::select(vec!["", "i"]))
            .prop_map(|(pattern, flags)| StringCondition::Matches(pattern.into(), flags.into())),
        (op(), count()).prop_map(|(op, n)| StringCondition::Length(op, n)),
        (op(), date).prop_map(|(op, text)| StringCondition::Date(DateType::Date, op, text.into())),
    ];
    prop_oneof![
        (prop::collection::vec(function(), 1..3), with_function),
        (prop::collection::vec(function(), 0..2), without),
    ]
    .boxed()
}

/// A predicate with paths nested up to `depth`.
pub fn predicate(depth: u32) -> BoxedStrategy<Expr> {
    let target = if depth == 0 {
        Just(Path::default()).boxed()
    } else {
        prop_oneof![1 => Just(Path::default()), 4 => path(predicate(depth - 1), 0..2)].boxed()
    };
    let about_path = prop_oneof![
        target.clone().prop_map(Expr::Exists),
        (target.clone(), op(), literal())
            .prop_map(|(path, op, literal)| Expr::Compare(path, op, literal)),
        (target.clone(), value()).prop_map(|(path, text)| Expr::Contains(path, text.into())),
        (target.clone(), value()).prop_map(|(path, text)| Expr::StartsWith(path, text.into())),
        (target.clone(), string_test()).prop_map(|(path, (functions, condition))| {
            Expr::String(Box::new(StringTest {
                path,
                functions,
                condition,
            }))
        }),
        (target.clone(), op(), count()).prop_map(|(path, op, n)| Expr::Count(path, op, n)),
        (target.clone(), op(), target)
            .prop_map(|(left, op, right)| Expr::ComparePaths(left, op, right)),
    ];
    prop_oneof![1 => positional(), 2 => about_path]
        .prop_recursive(2, 6, 2, |inner| {
            let two = prop::collection::vec(inner.clone(), 2..3);
            prop_oneof![
                two.clone().prop_map(Expr::And),
                two.prop_map(Expr::Or),
                inner.prop_map(|part| Expr::Not(Box::new(part))),
            ]
        })
        .boxed()
}

pub fn query(predicate: BoxedStrategy<Expr>) -> impl Strategy<Value = Query> {
    prop::collection::vec(path(predicate, 0..4), 1..3).prop_map(|branches| Query { branches })
}

fn results(root: &Item, selectors: &[&Selector], detail: ResultDetail) -> Vec<QueryResult> {
    let options = SelectionOptions {
        detail,
        ..SelectionOptions::default()
    };
    let steps = QuerySteps::new(selectors);
    let mut selection = Selection::new(&steps, options);
    read(root, &mut selection).expect("within limits");
    selection.finish()
}

/// Compares the evaluator with the reference, with equal parts of the queries shared.
pub fn check(root: &Item, queries: &[Query]) -> Result<(), TestCaseError> {
    let tree = tree(root);
    let mut compiler = SelectorCompiler::default();
    let compiled = queries.iter().map(|query| compiler.compile(query));
    let selectors: Vec<Selector> = compiled.collect();
    // The first query occurs twice: duplicates do not affect each other.
    let selectors: Vec<&Selector> = selectors.iter().chain(selectors.first()).collect();
    let with_nodes = results(root, &selectors, ResultDetail::AllNodes);
    let without = results(root, &selectors, ResultDetail::MatchOnly);
    for (at, query) in queries.iter().chain(queries.first()).enumerate() {
        let expected = reference::select(&tree, query);
        let selected: Vec<usize> = with_nodes[at]
            .nodes
            .iter()
            .map(|node| node.order as usize)
            .collect();
        prop_assert_eq!(&selected, &expected, "nodes of {:?}", query);
        prop_assert_eq!(with_nodes[at].matched, !expected.is_empty());
        prop_assert_eq!(
            without[at].matched,
            !expected.is_empty(),
            "match of {:?}",
            query
        );
        prop_assert!(without[at].nodes.is_empty());
    }
    Ok(())
}

proptest! {
    // PROPTEST_CASES raises the number of cases.
    #![proptest_config(ProptestConfig {
        cases: ProptestConfig::default().cases.max(2_000),
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_evaluator_agrees_with_the_reference(
        root in root(),
        queries in prop::collection::vec(query(predicate(2)), 1..4),
    ) {
        check(&root, &queries)?;
    }

    #[test]
    fn they_agree_on_positional_predicates(root in root(), queries in prop::collection::vec(query(positional()), 1..4)) {
        check(&root, &queries)?;
    }

    #[test]
    fn they_agree_on_simple_predicates(root in root(), queries in prop::collection::vec(query(predicate(1)), 1..4)) {
        check(&root, &queries)?;
    }
}
