//! What a subscription observes: linear paths without predicates, derived from its query.
//!
//! Predicates and positions are taken as true on the way to a node. What a predicate looks at is observed
//! by a path of its own: a change there may turn it true or false. A position shifts when a sibling that
//! the step selects appears or disappears, so the step itself is observed.

use std::collections::BTreeMap;

use crate::xpath::ast::{Axis, Expr, Kind, NameTest, Path, Query};

/// What is observed at a node; a later one includes an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Observation {
    /// Whether the node is there.
    Existence,
    /// Also its string-value.
    Value,
    /// Also everything below it: the subscription selects the node, and its restriction is observed.
    Subtree,
}

/// How many kinds of observation there are.
pub const OBSERVATION_COUNT: usize = 3;

/// A step without predicates.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinearStep {
    /// The axis of the step.
    pub axis: Axis,
    /// The kind of node it selects.
    pub kind: Kind,
    /// The names it accepts.
    pub test: NameTest,
}

/// A linear path; only the last step may select attributes or text.
pub type LinearPath = Vec<LinearStep>;

/// The observed paths of a query, each once, with the most that is observed there. `selected` is what is observed
/// at the nodes that the query selects.
pub fn observed_paths(query: &Query, selected: Observation) -> BTreeMap<LinearPath, Observation> {
    let mut collector = Collector::default();
    for branch in &query.branches {
        collector.path(&mut Vec::new(), branch, selected);
    }
    collector.observed
}

#[derive(Default)]
struct Collector {
    observed: BTreeMap<LinearPath, Observation>,
}

impl Collector {
    fn observe(&mut self, path: &[LinearStep], what: Observation) {
        // The document node neither appears nor disappears, and has no value that a query compares.
        if path.is_empty() {
            return;
        }
        match self.observed.get_mut(path) {
            Some(known) => *known = what.max(*known),
            None => {
                self.observed.insert(path.to_vec(), what);
            }
        }
    }

    /// Observes what a path from a context selects, and what its predicates look at. `context` is
    /// unchanged afterwards.
    fn path(&mut self, context: &mut LinearPath, path: &Path, what: Observation) {
        let length = context.len();
        for step in &path.steps {
            context.push(LinearStep {
                axis: step.axis,
                kind: step.kind,
                test: step.test.clone(),
            });
            for predicate in &step.predicates {
                self.predicate(context, predicate);
            }
        }
        self.observe(context, what);
        context.truncate(length);
    }

    fn predicate(&mut self, context: &mut LinearPath, predicate: &Expr) {
        match predicate {
            Expr::And(items) | Expr::Or(items) => {
                for item in items {
                    self.predicate(context, item);
                }
            }
            Expr::Not(item) => self.predicate(context, item),
            Expr::Exists(path) | Expr::Count(path, ..) => {
                self.path(context, path, Observation::Existence);
            }
            Expr::Compare(path, ..) | Expr::Contains(path, _) | Expr::StartsWith(path, _) => {
                self.path(context, path, Observation::Value);
            }
            Expr::String(test) => self.path(context, &test.path, Observation::Value),
            Expr::ComparePaths(left, _, right) => {
                self.path(context, left, Observation::Value);
                self.path(context, right, Observation::Value);
            }
            Expr::Position(..) | Expr::PositionLast(_) | Expr::Last(..) => {
                self.observe(context, Observation::Existence);
            }
        }
    }
}
