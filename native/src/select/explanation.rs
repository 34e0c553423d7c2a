//! Why a query selects something in a document, or why nothing.
//!
//! A path's *prefixes* are queries themselves: `/a/b[p][q]/c` has `/a`, `/a/b`, `/a/b[p]`,
//! `/a/b[p][q]` and itself. The longest that still selects something tells how far the document
//! goes along with the query. Where the whole path selects a node, the nodes that the prefixes
//! select around it are its witnesses. So an explanation is nothing but selections, in the same
//! bounded memory; a witness takes a second reading.

use crate::xpath::ast::{Axis, Path, Query};

use super::selected_node::SelectedNode;
use super::selection::{QueryResult, ResultDetail, Selection, SelectionOptions};
use super::selector::Selector;

/// How many nodes an explanation lists; how many there are in all it always says.
pub const NODES_MAX: usize = 64;

/// Why, or why not.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// How many nodes the query selects.
    pub count: u64,
    /// The first [`NODES_MAX`] of them.
    pub nodes: Vec<SelectedNode>,
    /// How the first was found; `None` where nothing was.
    pub witness: Option<Witness>,
    /// Where nothing was selected, how far each branch of the union goes.
    pub failures: Vec<Failure>,
}

/// How a node was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Witness {
    /// The branch of the union that selects it, from 0; the first such branch.
    pub branch: usize,
    /// For each step of the branch the node that it selects on the way; the last is the node itself.
    pub steps: Vec<SelectedNode>,
}

/// Where a path that selects nothing ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// The step that selects nothing, from 0.
    pub step: usize,
    /// The step's predicate that never holds, from 0; `None` where no node passes the step's own
    /// test.
    pub predicate: Option<usize>,
    /// How many nodes came that far: with a predicate, those for which it was asked; without, those
    /// that the step before selects.
    pub reached: u64,
    /// The first [`NODES_MAX`] of them.
    pub nodes: Vec<SelectedNode>,
}

/// Explains what a query selects. `read` reads the document to a handler; it is called once, and a
/// second time where there is a witness.
///
/// # Errors
/// The first error of `read`.
pub fn explain<E>(
    query: &Query,
    candidates_max: usize,
    mut read: impl FnMut(&mut Selection<'_>) -> Result<(), E>,
) -> Result<Explanation, E> {
    let mut select =
        |selectors: &[Selector], detail: ResultDetail| -> Result<Vec<QueryResult>, E> {
            let selectors: Vec<&Selector> = selectors.iter().collect();
            let mut selection = Selection::new(
                &selectors,
                SelectionOptions {
                    detail,
                    candidates_max,
                },
            );
            read(&mut selection)?;
            Ok(selection.finish())
        };
    let branches: Vec<Vec<Prefix>> = query.branches.iter().map(prefixes).collect();
    let mut selectors = vec![Selector::compile(query)];
    selectors.extend(branches.iter().flatten().map(Prefix::selector));
    let mut outcomes = select(&selectors, ResultDetail::FirstNodes(NODES_MAX))?.into_iter();
    let QueryResult { count, nodes, .. } = outcomes.next().unwrap_or_default();
    let mut explanation = Explanation {
        count,
        nodes,
        witness: None,
        failures: Vec::new(),
    };
    let mut by_branch = branches.iter().map(|prefixes| {
        outcomes
            .by_ref()
            .take(prefixes.len())
            .collect::<Vec<QueryResult>>()
    });
    let Some(order) = explanation.nodes.first().map(|node| node.order) else {
        explanation.failures = by_branch
            .zip(&branches)
            .map(|(outcomes, prefixes)| failure(prefixes, outcomes))
            .collect();
        return Ok(explanation);
    };
    let selects_it = |outcomes: Vec<QueryResult>| {
        outcomes
            .last()
            .is_some_and(|whole| whole.nodes.first().is_some_and(|node| node.order == order))
    };
    let branch = by_branch
        .position(selects_it)
        .expect("some branch selects what the union selects");
    let path = &query.branches[branch];
    let whole_steps = branches[branch]
        .iter()
        .filter(|prefix| prefix.is_whole_step(path));
    let selectors: Vec<Selector> = whole_steps.map(Prefix::selector).collect();
    let around = select(&selectors, ResultDetail::Enclosing(order))?;
    explanation.witness = Some(Witness {
        branch,
        steps: chain(path, around),
    });
    Ok(explanation)
}

/// A path up to one of its steps, with some of that step's predicates.
struct Prefix {
    path: Path,
}

impl Prefix {
    fn selector(&self) -> Selector {
        Selector::compile(&Query {
            branches: vec![self.path.clone()],
        })
    }

    fn step(&self) -> usize {
        self.path.steps.len() - 1
    }

    fn predicates(&self) -> usize {
        self.path.steps[self.step()].predicates.len()
    }

    fn is_whole_step(&self, path: &Path) -> bool {
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

/// The first prefix that selects nothing; there is one.
fn failure(prefixes: &[Prefix], mut outcomes: Vec<QueryResult>) -> Failure {
    let failed = outcomes
        .iter()
        .position(|outcome| !outcome.matched)
        .expect("the whole path selects nothing");
    let reached = if failed == 0 {
        QueryResult::default()
    } else {
        outcomes.swap_remove(failed - 1)
    };
    Failure {
        step: prefixes[failed].step(),
        predicate: prefixes[failed].predicates().checked_sub(1),
        reached: reached.count,
        nodes: reached.nodes,
    }
}

/// From the last step upwards, a node that the step before selects in the right relation: the
/// parent, or the nearest ancestor.
fn chain(path: &Path, around: Vec<QueryResult>) -> Vec<SelectedNode> {
    let mut chain: Vec<SelectedNode> = Vec::new();
    for (step, outcome) in around.into_iter().enumerate().rev() {
        let below = chain
            .last()
            .map(|node| (node.depth, path.steps[step + 1].axis));
        let related = |node: &SelectedNode| match below {
            None => true,
            Some((depth, Axis::Child)) => node.depth + 1 == depth,
            Some((depth, Axis::Descendant)) => node.depth < depth,
        };
        let nearest = outcome
            .nodes
            .into_iter()
            .filter(related)
            .max_by_key(|node| node.depth);
        chain.push(nearest.expect("a selected node has a witness at each step"));
    }
    chain.reverse();
    chain
}
