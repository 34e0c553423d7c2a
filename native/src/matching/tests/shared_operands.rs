//! Conditions with a common operand: its values are recorded and propagated once for all of them.

use super::*;

/// The steps of `count` queries made from a pattern, where `#` stands for a number.
fn steps(pattern: &str, count: usize, document: &str) -> u64 {
    let queries: Vec<String> = (0..count)
        .map(|at| pattern.replace('#', &at.to_string()))
        .collect();
    let mut index = index_of(&queries);
    let matched = match_bytes(&matcher(&mut index, LARGE_CACHE), document.as_bytes());
    matched.expect("well-formed").counters.steps
}

#[test]
fn a_common_operand_is_evaluated_once_per_element() {
    let element = "<a><b k='x'><c>y</c><d>z</d></b></a>".repeat(200);
    let document = format!("<r>{element}</r>");
    for pattern in [
        "/r/a[.//c = '#']",
        "//a[b/@k = '#']/b",
        "//*[contains(.//c, '#')]",
        "/r[a/b[@k = '#']/c = 'y']",
        "/r/a[.//c = '#' or b/d = '#']",
        "//a[normalize-space(b/c) = 'y #']",
        "//*[normalize-space(.) = '#']",
        "//b[normalize-space(@k) = '#']",
    ] {
        let (one, many) = (steps(pattern, 1, &document), steps(pattern, 200, &document));
        assert!(many < 2 * one, "{pattern}: {one} {many}");
    }
}

#[test]
fn verified_queries_evaluate_common_parts_once_per_element() {
    let element = format!("<a>{}</a>", "<b k='x'><c>y</c></b>".repeat(100));
    let document = format!("<r>{}</r>", element.repeat(10));
    for pattern in [
        "//a[not(.//b[@k = '3'])]/b[not(c)]/c[. != '#']",
        "//a[not(.//b[@k = '3'])][1#00]",
        "//a[count(.//c) = 5 or position() = 1#00]/b",
    ] {
        let (one, many) = (steps(pattern, 1, &document), steps(pattern, 200, &document));
        assert!(many < 20 * one, "{pattern}: {one} {many}");
    }
}

#[test]
fn a_class_that_matched_waits_for_no_further_element() {
    let document = |key: &str, value: &str| {
        let element = format!("<a k='{key}'><b>{value}</b></a>");
        format!("<r>{}</r>", element.repeat(300))
    };
    for pattern in ["//a[@k = '1'][b = '2']", "//a[@k = '1'][.//b = '2']"] {
        let steps_of = |key, value| steps(pattern, 1, &document(key, value));
        // One of the conditions holds, so that every element waits for the other.
        let waiting = steps_of("1", "3").max(steps_of("0", "2"));
        let matched = steps_of("1", "2");
        assert!(matched < waiting, "{pattern}: {matched} {waiting}");
    }
}

#[test]
fn values_are_looked_up_among_many_operands() {
    let document = format!("<r>{}</r>", "<a k='v'><b>x</b><c l='x'/></a>".repeat(200));
    for pattern in [
        "//a[@k = 'v' and d# = 'x']",
        "//a[@k = 'v' and @l# = 'x']",
        "//a[@k = 'v']/b[@l# = 'x' and . = 'x']",
        "//a[@k = 'v' and .//e# = 'x' and b = 'x']",
    ] {
        let (few, many) = (
            steps(pattern, 10, &document),
            steps(pattern, 1_000, &document),
        );
        assert!(many < 4 * few, "{pattern}: {few} {many}");
    }
}

#[test]
fn normalized_values_are_looked_up() {
    let elements: String = (0..500)
        .map(|at| format!("<a k=' x{at}\n'><b>x{at}  y</b></a>"))
        .collect();
    let document = format!("<r>{elements}</r>");
    for pattern in [
        "//a[normalize-space(.) = 'x# y']",
        "//a[normalize-space(b) = 'x# y']",
        "//a[normalize-space(@k) = 'x#']",
        "//b[normalize-space(normalize-space(text())) = 'x# y']",
    ] {
        let (one, many) = (steps(pattern, 1, &document), steps(pattern, 500, &document));
        assert!(many < 5 * one, "{pattern}: {one} {many}");
    }
}
