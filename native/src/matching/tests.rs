//! The engine, and the baseline if it is compiled, against the exact evaluator, on generated
//! documents and queries. There are few names, so that matches are dense and elements nest in
//! elements of the same name.

use std::sync::Arc;

use proptest::prelude::*;

#[cfg(feature = "baselines")]
use crate::baselines::yfilter::YFilterEngine;
use crate::dispatch::document_source::DocumentSource;
use crate::dispatch::event_source::EventSource;
use crate::dispatch::outcome::{MatchError, Matched};
use crate::dispatch::worker_pool::Pool;
use crate::dispatch::DocumentMatcher;
use crate::matching::automaton_engine::AutomatonEngine;
use crate::matching::engine::PathEngine;
use crate::matching::matcher::PathMatcher;
use crate::matching::segment_run::RunLimits;
use crate::matching::worker::MatcherOptions;
use crate::path_index::subscription_index::PathIndex;
use crate::reader::{Reader, ReaderOptions};
use crate::select::{QuerySteps, Selection, SelectionOptions, Selector};
use crate::subscription_store::header_tests::HeaderTests;
use crate::xpath::{normalise, parse, Namespaces};

mod lazy_attributes;
mod nested_paths;
mod shared_operands;
mod work_budget;

const LARGE_CACHE: RunLimits = RunLimits {
    cache_bytes_max: 1 << 24,
    undecided_max: 1 << 20,
};
/// Evicted at nearly every new path.
const TINY_CACHE: RunLimits = RunLimits {
    cache_bytes_max: 500,
    undecided_max: 1 << 20,
};

fn name() -> impl Strategy<Value = &'static str> + Clone {
    prop::sample::select(vec!["a", "b", "c"])
}

fn word() -> impl Strategy<Value = &'static str> + Clone {
    prop::sample::select(vec!["x", "y", "1", "2", " 2.0 ", "10", "x  y", ""])
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

/// A nested path, of one node or many.
fn operand() -> impl Strategy<Value = String> + Clone {
    let test = prop_oneof![5 => name(), 1 => Just("*")];
    let axis = prop_oneof![3 => Just("/"), 1 => Just("//")];
    let filter = prop_oneof![
        12 => Just(""),
        1 => Just("[@p='1']"),
        1 => Just("[b or @q]"),
        1 => Just("[2]"),
        1 => Just("[text()='x']"),
    ];
    let steps = prop::collection::vec((axis.clone(), test, filter), 1..4).prop_map(|steps| {
        let steps = steps.into_iter();
        steps
            .map(|(axis, test, filter)| format!("{axis}{test}{filter}"))
            .collect::<String>()
    });
    let leaf = prop::sample::select(vec!["@p", "@q", "@*", "text()"]);
    prop_oneof![
        2 => Just(".".to_owned()),
        2 => leaf.clone().prop_map(str::to_owned),
        2 => name().prop_map(str::to_owned),
        3 => steps.clone().prop_map(|steps| format!(".{steps}")),
        2 => (steps, axis, leaf.clone()).prop_map(|(steps, axis, leaf)| format!(".{steps}{axis}{leaf}")),
        1 => leaf.prop_map(|leaf| format!(".//{leaf}")),
    ]
}

