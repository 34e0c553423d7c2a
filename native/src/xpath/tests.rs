//! Tests of the parser and of canonical text. `tests/language` compares refusals with the reference
//! parser in Python.

use proptest::prelude::*;

use super::ast::{
    Axis, DateType, Expr, Kind, Literal, NameTest, Op, Path, Query, Step, StringCondition,
    StringFunction, StringTest,
};
use super::{canonical_text, limits, normalise, parse, parse_canonical, Namespaces};

fn parsed(text: &str) -> Query {
    let namespaces = Namespaces::new([("p", "urn:x")], "urn:d").expect("valid bindings");
    parse(text, &namespaces).expect(text)
}

#[test]
fn canonical_text_names_namespaces_by_uri() {
    let query = parsed("a//p:b[@c=\"it's\"]/p:* | *:d[ 2 ]");
    assert_eq!(
        canonical_text(&query),
        "/Q{urn:d}a//Q{urn:x}b[@c='it''s']/Q{urn:x}*|/*:d[2]"
    );
}

#[test]
fn offsets_count_bytes_and_characters() {
    let refusal = parse("/é[ü = $x]", &Namespaces::default()).expect_err("a variable");
    assert_eq!((refusal.offset_bytes, refusal.offset_characters), (9, 7));
    assert_eq!(
        refusal.to_string(),
        "query.variable at character 7: variables are not supported"
    );
}

#[test]
fn only_canonical_text_has_names_with_uris_and_doubled_quotes() {
    let text = "/Q{urn:x}a[.='it''s']";
    assert!(parse(text, &Namespaces::default()).is_err());
    assert_eq!(canonical_text(&parse_canonical(text).expect(text)), text);
}

#[test]
fn truncated_canonical_text_is_refused() {
    let complete = "/Q{urn:}}x}a[contains(.,'''')]";
    assert!(parse_canonical(complete).is_ok());
    for end in 1..complete.len() {
        let text = &complete[..end];
        assert!(end == "/Q{urn:}}x}a".len() || text == "/Q" || parse_canonical(text).is_err());
    }
}

#[test]
fn infinity_and_tiny_numbers_are_preserved() {
    for number in [f64::INFINITY, f64::NEG_INFINITY, 5e-324, 1.7e308, 0.1 + 0.2] {
        let expr = Expr::Compare(Path::default(), Op::Lt, Literal::Number(number));
        let test = NameTest {
            uri: None,
            local: None,
        };
        let step = Step {
            axis: Axis::Child,
            kind: Kind::Element,
            test,
            predicates: vec![expr],
        };
        let query = Query {
            branches: vec![Path { steps: vec![step] }],
        };
        assert_eq!(parse_canonical(&canonical_text(&query)), Ok(query));
    }
}

/// Any query that canonical text can express, including those that the parser never returns.
fn queries() -> impl Strategy<Value = Query> {
    let leafless = steps(Kind::Element, Just(Vec::new()).boxed());
    let flat = paths(leafless, Just(Vec::new()).boxed());
    let inner = prop::collection::vec(exprs(flat), 0..2).boxed();
    let nested = paths(steps(Kind::Element, inner.clone()), inner);
    let filters = prop::collection::vec(exprs(nested), 0..3).boxed();
    let branch = paths(steps(Kind::Element, filters.clone()), filters)
        .prop_filter("a query selects something", |path| !path.steps.is_empty());
    prop::collection::vec(branch, 1..3).prop_map(|branches| Query { branches })
}

fn paths(inner: BoxedStrategy<Step>, filters: BoxedStrategy<Vec<Expr>>) -> BoxedStrategy<Path> {
    let leaf = prop_oneof![
        steps(Kind::Attribute, filters.clone()),
        steps(Kind::Text, filters)
    ];
    (prop::collection::vec(inner, 0..3), prop::option::of(leaf))
        .prop_map(|(mut steps, leaf)| {
            steps.extend(leaf);
            Path { steps }
        })
        .boxed()
}

