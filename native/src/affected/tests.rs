use super::touch::{LabelTree, Touch, TouchedNode, NO_PARENT};
use super::{AffectedIndex, ElementGraph, ElementRule, Selected};
use crate::xpath::{parse, Namespaces};

fn index(queries: &[&str]) -> AffectedIndex {
    index_with(queries, None)
}

fn index_with(queries: &[&str], schema: Option<ElementGraph>) -> AffectedIndex {
    let mut index = AffectedIndex::new(schema, None, Selected::Subtrees);
    for query in queries {
        index.add(&parse(query, &Namespaces::default()).expect("a query"));
    }
    index
}

fn labels(path: &str) -> LabelTree {
    let names = path.split('/').skip(1);
    let elements = (0..).zip(names).map(|(at, name)| {
        let parent = if at == 0 { NO_PARENT } else { at - 1 };
        (parent, (String::new(), name.to_owned()))
    });
    LabelTree {
        elements: elements.collect(),
    }
}

fn found(index: &mut AffectedIndex, path: &str, node: TouchedNode) -> Vec<u32> {
    let labels = labels(path);
    let element = labels.elements.len() as u32 - 1;
    let (handles, _) = index.affected(&labels, &[Touch { element, node }]);
    let mut handles = handles.to_vec();
    handles.sort_unstable();
    handles
}

const SUBTREE: TouchedNode = TouchedNode::Element {
    below: true,
    text: true,
};

const EMPTY: TouchedNode = TouchedNode::Element {
    below: false,
    text: false,
};

fn attribute(name: &str) -> TouchedNode {
    TouchedNode::Attribute((String::new(), name.to_owned()))
}

#[test]
fn accepted_is_at_or_above_and_live_is_below() {
    let mut index = index(&["/a", "/a/b", "/a/b/c", "/a/c", "//c", "/a/*/d", "//b//e"]);
    assert_eq!(found(&mut index, "/a/b", SUBTREE), [0, 1, 2, 4, 5, 6]);
    assert_eq!(found(&mut index, "/a/b", EMPTY), [0, 1]);
    assert_eq!(
        found(&mut index, "/a/b/c", TouchedNode::Other),
        [0, 1, 2, 4]
    );
    assert_eq!(found(&mut index, "/a/x/y/c/z", EMPTY), [0, 4]);
    assert_eq!(found(&mut index, "/z", EMPTY), [0_u32; 0]);
}

#[test]
fn what_predicates_look_at_is_observed() {
    let queries = [
        "/a[b]/c",
        "/a[b = 1]/c",
        "/a/b[2]",
        "/a[not(@x)]/c",
        "/a[count(b) > 1]/c",
    ];
    let mut index = index(&queries);
    assert_eq!(found(&mut index, "/a/b", EMPTY), [0, 1, 2, 4]);
    // The value of `b` is compared by one query, and selected by another.
    assert_eq!(found(&mut index, "/a/b/k", TouchedNode::Text), [1, 2]);
    assert_eq!(found(&mut index, "/a/b/k", attribute("y")), [2]);
    assert_eq!(found(&mut index, "/a", attribute("x")), [3]);
    assert_eq!(found(&mut index, "/a", attribute("y")), [0_u32; 0]);
}

#[test]
fn leaves_are_found_below_descendant_steps() {
    let mut index = index(&[
        "/a//@x",
        "//text()",
        "/a/text()[2]",
        "/a[text() = 'x']/b",
        "//@*",
    ]);
    assert_eq!(found(&mut index, "/a", attribute("x")), [0, 4]);
    assert_eq!(found(&mut index, "/a/b/c", attribute("x")), [0, 3, 4]);
    assert_eq!(found(&mut index, "/a", TouchedNode::Text), [1, 2, 3]);
    assert_eq!(
        found(&mut index, "/a", TouchedNode::TextBoundary),
        [1, 2, 3]
    );
    assert_eq!(found(&mut index, "/a/b", TouchedNode::Text), [1, 3]);
}

#[test]
fn subscriptions_leave_and_handles_stay() {
    let mut index = index(&["/a/b", "/a/b", "/a/b/c", "//b[c]"]);
    assert_eq!(found(&mut index, "/a/b/c", EMPTY), [0, 1, 2, 3]);
    assert!(index.remove(1));
    assert!(!index.remove(1));
    assert!(index.remove(2));
    assert_eq!(found(&mut index, "/a/b/c", EMPTY), [0, 3]);
    assert_eq!(index.compact(), [0, 3]);
    assert_eq!((index.count(), index.handle_count()), (2, 2));
    assert_eq!(found(&mut index, "/a/b/c", EMPTY), [0, 1]);
    assert!(index.remove(0));
    assert!(index.remove(1));
    assert_eq!(index.node_count(), 1);
    index.add(&parse("/a", &Namespaces::default()).expect("a query"));
    assert_eq!(found(&mut index, "/a/b/c", EMPTY), [2]);
}

#[test]
fn a_schema_excludes_paths_that_no_valid_document_has() {
    let rule = |name: &str, children: &[u32], text| ElementRule {
        name: (String::new(), name.to_owned()),
        children: children.to_vec(),
        attributes: vec![(String::new(), "id".to_owned())],
        text,
    };
    // a contains b and c; b contains b and d.
    let rules = vec![
        rule("a", &[1, 2], false),
        rule("b", &[1, 3], false),
        rule("c", &[], true),
        rule("d", &[], true),
    ];
    let queries = [
        "//d",
        "//c",
        "/a/b/b/b/d",
        "/a/b/c",
        "//b//d/@id",
        "//d/@x",
        "/a/b//text()",
        "//e",
    ];
    let mut index = index_with(&queries, ElementGraph::new(rules));
    assert_eq!(found(&mut index, "/a/b", SUBTREE), [0, 2, 4, 6]);
    assert_eq!(found(&mut index, "/a/c", SUBTREE), [1]);
    // Nothing is excluded below an element that the schema does not have.
    assert_eq!(found(&mut index, "/a/x", SUBTREE), [0, 1, 4, 5, 7]);
    assert!(ElementGraph::new(vec![rule("a", &[1], true)]).is_none());
}

#[test]
fn a_warm_search_costs_its_labels_and_its_results() {
    let queries: Vec<String> = (0..500).map(|n| format!("/a/*[n{n}]//x{n}")).collect();
    let queries: Vec<&str> = queries.iter().map(String::as_str).collect();
    let mut index = index(&queries);
    let labels = labels("/a/k/x7");
    let touch = [Touch {
        element: 2,
        node: EMPTY,
    }];
    assert!(index.affected(&labels, &touch).1.nodes > 0);
    let (handles, counters) = index.affected(&labels, &touch);
    assert_eq!(handles, [7]);
    assert_eq!(counters.operations(), 3 + 1 + 1);
    index.clear_cache();
    assert!(index.affected(&labels, &touch).1.nodes > 0);
}

#[test]
fn a_full_cache_is_cleared() {
    let mut index = AffectedIndex::new(None, Some(1), Selected::Subtrees);
    index.add(&parse("//a//b", &Namespaces::default()).expect("a query"));
    for _ in 0..3 {
        assert_eq!(found(&mut index, "/a/a/b", EMPTY), [0]);
    }
    assert_eq!(index.cache().2, 2);
}
