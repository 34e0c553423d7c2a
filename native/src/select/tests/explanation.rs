//! Explanations.

use proptest::prelude::*;

use crate::reader::{Reader, ReaderOptions};
use crate::select::explanation::{Witness, NODES_MAX};
use crate::select::{explain, Explanation, SelectedNode, SelectionOptions};
use crate::xpath::ast::{Axis, Path, Query};
use crate::xpath::{parse, Namespaces};

use super::document::{read, tree, Item};
use super::generated_queries::{predicate, query, root};
use super::reference;

fn explanation(document: &str, query: &str) -> Explanation {
    let query = parse(query, &Namespaces::default()).expect("a valid query");
    let mut reader = Reader::new(ReaderOptions::default());
    explain(&query, SelectionOptions::default(), |selection| {
        reader
            .read_slice(document.as_bytes(), selection)
            .map(|_| ())
    })
    .expect("a valid document")
}

/// Step, predicate, number of nodes that got that far, and the paths to them.
fn failure(document: &str, query: &str) -> (usize, Option<usize>, u64, Vec<String>) {
    let explanation = explanation(document, query);
    assert_eq!(
        (explanation.count, &explanation.witness),
        (0, &None),
        "{query} does not match"
    );
    let failure = &explanation.failures[0];
    (
        failure.step,
        failure.predicate,
        failure.reached,
        paths(&failure.nodes),
    )
}

fn paths(nodes: &[SelectedNode]) -> Vec<String> {
    nodes
        .iter()
        .map(|node| {
            node.path
                .as_deref()
                .expect("explanations have paths")
                .to_owned()
        })
        .collect()
}

#[test]
fn the_first_predicate_that_never_holds_is_reported() {
    let document = "<a><b x='2'><c/></b><b x='3'/></a>";
    let both = || vec!["/a[1]/b[1]".to_owned(), "/a[1]/b[2]".to_owned()];
    let first = || vec!["/a[1]/b[1]".to_owned()];
    assert_eq!(failure(document, "/a/b[@x='1']/c"), (1, Some(0), 2, both()));
    assert_eq!(
        failure(document, "/a/b[c][@x='3']/d"),
        (1, Some(1), 1, first())
    );
    assert_eq!(failure(document, "/a/b/d"), (2, None, 2, both()));
    assert_eq!(failure(document, "/x/y"), (0, None, 0, vec![]));
    // Nodes below a node whose predicate fails later are not reached.
    assert_eq!(failure(document, "/a/b[d]/c[e]"), (1, Some(0), 2, both()));
}

#[test]
fn a_witness_has_a_node_for_each_step() {
    let document = "<a><b><b><c i='1'/></b></b></a>";
    let Witness { branch, steps } = explanation(document, "/none | //b//c/@i")
        .witness
        .expect("it matches");
    assert_eq!(branch, 1);
    let witness: Vec<(&str, u64, u64)> = steps
        .iter()
        .map(|node| {
            let name = node
                .name
                .as_ref()
                .expect("elements and attributes have names");
            (&*name.1, node.spans[0].start, node.spans[0].end)
        })
        .collect();
    assert_eq!(witness, [("b", 6, 23), ("c", 9, 19), ("i", 12, 17)]);
}

#[test]
fn paths_to_nodes_need_no_prefixes() {
    let document = "<a xmlns:p='urn:p'><p:b/>s<b/>t<p:b p:k='1'/><!-- -->u<b/></a>";
    let nodes = |query| paths(&explanation(document, query).nodes);
    assert_eq!(
        nodes("//*:b"),
        ["/a[1]/*:b[1]", "/a[1]/b[1]", "/a[1]/*:b[3]", "/a[1]/b[2]"]
    );
    assert_eq!(
        nodes("//text()"),
        ["/a[1]/text()[1]", "/a[1]/text()[2]", "/a[1]/text()[3]"]
    );
    assert_eq!(nodes("//@*"), ["/a[1]/*:b[3]/@*:k"]);
}

#[test]
fn a_node_of_two_branches_counts_once() {
    let explanation = explanation("<a><b i='1'/><b/></a>", "//b | /a/b | //@i | /a/b/@*");
    assert_eq!(explanation.count, 3);
    assert_eq!(
        paths(&explanation.nodes),
        ["/a[1]/b[1]", "/a[1]/b[1]/@i", "/a[1]/b[2]"]
    );
}

/// The path up to a step, with its first predicates.
fn prefix(path: &Path, step: usize, predicates: usize) -> Query {
    let mut steps = path.steps[..=step].to_vec();
    steps[step].predicates.truncate(predicates);
    Query {
        branches: vec![Path { steps }],
    }
}

fn check(root: &Item, query: &Query) -> Result<(), TestCaseError> {
    let tree = tree(root);
    let explained = explain(query, SelectionOptions::default(), |selection| {
        read(root, selection)
    })
    .expect("within limits");
    let selected = reference::select(&tree, query);
    prop_assert_eq!(explained.count, selected.len() as u64);
    let orders: Vec<usize> = explained
        .nodes
        .iter()
        .map(|node| node.order as usize)
        .collect();
    prop_assert_eq!(&orders[..], &selected[..selected.len().min(NODES_MAX)]);
    for node in &explained.nodes {
        // The path to a node selects it; with names in a namespace it may select others too.
        let path = node.path.as_deref().expect("explanations have paths");
        let reached = reference::select(
            &tree,
            &parse(path, &Namespaces::default()).expect("a query"),
        );
        prop_assert!(reached.contains(&(node.order as usize)), "{}", path);
    }
    if let Some(Witness { branch, steps }) = explained.witness {
        prop_assert!(explained.failures.is_empty());
        let path = &query.branches[branch];
        prop_assert_eq!(steps.len(), path.steps.len());
        let chosen: Vec<usize> = steps.iter().map(|node| node.order as usize).collect();
        prop_assert_eq!(chosen.last(), selected.first());
        for (step, &node) in chosen.iter().enumerate() {
            let complete = prefix(path, step, path.steps[step].predicates.len());
            prop_assert!(reference::select(&tree, &complete).contains(&node));
            let Some(&below) = chosen.get(step + 1) else {
                continue;
            };
            let mut above = vec![tree[below].parent];
            while path.steps[step + 1].axis == Axis::Descendant && above.last() != Some(&0) {
                above.push(tree[*above.last().expect("never empty")].parent);
            }
            prop_assert!(above.contains(&node));
        }
        return Ok(());
    }
    prop_assert!(selected.is_empty());
    prop_assert_eq!(explained.failures.len(), query.branches.len());
    for (failure, path) in explained.failures.iter().zip(&query.branches) {
        let failing = prefix(path, failure.step, failure.predicate.map_or(0, |at| at + 1));
        prop_assert!(reference::select(&tree, &failing).is_empty());
        let before = match (failure.predicate, failure.step) {
            (Some(at), step) => reference::select(&tree, &prefix(path, step, at)),
            (None, 0) => Vec::new(),
            (None, step) => {
                let predicates = path.steps[step - 1].predicates.len();
                reference::select(&tree, &prefix(path, step - 1, predicates))
            }
        };
        prop_assert!(!before.is_empty() || failure.step == 0);
        prop_assert_eq!(failure.reached, before.len() as u64);
    }
    Ok(())
}

proptest! {
    #[test]
    fn explanations_agree_with_the_reference(root in root(), query in query(predicate(1))) {
        check(&root, &query)?;
    }
}
