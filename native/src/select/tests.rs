//! The evaluator against the reference, and regression tests.

mod document;
mod explanation;
mod generated_queries;
mod reference;
mod shared_parts;

use crate::events::Span;
use crate::reader::{Reader, ReaderOptions};
use crate::xpath::{parse, Namespaces};

use super::{
    QueryResult, QuerySteps, ResultDetail, Selection, SelectionOptions, SelectionResult, Selector,
    SelectorCompiler,
};

/// The results of queries that share their equal parts.
fn results(
    document: &str,
    queries: &[&str],
    options: SelectionOptions,
) -> Result<SelectionResult, &'static str> {
    let namespaces = Namespaces::new([("u", "urn:u")], "").expect("valid bindings");
    let mut compiler = SelectorCompiler::default();
    let queries = queries.iter();
    let selectors: Vec<Selector> = queries
        .map(|query| compiler.compile(&parse(query, &namespaces).expect("a valid query")))
        .collect();
    let selectors: Vec<&Selector> = selectors.iter().collect();
    let steps = QuerySteps::new(&selectors);
    let mut selection = Selection::new(&steps, options);
    match Reader::new(ReaderOptions::default()).read_slice(document.as_bytes(), &mut selection) {
        Ok(_) => Ok(selection.finish_with_steps()),
        Err(refusal) => Err(refusal.code),
    }
}

fn result(
    document: &str,
    query: &str,
    options: SelectionOptions,
) -> Result<QueryResult, &'static str> {
    results(document, &[query], options).map(|mut results| results.queries.remove(0))
}

fn all() -> SelectionOptions {
    SelectionOptions {
        detail: ResultDetail::AllNodes,
        ..SelectionOptions::default()
    }
}

/// What a query selects: for each node, the document's text in its spans.
fn selected(document: &str, query: &str) -> Vec<String> {
    let result = result(document, query, all()).expect("a valid document");
    let text = |span: &Span| &document[span.start as usize..span.end as usize];
    result
        .nodes
        .iter()
        .map(|node| node.spans.iter().map(text).collect::<Vec<_>>().join("…"))
        .collect()
}

#[test]
fn nodes_are_reported_with_their_byte_spans() {
    let document = "<a x='1'><b y = \"2\">one</b>two</a>";
    assert_eq!(selected(document, "/a"), [document]);
    assert_eq!(selected(document, "//@*"), ["x='1'", "y = \"2\""]);
    assert_eq!(selected(document, "//text()"), ["one", "two"]);
    assert_eq!(
        selected(document, "//b | //@y | /a/text()"),
        ["<b y = \"2\">one</b>", "y = \"2\"", "two"]
    );
}

#[test]
fn adjacent_chunks_are_one_text_node_and_a_comment_separates_two() {
    let document = "<a>x&amp;y<![CDATA[<]]>z<!-- -->w</a>";
    assert_eq!(result(document, "/a/text()", all()).unwrap().nodes.len(), 2);
    assert_eq!(selected(document, "/a[text() = 'x&y<z']/text()[2]"), ["w"]);
    assert_eq!(selected(document, "/a[. = 'x&y<zw']/text()[last()]"), ["w"]);
}

#[test]
fn namespace_scopes_are_those_of_the_element_and_shared() {
    let document = "<a xmlns:p='urn:p'><b xmlns='urn:d'/><b/><b/></a>";
    let nodes = result(document, "//*:b", all()).unwrap().nodes;
    let scopes: Vec<_> = nodes
        .iter()
        .map(|node| node.namespaces.as_ref().expect("an element"))
        .collect();
    let pairs = |at: usize| {
        scopes[at]
            .iter()
            .map(|(prefix, uri)| (&**prefix, &**uri))
            .collect::<Vec<_>>()
    };
    assert_eq!(pairs(0), [("", "urn:d"), ("p", "urn:p")]);
    assert_eq!(pairs(1), [("p", "urn:p")]);
    assert!(std::sync::Arc::ptr_eq(scopes[1], scopes[2]));
}

