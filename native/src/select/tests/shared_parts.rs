//! Queries that have steps and atoms in common: both are evaluated once, and each query gets its own
//! result.

use proptest::prelude::*;

use crate::xpath::ast::{Expr, Path, Query, Step};

use super::generated_queries::{check, path, predicate, root};
use super::*;

/// How queries are made of common paths and predicates.
#[derive(Clone, Debug)]
enum Shape {
    /// One of the paths.
    Path(usize),
    /// A path up to a step, then another path.
    Chained(usize, usize, usize),
    /// A path with predicates at one of its steps.
    Filtered(usize, usize, Vec<Filter>),
}

/// A predicate made of common ones.
#[derive(Clone, Debug)]
enum Filter {
    One(usize),
    Not(usize),
    And(usize, usize),
    Or(usize, usize),
    AndNot(usize, usize),
}

impl Filter {
    fn expr(&self, predicates: &[Expr]) -> Expr {
        let of = |at: &usize| predicates[at % predicates.len()].clone();
        let not = |at: &usize| Expr::Not(Box::new(of(at)));
        match self {
            Self::One(at) => of(at),
            Self::Not(at) => not(at),
            Self::And(left, right) => Expr::And(vec![of(left), of(right)]),
            Self::Or(left, right) => Expr::Or(vec![not(left), of(right)]),
            Self::AndNot(left, right) => Expr::And(vec![of(left), not(right)]),
        }
    }
}

impl Shape {
    fn path(&self, paths: &[Path], predicates: &[Expr]) -> Path {
        let of = |at: &usize| paths[at % paths.len()].clone();
        match self {
            Self::Path(at) => of(at),
            Self::Chained(at, kept, then) => {
                let mut steps: Vec<Step> = of(at).steps;
                // Only the last step may select attributes or text.
                steps.truncate((kept % steps.len()).max(1).min(steps.len() - 1));
                steps.extend(of(then).steps);
                Path { steps }
            }
            Self::Filtered(at, step, filters) => {
                let mut path = of(at);
                let count = path.steps.len();
                let filters = filters.iter().map(|filter| filter.expr(predicates));
                path.steps[step % count].predicates.extend(filters);
                path
            }
        }
    }
}

fn shape() -> impl Strategy<Value = Shape> {
    let at = || 0_usize..4;
    let filter = prop_oneof![
        2 => at().prop_map(Filter::One),
        2 => at().prop_map(Filter::Not),
        1 => (at(), at()).prop_map(|(left, right)| Filter::And(left, right)),
        1 => (at(), at()).prop_map(|(left, right)| Filter::Or(left, right)),
        1 => (at(), at()).prop_map(|(left, right)| Filter::AndNot(left, right)),
    ];
    prop_oneof![
        1 => at().prop_map(Shape::Path),
        2 => (at(), at(), at()).prop_map(|(at, kept, then)| Shape::Chained(at, kept, then)),
        3 => (at(), at(), prop::collection::vec(filter, 1..3))
            .prop_map(|(at, step, filters)| Shape::Filtered(at, step, filters)),
    ]
}

/// Queries made of a few common paths and predicates.
fn queries(depth: u32) -> impl Strategy<Value = Vec<Query>> {
    let paths = prop::collection::vec(path(predicate(depth), 0..3), 1..4);
    let predicates = prop::collection::vec(predicate(depth), 1..4);
    let branches = prop::collection::vec(prop::collection::vec(shape(), 1..3), 2..9);
    (paths, predicates, branches).prop_map(|(paths, predicates, queries)| {
        let branch = |shape: &Shape| shape.path(&paths, &predicates);
        let query = |shapes: &Vec<Shape>| Query {
            branches: shapes.iter().map(branch).collect(),
        };
        queries.iter().map(query).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: ProptestConfig::default().cases.max(2_000),
        ..ProptestConfig::default()
    })]

    #[test]
    fn queries_with_common_parts_agree_with_the_reference(root in root(), queries in queries(1)) {
        check(&root, &queries)?;
    }

    #[test]
    fn those_with_nested_predicates_do_too(root in root(), queries in queries(2)) {
        check(&root, &queries)?;
    }
}

