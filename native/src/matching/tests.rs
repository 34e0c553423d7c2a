//! Both engines against the exact evaluator, on generated documents and queries with few names, so
//! that matches are dense and elements nest in themselves.

use std::sync::Arc;

use proptest::prelude::*;

use super::matcher::{Engine, Matcher};
use super::pool::{MatcherOptions, Pool};
use super::run::RunLimits;
use super::source::{MatchError, Source};
use crate::index::store::Index;
use crate::reader::{Reader, ReaderOptions};
use crate::select::{Options, Selection, Selector};
use crate::xpath::{normalise, parse, Namespaces};

const AMPLE: RunLimits = RunLimits {
    cache_bytes_max: 1 << 24,
    undecided_max: 1 << 20,
};
/// Dropped at nearly every new path.
const SCANT: RunLimits = RunLimits {
    cache_bytes_max: 500,
    undecided_max: 1 << 20,
};

fn name() -> impl Strategy<Value = &'static str> + Clone {
    prop::sample::select(vec!["a", "b", "c"])
}

fn word() -> impl Strategy<Value = &'static str> + Clone {
    prop::sample::select(vec!["x", "y", "1", "2", " 2.0 ", "10", ""])
}

fn element() -> impl Strategy<Value = String> {
    let attributes =
        prop::collection::btree_map(prop::sample::select(vec!["p", "q"]), word(), 0..2);
    let leaf = (name(), attributes.clone(), word())
        .prop_map(|(name, attributes, text)| render(name, &attributes, text));
    leaf.prop_recursive(6, 40, 4, move |inner| {
        let content = prop::collection::vec(prop_oneof![3 => inner, 1 => word().prop_map(str::to_owned), 1 => Just("<!---->".to_owned())], 0..4);
        (name(), attributes.clone(), content).prop_map(|(name, attributes, content)| render(name, &attributes, &content.concat()))
    })
}

fn render(
    name: &str,
    attributes: &std::collections::BTreeMap<&str, &str>,
    content: &str,
) -> String {
    let attributes: String = attributes
        .iter()
        .map(|(name, value)| format!(" {name}='{value}'"))
        .collect();
    format!("<{name}{attributes}>{content}</{name}>")
}

fn condition() -> impl Strategy<Value = String> {
    let operand = prop_oneof![
        Just("@p".to_owned()),
        Just("@q".to_owned()),
        Just(".".to_owned()),
        Just("text()".to_owned()),
        name().prop_map(str::to_owned),
        (name(), name()).prop_map(|(a, b)| format!("{a}/{b}")),
        name().prop_map(|a| format!(".//{a}")),
    ];
    let op = prop::sample::select(vec!["=", "!=", "<", "<=", ">", ">="]);
    let literal = prop_oneof![
        word().prop_map(|word| format!("'{word}'")),
        prop::sample::select(vec!["1", "2", "10"]).prop_map(str::to_owned)
    ];
    prop_oneof![
        8 => (operand.clone(), op, literal).prop_map(|(operand, op, literal)| format!("[{operand}{op}{literal}]")),
        2 => operand.clone().prop_filter("`.` alone says nothing", |operand| operand != ".").prop_map(|operand| format!("[{operand}]")),
        1 => operand.clone().prop_map(|operand| format!("[contains({operand}, 'x')]")),
        1 => name().prop_map(|name| format!("[not({name})]")),
        1 => Just("[2]".to_owned()),
        1 => Just("[last()]".to_owned()),
    ]
}

fn query() -> impl Strategy<Value = String> {
    let test = prop_oneof![5 => name(), 1 => Just("*")];
    let axis = prop_oneof![2 => Just("/"), 1 => Just("//")];
    let conditions =
        prop::collection::vec(condition(), 0..2).prop_map(|conditions| conditions.concat());
    let step = (
        axis,
        test,
        prop_oneof![2 => Just(String::new()), 1 => conditions],
    )
        .prop_map(|(axis, test, conditions)| format!("{axis}{test}{conditions}"));
    let leaf = prop_oneof![
        8 => Just(String::new()),
        1 => prop::sample::select(vec!["/@p", "//@q", "/text()", "//text()", "/@p[.='x']", "/text()[.=2]"]).prop_map(str::to_owned),
    ];
    let path =
        (prop::collection::vec(step, 1..5), leaf).prop_map(|(steps, leaf)| steps.concat() + &leaf);
    prop_oneof![9 => path.clone(), 1 => (path.clone(), path).prop_map(|(a, b)| format!("{a} | {b}"))]
}

/// The ids that a matcher finds, sorted.
fn found(matcher: &Matcher, document: &str) -> Vec<String> {
    let matched = matcher
        .matches(&mut Source::Bytes(document.as_bytes()))
        .expect("well-formed");
    let mut ids: Vec<String> = matched
        .handles
        .iter()
        .map(|&handle| matcher.id(handle).to_owned())
        .collect();
    ids.sort();
    ids
}

