//! Conditions on nodes deep below their element.

use super::*;

/// Number of classes that had to be verified.
fn verified(queries: &[String], document: &str) -> u64 {
    let mut index = index_of(queries);
    match_bytes(&matcher(&mut index, LARGE_CACHE), document.as_bytes())
        .expect("well-formed")
        .counters
        .verified
}

/// A query with one condition on a nested path. Among few such queries, those with a common operand
/// use it in different comparisons.
fn nested_query() -> impl Strategy<Value = String> {
    let path = ["b/c", "*/c", "b//c", ".//c", ".//*"];
    let compared = ["", "!='x'", "!=2", "<2"];
    (
        prop::sample::select(vec!["/", "//"]),
        name(),
        prop::sample::select(path.to_vec()),
        prop::sample::select(compared.to_vec()),
        prop::sample::select(vec!["", "/b", "//c"]),
    )
        .prop_map(|(axis, name, path, compared, rest)| {
            format!("{axis}{name}[{path}{compared}]{rest}")
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn few_queries_with_common_operands_agree_with_the_exact_evaluator(
        queries in prop::collection::vec(nested_query(), 1..6),
        documents in prop::collection::vec(element(), 1..4),
    ) {
        compare(&queries, &documents)?;
    }
}

fn texts(queries: &[&str]) -> Vec<String> {
    queries.iter().map(|&query| query.to_owned()).collect()
}

#[test]
fn a_value_propagates_only_along_its_steps() {
    let queries = ["/a[b/c='x']", "/a[.//c='x']", "/a[c='x']", "/a[b//c='x']"];
    check(&queries, "<a><b><c>x</c></b></a>", &["0", "1", "3"]);
    check(&queries, "<a><b><d><c>x</c></d></b></a>", &["1", "3"]);
    check(&queries, "<a><c>x</c><b/></a>", &["1", "2"]);
    check(&queries, "<a><d><c>x</c></d></a>", &["1"]);
}

#[test]
fn an_element_inside_one_of_the_same_name_propagates_both_values() {
    let queries = ["//a[b/b='1']", "//a[b='12']", "//a[.//b='1']", "/a[b/b/b]"];
    check(&queries, "<a><b><b>1</b>2</b></a>", &["0", "1", "2"]);
}

#[test]
fn conditions_at_several_levels_share_propagated_values() {
    // The element itself, its parent and the root use the inner value.
    let queries = ["//c[.='x']", "//b[c='x']", "/a[b/c='x']", "/a[.//c='x']/b"];
    check(
        &queries,
        "<a><b><c>x</c></b><b><c>y</c></b></a>",
        &["0", "1", "2", "3"],
    );
    check(&queries, "<a><b><c>y</c></b></a>", &[]);
}

#[test]
fn a_value_is_compared_as_text_above_and_as_a_number_below() {
    let queries = ["/a[b/c='2']", "//b[c=2]", "//c[.>1]", "/a[b/c!='2']"];
    check(&queries, "<a><b><c> 2 </c></b></a>", &["1", "2", "3"]);
    check(&queries, "<a><b><c>2</c></b></a>", &["0", "1", "2"]);
}

#[test]
fn an_element_and_one_above_it_compare_a_value_differently() {
    let queries = ["//d[.//c!='x']", "/a[b//c<5]"];
    check(&queries, "<a><b><d><c>x</c></d></b></a>", &[]);
    check(&queries, "<a><b><d><c>3</c></d></b></a>", &["0", "1"]);
    let queries = ["/a[b//c!='x']", "/a[.//c]"];
    check(&queries, "<a><b><c>x</c></b></a>", &["1"]);
    check(&queries, "<a><b><c>y</c></b></a>", &["0", "1"]);
}

#[test]
fn a_value_below_deep_nesting_is_found() {
    let depth = 300;
    let document = format!(
        "<a>{}<c p='1'>x</c>{}</a>",
        "<b>".repeat(depth),
        "</b>".repeat(depth)
    );
    let queries = [
        "/a[.//c='x']",
        "/a[.//b//c='x']",
        "/a[.//b/c/@p='1']",
        "/a[b/b/b//@p]",
        "/a[c]",
    ];
    check(&queries, &document, &["0", "1", "2", "3"]);
    assert_eq!(verified(&texts(&queries), &document), 0);
}

#[test]
fn many_propagated_values_are_compacted_without_loss() {
    let queries = texts(&["/a[b/c='x']", "/a[b/c<0]", "/a[.//c!='1']", "/a[b/d]"]);
    let mut document = "<a>".to_owned();
    for number in 0..10_000 {
        document.push_str(&format!("<b><c>{number}</c></b>"));
    }
    document.push_str("<b><c>x</c></b></a>");
    let mut index = index_of(&queries);
    let matcher = matcher(&mut index, LARGE_CACHE);
    assert_eq!(found(&matcher, &document), ["0", "2"]);
}

#[test]
fn a_nested_or_becomes_branches_and_too_many_are_verified() {
    let few = texts(&["/a[b/@p='1' or c='2']"]);
    assert_eq!(verified(&few, "<a><b p='1'/></a>"), 0);
    let choice = "[b='0' or b='1' or b='2' or b='3']";
    let many = texts(&[&format!("/a{choice}/a{choice}/a{choice}")]);
    let document = "<a><b>1</b><a><b>2</b><a><b>3</b></a></a></a>";
    assert_eq!(verified(&many, document), 1);
    check(&[&many[0]], document, &["0"]);
}

#[test]
fn contains_uses_the_first_node_in_document_order() {
    let queries = [
        "/a[contains(b, 'x')]",
        "/a[contains(.//b, 'x')]",
        "/a[contains(.//b/c, '2')]",
        "/a[contains(text(), 'x')]",
        "/a[b[contains(., 'x')]]",
    ];
    check(&queries, "<a><b>x</b><b>y</b></a>", &["0", "1", "4"]);
    check(&queries, "<a><b>y</b><b>x</b></a>", &["4"]);
    // The outer element ends last but is the first node.
    check(&queries, "<a><b>x<b>y</b></b></a>", &["0", "1", "4"]);
    check(&queries, "<a><d><b>y</b></d><b>x</b></a>", &["0", "4"]);
    // The first `.//b/c` is the one in the inner `b`, although the outer `b` starts first.
    check(&queries, "<a><b><b><c>2</c></b><c>1</c></b></a>", &["2"]);
    check(&queries, "<a><b><b><c>1</c></b><c>2</c></b></a>", &[]);
    check(&queries, "<a>y<!---->x</a>", &[]);
    check(&queries, "<a>yx<!---->z</a>", &["3"]);
}

#[test]
fn substrings_and_prefixes_are_found_across_pieces() {
    let queries = [
        "/a[contains(., '1<2')]",
        "/a[starts-with(., 'x1')]",
        "/a[starts-with(., 'x')]",
        "/a[starts-with(., '1')]",
        "/a[contains(., 'z')]",
        "/a[contains(@p, 'mm')][starts-with(@p, 'com')]",
        "/a[contains(@q, 'm')]",
    ];
    let document = "<a p='common'>x<b>1</b><![CDATA[<]]>2</a>";
    check(&queries, document, &["0", "1", "2", "5"]);
    assert_eq!(verified(&texts(&queries), document), 0);
}

#[test]
fn a_value_longer_than_any_literal_still_starts_with_one() {
    let queries = ["/a[starts-with(., 'éé')]", "/a[starts-with(., 'éa')]"];
    check(
        &queries,
        &format!("<a>é<b/>é{}</a>", "a".repeat(100)),
        &["0"],
    );
    check(&queries, "<a>é<b/>aé</a>", &["1"]);
}

#[test]
fn a_condition_on_the_first_node_of_some_nested_element() {
    let queries = ["/a[b[contains(c, 'x')]]", "/a[contains(b/c, 'x')]"];
    check(&queries, "<a><b/><b><c>x</c></b></a>", &["0", "1"]);
    check(&queries, "<a><b><c>y</c></b><b><c>x</c></b></a>", &["0"]);
    check(&queries, "<a><b><c>y</c><c>x</c></b></a>", &[]);
}

#[test]
fn several_conditions_on_a_nested_element_must_hold_for_the_same_element() {
    let queries = [
        "/a[b[@p='1']/c='x']",
        "/a[b[@p='1'][@q]/c]",
        "/a[.//b[c='x'][c='y']]",
        "/a[b[c[@p='1'][@q='2']]/@p='1']",
        "/a[b[@p='1' or c='x'][@q]]",
        "/a[b[contains(c, 'x')][@q]]",
    ];
    let apart = "<a><b p='1'><c>y</c></b><b q='2'><c q='2'>x</c><c p='1'/></b></a>";
    check(&queries, apart, &["4", "5"]);
    assert_eq!(verified(&texts(&queries), apart), 0);
    let together = "<a><d><b p='1' q='2'><c p='1' q='2'>x</c><c>y</c></b></d></a>";
    check(&queries, together, &["2"]);
    let children = "<a><b p='1' q='2'><c p='1' q='2'>x</c><c>y</c></b></a>";
    check(&queries, children, &["0", "1", "2", "3", "4", "5"]);
    assert_eq!(verified(&texts(&queries), children), 0);
}

#[test]
fn many_values_that_meet_the_same_compound_conditions_count_once() {
    let query = "/a[b[c][d][e][f!='0'][g!='0']]";
    let content: String = ["c", "d", "e", "f", "g"]
        .iter()
        .map(|name| format!("<{name}>1</{name}><{name}>2</{name}>").repeat(20))
        .collect();
    check(&[query], &format!("<a><b>{content}</b></a>"), &["0"]);
}
