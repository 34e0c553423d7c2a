//! Proves that a goal follows from a pattern, or that a pattern is unsatisfiable.
//!
//! The facts of a pattern hold in some document. A goal (a condition or paths) is proved by following the
//! paths down each chain of the pattern, for all lengths of its `//`, proving all predicates on the way.
//! This is exact on chains without predicates, and sound but incomplete otherwise.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use super::chain_search::{escapes, Chain};
use super::conditions::{Condition, FirstNode, Negation, NestedCondition};
use super::domain::Domain;
use super::goal_automaton::{GoalStep, Goals};
use super::limits::{MAX_PROOF_ASSUMPTIONS, MAX_PROOF_DEPTH, MAX_PROOF_STEPS, MAX_PROOF_WORK};
use super::position_facts::clash;
use super::tree_pattern::{with_assumption, Chains, Node, OpaqueFact};
use super::value_facts::{implies, unsatisfiable, ValueFact};
use crate::xpath::ast::{Axis, Kind, Path};

/// A map by addresses. Nobody chooses these, so that a fixed seed is safe, and cheaper than a random one.
pub type AddressMap<K, V> = HashMap<K, V, FixedState>;

/// A limit of the proof was reached.
#[derive(Clone, Copy, Debug)]
pub struct GaveUp;

/// A node compared by its address, which it keeps alive.
#[derive(Clone)]
pub struct ByAddress(pub Arc<Node>);

impl PartialEq for ByAddress {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for ByAddress {}

impl Hash for ByAddress {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.0).hash(state);
    }
}

/// Proves facts in one document domain; caches results and counts steps.
pub struct Prover<'d> {
    pub domain: &'d Domain,
    budget: Budget,
    assumptions: u32,
    impossible: AddressMap<ByAddress, bool>,
    /// Whether the step with this id holds for a node.
    held: AddressMap<(ByAddress, u64), bool>,
}

/// What is left of the limits of a proof.
struct Budget {
    steps: u32,
    work: u64,
    depth: u32,
}

impl<'d> Prover<'d> {
    pub fn new(domain: &'d Domain) -> Self {
        Prover {
            domain,
            budget: Budget {
                steps: MAX_PROOF_STEPS,
                work: MAX_PROOF_WORK,
                depth: MAX_PROOF_DEPTH,
            },
            assumptions: 0,
            impossible: AddressMap::default(),
            held: AddressMap::default(),
        }
    }

    /// Counts a step.
    pub fn spend(&mut self) -> Result<(), GaveUp> {
        self.budget.steps = self.budget.steps.checked_sub(1).ok_or(GaveUp)?;
        Ok(())
    }

    /// Counts elementary operations.
    pub fn charge(&mut self, operations: usize) -> Result<(), GaveUp> {
        let operations = operations as u64;
        self.budget.work = self.budget.work.checked_sub(operations).ok_or(GaveUp)?;
        Ok(())
    }

    /// Proves one level deeper.
    fn nested<T>(
        &mut self,
        prove: impl FnOnce(&mut Self) -> Result<T, GaveUp>,
    ) -> Result<T, GaveUp> {
        self.descend()?;
        let proved = prove(self);
        self.ascend();
        proved
    }

    /// Starts a deeper level; [`Prover::ascend`] ends it.
    pub fn descend(&mut self) -> Result<(), GaveUp> {
        self.budget.depth = self.budget.depth.checked_sub(1).ok_or(GaveUp)?;
        Ok(())
    }

    pub fn ascend(&mut self) {
        self.budget.depth += 1;
    }

