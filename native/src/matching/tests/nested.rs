//! Values that come from deep below the element that a condition is on.

use super::*;

/// How many classes had to be evaluated by themselves.
fn verified(queries: &[String], document: &str) -> u64 {
    let mut index = index_of(queries);
    matcher(&mut index, Engine::Shared, AMPLE)
        .matches(&mut Source::Bytes(document.as_bytes()))
        .expect("well-formed")
        .counters
        .verified
}

fn texts(queries: &[&str]) -> Vec<String> {
    queries.iter().map(|&query| query.to_owned()).collect()
}

#[test]
fn a_value_goes_up_only_along_its_steps() {
    let queries = ["/a[b/c='x']", "/a[.//c='x']", "/a[c='x']", "/a[b//c='x']"];
    check(&queries, "<a><b><c>x</c></b></a>", &["0", "1", "3"]);
    check(&queries, "<a><b><d><c>x</c></d></b></a>", &["1", "3"]);
    check(&queries, "<a><c>x</c><b/></a>", &["1", "2"]);
    check(&queries, "<a><d><c>x</c></d></a>", &["1"]);
}

#[test]
fn an_element_in_an_element_of_its_own_name_passes_both_values() {
    let queries = ["//a[b/b='1']", "//a[b='12']", "//a[.//b='1']", "/a[b/b/b]"];
    check(&queries, "<a><b><b>1</b>2</b></a>", &["0", "1", "2"]);
}

#[test]
fn conditions_at_many_levels_share_what_comes_up() {
    // The inner value is asked for by the element itself, its parent and its root.
    let queries = ["//c[.='x']", "//b[c='x']", "/a[b/c='x']", "/a[.//c='x']/b"];
    check(
        &queries,
        "<a><b><c>x</c></b><b><c>y</c></b></a>",
        &["0", "1", "2", "3"],
    );
    check(&queries, "<a><b><c>y</c></b></a>", &[]);
}

#[test]
fn a_value_is_asked_for_as_text_above_and_as_a_number_below() {
    let queries = ["/a[b/c='2']", "//b[c=2]", "//c[.>1]", "/a[b/c!='2']"];
    check(&queries, "<a><b><c> 2 </c></b></a>", &["1", "2", "3"]);
    check(&queries, "<a><b><c>2</c></b></a>", &["0", "1", "2"]);
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
fn many_values_on_the_way_up_are_compacted_without_loss() {
    let queries = texts(&["/a[b/c='x']", "/a[b/c<0]", "/a[.//c!='1']", "/a[b/d]"]);
    let mut document = "<a>".to_owned();
    for number in 0..10_000 {
        document.push_str(&format!("<b><c>{number}</c></b>"));
    }
    document.push_str("<b><c>x</c></b></a>");
    let mut index = index_of(&queries);
    let matcher = matcher(&mut index, Engine::Shared, AMPLE);
    assert_eq!(found(&matcher, &document), ["0", "2"]);
}

#[test]
fn a_nested_or_is_several_branches_and_too_many_are_verified() {
    let few = texts(&["/a[b/@p='1' or c='2']"]);
    assert_eq!(verified(&few, "<a><b p='1'/></a>"), 0);
    let choice = "[b='0' or b='1' or b='2' or b='3']";
    let many = texts(&[&format!("/a{choice}/a{choice}/a{choice}")]);
    let document = "<a><b>1</b><a><b>2</b><a><b>3</b></a></a></a>";
    assert_eq!(verified(&many, document), 1);
    check(&[&many[0]], document, &["0"]);
}
