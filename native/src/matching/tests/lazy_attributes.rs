//! Attributes that are resolved when a condition first needs them.

use super::check;

#[test]
fn an_attribute_is_resolved_at_its_first_use_whatever_came_between() {
    let queries = [
        "//a[@p='one']/c",
        "//a[@p!='one']/c",
        "//a[@p > 1]/c",
        "//a[@p]/c",
        "//b[@q='two']/d",
    ];
    check(
        &queries,
        "<a p='one'><b q='two'/><b q='three'/><c/><c/></a>",
        &["0", "3"],
    );
    check(
        &queries,
        "<a p='2'><b q='two'><d/></b><c/></a>",
        &["1", "2", "3", "4"],
    );
    check(&queries, "<a p=''><b q='two'/><c/></a>", &["1", "3"]);
    check(&queries, "<a p='one'><b q='two'/></a>", &[]);
}

#[test]
fn a_long_attribute_equals_a_long_literal() {
    let long = "x".repeat(300);
    let queries = [format!("//a[@p='{long}']/b"), "//a[@p='x']/b".to_owned()];
    let queries = queries.each_ref().map(String::as_str);
    check(&queries, &format!("<a p='{long}'><b/></a>"), &["0"]);
    check(&queries, &format!("<a p='{long}x'><b/></a>"), &[]);
    check(&queries, "<a p='x'><b/></a>", &["1"]);
}

#[test]
fn a_pending_match_can_use_attributes() {
    let queries = [
        "//a[b='x'][@p='1'][@q='2']",
        "//a[@q='2'][b='x']/c[@p='3']",
        "//a[@p='1'][@q='3']/c",
    ];
    check(
        &queries,
        "<a p='1' q='2'><c p='3'/><b>x</b></a>",
        &["0", "1"],
    );
    check(&queries, "<a p='1' q='3'><c p='3'/><b>x</b></a>", &["2"]);
    check(
        &queries,
        "<d><a p='1'><b>x</b></a><a q='2'><c p='3'/></a></d>",
        &[],
    );
}
