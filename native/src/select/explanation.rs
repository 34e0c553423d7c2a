//! Explains why a query selects something in a document, or why it selects nothing.
//!
//! The *prefixes* of a path are queries themselves: `/a/b[p][q]/c` has `/a`, `/a/b`, `/a/b[p]`,
//! `/a/b[p][q]` and the path itself. The longest prefix that selects something shows how far the
//! document satisfies the query. If the complete path selects a node, the enclosing nodes that the
//! prefixes select are its witness. An explanation therefore consists of selections and needs the same
//! bounded memory; a witness takes a second pass over the document.

use crate::xpath::ast::{Axis, Path, Query};

use super::event_handler::Selection;
use super::query_result::{QueryResult, ResultDetail, SelectedNode, SelectionOptions};
use super::query_steps::QuerySteps;
use super::selector::Selector;
use super::selector_compiler::SelectorCompiler;

/// How many nodes an explanation lists; the count covers all of them.
pub const NODES_MAX: usize = 64;

/// Why a query matches, or why it does not.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The number of selected nodes.
    pub count: u64,
    /// The first [`NODES_MAX`] of them.
    pub nodes: Vec<SelectedNode>,
    /// How the first node was found; `None` if there is none.
    pub witness: Option<Witness>,
    /// If nothing was selected, where each branch of the union fails.
    pub failures: Vec<Failure>,
}

/// How a node was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Witness {
    /// Index of the first branch of the union that selects it.
    pub branch: usize,
    /// For each step of the branch, the node on the path that it selects; the last is the node itself.
    pub steps: Vec<SelectedNode>,
}

/// Where a path that selects nothing fails.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// Index of the step that selects nothing.
    pub step: usize,
    /// Index of the step's predicate that never holds; `None` if no node passes the step's node test.
    pub predicate: Option<usize>,
    /// The number of nodes that got that far: those that the predicate was evaluated for, or without a
    /// predicate those that the preceding step selects.
    pub reached: u64,
    /// The first [`NODES_MAX`] of them.
    pub nodes: Vec<SelectedNode>,
}

/// Explains what a query selects. `read` reads the document with the given handler; it is called once,
/// and a second time for a witness.
///
/// # Errors
/// The first error of `read`.
pub fn explain<E>(
    query: &Query,
    options: SelectionOptions,
    mut read: impl FnMut(&mut Selection<'_>) -> Result<(), E>,
) -> Result<Explanation, E> {
    let mut select =
        |selectors: &[Selector], detail: ResultDetail| -> Result<Vec<QueryResult>, E> {
            let selectors: Vec<&Selector> = selectors.iter().collect();
            let steps = QuerySteps::new(&selectors);
            let mut selection = Selection::new(&steps, SelectionOptions { detail, ..options });
            read(&mut selection)?;
            Ok(selection.finish())
        };
    let branches: Vec<Vec<Prefix>> = query.branches.iter().map(prefixes).collect();
    // Prefixes have most of their steps in common.
    let mut compiler = SelectorCompiler::default();
    let mut selectors = vec![compiler.compile(query)];
    let prefixes = branches.iter().flatten();
    selectors.extend(prefixes.map(|prefix| prefix.selector(&mut compiler)));
    let mut results = select(&selectors, ResultDetail::FirstNodes(NODES_MAX))?.into_iter();
    let QueryResult { count, nodes, .. } = results.next().unwrap_or_default();
    let mut explanation = Explanation {
        count,
        nodes,
        witness: None,
        failures: Vec::new(),
    };
    let mut by_branch = branches.iter().map(|prefixes| {
        results
            .by_ref()
            .take(prefixes.len())
            .collect::<Vec<QueryResult>>()
    });
    let Some(order) = explanation.nodes.first().map(|node| node.order) else {
        explanation.failures = by_branch
            .zip(&branches)
            .map(|(results, prefixes)| failure(prefixes, results))
            .collect();
        return Ok(explanation);
    };
    let selects_it = |results: Vec<QueryResult>| {
        results.last().is_some_and(|complete| {
            complete
                .nodes
                .first()
                .is_some_and(|node| node.order == order)
        })
    };
    let branch = by_branch
        .position(selects_it)
        .expect("some branch selects what the union selects");
    let path = &query.branches[branch];
    let complete_steps = branches[branch]
        .iter()
        .filter(|prefix| prefix.is_complete_step(path));
    let selectors: Vec<Selector> = complete_steps
        .map(|prefix| prefix.selector(&mut compiler))
        .collect();
    let around = select(&selectors, ResultDetail::Enclosing(order))?;
    explanation.witness = Some(Witness {
        branch,
        steps: chain(path, around),
    });
    Ok(explanation)
}

/// A path up to one of its steps, with the first predicates of that step.
struct Prefix {
    path: Path,
}

impl Prefix {
    fn selector(&self, compiler: &mut SelectorCompiler) -> Selector {
        compiler.compile(&Query {
            branches: vec![self.path.clone()],
        })
    }

    fn step(&self) -> usize {
        self.path.steps.len() - 1
    }

    fn predicates(&self) -> usize {
        self.path.steps[self.step()].predicates.len()
    }

    fn is_complete_step(&self, path: &Path) -> bool {
        self.predicates() == path.steps[self.step()].predicates.len()
    }
}

/// All prefixes, shortest first; the last is the path itself.
fn prefixes(path: &Path) -> Vec<Prefix> {
    let mut prefixes = Vec::new();
    for (at, step) in path.steps.iter().enumerate() {
        for predicates in 0..=step.predicates.len() {
            let mut steps = path.steps[..=at].to_vec();
            steps[at].predicates.truncate(predicates);
            prefixes.push(Prefix {
                path: Path { steps },
            });
        }
    }
    prefixes
}

/// The first prefix that selects nothing, of a path that selects nothing.
fn failure(prefixes: &[Prefix], mut results: Vec<QueryResult>) -> Failure {
    let failed = results
        .iter()
        .position(|result| !result.matched)
        .expect("the complete path selects nothing");
    let reached = if failed == 0 {
        QueryResult::default()
    } else {
        results.swap_remove(failed - 1)
    };
    Failure {
        step: prefixes[failed].step(),
        predicate: prefixes[failed].predicates().checked_sub(1),
        reached: reached.count,
        nodes: reached.nodes,
    }
}

/// The witness of the last step's node. `around` has the enclosing nodes that each step selects; from
/// the last step upwards, this picks the parent or the nearest ancestor, as the axis demands.
fn chain(path: &Path, around: Vec<QueryResult>) -> Vec<SelectedNode> {
    let mut chain: Vec<SelectedNode> = Vec::new();
    for (step, result) in around.into_iter().enumerate().rev() {
        let below = chain
            .last()
            .map(|node| (node.depth, path.steps[step + 1].axis));
        let related = |node: &SelectedNode| match below {
            None => true,
            Some((depth, Axis::Child)) => node.depth + 1 == depth,
            Some((depth, Axis::Descendant)) => node.depth < depth,
        };
        let nearest = result
            .nodes
            .into_iter()
            .filter(related)
            .max_by_key(|node| node.depth);
        chain.push(nearest.expect("a selected node has a witness at each step"));
    }
    chain.reverse();
    chain
}
