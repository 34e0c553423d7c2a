//! The end of a node: everything below it is decided, and so are its bindings, but for `last()`.

use crate::events::Span;
use crate::xpath::ast::Kind;

use super::open_nodes::{Binding, Frame, Gathered, Gift, Verdict, Waiting};
use super::predicate::Answer;
use super::selected_node::SelectedNode;
use super::selection::Selection;
use super::selector::{Atom, Goal};

impl Selection<'_> {
    /// Ends the innermost node: everything below it is decided.
    pub(super) fn close_frame(&mut self, kind: Kind, spans: &[Span]) {
        let waiting = self
            .frames
            .last()
            .expect("a node ends that has begun")
            .waiting;
        self.resolve_waiting(waiting);
        let bindings = self
            .frames
            .last()
            .expect("a node ends that has begun")
            .bindings;
        for binding in bindings..self.bindings.len() {
            self.close_binding(binding, kind, spans);
        }
        let frame = self.frames.pop().expect("a node ends that has begun");
        for binding in self.bindings.drain(frame.bindings..).rev() {
            self.open[binding.step as usize] = binding.outer;
        }
        self.answers.truncate(frame.answers);
        self.watches.truncate(frame.watches);
        self.expected.take_back(frame.expected);
    }

    /// Decides a binding whose node ends, and gives what it gathered to those above.
    fn close_binding(&mut self, at: usize, kind: Kind, spans: &[Span]) {
        let Binding {
            step,
            target,
            answers,
            mut watches,
            ..
        } = self.bindings[at];
        let linked = self.steps[step as usize];
        for (number, atom) in linked.step.atoms.iter().enumerate() {
            match atom {
                Atom::Value(test) => {
                    self.answers[answers + number] =
                        Answer::Known(self.watches[watches].watch.finish(test));
                    watches += 1;
                }
                Atom::Path { .. } => self.settle(answers + number, atom),
            }
        }
        self.reconsider(u32::try_from(at).expect("bindings are numbered by u32"));
        let verdict = self.bindings[at].verdict;
        if verdict == Verdict::Fails
            || (verdict == Verdict::Holds && self.finds(linked.step.goal.as_ref()))
        {
            return; // what is found by being there was given when the predicates held
        }
        let gift = self.own_gift(linked.step.goal.as_ref(), watches, kind, spans);
        if verdict == Verdict::Holds {
            if let Some(gift) = gift {
                self.give(step, target, gift);
                self.drop_gift(gift);
            }
            return;
        }
        // Only `last()` is missing.
        let gathered = match gift {
            Some(Gift::Found) => Gathered::Found,
            Some(Gift::First(order, passes)) => Gathered::First(order, passes),
            Some(Gift::Candidate(candidate)) => {
                self.held += 1;
                Gathered::Candidates(vec![candidate])
            }
            None => std::mem::replace(&mut self.bindings[at].gathered, Gathered::Nothing),
        };
        let answers = self.answers[answers..][..linked.step.atoms.len()].into();
        let node = Waiting {
            step,
            target,
            answers,
            gathered,
        };
        self.held += 1;
        if linked.step.last_only {
            self.wait_as_last(linked.positions as usize, node);
        } else {
            self.waiting.push(node);
        }
    }

    /// A node that can only be the last takes the place of the sibling that was, if there is one.
    fn wait_as_last(&mut self, positions: usize, node: Waiting) {
        let siblings = self.frames[self.frames.len() - 2].waiting;
        let latest = self.positions[positions].latest;
        // It may be out of date: from another parent, or taken since by another step.
        let waits = (siblings..self.waiting.len()).contains(&latest)
            && self.waiting[latest].step == node.step;
        if !waits {
            self.positions[positions].latest = self.waiting.len();
            self.waiting.push(node);
            return;
        }
        let before = std::mem::replace(&mut self.waiting[latest], node);
        self.held -= 1;
        if let Gathered::Candidates(candidates) = before.gathered {
            self.release(&candidates);
        }
    }

    /// What the innermost node itself gives at the end of a path.
    fn own_gift(
        &mut self,
        goal: Option<&Goal>,
        watch: usize,
        kind: Kind,
        spans: &[Span],
    ) -> Option<Gift> {
        match goal? {
            _ if self.finds(goal) => Some(Gift::Found),
            Goal::AnyPasses(test) => self.watches[watch]
                .watch
                .finish(test)
                .then_some(Gift::Found),
            Goal::FirstPasses(test) => {
                let order = self.frames.last().expect("its frame is open").order;
                Some(Gift::First(order, self.watches[watch].watch.finish(test)))
            }
            Goal::Exists | Goal::Select => {
                let depth = self.depth() - 1;
                let (own, around) = self.frames.split_last().expect("its frame is open");
                let Frame { order, name, .. } = own;
                let scoped = match kind {
                    Kind::Element => own,
                    Kind::Attribute | Kind::Text => around.last().expect("it is inside an element"),
                };
                let node = SelectedNode {
                    order: *order,
                    last_inside: if kind == Kind::Element {
                        self.order
                    } else {
                        *order
                    },
                    depth,
                    kind,
                    name: name.clone(),
                    spans: spans.to_vec(),
                    namespaces: scoped.namespaces.clone(),
                    path: self
                        .paths
                        .as_ref()
                        .map(|paths| paths.to(kind, name.as_deref())),
                };
                Some(Gift::Candidate(self.candidates.add(node)))
            }
        }
    }

    /// Gives an atom its answer where nothing more can come.
    pub(super) fn settle(&mut self, at: usize, atom: &Atom) {
        let Atom::Path { otherwise, .. } = atom else {
            return;
        };
        self.answers[at] = match self.answers[at] {
            Answer::Unknown => Answer::Known(*otherwise),
            Answer::First(_, passes) => Answer::Known(passes),
            Answer::Known(known) => Answer::Known(known),
        };
    }
}
