//! Why a query selects something in a document, or why nothing.
//!
//! A path's *prefixes* are queries themselves: `/a/b[p][q]/c` has `/a`, `/a/b`, `/a/b[p]`,
//! `/a/b[p][q]` and itself. The longest that still selects something tells how far the document
//! goes along with the query. Where the whole path selects a node, the nodes that the prefixes
//! select around it are its witnesses. So an explanation is nothing but selections, in the same
//! bounded memory; a witness takes a second reading.

use crate::xpath::ast::{Axis, Path, Query};

use super::compile::Selector;
use super::nodes::Node;
use super::selection::{Options, Outcome, Selection, Wanted};

/// Why, or why not.
#[derive(Clone, Debug, PartialEq)]
pub enum Explanation {
    /// It selects something.
    Matched {
        /// The branch of the union that selects the first node, from 0; the first such branch.
        branch: usize,
        /// For each step of the branch the node that it selects on the way to the first selected
        /// node, which is the last of them.
        witnesses: Vec<Node>,
    },
    /// It selects nothing; how far each branch of the union goes.
    Failed(Vec<Failure>),
}

/// Where a path that selects nothing ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The step that selects nothing, from 0.
    pub step: usize,
    /// The step's predicate that never holds, from 0; `None` where no node passes the step's own
    /// test.
    pub predicate: Option<usize>,
    /// How many nodes came that far: with a predicate, those for which it was asked; without, those
    /// that the step before selects (the document, before the first).
    pub reached: u64,
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
    let mut select = |selectors: &[Selector], wanted: Wanted| -> Result<Vec<Outcome>, E> {
        let selectors: Vec<&Selector> = selectors.iter().collect();
        let mut selection = Selection::new(
            &selectors,
            Options {
                wanted,
                candidates_max,
            },
        );
        read(&mut selection)?;
        Ok(selection.finish())
    };
    let branches: Vec<Vec<Prefix>> = query.branches.iter().map(prefixes).collect();
    let selectors: Vec<Selector> = branches.iter().flatten().map(Prefix::selector).collect();
    let mut outcomes = select(&selectors, Wanted::First)?.into_iter();
    let mut first: Option<(u64, usize)> = None;
    let mut failures = Vec::new();
    for (branch, prefixes) in branches.iter().enumerate() {
        let outcomes: Vec<Outcome> = outcomes.by_ref().take(prefixes.len()).collect();
        match outcomes.last().and_then(|whole| whole.nodes.first()) {
            Some(node) if first.is_none_or(|(order, _)| node.order < order) => {
                first = Some((node.order, branch))
            }
            Some(_) => {}
            None => failures.push(failure(prefixes, &outcomes)),
        }
    }
    let Some((order, branch)) = first else {
        return Ok(Explanation::Failed(failures));
    };
    let path = &query.branches[branch];
    let selectors: Vec<Selector> = branches[branch]
        .iter()
        .filter(|prefix| prefix.is_whole_step(path))
        .map(Prefix::selector)
        .collect();
    let around = select(&selectors, Wanted::Around(order))?;
    Ok(Explanation::Matched {
        branch,
        witnesses: witnesses(path, around),
    })
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
fn failure(prefixes: &[Prefix], outcomes: &[Outcome]) -> Failure {
    let at = outcomes
        .iter()
        .position(|outcome| !outcome.matched)
        .unwrap_or(outcomes.len() - 1);
    let prefix = &prefixes[at];
    Failure {
        step: prefix.step(),
        predicate: prefix.predicates().checked_sub(1),
        reached: if at == 0 { 1 } else { outcomes[at - 1].count },
    }
}

/// From the last step upwards, a node that the step before selects in the right relation: the
/// parent, or the nearest ancestor.
fn witnesses(path: &Path, around: Vec<Outcome>) -> Vec<Node> {
    let mut chain: Vec<Node> = Vec::new();
    for (step, outcome) in around.into_iter().enumerate().rev() {
        let below = chain
            .last()
            .map(|node| (node.depth, path.steps[step + 1].axis));
        let related = |node: &Node| match below {
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