#[test]
fn attributes_and_text_have_the_scope_of_their_element() {
    let document = "<a xmlns:p='urn:p'><b xmlns:q='urn:q' q:x='1'>text</b></a>";
    for query in ["//@*", "//b/text()", "//text()"] {
        let nodes = result(document, query, all()).unwrap().nodes;
        let scope = nodes[0].namespaces.as_ref().expect("it is in an element");
        let prefixes: Vec<&str> = scope.iter().map(|(prefix, _)| &**prefix).collect();
        assert_eq!(prefixes, ["p", "q"], "{query}");
    }
}

#[test]
fn double_slash_counts_positions_among_the_children_of_each_parent() {
    let document = "<r><a><b>1</b><b>2</b></a><b>3</b><c><b>4</b></c></r>";
    assert_eq!(selected(document, "//b[1]/text()"), ["1", "3", "4"]);
    assert_eq!(selected(document, "//b[last()]/text()"), ["2", "3", "4"]);
    assert_eq!(selected(document, "/r//b[2]"), ["<b>2</b>"]);
}

#[test]
fn predicates_apply_in_order_and_each_counts_positions_separately() {
    let document = "<r><b/><b k='1'/><b/><b k='2'/><b k='3'/></r>";
    assert_eq!(selected(document, "/r/b[@k][2]/@k"), ["k='2'"]);
    assert_eq!(selected(document, "/r/b[2][@k]/@k"), ["k='1'"]);
    assert_eq!(
        selected(document, "/r/b[@k][position() < last()][last()]/@k"),
        ["k='2'"]
    );
}

#[test]
fn double_slash_includes_the_attributes_and_text_of_the_context_element() {
    let document = "<a id='1'>t<b id='2'>u</b></a>";
    assert_eq!(selected(document, "/a//@id"), ["id='1'", "id='2'"]);
    assert_eq!(selected(document, "/a//text()"), ["t", "u"]);
}

#[test]
fn the_first_node_in_document_order_decides_contains() {
    // The outer b ends last but is first in document order.
    let document = "<a><b>x<b>y</b></b><b>z</b></a>";
    assert_eq!(selected(document, "/a[contains(.//b, 'x')]").len(), 1);
    assert_eq!(selected(document, "/a[starts-with(.//b, 'y')]").len(), 0);
    assert_eq!(selected(document, "/a[contains(b, 'z')]").len(), 0);
    assert_eq!(selected(document, "/a[contains(none, '')]").len(), 1);
}

#[test]
fn a_value_is_compared_across_tags_and_chunks() {
    let document = "<a> 1<b>2</b>&#x2e;<!-- -->5 </a>";
    assert_eq!(selected(document, "/a[. = 12.5]").len(), 1);
    assert_eq!(selected(document, "/a[. = ' 12.5 ']").len(), 1);
    assert_eq!(selected(document, "/a[. = '12.5']").len(), 0);
    assert_eq!(selected(document, "/a[contains(., '2.5')]").len(), 1);
}

#[test]
fn a_node_is_selected_as_soon_as_nothing_is_undecided() {
    // No candidate is ever held, so a limit of zero suffices.
    let none = SelectionOptions {
        detail: ResultDetail::AllNodes,
        candidates_max: 0,
        ..SelectionOptions::default()
    };
    let document = "<feed><title>t</title><item id='1'><name>n</name></item><item id='2'/></feed>";
    for query in [
        "/feed/item/name/text()",
        "/feed[title]/item",
        "/feed[contains(title, 't')]//name",
        "//item[@id > 1]",
    ] {
        assert!(result(document, query, none).unwrap().matched, "{query}");
    }
    assert_eq!(
        result(document, "/feed[item[2]]/item", none),
        Err("limit.candidates")
    );
}

#[test]
fn only_one_sibling_is_deferred_for_last() {
    let two = SelectionOptions {
        detail: ResultDetail::AllNodes,
        candidates_max: 2,
        ..SelectionOptions::default()
    };
    let document = "<feed><item>1<item>2</item></item><item>3</item><item>4</item></feed>";
    let nodes = result(document, "/feed/item[last()]", two).unwrap().nodes;
    assert_eq!(nodes.len(), 1);
    assert_eq!(
        &document[nodes[0].spans[0].start as usize..][..7],
        "<item>4"
    );
    assert_eq!(selected(document, "//item[last()]/text()"), ["2", "4"]);
    assert_eq!(
        selected(document, "//item[text() < 4][last()][1]"),
        ["<item>2</item>", "<item>3</item>"]
    );
}