fn steps(kind: Kind, filters: BoxedStrategy<Vec<Expr>>) -> BoxedStrategy<Step> {
    let uri = prop::option::of(prop::sample::select(vec!["", "urn:x", "a}b}}c", "é"]));
    let local = prop::option::of(prop::sample::select(vec!["a", "Q", "and", "a-b.c", "é"]));
    let axis = prop_oneof![Just(Axis::Child), Just(Axis::Descendant)];
    (axis, uri, local, filters)
        .prop_map(move |(axis, uri, local, predicates)| {
            let named = NameTest {
                uri: uri.map(Box::from),
                local: local.map(Box::from),
            };
            let test = if kind == Kind::Text {
                NameTest::default()
            } else {
                named
            };
            Step {
                axis,
                kind,
                test,
                predicates,
            }
        })
        .boxed()
}

fn exprs(path: BoxedStrategy<Path>) -> BoxedStrategy<Expr> {
    let op = prop::sample::select(vec![Op::Eq, Op::Ne, Op::Lt, Op::Le, Op::Gt, Op::Ge]);
    let number = prop_oneof![
        Just(0.0),
        Just(-1.5),
        Just(1e300),
        any::<f64>().prop_filter("a number", |number| !number.is_nan())
    ];
    let text = prop::sample::select(vec!["", "x", "it's", "''", "\"", "a'b\"c", "é"]);
    let text = text.prop_map(Box::<str>::from);
    let literal = prop_oneof![
        text.clone().prop_map(Literal::Text),
        number.clone().prop_map(Literal::Number)
    ];
    let condition = prop_oneof![
        path.clone().prop_map(Expr::Exists),
        (path.clone(), op.clone(), literal.clone()).prop_map(|(p, op, l)| Expr::Compare(p, op, l)),
        (path.clone(), text.clone()).prop_map(|(p, t)| Expr::Contains(p, t)),
        (path.clone(), text.clone()).prop_map(|(p, t)| Expr::StartsWith(p, t)),
        string_tests(path.clone(), text.boxed(), literal.boxed()),
        (path.clone(), op.clone(), number.clone()).prop_map(|(p, op, n)| Expr::Count(p, op, n)),
        (path.clone(), op.clone(), path).prop_map(|(l, op, r)| Expr::ComparePaths(l, op, r)),
        (op.clone(), number.clone()).prop_map(|(op, n)| Expr::Position(op, n)),
        op.clone().prop_map(Expr::PositionLast),
        (op, number).prop_map(|(op, n)| Expr::Last(op, n)),
    ];
    condition
        .prop_recursive(3, 8, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 2..4).prop_map(Expr::And),
                prop::collection::vec(inner.clone(), 2..4).prop_map(Expr::Or),
                inner.prop_map(|item| Expr::Not(Box::new(item))),
            ]
        })
        .boxed()
}

fn string_tests(
    path: BoxedStrategy<Path>,
    text: BoxedStrategy<Box<str>>,
    literal: BoxedStrategy<Literal>,
) -> BoxedStrategy<Expr> {
    let op = prop::sample::select(vec![Op::Eq, Op::Ne, Op::Lt, Op::Le, Op::Gt, Op::Ge]);
    let function = prop_oneof![
        Just(StringFunction::NormalizeSpace),
        Just(StringFunction::LowerCase),
        Just(StringFunction::UpperCase),
        (text.clone(), text.clone()).prop_map(|(from, to)| StringFunction::Translate(from, to)),
    ];
    let with_function = prop_oneof![
        (op.clone(), literal).prop_map(|(op, literal)| StringCondition::Compare(op, literal)),
        text.clone().prop_map(StringCondition::Contains),
        text.clone().prop_map(StringCondition::StartsWith),
    ];
    let pattern = prop::sample::select(vec!["", "a|b", "^[a-z-['x]]*$", r"\p{Lu}'"]);
    let date = prop::sample::select(vec!["2018-01-01", " 2018-01-01Z\t"]);
    let without = prop_oneof![
        text.prop_map(StringCondition::EndsWith),
        (pattern, prop::sample::select(vec!["", "i", "smx"]))
            .prop_map(|(pattern, flags)| StringCondition::Matches(pattern.into(), flags.into())),
        (
            op.clone(),
            any::<f64>().prop_filter("a number", |n| !n.is_nan())
        )
            .prop_map(|(op, n)| StringCondition::Length(op, n)),
        (op, date).prop_map(|(op, text)| StringCondition::Date(DateType::Date, op, text.into())),
    ];
    let test = prop_oneof![
        (prop::collection::vec(function.clone(), 1..3), with_function),
        (prop::collection::vec(function, 0..3), without),
    ];
    (path, test)
        .prop_map(|(path, (functions, condition))| {
            Expr::String(Box::new(StringTest {
                path,
                functions,
                condition,
            }))
        })
        .boxed()
}

