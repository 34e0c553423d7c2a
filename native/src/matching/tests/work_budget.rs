//! Documents that spend their work budget: what is set aside is reported, everything else is exact.

use super::*;
use crate::reader::Limits;

/// A matcher whose documents may take few steps.
fn limited(index: &mut PathIndex, work: u64) -> PathMatcher {
    limited_to(index, work, LARGE_CACHE)
}

fn limited_to(index: &mut PathIndex, work: u64, run: RunLimits) -> PathMatcher {
    let limits = Limits {
        work,
        ..Limits::default()
    };
    let options = MatcherOptions {
        reader: ReaderOptions {
            limits,
            ..ReaderOptions::default()
        },
        run,
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
    let one_reading = 300 * (document.len() as u64 + 500) + 22 * queries.len() as u64;
    assert!(first > one_reading && first < 5 * one_reading, "{first}");
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
    let matcher = limited(&mut index, 600);
    assert!(matcher.numbered().snapshot.views.len() > 1);
    let set_aside = check_outcome(&matcher, &queries, &document).expect("exact");
    let count = set_aside.len();
    assert!(0 < count && count < queries.len(), "{count}");
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
fn an_expensive_common_part_sets_only_its_users_aside() {
    let inner = "<c>1</c><d>2</d>".repeat(100);
    let document = format!("{}{inner}<b/>{}", "<a>".repeat(40), "</a>".repeat(40));
    for count in [2, 30, 300] {
        // All of them test the same nodes below every element, and share nearly all steps.
        let mut queries: Vec<String> = (0..count)
            .map(|at| format!("//*[not(.//c = .//d)]//a[not(.//c != .//d)]/b[{}]", at + 2))
            .collect();
        queries.push("//b[not(c)]".to_owned());
        queries.push("/a/a[not(e)]".to_owned());
        let mut index = index_of(&queries);
        let matcher = limited(&mut index, 50);
        let set_aside = check_outcome(&matcher, &queries, &document).expect("exact");
        assert_eq!(set_aside.len(), count);
        let matcher = limited(&mut index, 20_000);
        let set_aside = check_outcome(&matcher, &queries, &document).expect("exact");
        assert!(set_aside.is_empty(), "{count}: {}", set_aside.len());
    }
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

#[test]
fn queries_with_too_many_pending_matches_are_set_aside() {
    let mut queries: Vec<String> = (0..20)
        .map(|at| format!("//a[c = {at}][.//b != {at}]//a[b != {at}]//a[c != {at}]/b"))
        .collect();
    queries.push("//b".to_owned());
    let inner = "<b>1</b>".repeat(5) + "<c>1</c>";
    let document = format!("{}{inner}{}", "<a>".repeat(20), "</a>".repeat(20));
    let mut index = index_of(&queries);
    let run = RunLimits {
        undecided_max: 300,
        ..LARGE_CACHE
    };
    let matcher = limited_to(&mut index, u64::MAX, run);
    let set_aside = check_outcome(&matcher, &queries, &document).expect("exact");
    assert!(!set_aside.is_empty());
    assert!(!set_aside.contains(&"20".to_owned()));
}

#[test]
fn large_queries_that_cannot_all_be_prepared_leave_the_others_their_steps() {
    let tests = |query: usize| -> String {
        let tests = (0..50).map(|at| format!("[not(b{query}x{at})]"));
        tests.collect()
    };
    let mut queries: Vec<String> = (0..100).map(|at| format!("//a{}[2]", tests(at))).collect();
    queries.push("/r/a[not(c)]".to_owned());
    let document = "<r><a><b/></a></r>";
    let matcher = limited(&mut index_of(&queries), 200);
    let set_aside = check_outcome(&matcher, &queries, document).expect("exact");
    assert!(set_aside.len() > 50, "{}", set_aside.len());
    assert!(set_aside.len() < 100, "{}", set_aside.len());
    assert!(!set_aside.contains(&"100".to_owned()));
    let fragments = selected(&matcher, &queries, document);
    assert!(fragments.len() < 50 && fragments.contains(&100));
}

/// The positions of the queries whose fragments are determined.
fn selected(matcher: &PathMatcher, queries: &[String], document: &str) -> Vec<usize> {
    let handle = |at: usize| matcher.numbered().handle(&at.to_string()).expect("an id");
    let handles: Vec<u32> = (0..queries.len()).map(handle).collect();
    let mut source = DocumentSource::Bytes(document.as_bytes());
    let (nodes, _) = matcher.select(&mut source, &handles).expect("well-formed");
    let determined = nodes
        .iter()
        .enumerate()
        .filter(|(_, nodes)| nodes.is_some());
    determined.map(|(at, _)| at).collect()
}

#[test]
fn fragments_that_take_too_many_steps_are_not_determined() {
    let (queries, document) = hostile();
    let mut index = index_of(&queries);
    let unlimited = limited(&mut index, 1 << 40);
    let limited = selected(&limited(&mut index, 300), &queries, &document);
    assert!(limited.len() < 150, "{}", limited.len());
    assert!(limited.contains(&200) && limited.contains(&201));
    let unlimited = selected(&unlimited, &queries, &document);
    assert_eq!(unlimited.len(), queries.len());
}

#[test]
fn an_explanation_has_a_budget() {
    let (queries, document) = hostile();
    let mut index = index_of(&queries);
    for (work, is_explained) in [(1, false), (1 << 30, true)] {
        let matcher = limited(&mut index, work);
        let handle = matcher.numbered().handle("0").expect("an id");
        let explained = matcher.explain(&mut DocumentSource::Bytes(document.as_bytes()), handle);
        assert_eq!(explained.is_ok(), is_explained);
    }
}

#[test]
fn a_pattern_is_charged_by_its_active_states() {
    let text = "a".repeat(5_000);
    let document = format!("<r><p>{text}</p></r>");
    let steps = |pattern: &str| {
        let queries = vec![format!("//p[matches(., '{pattern}')]")];
        let matcher = limited(&mut index_of(&queries), u64::MAX);
        let matched = match_bytes(&matcher, document.as_bytes()).expect("well-formed");
        matched.counters.steps
    };
    let (simple, many_states) = (steps("[ab][bc]"), steps("[ab]*(a|b){1,200}[bc]"));
    assert!(many_states > 50 * simple, "{simple} {many_states}");
}

/// The steps that queries take on a document, and those of one reading of it.
fn steps_and_budget(queries: &[String], document: &str, work: u64) -> (u64, u64) {
    let matcher = limited(&mut index_of(queries), work);
    let matched = match_bytes(&matcher, document.as_bytes()).expect("well-formed");
    let one_reading =
        work * (document.len() as u64 + 500) + work * 75 * queries.len() as u64 / 1_000;
    (matched.counters.steps, one_reading)
}

#[test]
fn one_test_of_a_large_value_hardly_exceeds_the_budget() {
    let value = "ab".repeat(20_000);
    for document in [
        format!("<r><p>{value}</p></r>"),
        format!("<r><p k='{value}'/></r>"),
    ] {
        for value in [".", "@k"] {
            for test in [
                "matches(#, '[ab]*[ab]{1,490}[cd]')",
                "matches(translate(#, 'ab', 'ba'), '[ab]*[ab]{1,490}[cd]')",
                "string-length(lower-case(upper-case(lower-case(upper-case(#))))) = 7",
            ] {
                let queries = vec![format!("//p[{}]", test.replace('#', value))];
                let (steps, budget) = steps_and_budget(&queries, &document, 50);
                assert!(steps < budget + budget / 4, "{queries:?}: {steps} {budget}");
            }
        }
    }
}

#[test]
fn tests_of_one_large_attribute_stop_at_the_budget() {
    let document = format!("<r k='{}'/>", "ab".repeat(5_000));
    for pattern in [
        "/r[matches(@k, '[ab]*[ab]{1,#}[cd]')]",
        "//@k[matches(., '[ab]*[ab]{1,#}[cd]')]",
        "/r[contains(translate(@k, 'ab', 'xy'), 'z#') or @k[matches(., '[cd]{#}')]]",
    ] {
        let queries: Vec<String> = (2..300)
            .map(|at| pattern.replace('#', &at.to_string()))
            .collect();
        let (steps, budget) = steps_and_budget(&queries, &document, 100);
        assert!(steps < 3 * budget, "{pattern}: {steps} {budget}");
    }
}

#[test]
fn the_end_of_a_value_is_charged_by_the_active_states_of_a_pattern() {
    let document = format!("<r>{}</r>", "<p/><q k=''/>".repeat(100));
    for value in ["//p[matches(., '#')]", "//q[matches(@k, '#')]"] {
        let steps = |count: usize| {
            let query = value.replace('#', &format!("([ab]?){{{count}}}[cd]"));
            steps_and_budget(&[query], &document, u64::MAX >> 20).0
        };
        let (few_states, many_states) = (steps(1), steps(300));
        assert!(
            many_states > 10 * few_states,
            "{value}: {few_states} {many_states}"
        );
    }
}

#[test]
fn text_in_many_open_elements_stops_at_the_budget() {
    let depth = 200;
    let text = "É".repeat(10_000);
    let document = format!("{}{text}{}", "<a>".repeat(depth), "</a>".repeat(depth));
    for pattern in [
        "//a[contains(., 'x#')]",
        "//a[contains(lower-case(.), 'x#')]",
        "//a[string-length(.) = #]",
        "//a[starts-with(., 'x#')]",
    ] {
        let queries: Vec<String> = (0..100)
            .map(|at| pattern.replace('#', &at.to_string()))
            .collect();
        let (steps, budget) = steps_and_budget(&queries, &document, 20);
        assert!(steps < 3 * budget, "{pattern}: {steps} {budget}");
    }
}