#[test]
fn a_document_that_takes_too_many_steps_is_stopped() {
    let document = format!("<a>{}</a>", "<b><c/></b>".repeat(100));
    let options = |steps_max: u64| SelectionOptions {
        steps_max,
        ..SelectionOptions::default()
    };
    let query = "//b[not(c)]";
    let steps = results(&document, &[query], options(u64::MAX))
        .unwrap()
        .total_steps();
    assert!(result(&document, query, options(steps)).is_ok());
    assert_eq!(
        result(&document, query, options(steps / 2)),
        Err("limit.work")
    );
}

#[test]
fn a_query_that_matched_takes_no_further_steps() {
    let steps = |items: usize| {
        let document = format!("<a>{}</a>", "<b x='1'><c/><c/></b>".repeat(items));
        let options = SelectionOptions::default();
        let found = results(&document, &["//*[not(d)]//c[not(@x)]"], options).unwrap();
        assert!(found.queries[0].matched);
        found.total_steps()
    };
    let (few, many) = (steps(10), steps(1_000));
    assert!(many < few + 990 * 64, "{few} {many}");
}

#[test]
fn too_many_undecided_candidates_stop_the_document() {
    let document = "<feed><item>1<x/>2<x/>3<x/><last/></item></feed>";
    for (candidates_max, stopped) in [(3, false), (2, true)] {
        let options = SelectionOptions {
            detail: ResultDetail::AllNodes,
            candidates_max,
            ..SelectionOptions::default()
        };
        let result = result(document, "/feed/item[last]/text()", options);
        assert_eq!(result.err(), stopped.then_some("limit.candidates"));
    }
    // A match alone needs no candidates.
    let options = SelectionOptions {
        detail: ResultDetail::MatchOnly,
        candidates_max: 0,
        ..SelectionOptions::default()
    };
    assert!(
        result(document, "/feed/item[last]/text()", options)
            .unwrap()
            .matched
    );
}

#[test]
fn a_node_reached_by_several_paths_is_selected_once() {
    let mut document = String::from("<b/>");
    for _ in 0..60 {
        document = format!("<a>{document}<k/></a>");
    }
    // Each a is undecided until its k, so the b is held on every path through five of the sixty.
    let query = "//a[k]//a[k]//a[k]//a[k]//a[k]//b";
    assert_eq!(selected(&document, query), ["<b/>"]);
    assert!(
        result(&document, query, SelectionOptions::default())
            .unwrap()
            .matched
    );
}

#[test]
fn first_nodes_stores_only_the_first_and_counts_all() {
    let document = "<a><b/><b/><b/></a>";
    let options = SelectionOptions {
        detail: ResultDetail::FirstNodes(2),
        ..SelectionOptions::default()
    };
    let result = result(document, "//b", options).unwrap();
    assert_eq!(result.count, 3);
    assert_eq!(
        result
            .nodes
            .iter()
            .map(|node| node.spans[0].start)
            .collect::<Vec<_>>(),
        [3, 7]
    );
}

#[test]
fn a_node_reached_by_several_paths_is_counted_once() {
    let document = "<r><a><a><a><b/></a></a></a><b/></r>";
    assert_eq!(selected(document, "/r[count(.//a//b) = 1]").len(), 1);
    assert_eq!(selected(document, "/r[count(.//a//a) = 2]").len(), 1);
    assert_eq!(selected(document, "/r[count(.//*) = 5]").len(), 1);
    // With a predicate that is undecided until each end tag, nodes wait in every binding.
    let document = "<r><a><a><a><b/><k/></a><k/></a><k/></a></r>";
    assert_eq!(selected(document, "/r[count(.//a[k]//b) = 1]").len(), 1);
    assert_eq!(selected(document, "/r[count(.//a[k]//k) = 3]").len(), 1);
    assert_eq!(selected(document, "//a[count(.//a[k]//k) = 1]").len(), 1);
}

#[test]
fn a_count_of_no_nodes_is_zero() {
    let document = "<r><a/></r>";
    assert_eq!(selected(document, "/r[count(b) = 0]").len(), 1);
    assert_eq!(selected(document, "/r[not(count(b) > 0)]/a").len(), 1);
    assert_eq!(
        selected(document, "//*[count(*) < 2][count(@*) <= 1]").len(),
        2
    );
    assert_eq!(selected(document, "/r[count(a) != 1]").len(), 0);
}

