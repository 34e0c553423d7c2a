//! Searches a chain of pattern nodes for a counterexample to goals, for all lengths of its `//`.
//!
//! An *escape* is an assignment of names and gap lengths, allowed by the pattern, that satisfies no goal.
//! The search runs the goal automaton down the chain. From a larger set of goal steps an escape is only
//! harder, so a position is searched only from the sets of an antichain: a set that includes an earlier
//! one of the same position is dropped.

use std::sync::Arc;

use super::goal_automaton::{Goals, StepSet, WORDS_MAX};
use super::name_tests::ANY;
use super::prover::{GaveUp, Prover};
use super::tree_pattern::{Facts, Label, Node};
use crate::xpath::ast::{Axis, Kind};

/// Nodes of a pattern, each below its predecessor.
pub type Chain<'a> = &'a [Arc<Node>];

/// Whether some way down the chain, from the document node or from an element, satisfies no goal.
pub fn escapes(
    prover: &mut Prover<'_>,
    chain: Chain<'_>,
    from_document: bool,
    goals: &Goals,
) -> Result<bool, GaveUp> {
    if goals.is_met_at_start() {
        return Ok(false);
    }
    if goals.is_small() {
        Search::<1>::new(chain, goals).run(prover, from_document)
    } else {
        Search::<WORDS_MAX>::new(chain, goals).run(prover, from_document)
    }
}

/// A position on the chain.
#[derive(Clone, Copy, PartialEq)]
struct Place {
    /// Number of visited chain nodes.
    index: usize,
    /// Whether at least one element lies between this and the next chain node.
    is_next_further: bool,
    /// Whether it is the document node.
    is_document: bool,
}

struct Search<'a, const WORDS: usize> {
    chain: Chain<'a>,
    goals: &'a Goals,
    /// The places to visit, in order, with the goal states there.
    queue: Vec<(Place, StepSet<WORDS>)>,
    /// Nodes with the following chain node specialised: `(index, is_next_further, is_between)`.
    specialised: Vec<((usize, bool, bool), Arc<Node>)>,
}

impl<'a, const WORDS: usize> Search<'a, WORDS> {
    fn new(chain: Chain<'a>, goals: &'a Goals) -> Self {
        Search {
            chain,
            goals,
            queue: Vec::with_capacity(8),
            specialised: Vec::new(),
        }
    }

    fn run(mut self, prover: &mut Prover<'_>, from_document: bool) -> Result<bool, GaveUp> {
        for &is_next_further in self.following(0) {
            let start = Place {
                index: 0,
                is_next_further,
                is_document: from_document,
            };
            self.queue.push((start, self.goals.start()));
        }
        let mut next = 0;
        while next < self.queue.len() {
            let (place, state) = self.queue[next];
            next += 1;
            prover.spend()?;
            if place.index == self.chain.len() {
                return Ok(true);
            }
            self.visit(prover, place, state)?;
        }
        Ok(false)
    }

    /// Whether the next node can be further away, after `index` nodes.
    fn following(&self, index: usize) -> &'static [bool] {
        match self.chain.get(index) {
            Some(next) if next.label.axis == Axis::Descendant => &[false, true],
            _ => &[false],
        }
    }

    /// Enqueues the places one node down where no goal is satisfied.
    fn visit(
        &mut self,
        prover: &mut Prover<'_>,
        place: Place,
        state: StepSet<WORDS>,
    ) -> Result<(), GaveUp> {
        let is_between = place.is_next_further;
        let index = place.index + usize::from(!is_between);
        let any = ANY;
        let (kind, test) = if is_between {
            (Kind::Element, &any)
        } else {
            let label = &self.chain[place.index].label;
            (label.kind, &label.test)
        };
        if place.is_document && kind != Kind::Element {
            return Ok(());
        }
        for &is_next_further in self.following(index) {
            let goals = self.goals;
            let advanced = goals.advance(state, kind, test, |step| {
                let node = self.node(index, is_next_further, is_between);
                prover.step_holds(&node, step)
            })?;
            if let Some(state) = advanced {
                let place = Place {
                    index,
                    is_next_further,
                    is_document: false,
                };
                self.enqueue(prover, place, state)?;
            }
        }
        Ok(())
    }

    fn enqueue(
        &mut self,
        prover: &mut Prover<'_>,
        place: Place,
        state: StepSet<WORDS>,
    ) -> Result<(), GaveUp> {
        prover.charge(self.queue.len() * WORDS)?;
        let mut visited = self.queue.iter();
        if !visited.any(|(other, smaller)| *other == place && smaller.is_subset(&state)) {
            self.queue.push((place, state));
        }
        Ok(())
    }

    /// The last visited node, or an element between two chain nodes, with the known nodes below it.
    fn node(&mut self, index: usize, is_next_further: bool, is_between: bool) -> Arc<Node> {
        let key = (index, is_next_further, is_between);
        if let Some((_, node)) = self.specialised.iter().find(|(known, _)| *known == key) {
            return node.clone();
        }
        let below = self.chain.get(index).map(|next| {
            if is_next_further || next.label.axis == Axis::Child {
                next.clone()
            } else {
                with_axis(next, Axis::Child)
            }
        });
        let node = match below {
            Some(below) if is_between => Arc::new(Node {
                label: Label {
                    spine: false,
                    document: false,
                    ..Label::DOCUMENT
                },
                facts: Facts::of_child(below),
            }),
            Some(below) => with_child(&self.chain[index - 1], &self.chain[index], &below),
            None => self.chain[index - 1].clone(),
        };
        self.specialised.push((key, node.clone()));
        node
    }
}

/// The node on another axis.
pub fn with_axis(node: &Node, axis: Axis) -> Arc<Node> {
    Arc::new(Node {
        label: Label {
            axis,
            ..node.label.clone()
        },
        facts: node.facts.clone(),
    })
}

/// The node with one child replaced by a more specific one.
fn with_child(node: &Arc<Node>, old: &Arc<Node>, new: &Arc<Node>) -> Arc<Node> {
    if Arc::ptr_eq(old, new) {
        return node.clone();
    }
    let mut facts = node.facts.clone();
    for child in &mut facts.children {
        if Arc::ptr_eq(child, old) {
            *child = new.clone();
        }
    }
    Arc::new(Node {
        label: node.label.clone(),
        facts,
    })
}
