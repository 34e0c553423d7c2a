//! Explanations.

use proptest::prelude::*;

use crate::reader::{Reader, ReaderOptions};
use crate::select::{explain, Explanation, Failure, CANDIDATES_MAX};
use crate::xpath::ast::{Axis, Path, Query};
use crate::xpath::{parse, Namespaces};

use super::definition;
use super::document::{read, tree, Item};
use super::generated::{predicate, query, root};

fn explanation(document: &str, query: &str) -> Explanation {
    let query = parse(query, &Namespaces::default()).expect("a good query");
    let mut reader = Reader::new(ReaderOptions::default());
    explain(&query, CANDIDATES_MAX, |selection| {
        reader
            .read_slice(document.as_bytes(), selection)
            .map(|_| ())
    })
    .expect("a good document")
}

fn failure(document: &str, query: &str) -> Failure {
    match explanation(document, query) {
        Explanation::Failed(failures) => failures[0],
        Explanation::Matched { .. } => panic!("{query} matches"),
    }
}

#[test]
fn the_predicate_that_never_held_is_named() {
    let document = "<a><b x='2'><c/></b><b x='3'/></a>";
    let told = |step, predicate, reached| Failure {
        step,
        predicate,
        reached,
    };
    assert_eq!(failure(document, "/a/b[@x='1']/c"), told(1, Some(0), 2));
    assert_eq!(failure(document, "/a/b[c][@x='3']/d"), told(1, Some(1), 1));
    assert_eq!(failure(document, "/a/b/d"), told(2, None, 2));
    assert_eq!(failure(document, "/x/y"), told(0, None, 1));
    // What is below a step whose predicate fails later is not reached.
    assert_eq!(failure(document, "/a/b[d]/c[e]"), told(1, Some(0), 2));
}

#[test]
fn a_witness_stands_for_each_step() {
    let document = "<a><b><b><c i='1'/></b></b></a>";
    let Explanation::Matched { branch, witnesses } = explanation(document, "/none | //b//c/@i")
    else {
        panic!("it matches");
    };
    assert_eq!(branch, 1);
    let told: Vec<(&str, u64, u64)> = witnesses
        .iter()
        .map(|node| {
            let name = node
                .name
                .as_ref()
                .expect("elements and attributes have names");
            (&*name.1, node.spans[0].start, node.spans[0].end)
        })
        .collect();
    assert_eq!(told, [("b", 6, 23), ("c", 9, 19), ("i", 12, 17)]);
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
    let explained =
        explain(query, CANDIDATES_MAX, |selection| read(root, selection)).expect("within limits");
    match explained {
        Explanation::Matched { branch, witnesses } => {
            let path = &query.branches[branch];
            prop_assert_eq!(witnesses.len(), path.steps.len());
            let chosen: Vec<usize> = witnesses.iter().map(|node| node.order as usize).collect();
            let selected = definition::select(&tree, query);
            prop_assert_eq!(chosen.last(), selected.first());
            for (step, &node) in chosen.iter().enumerate() {
                let whole = prefix(path, step, path.steps[step].predicates.len());
                prop_assert!(definition::select(&tree, &whole).contains(&node));
                let Some(&below) = chosen.get(step + 1) else {
                    continue;
                };
                let mut above = vec![tree[below].parent];
                while path.steps[step + 1].axis == Axis::Descendant && above.last() != Some(&0) {
                    above.push(tree[*above.last().expect("never empty")].parent);
                }
                prop_assert!(above.contains(&node));
            }
        }
        Explanation::Failed(failures) => {
            prop_assert_eq!(failures.len(), query.branches.len());
            for (failure, path) in failures.iter().zip(&query.branches) {
                let failing = prefix(path, failure.step, failure.predicate.map_or(0, |at| at + 1));
                prop_assert!(definition::select(&tree, &failing).is_empty());
                let before = match (failure.predicate, failure.step) {
                    (Some(at), step) => definition::select(&tree, &prefix(path, step, at)).len(),
                    (None, 0) => 1,
                    (None, step) => {
                        let predicates = path.steps[step - 1].predicates.len();
                        definition::select(&tree, &prefix(path, step - 1, predicates)).len()
                    }
                };
                prop_assert!(before > 0);
                prop_assert_eq!(failure.reached, before as u64);
            }
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn explanations_keep_to_the_definition(root in root(), query in query(predicate(1))) {
        check(&root, &query)?;
    }
}