/// A predicate, without its brackets.
fn condition() -> impl Strategy<Value = String> {
    let op = prop::sample::select(vec!["=", "!=", "<", "<=", ">", ">="]);
    let literal = prop_oneof![
        word().prop_map(|word| format!("'{word}'")),
        prop::sample::select(vec!["1", "2", "10"]).prop_map(str::to_owned)
    ];
    let normal = prop::sample::select(vec!["'x'", "'x y'", "' x'", "'2.0'", "''", "2", "10"]);
    let part = prop::sample::select(vec!["x", "1", "0", "xy", "yx", "x1", ""]);
    let one = prop_oneof![
        8 => (operand(), op.clone(), literal).prop_map(|(operand, op, literal)| format!("{operand}{op}{literal}")),
        2 => (operand(), prop_oneof![3 => Just("="), 1 => op], normal).prop_map(|(operand, op, normal)| format!("normalize-space({operand}){op}{normal}")),
        2 => operand(),
        2 => (operand(), part.clone()).prop_map(|(operand, part)| format!("contains({operand}, '{part}')")),
        2 => (operand(), part).prop_map(|(operand, part)| format!("starts-with({operand}, '{part}')")),
        1 => name().prop_map(|name| format!("not({name})")),
        1 => Just("position()=2".to_owned()),
        1 => Just("position()=last()".to_owned()),
    ];
    one.prop_recursive(2, 4, 3, |inner| {
        (
            prop::collection::vec(inner, 2..4),
            prop::sample::select(vec![" or ", " and "]),
        )
            .prop_map(|(items, word)| format!("({})", items.join(word)))
    })
}

fn query() -> impl Strategy<Value = String> {
    let test = prop_oneof![5 => name(), 1 => Just("*")];
    let axis = prop_oneof![2 => Just("/"), 1 => Just("//")];
    let conditions = prop::collection::vec(
        condition().prop_map(|condition| format!("[{condition}]")),
        0..2,
    )
    .prop_map(|conditions| conditions.concat());
    let step = (
        axis,
        test,
        prop_oneof![2 => Just(String::new()), 1 => conditions],
    )
        .prop_map(|(axis, test, conditions)| format!("{axis}{test}{conditions}"));
    let leaf = prop_oneof![
        8 => Just(String::new()),
        2 => prop::sample::select(vec!["/@p", "//@q", "/text()", "//text()", "/@p[.='x']", "//@q[.='x'][.!='y']", "/text()[.=2]", "//text()[.='x' or .='y']", "/@*"]).prop_map(str::to_owned),
    ];
    let path =
        (prop::collection::vec(step, 1..5), leaf).prop_map(|(steps, leaf)| steps.concat() + &leaf);
    prop_oneof![9 => path.clone(), 1 => (path.clone(), path).prop_map(|(a, b)| format!("{a} | {b}"))]
}

/// The ids that a matcher finds, sorted.
fn found(matcher: &dyn DocumentMatcher, document: &str) -> Vec<String> {
    let matched = match_bytes(matcher, document.as_bytes()).expect("well-formed");
    let mut ids: Vec<String> = matched
        .handles
        .iter()
        .map(|&handle| matcher.id(handle).to_owned())
        .collect();
    ids.sort();
    ids
}