/// The steps of `count` queries made from a pattern, where `#` stands for a number, beyond those of one.
fn further_steps(document: &str, pattern: &str, count: usize) -> (u64, u64) {
    let queries: Vec<String> = (0..count)
        .map(|at| pattern.replace('#', &at.to_string()))
        .collect();
    let queries: Vec<&str> = queries.iter().map(String::as_str).collect();
    let options = SelectionOptions::default();
    let steps = |queries: &[&str]| {
        let results = results(document, queries, options).expect("within limits");
        assert!(results.queries.iter().all(|result| !result.matched));
        results.total_steps()
    };
    let one = steps(&queries[..1]);
    (one, steps(&queries) - one)
}

#[test]
fn a_common_atom_is_tested_once_per_element() {
    // Testing one of the atoms takes far more steps than binding an element.
    let element = format!("<a>{}</a>", "<b k='3'>x</b><c>1</c><c>2</c>".repeat(100));
    let document = format!("<r>{}</r>", element.repeat(20));
    for atom in [
        "not(.//b[@k = '4'])",
        "count(.//c) = 300",
        ".//b = .//c",
        "string-length(normalize-space(.)) = 1000",
        "contains(.//c[. > 1], 'z')",
        "not(b[last()][not(d)])",
    ] {
        // The queries differ in the other predicate, so only the atom is common.
        let pattern = format!("//a[{atom}][@k != '#']");
        let (one, further) = further_steps(&document, &pattern, 101);
        assert!(further < 10 * one, "{atom}: {one} {further}");
    }
}

#[test]
fn common_leading_steps_are_evaluated_once() {
    let document = format!("<r>{}</r>", "<a><b k='3'>x</b><c>1</c></a>".repeat(200));
    let pattern = "//a[not(.//b[@k = '4'])]//b[count(.//text()) = 1]/d#";
    let (one, further) = further_steps(&document, pattern, 101);
    assert!(further < 20 * one, "{one} {further}");
}

/// Queries in compiled form, made from a pattern, where `#` stands for a number.
fn compiled(compiler: &mut SelectorCompiler, pattern: &str, count: usize) -> Vec<Selector> {
    let queries = (0..count).map(|at| pattern.replace('#', &at.to_string()));
    queries
        .map(|query| compiler.compile(&parse(&query, &Namespaces::default()).expect("valid")))
        .collect()
}

#[test]
fn a_table_that_exceeds_its_steps_is_not_made_whole() {
    let tests: String = (0..50).map(|at| format!("[not(b#/c{at})]")).collect();
    let mut compiler = SelectorCompiler::default();
    let mut selectors = compiled(&mut compiler, &format!("//a{tests}"), 200);
    selectors.extend(compiled(&mut compiler, "//d[not(e#)]", 20));
    let selectors: Vec<&Selector> = selectors.iter().collect();
    let whole = QuerySteps::new(&selectors);
    assert!(whole.len() > 20_000);
    for steps_max in [0, 1_000, 20_000, 100_000] {
        let (table, order) = QuerySteps::within(&selectors, steps_max);
        let taken: u64 = table.preparation().iter().sum();
        assert!(taken <= steps_max.max(32), "{taken} {steps_max}");
        assert!(table.len() as u64 <= 1 + steps_max / 32, "{steps_max}");
        // The cheapest come first; none that would still fit is left out.
        assert!(order.into_iter().eq((200..220).chain(0..200)));
        assert!(steps_max < 20_000 || table.query_count() >= 20);
        let largest = selectors[0].preparation;
        assert!(steps_max < 20_000 || taken + largest > steps_max);
    }
    let (table, order) = QuerySteps::within(&selectors, u64::MAX);
    assert_eq!(table.len(), whole.len());
    assert!(order.into_iter().eq(0..220));
}

#[test]
fn parts_that_queries_share_are_prepared_once() {
    let tests: String = (0..50).map(|at| format!("[not(b/c{at})]")).collect();
    let mut compiler = SelectorCompiler::default();
    let selectors = compiled(&mut compiler, &format!("//a{tests}/d#"), 200);
    let selectors: Vec<&Selector> = selectors.iter().collect();
    let taken: u64 = QuerySteps::new(&selectors).preparation().iter().sum();
    let steps_max = taken + selectors[0].preparation;
    let (table, _) = QuerySteps::within(&selectors, steps_max);
    assert_eq!(table.query_count(), 200);
    assert!(taken < 10 * selectors[0].preparation);
}
