//! A query compiled for relations: its tree patterns and its goal automata, each made when first needed.

use std::sync::{Arc, OnceLock};

use super::domain::Domain;
use super::goal_automaton::Goals;
use super::position_contradictions::miscounts;
use super::prover::Prover;
use super::tree_pattern::{documents, Node};
use crate::xpath::ast::{Path, Query};

/// A query compiled for relations to others of the same domain.
#[derive(Debug)]
pub struct CompiledQuery {
    query: Query,
    domain: Domain,
    matching: OnceLock<Goals>,
    selecting: OnceLock<Goals>,
    patterns: OnceLock<Vec<Vec<Pattern>>>,
}

/// A tree pattern of a query.
#[derive(Debug)]
pub struct Pattern {
    pub document: Arc<Node>,
    /// The selected node, preceded by its ancestors.
    pub spine: Box<[Arc<Node>]>,
    /// Whether there is nothing beside the spine.
    pub is_linear: bool,
}

impl CompiledQuery {
    /// Compiles a query that is within the parser's limits.
    pub fn new(query: Query, domain: Domain) -> Self {
        CompiledQuery {
            query,
            domain,
            matching: OnceLock::new(),
            selecting: OnceLock::new(),
            patterns: OnceLock::new(),
        }
    }

    /// The query.
    pub fn query(&self) -> &Query {
        &self.query
    }

    /// The query by itself.
    pub fn into_query(self) -> Query {
        self.query
    }

    /// The documents that its relations consider.
    pub fn domain(&self) -> &Domain {
        &self.domain
    }

    /// The goals of matching a document.
    pub(super) fn matching_goals(&self) -> &Goals {
        self.matching
            .get_or_init(|| Goals::of_existence(&self.query.branches))
    }

    /// The goals of selecting a node.
    pub(super) fn selection_goals(&self) -> &Goals {
        self.selecting
            .get_or_init(|| Goals::of_selection(&self.query.branches))
    }

    /// The satisfiable patterns of each branch.
    pub(super) fn patterns(&self) -> &[Vec<Pattern>] {
        self.patterns.get_or_init(|| {
            let branches = self.query.branches.iter();
            branches
                .map(|branch| possible_patterns(branch, &self.domain))
                .collect()
        })
    }

    /// The branches that are not branches of another query, each with its patterns.
    pub(super) fn patterns_beyond<'a>(
        &'a self,
        other: &'a CompiledQuery,
    ) -> impl Iterator<Item = &'a Pattern> {
        let branches = self.query.branches.iter().zip(self.patterns());
        branches
            .filter(|(branch, _)| !other.query.branches.contains(branch))
            .flat_map(|(_, patterns)| patterns)
    }
}

fn possible_patterns(branch: &Path, domain: &Domain) -> Vec<Pattern> {
    if miscounts(branch) {
        return Vec::new();
    }
    let mut patterns = documents(branch, domain);
    patterns.retain(|document| !matches!(Prover::new(domain).impossible(document), Ok(true)));
    patterns.into_iter().map(Pattern::new).collect()
}

impl Pattern {
    fn new(document: Arc<Node>) -> Self {
        let spine: Box<[Arc<Node>]> = document.spine_nodes().into_iter().cloned().collect();
        Pattern {
            is_linear: spine.iter().all(|node| {
                let mut children = node.facts.children.iter();
                children.all(|child| child.label.spine)
            }),
            document,
            spine,
        }
    }
}