    /// Whether one of the goals is satisfied below the node.
    pub fn meets(&mut self, node: &Node, goals: &Goals) -> Result<bool, GaveUp> {
        if node.label.kind != Kind::Element {
            return Ok(goals.is_met_at_start());
        }
        let mut chains = Chains::of(node);
        while let Some(chain) = chains.next() {
            if !escapes(self, chain, node.label.document, goals)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether one of the goals is satisfied on every way down a chain from the document node.
    pub fn meets_on(&mut self, chain: Chain<'_>, goals: &Goals) -> Result<bool, GaveUp> {
        Ok(!escapes(self, chain, true, goals)?)
    }

    /// Whether all predicates of a step are proved for a node.
    pub fn step_holds(&mut self, node: &Arc<Node>, step: &GoalStep) -> Result<bool, GaveUp> {
        let key = (ByAddress(node.clone()), step.id);
        if let Some(&known) = self.held.get(&key) {
            return Ok(known);
        }
        let holds = self.proves_all(node, &step.predicates)?;
        self.held.insert(key, holds);
        Ok(holds)
    }

    fn proves_all(&mut self, node: &Arc<Node>, conditions: &[Condition]) -> Result<bool, GaveUp> {
        for condition in conditions {
            if !self.proves(node, condition)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether the condition provably holds for the node.
    fn proves(&mut self, node: &Arc<Node>, condition: &Condition) -> Result<bool, GaveUp> {
        self.spend()?;
        self.charge(node.facts.len())?;
        match condition {
            Condition::True => Ok(true),
            Condition::All(items) => self.nested(|prover| prover.proves_all(node, items)),
            Condition::Any(items) => self.nested(|prover| {
                for item in items {
                    if prover.proves(node, item)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }),
            Condition::Not(negation) => self.refutes(node, negation),
            Condition::Value(fact) => self.implies_value(node, fact),
            Condition::Nested(nested) => self.proves_nested(node, nested),
            Condition::Opaque(expr) => {
                let mut known = node.facts.opaque.iter();
                Ok(known.any(|fact| fact.holds && fact.expr == *expr))
            }
            Condition::Position(fact) => {
                let opposite = fact.clone().opposite();
                Ok(clash(&node.facts.positions, Some(&opposite)))
            }
        }
    }

    fn implies_value(&mut self, node: &Node, fact: &ValueFact) -> Result<bool, GaveUp> {
        let values = &node.facts.values;
        self.charge(values.len() * values.len())?;
        if node.label.kind == Kind::Text {
            let mut values = values.clone();
            values.push(ValueFact::not_empty());
            return Ok(implies(&values, fact.view()));
        }
        Ok(implies(values, fact.view()))
    }

    fn proves_nested(
        &mut self,
        node: &Arc<Node>,
        nested: &NestedCondition,
    ) -> Result<bool, GaveUp> {
        self.nested(|prover| match nested {
            NestedCondition::Exists(existence) => prover.meets(node, &existence.goals),
            NestedCondition::First(first) => {
                let mut known = node.facts.firsts.iter();
                if known.any(|known| implies_first(known, first)) {
                    return Ok(true);
                }
                Ok(prover.selects_one(node, &first.path)
                    && prover.meets(node, &first.some.goals)?)
            }
        })
    }

    /// Whether the path selects at most one node.
    fn selects_one(&self, node: &Node, path: &Path) -> bool {
        path.steps.iter().enumerate().all(|(index, step)| {
            let of_document = index == 0 && node.label.document;
            step.axis == Axis::Child && self.domain.at_most_one(of_document, step.kind, &step.test)
        })
    }

    /// Whether the condition provably fails for the node: assuming it leads to a contradiction.
    fn refutes(&mut self, node: &Arc<Node>, negation: &Negation) -> Result<bool, GaveUp> {
        if self.assumptions == MAX_PROOF_ASSUMPTIONS {
            return Ok(false);
        }
        self.assumptions += 1;
        let refuted = self.nested(|prover| {
            for assumed in negation.alternatives(prover.domain) {
                let children = node.facts.children.len() * assumed.children.len();
                prover.charge(children * node.facts.children.len())?;
                prover.charge(node.facts.len() * (1 + assumed.len()))?;
                let node = with_assumption(node, assumed, prover.domain);
                if !prover.impossible(&node)? {
                    return Ok(false);
                }
            }
            Ok(true)
        });
        self.assumptions -= 1;
        refuted
    }

    /// Whether provably no node in a document of the domain has these facts.
    pub fn impossible(&mut self, node: &Arc<Node>) -> Result<bool, GaveUp> {
        let key = ByAddress(node.clone());
        if let Some(&known) = self.impossible.get(&key) {
            return Ok(known);
        }
        self.spend()?;
        let impossible = self.nested(|prover| prover.is_contradictory(node))?;
        self.impossible.insert(key, impossible);
        Ok(impossible)
    }

    fn is_contradictory(&mut self, node: &Arc<Node>) -> Result<bool, GaveUp> {
        let facts = &node.facts;
        let quadratic = facts.values.len().pow(2)
            + facts.positions.len().pow(2)
            + facts.opaque.len().pow(2)
            + facts.children.len();
        self.charge(quadratic)?;
        if is_value_impossible(node)
            || (node.label.kind != Kind::Element && !facts.children.is_empty())
            || clash(&facts.positions, None)
            || contradict(&facts.opaque)
        {
            return Ok(true);
        }
        for child in &facts.children {
            let is_misplaced = node.label.document
                && child.label.axis == Axis::Child
                && child.label.kind != Kind::Element;
            if is_misplaced || self.impossible(child)? {
                return Ok(true);
            }
        }
        for absent in &facts.absent {
            self.spend()?;
            if self.proves_nested(node, absent)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn is_value_impossible(node: &Node) -> bool {
    let values = node.facts.values.iter().map(ValueFact::view);
    if node.label.kind == Kind::Text {
        let not_empty = ValueFact::not_empty();
        return unsatisfiable(values.chain(std::iter::once(not_empty.view())));
    }
    !node.facts.values.is_empty() && unsatisfiable(values)
}

fn contradict(opaque: &[OpaqueFact]) -> bool {
    opaque.iter().enumerate().any(|(index, one)| {
        let mut others = opaque[..index].iter();
        others.any(|two| one.holds != two.holds && one.expr == two.expr)
    })
}

fn implies_first(known: &FirstNode, goal: &FirstNode) -> bool {
    known.path == goal.path && implies(std::slice::from_ref(&known.fact), goal.fact.view())
}