/// The same by evaluating each query on its own.
fn expected(queries: &[String], document: &str) -> Vec<String> {
    let compile =
        |query: &String| Selector::compile(&parse(query, &Namespaces::default()).expect("a query"));
    let selectors: Vec<Selector> = queries.iter().map(compile).collect();
    let borrowed: Vec<&Selector> = selectors.iter().collect();
    let mut selection = Selection::new(&borrowed, Options::default());
    Reader::new(ReaderOptions::default())
        .read_slice(document.as_bytes(), &mut selection)
        .expect("well-formed");
    let outcomes = selection.finish();
    let mut ids: Vec<String> = (0..queries.len())
        .filter(|&at| outcomes[at].matched)
        .map(|at| at.to_string())
        .collect();
    ids.sort();
    ids
}

fn index_of(queries: &[String]) -> Index {
    let mut index = Index::default();
    for (number, query) in queries.iter().enumerate() {
        assert!(
            index
                .add(&number.to_string(), query, &Namespaces::default())
                .is_ok(),
            "{query}"
        );
    }
    index
}

fn matcher(index: &mut Index, engine: Engine, run: RunLimits) -> Matcher {
    let options = MatcherOptions {
        reader: ReaderOptions::default(),
        run,
    };
    Matcher::new(index.snapshot(), engine, Arc::new(Pool::new(options)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn engines_agree_with_the_exact_evaluator(
        queries in prop::collection::vec(query(), 1..40),
        documents in prop::collection::vec(element(), 1..4),
    ) {
        let mut index = index_of(&queries);
        let shared = matcher(&mut index, Engine::Shared, AMPLE);
        let scant = matcher(&mut index, Engine::Shared, SCANT);
        let baseline = matcher(&mut index, Engine::YFilter, AMPLE);
        // Twice: cold, then warm.
        for document in documents.iter().chain(&documents) {
            let expected = expected(&queries, document);
            prop_assert_eq!(&found(&shared, document), &expected, "shared, {}", document);
            prop_assert_eq!(&found(&scant, document), &expected, "scant, {}", document);
            prop_assert_eq!(&found(&baseline, document), &expected, "baseline, {}", document);
        }
    }
}

fn check(queries: &[&str], document: &str, ids: &[&str]) {
    let queries: Vec<String> = queries.iter().map(|&query| query.to_owned()).collect();
    let mut index = index_of(&queries);
    for run in [AMPLE, SCANT] {
        assert_eq!(
            found(&matcher(&mut index, Engine::Shared, run), document),
            ids,
            "{document}"
        );
    }
}

#[test]
fn conditions_on_several_steps_must_hold_on_one_chain() {
    let queries = ["/a/b[@p='1']/c[@q='2']"];
    check(&queries, "<a><b p='1'><c q='2'/></b></a>", &["0"]);
    check(
        &queries,
        "<a><b p='1'><c q='1'/></b><b p='2'><c q='2'/></b></a>",
        &[],
    );
}

#[test]
fn a_condition_may_be_met_after_the_rest_of_the_path_was_read() {
    check(
        &["/a[b='x']/c//d"],
        "<a><c><e><d/></e></c><b>x</b></a>",
        &["0"],
    );
    check(&["/a[b='x']/c//d"], "<a><c><e/></c><b>x</b></a>", &[]);
}

#[test]
fn conditions_above_are_checked_on_each_element_that_can_stand_for_the_step() {
    let query = ["//a[@p='1']//b[@q='2']"];
    check(&query, "<a p='1'><a p='2'><b q='2'/></a></a>", &["0"]);
    check(&query, "<a p='2'><a p='3'><b q='2'/></a></a>", &[]);
}

#[test]
fn a_refused_document_matches_nothing_and_leaves_the_matcher_sound() {
    let mut index = index_of(&["/a".to_owned(), "/a/b".to_owned()]);
    let matcher = matcher(&mut index, Engine::Shared, AMPLE);
    let refused = matcher.matches(&mut Source::Bytes(b"<a><b></a>"));
    assert!(matches!(refused, Err(MatchError::Refused(_))));
    assert_eq!(found(&matcher, "<a/>"), ["0"]);
}

#[test]
fn a_snapshot_does_not_see_what_comes_after_it() {
    let mut index = index_of(&["/a".to_owned()]);
    let before = matcher(&mut index, Engine::Shared, AMPLE);
    assert!(index.add("late", "/a", &Namespaces::default()).is_ok());
    assert!(index.remove("0"));
    let after = matcher(&mut index, Engine::Shared, AMPLE);
    assert_eq!(found(&before, "<a/>"), ["0"]);
    assert_eq!(found(&after, "<a/>"), ["late"]);
}

#[test]
fn many_small_additions_stay_a_few_segments() {
    let mut index = Index::default();
    for number in 0..50 {
        assert!(index
            .add(&number.to_string(), "/a", &Namespaces::default())
            .is_ok());
        let snapshot = index.snapshot();
        assert!(snapshot.views.len() <= crate::index::store::SEGMENTS_MAX);
    }
    assert_eq!(
        found(&matcher(&mut index, Engine::Shared, AMPLE), "<a/>").len(),
        50
    );
}

#[test]
fn equal_queries_are_one_class() {
    let mut index = index_of(&[
        "/a[b][c]".to_owned(),
        "/a[c][b]".to_owned(),
        "/a[b and c]".to_owned(),
    ]);
    assert_eq!(index.snapshot().views[0].segment.class_count(), 1);
    let query = normalise(parse("/a[b][c]", &Namespaces::default()).expect("a query"));
    assert_eq!(index.snapshot().views[0].segment.query_of(0), query);
}