#[test]
fn two_paths_compare_if_some_pair_of_nodes_does() {
    let document = "<r x='2'><a>1</a><a>3</a><b>3</b><b>5</b><c>x</c><d/></r>";
    for (query, matches) in [
        ("/r[a = b]", true),
        ("/r[a = @x]", false),
        ("/r[a != b]", true),
        ("/r[@x != @x]", false),
        ("/r[c != c]", false),
        ("/r[a != a]", true),
        ("/r[a > b]", false),
        ("/r[a >= b]", true),
        ("/r[b > a]", true),
        ("/r[@x < a]", true),
        ("/r[c < a]", false),
        ("/r[c <= c]", false),
        ("/r[d = e]", false),
        ("/r[e != a]", false),
        ("/r[not(e != a)]", true),
        ("//a[. = .]", true),
        ("//a[. < .]", false),
        ("/r[. = .//text()]", false),
        ("/r/a[. = text()]", true),
        ("/r/d[. = text()]", false),
    ] {
        assert_eq!(!selected(document, query).is_empty(), matches, "{query}");
    }
}

#[test]
fn comparing_two_large_sets_of_nodes_takes_one_look_up_a_node() {
    // All pairs would be 4 * 10^10.
    let left: String = (0..200_000).map(|n| format!("<a>{n}</a>")).collect();
    let right: String = (0..200_000).map(|n| format!("<b>x{n}</b>")).collect();
    let document = format!("<r>{left}{right}</r>");
    for (query, matches) in [
        ("/r[a = b]", false),
        ("/r[a != b]", true),
        ("/r[a < b]", false),
    ] {
        assert_eq!(!selected(&document, query).is_empty(), matches, "{query}");
    }
}

#[test]
fn the_values_of_compared_paths_are_limited() {
    let document = format!("<r><a>{}</a><b>y</b><c/></r>", "x".repeat(10_000));
    let options = SelectionOptions {
        compared_bytes_max: 5_000,
        ..SelectionOptions::default()
    };
    for query in [
        "/r[a = b]",
        "/r[a != b]",
        "/r[. = b]",
        "/r[c]/a[. = b]",
        "//*[b[c] = a]",
    ] {
        let outcome = result(&document, query, options);
        assert_eq!(outcome.err(), Some("limit.comparison"), "{query}");
    }
    // Numbers and literals are compared without storing the value.
    for query in [
        "/r[a < b]",
        "/r[a = 'x']",
        "/r[lower-case(a) = 'x']",
        "/r[count(a) = 2]",
    ] {
        assert!(result(&document, query, options).is_ok(), "{query}");
    }
    // Values that are no longer needed do not count.
    let document = format!("<r>{}</r>", "<e><a>12345678</a><b>1</b></e>".repeat(1_000));
    assert!(!result(&document, "/r/e[a = b]", options).unwrap().matched);
}

#[test]
fn a_string_function_of_no_nodes_is_the_empty_string() {
    let document = "<r><a> X  y </a></r>";
    for (query, matches) in [
        ("/r[lower-case(b) = '']", true),
        ("/r[lower-case(b) != 'x']", true),
        ("/r[normalize-space(a) = 'X y']", true),
        ("/r[normalize-space() = 'X y']", true),
        ("/r[normalize-space(b)]", false),
        ("/r[lower-case(normalize-space(a)) = 'x y']", true),
        ("/r[string-length(a) = 6]", true),
        ("/r[string-length(normalize-space(a)) = 3]", true),
        ("/r[string-length(b) = 0]", true),
        ("/r[ends-with(a, 'y ')]", true),
        ("/r[matches(a, '^ x', 'i')]", true),
        ("/r[matches(b, '^$')]", true),
        ("/r[translate(a, 'Xy ', 'yX') = 'yX']", true),
        ("/r[xs:date(b) != xs:date('2018-01-01')]", false),
        ("/r[not(xs:date(b) = xs:date('2018-01-01'))]", true),
    ] {
        assert_eq!(!selected(document, query).is_empty(), matches, "{query}");
    }
}
