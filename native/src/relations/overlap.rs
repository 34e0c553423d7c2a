//! Decides whether a node selected by one query can be at or under a node selected by the other.
//!
//! Both paths lead through the ancestors of the lower selected node. The search therefore walks down one
//! chain of elements with both queries simultaneously; a node on both paths must satisfy the predicates
//! of both. If no walk completes both paths, the queries are disjoint.

use std::sync::Arc;

use super::chain_search::Chain;
use super::compiled_query::CompiledQuery;
use super::name_tests::{intersects, meet};
use super::prover::{AddressMap, GaveUp, Prover};
use super::tree_pattern::{merge, Node};
use crate::xpath::ast::{Axis, Kind};

/// Whether the two cannot be proved disjoint.
pub fn overlaps(p: &CompiledQuery, q: &CompiledQuery) -> bool {
    let mut prover = Prover::new(p.domain());
    for one in p.patterns().iter().flatten() {
        for two in q.patterns().iter().flatten() {
            let walk = SimultaneousWalk::new(&one.spine, &two.spine).meets(&mut prover);
            if walk.unwrap_or(true) {
                return true;
            }
        }
    }
    false
}

/// Number of visited nodes of each spine.
type Progress = (usize, usize);

struct SimultaneousWalk<'a> {
    one: Chain<'a>,
    two: Chain<'a>,
    queue: Vec<Progress>,
    is_queued: Vec<bool>,
    /// The nodes that both spines visit next.
    merged: AddressMap<Progress, Arc<Node>>,
}

impl<'a> SimultaneousWalk<'a> {
    fn new(one: Chain<'a>, two: Chain<'a>) -> Self {
        SimultaneousWalk {
            one,
            two,
            queue: Vec::new(),
            is_queued: vec![false; (one.len() + 1) * (two.len() + 1)],
            merged: AddressMap::default(),
        }
    }

    fn meets(mut self, prover: &mut Prover<'_>) -> Result<bool, GaveUp> {
        prover.charge(self.is_queued.len() / 64)?;
        // The document node, which differs from an element: it has no attributes or text.
        prover.spend()?;
        self.visit(prover, (0, 0), true)?;
        let mut next = 0;
        while next < self.queue.len() {
            let progress = self.queue[next];
            next += 1;
            prover.spend()?;
            if progress == (self.one.len(), self.two.len()) {
                return Ok(true);
            }
            self.visit(prover, progress, false)?;
        }
        Ok(false)
    }

    fn visit(
        &mut self,
        prover: &mut Prover<'_>,
        (i, j): Progress,
        is_document: bool,
    ) -> Result<(), GaveUp> {
        for (one, after_i) in choices(self.one, i) {
            for (two, after_j) in choices(self.two, j) {
                let kind = one.or(two).map_or(Kind::Element, |node| node.label.kind);
                let is_end = (after_i, after_j) == (self.one.len(), self.two.len());
                if kind != Kind::Element && (is_document || !is_end) {
                    continue;
                }
                if self.is_possible(prover, one, two, (i, j))? {
                    let at = after_i * (self.two.len() + 1) + after_j;
                    if !std::mem::replace(&mut self.is_queued[at], true) {
                        self.queue.push((after_i, after_j));
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether one node may satisfy both. Each query alone is satisfiable; together they may not be.
    fn is_possible(
        &mut self,
        prover: &mut Prover<'_>,
        one: Option<&Arc<Node>>,
        two: Option<&Arc<Node>>,
        progress: Progress,
    ) -> Result<bool, GaveUp> {
        let (Some(one), Some(two)) = (one, two) else {
            return Ok(true);
        };
        if one.label.kind != two.label.kind || !intersects(&one.label.test, &two.label.test) {
            return Ok(false);
        }
        if one.is_bare() && two.is_bare() {
            return Ok(true);
        }
        let facts = one.facts.len() + two.facts.len();
        prover.charge(facts * facts)?;
        let domain = prover.domain;
        let merged = self
            .merged
            .entry(progress)
            .or_insert_with(|| {
                let test = meet(&one.label.test, &two.label.test).expect("some name is accepted");
                merge(&[one.clone(), two.clone()], test, domain)
            })
            .clone();
        Ok(merged.is_bare() || !prover.impossible(&merged)?)
    }
}

/// The roles of the next node for one query: a node of its spine, or an unconstrained element between two
/// of them or under the selected node.
fn choices<'a>(
    chain: Chain<'a>,
    index: usize,
) -> impl Iterator<Item = (Option<&'a Arc<Node>>, usize)> {
    let next = chain.get(index);
    let is_free = next.is_none_or(|node| node.label.axis == Axis::Descendant);
    let taken = next.map(|node| (Some(node), index + 1));
    taken.into_iter().chain(is_free.then_some((None, index)))
}