proptest! {
    #[test]
    fn canonical_text_is_parsed_to_the_same_query(query in queries()) {
        let text = canonical_text(&query);
        prop_assert_eq!(parse_canonical(&text), Ok(query), "{}", text);
    }
}

proptest! {
    #[test]
    fn normalisation_is_idempotent(query in queries()) {
        let once = normalise(query);
        prop_assert_eq!(normalise(once.clone()), once);
    }

    #[test]
    fn canonical_text_of_a_normal_form_is_parsed_to_the_same_query(query in queries()) {
        let normal = normalise(query);
        let text = canonical_text(&normal);
        prop_assert_eq!(parse_canonical(&text), Ok(normal), "{}", text);
    }
}

#[test]
fn equivalent_queries_have_the_same_canonical_text() {
    let normal = |text| canonical_text(&normalise(parsed(text)));
    assert_eq!(
        normal("a[b and not(not(c))] | p:d"),
        normal("p:d | /a[c][b] | p:d[.]")
    );
    assert_ne!(normal("a[not(b = 'x')]"), normal("a[b != 'x']"));
    for (one, two) in [
        ("a[count(b) > 0]", "a[b]"),
        ("a[not(count(b))]", "a[not(b)]"),
        (
            "a[count(b) < 1 or count(b[1]/c) >= 1.5]",
            "a[not(2 > count(b[1]/c)) or not(b)]",
        ),
        ("a[count(b) >= 0][count(.) = 1]", "a"),
        ("a[b < c]", "a[c > b]"),
        ("a[not(lower-case(b) = 'x')]", "a['x' != lower-case(./b)]"),
        ("a[not(string-length() > 4.5)]", "a[string-length(.) <= 4]"),
        ("a[normalize-space(b)]", "a[normalize-space(b) != '']"),
        ("a[b = lower-case('X')]", "a[b = 'x']"),
        ("a[ends-with(b, '')]", "a"),
        ("a[@b[lower-case(c) = '']]", "a[@b]"),
        ("a[@b[lower-case(c) = 'x']]", "a[not(.)]"),
        ("a[upper-case(b) < 'x']", "a[not(.)]"),
        (
            "a[xs:date(b) < xs:date(' 2018-01-01 ')]",
            "a[xs:date('2018-01-01') > xs:date(b)]",
        ),
    ] {
        assert_eq!(normal(one), normal(two), "{one}");
    }
    assert_ne!(
        normal("a[not(xs:date(b) < xs:date('2018-01-01'))]"),
        normal("a[xs:date(b) >= xs:date('2018-01-01')]")
    );
    assert_ne!(
        normal("a[not(upper-case(b) < 1)]"),
        normal("a[upper-case(b) >= 1]")
    );
}

#[test]
fn a_path_below_text_or_an_attribute_selects_nothing() {
    let query = parsed("*[* or text()[.=''][@*='']]");
    assert_eq!(canonical_text(&normalise(query)), "/*[*]");
}

#[test]
fn normal_forms_of_queries_at_the_nesting_limit_can_be_parsed() {
    let levels = limits::MAX_NESTING / 2;
    let texts = [
        "a[x and b|c".repeat(2 * levels) + &"]".repeat(2 * levels),
        "a[x and not(y and z|b".repeat(levels) + &")]".repeat(levels),
        "a[x or not(y or b".repeat(levels) + &")]".repeat(levels),
    ];
    for text in texts {
        let normal = normalise(parsed(&text));
        assert_eq!(parse_canonical(&canonical_text(&normal)), Ok(normal));
    }
}