/// The ids of the queries that the exact evaluator finds, sorted.
fn expected(queries: &[String], document: &str) -> Vec<String> {
    let compile =
        |query: &String| Selector::compile(&parse(query, &Namespaces::default()).expect("a query"));
    let selectors: Vec<Selector> = queries.iter().map(compile).collect();
    let borrowed: Vec<&Selector> = selectors.iter().collect();
    let steps = QuerySteps::new(&borrowed);
    let mut selection = Selection::new(&steps, SelectionOptions::default());
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

fn index_of(queries: &[String]) -> PathIndex {
    let mut index = PathIndex::default();
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

fn matcher(index: &mut PathIndex, run: RunLimits) -> PathMatcher {
    matcher_by::<AutomatonEngine>(index, run)
}

fn matcher_by<E: PathEngine>(index: &mut PathIndex, run: RunLimits) -> PathMatcher<E> {
    let options = MatcherOptions {
        reader: ReaderOptions::default(),
        run,
    };
    PathMatcher::new(index.snapshot(), Arc::new(Pool::new(options)))
}

fn match_bytes(matcher: &dyn DocumentMatcher, document: &[u8]) -> Result<Matched, MatchError> {
    let document = &mut DocumentSource::Bytes(document);
    matcher.match_document(&mut EventSource::unmapped(document))
}

#[test]
fn header_tests_share_their_conditions_and_ignore_wildcards() {
    let field = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let mut index = PathIndex::default();
    let none = Namespaces::default();
    for number in 0..100 {
        let tests = HeaderTests::new(vec![field("p", &format!("v{number}"))]);
        for (kind, query) in [("deep", "//b"), ("root", "//a"), ("last", "/a/b[last()]")] {
            let id = format!("{kind}{number}");
            assert!(index.add_where(&id, query, &none, &tests).is_ok());
        }
    }
    assert!(index.add("any", "//@*", &none).is_ok());
    let matcher = matcher(&mut index, LARGE_CACHE);
    let matched = |header: &[(String, String)]| {
        let document = &mut DocumentSource::Bytes(b"<a><b/></a>");
        let source = &mut EventSource {
            header,
            ..EventSource::unmapped(document)
        };
        let handles = matcher.match_document(source).expect("well-formed").handles;
        let mut ids: Vec<String> = handles
            .iter()
            .map(|&at| matcher.id(at).to_owned())
            .collect();
        ids.sort();
        ids
    };
    assert_eq!(matched(&[]), [""; 0]);
    assert_eq!(matched(&[field("p", "v100"), field("q", "v7")]), [""; 0]);
    assert_eq!(matched(&[field("p", "v7")]), ["deep7", "last7", "root7"]);
    let deep7 = matcher.numbered().handle("deep7").expect("it was added");
    assert_eq!(matcher.numbered().source(deep7), "//b");
    let tests = matcher.numbered().header_tests(deep7);
    assert_eq!(tests.iter().collect::<Vec<_>>(), [("p", "v7")]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn engines_agree_with_the_exact_evaluator(
        queries in prop::collection::vec(query(), 1..40),
        documents in prop::collection::vec(element(), 1..4),
    ) {
        compare(&queries, &documents)?;
    }
}

/// Compares the engines with the exact evaluator.
fn compare(queries: &[String], documents: &[String]) -> Result<(), TestCaseError> {
    let mut index = index_of(queries);
    let shared = matcher(&mut index, LARGE_CACHE);
    let tiny = matcher(&mut index, TINY_CACHE);
    #[cfg(feature = "baselines")]
    let baseline = matcher_by::<YFilterEngine>(&mut index, LARGE_CACHE);
    // With a cold cache, then with a warm one.
    for document in documents.iter().chain(documents) {
        let expected = expected(queries, document);
        prop_assert_eq!(&found(&shared, document), &expected, "shared, {}", document);
        prop_assert_eq!(&found(&tiny, document), &expected, "tiny, {}", document);
        #[cfg(feature = "baselines")]
        prop_assert_eq!(
            &found(&baseline, document),
            &expected,
            "baseline, {}",
            document
        );
    }
    Ok(())
}

fn check(queries: &[&str], document: &str, ids: &[&str]) {
    let queries: Vec<String> = queries.iter().map(|&query| query.to_owned()).collect();
    let mut index = index_of(&queries);
    for run in [LARGE_CACHE, TINY_CACHE] {
        assert_eq!(
            found(&matcher(&mut index, run), document),
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
fn conditions_above_are_checked_on_each_element_aligned_with_the_step() {
    let query = ["//a[@p='1']//b[@q='2']"];
    check(&query, "<a p='1'><a p='2'><b q='2'/></a></a>", &["0"]);
    check(&query, "<a p='2'><a p='3'><b q='2'/></a></a>", &[]);
}

#[test]
fn a_segment_may_have_more_operands_than_a_level_has_bits() {
    let queries: Vec<String> = (0..150)
        .map(|number| format!("//a[@n{number}='x']/b"))
        .collect();
    let queries: Vec<&str> = queries.iter().map(String::as_str).collect();
    check(&queries, "<a n3='x'><b n9='x'/></a>", &["3"]);
    check(&queries, "<a n67='x' n3='y'><c><b/></c><b/></a>", &["67"]);
    check(&queries, "<a n131='x'><b><a n67='x'/></b></a>", &["131"]);
}

#[test]
fn an_element_at_a_known_path_with_other_attributes_is_decided_again() {
    let queries = [
        "//a[@p='1']/b",
        "//a[@p='2']/b",
        "//b[@q='1']",
        "//b[@q!='1']",
    ];
    check(
        &queries,
        "<c><a p='1'><b/></a><a p='2'><b q='1'/><b q='2'/></a></c>",
        &["0", "1", "2", "3"],
    );
    check(
        &queries,
        "<c><a p='1'><b/></a><a><b q='1'/></a></c>",
        &["0", "2"],
    );
    check(&queries, "<a p='1'><a p='2'><c><b/></c></a></a>", &[]);
}

#[test]
fn a_class_with_several_branches_matches_once() {
    let queries = [
        "/a | /a[@p='1'] | //b[@p='1'] | //c[@p='1']/b",
        "//b[@p='1'] | //b[@q='1']",
    ];
    check(&queries, "<a p='1'><b p='1' q='1'/></a>", &["0", "1"]);
    check(&queries, "<d><b q='1'/><c p='1'><b/></c></d>", &["0", "1"]);
    check(&queries, "<d><c p='1'><d><b/></d></c></d>", &[]);
}

#[test]
fn a_path_too_deep_to_align_is_verified() {
    let nested = |attributes: &str| {
        let (open, close) = ("<c>".repeat(150), "</c>".repeat(150));
        format!("<a {attributes}>{open}<b q='1'/>{close}</a>")
    };
    let queries = [
        "//a[@p='1']//b",
        "//a[@p='2']//b",
        "//a[@p!='1']//c//b",
        "//a[@p='1']//b[@q=1]",
    ];
    check(&queries, &nested("p='1'"), &["0", "3"]);
    check(&queries, &nested("p='2'"), &["1", "2"]);
    check(&queries, &nested(""), &[]);
}

#[test]
fn conditions_above_and_below_the_last_descendant_step() {
    let queries = [
        "//a[@p='1']//b[@q='1']/c",
        "/a[@p='1']/a//a/b[@q='2']/c",
        "//a[@p='2']/b/c",
        "//a//a[@p='1']//c",
    ];
    check(
        &queries,
        "<a p='1'><a p='2'><a><b q='2'><c/></b></a><b q='1'><c/></b></a></a>",
        &["0", "1", "2"],
    );
    check(
        &queries,
        "<a p='2'><a p='1'><b q='2'><c/></b></a><b q='1'/></a>",
        &["3"],
    );
}

#[test]
fn a_refused_document_matches_nothing_and_leaves_the_matcher_usable() {
    let mut index = index_of(&["/a".to_owned(), "/a/b".to_owned()]);
    let matcher = matcher(&mut index, LARGE_CACHE);
    let refused = match_bytes(&matcher, b"<a><b></a>");
    assert!(matches!(refused, Err(MatchError::Refused(_))));
    assert_eq!(found(&matcher, "<a/>"), ["0"]);
}

#[test]
fn a_snapshot_does_not_see_later_changes() {
    let mut index = index_of(&["/a".to_owned()]);
    let before = matcher(&mut index, LARGE_CACHE);
    assert!(index.add("late", "/a", &Namespaces::default()).is_ok());
    assert!(index.remove("0"));
    let after = matcher(&mut index, LARGE_CACHE);
    assert_eq!(found(&before, "<a/>"), ["0"]);
    assert_eq!(found(&after, "<a/>"), ["late"]);
}

#[test]
fn many_small_additions_make_few_segments() {
    let mut index = PathIndex::default();
    for number in 0..50 {
        assert!(index
            .add(&number.to_string(), "/a", &Namespaces::default())
            .is_ok());
        let snapshot = index.snapshot();
        assert!(snapshot.views.len() <= crate::subscription_store::store::SEGMENTS_MAX);
    }
    assert_eq!(found(&matcher(&mut index, LARGE_CACHE), "<a/>").len(), 50);
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
    assert_eq!(
        index.snapshot().views[0]
            .segment
            .query_of(0)
            .expect("canonical"),
        query
    );
}
