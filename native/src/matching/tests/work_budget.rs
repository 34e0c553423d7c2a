//! Documents that spend their work budget: what is set aside is reported, everything else is exact.

use super::*;
use crate::reader::Limits;

/// A matcher whose documents may take few steps.
fn limited(index: &mut PathIndex, work: u64) -> PathMatcher {
    let limits = Limits {
        work,
        ..Limits::default()
    };
    let options = MatcherOptions {
        reader: ReaderOptions {
            limits,
            ..ReaderOptions::default()
        },
        run: LARGE_CACHE,
    };
    PathMatcher::new(index.snapshot(), Arc::new(Pool::new(options)))
}

/// The ids that match and those that are set aside, sorted.
fn outcome(matcher: &PathMatcher, document: &str) -> (Vec<String>, Vec<String>) {
    let matched = match_bytes(matcher, document.as_bytes()).expect("well-formed");
    let ids = |handles: &[u32]| {
        let id = |&handle: &u32| matcher.id(handle).to_owned();
        let mut ids: Vec<String> = handles.iter().map(id).collect();
        ids.sort();
        ids
    };
    (ids(&matched.handles), ids(&matched.set_aside))
}

/// Checks that every query is either decided exactly or set aside, and returns the latter.
fn check_outcome(
    matcher: &PathMatcher,
    queries: &[String],
    document: &str,
) -> Result<Vec<String>, TestCaseError> {
    let (found, set_aside) = outcome(matcher, document);
    let mut decided = expected(queries, document);
    decided.retain(|id| !set_aside.contains(id));
    prop_assert_eq!(found, decided, "{}, set aside {:?}", document, &set_aside);
    Ok(set_aside)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn what_is_not_set_aside_is_exact_and_the_cache_does_not_matter(
        queries in prop::collection::vec(query(), 1..40),
        documents in prop::collection::vec(element(), 1..4),
        copies in 1_usize..20,
    ) {
        let documents: Vec<String> = documents
            .iter()
            .map(|document| format!("<a>{}</a>", document.repeat(copies)))
            .collect();
        let mut index = index_of(&queries);
        let warm = limited(&mut index, 1);
        for document in documents.iter().chain(&documents) {
            let set_aside = check_outcome(&warm, &queries, document)?;
            let cold = limited(&mut index, 1);
            prop_assert_eq!(check_outcome(&cold, &queries, document)?, set_aside);
        }
    }
}

/// A deep document, and queries that compare every element in it with all elements inside.
fn hostile() -> (Vec<String>, String) {
    let queries =
        (0..200).map(|at| format!("//*[.//b[@k={at}]]//*[.//a[@k={at}] and .//b != {at}]"));
    let mut queries: Vec<String> = queries.collect();
    queries.extend(["/a/a/b".to_owned(), "//b[@k='3']".to_owned()]);
    let inner: String = (0..50)
        .map(|at| format!("<a k='{at}'/><b k='{at}'>{at}</b>"))
        .collect();
    let document = format!("{}{inner}{}", "<a>".repeat(50), "</a>".repeat(50));
    (queries, document)
}

#[test]
fn cheap_queries_are_served_beside_expensive_ones() {
    let (queries, document) = hostile();
    let mut index = index_of(&queries);
    let set_aside = check_outcome(&limited(&mut index, 300), &queries, &document).expect("exact");
    assert!(set_aside.len() >= 100, "{}", set_aside.len());
    for cheap in ["200", "201"] {
        assert!(!set_aside.contains(&cheap.to_owned()), "{cheap}");
    }
    let unlimited = outcome(&limited(&mut index, u64::MAX), &document);
    assert_eq!(unlimited, (expected(&queries, &document), Vec::new()));
}

#[test]
fn the_steps_of_a_document_are_bounded_and_repeatable() {
    let (queries, document) = hostile();
    let mut index = index_of(&queries);
    let matcher = limited(&mut index, 300);
    let steps = || {
        let matched = match_bytes(&matcher, document.as_bytes()).expect("well-formed");
        matched.counters.steps
    };
    let first = steps();
    let one_reading = 300 * (document.len() as u64 + 2_000) + 60 * queries.len() as u64;
    assert!(first > one_reading && first < 7 * one_reading, "{first}");
    assert_eq!(steps(), first);
}

#[test]
fn the_segments_of_an_index_share_one_budget() {
    let (queries, document) = hostile();
    let mut index = PathIndex::default();
    for (number, query) in queries.iter().enumerate() {
        let added = index.add(&number.to_string(), query, &Namespaces::default());
        assert!(added.is_ok());
        if number % 100 == 0 {
            index.snapshot();
        }
    }
    let matcher = limited(&mut index, 300);
    assert!(matcher.numbered().snapshot.views.len() > 1);
    let set_aside = check_outcome(&matcher, &queries, &document).expect("exact");
    assert!(!set_aside.is_empty() && set_aside.len() < queries.len());
}

#[test]
fn expensive_verification_is_set_aside_too() {
    let mut queries: Vec<String> = (0..100)
        .map(|at| format!("//*[not(.//c = {at})]//*[not(@k = {at})][{}]", at + 300))
        .collect();
    queries.push("//b[not(c)]".to_owned());
    let inner = "<b><d/></b>".repeat(200);
    let document = format!("{}{inner}{}", "<a>".repeat(40), "</a>".repeat(40));
    let mut index = index_of(&queries);
    let matcher = limited(&mut index, 100);
    let set_aside = check_outcome(&matcher, &queries, &document).expect("exact");
    assert!(!set_aside.is_empty());
    assert!(!set_aside.contains(&"100".to_owned()));
}

#[test]
fn a_stream_has_the_budget_of_its_size() {
    let (queries, document) = hostile();
    let mut index = index_of(&queries);
    let matcher = limited(&mut index, 300);
    let bytes = document.as_bytes().to_vec();
    let mut stream = DocumentSource::stream(Box::new(std::io::Cursor::new(bytes)));
    let streamed = matcher
        .match_document(&mut EventSource::unmapped(&mut stream))
        .expect("well-formed");
    let whole = match_bytes(&matcher, document.as_bytes()).expect("well-formed");
    assert_eq!(streamed.set_aside, whole.set_aside);
    assert_eq!(streamed.handles, whole.handles);
}
