//! Upwards: what nodes give to the nodes above them, and the predicates that let it through.
//!
//! A gift moves along a path from its last step towards its first. At each binding on the way it
//! goes on if the step's predicates hold there, waits if that is not known yet, and is lost if they
//! fail. On the descendant axis it goes to every open binding of the step before, the innermost
//! first; since a binding further out hears all that one further in hears, the walk outwards ends
//! where nothing new is heard.

use super::open_nodes::{Gathered, Gift, Verdict, Waiting, NONE};
use super::predicate::{Answer, Place};
use super::selection::Selection;
use super::selector::{Atom, Slot};
use crate::xpath::ast::Axis;

impl Selection<'_> {
    /// Gives something from a node of `step` to the binding `target` of the step before.
    pub(super) fn give(&mut self, step: u32, target: u32, gift: Gift) {
        if let Gift::Candidate(_) = gift {
            self.walk += 1;
        }
        self.pass(step, target, gift);
    }

    /// Lets go of a gift that was given.
    pub(super) fn drop_gift(&mut self, gift: Gift) {
        if let Gift::Candidate(candidate) = gift {
            self.candidates.release(candidate);
        }
    }

    fn pass(&mut self, step: u32, mut target: u32, gift: Gift) {
        let step = self.steps[step as usize].step;
        while target != NONE {
            let outer = self.bindings[target as usize].outer;
            let news = match step.slot {
                Slot::Onward => self.receive(target, gift),
                Slot::Atom(atom) => self.answer(target, atom, gift),
            };
            if !news || step.axis == Axis::Child {
                return;
            }
            target = outer;
        }
    }

    /// A gift that goes on along the path of the binding's step; whether it was news.
    fn receive(&mut self, at: u32, gift: Gift) -> bool {
        let walk = self.walk;
        let binding = &mut self.bindings[at as usize];
        if binding.verdict == Verdict::Fails {
            return true;
        }
        let (step, target, verdict) = (binding.step, binding.target, binding.verdict);
        match gift {
            Gift::Found if binding.gathered == Gathered::Found => return false,
            Gift::Found => binding.gathered = Gathered::Found,
            Gift::First(order, passes) => {
                if matches!(binding.gathered, Gathered::First(first, _) if first <= order) {
                    return false;
                }
                binding.gathered = Gathered::First(order, passes);
            }
            Gift::Candidate(candidate) => {
                if binding.walk == walk || self.candidates.is_selected(candidate) {
                    return false;
                }
                binding.walk = walk;
                if verdict == Verdict::Open {
                    self.hold(at, candidate);
                } else if target == NONE {
                    let query = self.steps[step as usize].query as usize;
                    if let Some(node) = self.candidates.select(candidate) {
                        self.selected[query].add(node, self.options.detail);
                    }
                }
            }
        }
        if verdict == Verdict::Holds {
            self.pass(step, target, gift);
        }
        true
    }

    fn hold(&mut self, at: u32, candidate: u32) {
        self.candidates.hold(candidate);
        self.held += 1;
        match &mut self.bindings[at as usize].gathered {
            Gathered::Candidates(candidates) => candidates.push(candidate),
            gathered => *gathered = Gathered::Candidates(vec![candidate]),
        }
    }

    /// A gift that answers an atom of the binding's predicates; whether it was news.
    fn answer(&mut self, at: u32, atom: usize, gift: Gift) -> bool {
        let binding = &self.bindings[at as usize];
        if binding.verdict != Verdict::Open {
            return true;
        }
        let Atom::Path { in_order, .. } = self.steps[binding.step as usize].step.atoms[atom] else {
            unreachable!("only nested paths give");
        };
        let answer = &mut self.answers[binding.answers + atom];
        *answer = match (*answer, gift) {
            (Answer::Known(_), _) => return false,
            (Answer::First(first, _), Gift::First(order, _)) if first <= order => return false,
            (_, Gift::Found) => Answer::Known(true),
            (_, Gift::First(_, passes)) if in_order => Answer::Known(passes),
            (_, Gift::First(order, passes)) => Answer::First(order, passes),
            (_, Gift::Candidate(_)) => unreachable!("nested paths select nothing"),
        };
        if matches!(answer, Answer::Known(_)) {
            self.reconsider(at);
        }
        true
    }

    /// Looks at an open binding's predicates again, after something became known.
    pub(super) fn reconsider(&mut self, binding: u32) {
        let at = binding as usize;
        if self.bindings[at].verdict != Verdict::Open {
            return;
        }
        let step = self.steps[self.bindings[at].step as usize].step;
        let answers = self.bindings[at].answers;
        while self.bindings[at].predicate < step.deferred {
            let predicate = &step.predicates[self.bindings[at].predicate];
            let place = self.place(at);
            match predicate
                .formula
                .value(&self.answers[answers..][..step.atoms.len()], place)
            {
                None => return,
                Some(false) => {
                    self.bindings[at].verdict = Verdict::Fails;
                    self.forget(at);
                    return;
                }
                Some(true) => {
                    self.bindings[at].predicate += 1;
                    self.bindings[at].position = None;
                }
            }
        }
        if step.deferred == step.predicates.len() {
            self.bindings[at].verdict = Verdict::Holds;
            self.let_through(at);
        }
    }

    /// Drops what a binding gathered: its predicates fail.
    fn forget(&mut self, at: usize) {
        if let Gathered::Candidates(candidates) =
            std::mem::replace(&mut self.bindings[at].gathered, Gathered::Nothing)
        {
            self.release(&candidates);
        }
    }

    pub(super) fn release(&mut self, candidates: &[u32]) {
        self.held -= candidates.len();
        for &candidate in candidates {
            self.candidates.release(candidate);
        }
    }

    /// Gives what a binding gathered to those above: its predicates hold.
    fn let_through(&mut self, at: usize) {
        let (step, target) = (self.bindings[at].step, self.bindings[at].target);
        if self.finds(self.steps[step as usize].step.goal.as_ref()) {
            self.bindings[at].gathered = Gathered::Found;
        }
        if let Gathered::Candidates(_) = self.bindings[at].gathered {
            let gathered = std::mem::replace(&mut self.bindings[at].gathered, Gathered::Nothing);
            self.give_gathered(step, target, gathered);
        } else {
            // It stays noted, so that the same is not given twice.
            let gathered = self.bindings[at].gathered.clone();
            self.give_gathered(step, target, gathered);
        }
    }

    fn give_gathered(&mut self, step: u32, target: u32, gathered: Gathered) {
        match gathered {
            Gathered::Nothing => {}
            Gathered::Found => self.give(step, target, Gift::Found),
            Gathered::First(order, passes) => self.give(step, target, Gift::First(order, passes)),
            Gathered::Candidates(mut candidates) => {
                self.release_duplicates(&mut candidates);
                for &candidate in &candidates {
                    self.give(step, target, Gift::Candidate(candidate));
                }
                self.release(&candidates);
            }
        }
    }

    /// One candidate may have come on several ways; it goes on on one.
    fn release_duplicates(&mut self, candidates: &mut Vec<u32>) {
        candidates.sort_unstable();
        let mut last = None;
        let mut duplicates = Vec::new();
        candidates.retain(|&candidate| {
            let new = last.replace(candidate) != Some(candidate);
            if !new {
                duplicates.push(candidate);
            }
            new
        });
        self.release(&duplicates);
    }

    /// Decides the nodes that waited for `last()` since the mark: their parent ends.
    pub(super) fn resolve_waiting(&mut self, mark: usize) {
        if self.waiting.len() == mark {
            return;
        }
        let mut waiting = self.waiting.split_off(mark);
        self.held -= waiting.len();
        waiting.sort_by_key(|node| node.step); // stable: siblings stay in document order
        let mut rest = waiting.into_iter().peekable();
        while let Some(first) = rest.next() {
            let step = first.step;
            let mut siblings = vec![first];
            while let Some(next) = rest.next_if(|next| next.step == step) {
                siblings.push(next);
            }
            self.resolve_siblings(step, siblings);
        }
    }

    fn resolve_siblings(&mut self, step: u32, mut siblings: Vec<Waiting>) {
        let compiled = self.steps[step as usize].step;
        for predicate in &compiled.predicates[compiled.deferred..] {
            let last = siblings.len() as u64;
            let mut kept = Vec::with_capacity(siblings.len());
            for (position, node) in (1..).zip(siblings) {
                let place = Place {
                    position: Some(position),
                    last: Some(last),
                };
                if predicate.formula.value(&node.answers, place) == Some(true) {
                    kept.push(node);
                } else if let Gathered::Candidates(candidates) = node.gathered {
                    self.release(&candidates);
                }
            }
            siblings = kept;
        }
        for node in siblings {
            self.give_gathered(step, node.target, node.gathered);
        }
    }
}
