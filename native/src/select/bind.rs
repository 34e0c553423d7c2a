//! Downwards: which steps a node binds to.

use crate::events::{Attribute, Names};
use crate::values::Watch;
use crate::xpath::ast::Kind;

use super::open_nodes::{Binding, Gathered, Gift, Siblings, Verdict, Watching, NONE};
use super::predicate::{Answer, Place};
use super::selection::{ResultDetail, Selection};
use super::selector::{Atom, Goal, Slot};

impl Selection<'_> {
    /// The number of the innermost frame.
    pub(super) fn depth(&self) -> u32 {
        u32::try_from(self.frames.len() - 1).expect("the reader limits depth")
    }

    /// Notes what the node of a new binding waits for.
    pub(super) fn expect(&mut self, binding: u32) {
        let Binding {
            step, depth, outer, ..
        } = self.bindings[binding as usize];
        let linked = self.steps[step as usize];
        for &child in &linked.step.children {
            let list = self.list_of(linked.base + child);
            self.expected
                .expect_child(list, linked.base + child, binding, depth);
        }
        // What is below the node is below the one further out, too.
        if outer == NONE {
            for &descendant in &linked.step.descendants {
                let step = linked.base + descendant;
                let list = self.list_of(step);
                self.expected
                    .expect_descendant(list, step, self.steps[step as usize].step.kind);
            }
        }
    }

    fn list_of(&mut self, step: u32) -> u32 {
        let at = step as usize;
        if self.lists[at] == NONE {
            let step = self.steps[at].step;
            self.lists[at] = self.expected.list_of_test(step.kind, &step.test);
        }
        self.lists[at]
    }

    /// Whether a binding still wants what a node of the step could give; `None` where it never will.
    ///
    /// Once nothing is wanted from the children of a parent, nothing ever will be, so that those
    /// left out need not be counted for positions either.
    pub(super) fn wants(&self, step: u32, target: u32) -> Option<bool> {
        let binding = &self.bindings[target as usize];
        match self.steps[step as usize].step.slot {
            Slot::Onward if binding.verdict == Verdict::Fails => None,
            Slot::Onward => Some(binding.gathered != Gathered::Found),
            Slot::Atom(_) if binding.verdict != Verdict::Open => None,
            Slot::Atom(atom) => Some(!matches!(
                self.answers[binding.answers + atom],
                Answer::Known(_)
            )),
        }
    }

    /// The innermost binding that wants what a node at `depth` gives with a step on the descendant
    /// axis.
    pub(super) fn find_target(&self, step: u32, depth: u32) -> Option<u32> {
        let linked = &self.steps[step as usize];
        let mut target = self.open[(linked.base + linked.step.from) as usize];
        while target != NONE {
            let binding = &self.bindings[target as usize];
            // The node itself may be bound to the step before: it is no context of its own.
            if binding.depth != depth {
                if let Some(wanted) = self.wants(step, target) {
                    // What one binding has, those further out have too.
                    return wanted.then_some(target);
                }
            }
            target = binding.outer;
        }
        None
    }

    /// Binds the innermost node, an element, to a step, unless its start tag already speaks
    /// against it.
    pub(super) fn bind_element(
        &mut self,
        step: u32,
        target: u32,
        names: &Names,
        attributes: &[Attribute<'_>],
    ) {
        let linked = self.steps[step as usize];
        let binding = self.push_binding(step, target);
        for &asked in &linked.step.asked_attributes {
            self.visit_attributes(linked.base + asked, binding, names, attributes);
        }
        let answers = self.bindings[binding as usize].answers;
        for (at, atom) in linked.step.atoms.iter().enumerate() {
            if matches!(atom, Atom::Path { at_start: true, .. }) {
                self.settle(answers + at, atom);
            }
        }
        self.reconsider(binding);
        if self.bindings[binding as usize].verdict == Verdict::Fails {
            let failed = self.bindings.pop().expect("just pushed");
            self.answers.truncate(failed.answers);
            self.watches.truncate(failed.watches);
            return;
        }
        for &further in &linked.step.further_attributes {
            self.visit_attributes(linked.base + further, binding, names, attributes);
        }
        self.expect(binding);
        self.open[step as usize] = binding;
    }

    /// Binds the innermost node, an attribute or a text, to a step.
    pub(super) fn bind_leaf(&mut self, step: u32, target: u32) {
        let binding = self.push_binding(step, target);
        self.open[step as usize] = binding;
        self.reconsider(binding);
    }

    fn push_binding(&mut self, step: u32, target: u32) -> u32 {
        let linked = self.steps[step as usize];
        let id = u32::try_from(self.bindings.len()).expect("depth and queries are limited");
        let (depth, outer) = (self.depth(), self.open[step as usize]);
        let (answers, watches) = (self.answers.len(), self.watches.len());
        self.bindings
            .push(Binding::new(step, depth, target, outer, answers, watches));
        for atom in &linked.step.atoms {
            self.answers.push(Answer::Unknown);
            if let Atom::Value(test) = atom {
                self.watches.push(Watching {
                    test,
                    watch: Watch::new(test),
                });
            }
        }
        if let Some(Goal::AnyPasses(test) | Goal::FirstPasses(test)) = &linked.step.goal {
            self.watches.push(Watching {
                test,
                watch: Watch::new(test),
            });
        }
        id
    }

    /// Shows one attribute to a step that accepts its name.
    pub(super) fn visit_attribute(
        &mut self,
        step: u32,
        target: u32,
        names: &Names,
        attribute: &Attribute<'_>,
    ) {
        let linked = self.steps[step as usize];
        let selects = self.selects(linked.step.goal.as_ref());
        if selects || !linked.step.predicates.is_empty() {
            self.push_frame();
            if selects {
                let name = self.capture_name(names, attribute.name);
                self.frames.last_mut().expect("just pushed").name = Some(name);
            }
            self.bind_leaf(step, target);
            let watches = self.frames.last().expect("just pushed").watches;
            self.feed(watches, attribute.value);
            self.close_frame(Kind::Attribute, &[attribute.span]);
            return;
        }
        // Without predicates there is nothing to keep.
        match &linked.step.goal {
            Some(Goal::Exists | Goal::Select) => self.give(step, target, Gift::Found),
            Some(Goal::AnyPasses(test)) if test.holds(attribute.value) => {
                self.give(step, target, Gift::Found)
            }
            Some(Goal::FirstPasses(test)) => {
                let gift = Gift::First(self.order, test.holds(attribute.value));
                self.give(step, target, gift);
            }
            Some(Goal::AnyPasses(_)) | None => {}
        }
    }

    /// Whether a step ends a path whose nodes are wanted.
    fn selects(&self, goal: Option<&Goal>) -> bool {
        self.options.detail != ResultDetail::MatchOnly && matches!(goal, Some(Goal::Select))
    }

    /// Whether a step ends a path of which only existence is wanted.
    pub(super) fn finds(&self, goal: Option<&Goal>) -> bool {
        match goal {
            Some(Goal::Exists) => true,
            Some(Goal::Select) => self.options.detail == ResultDetail::MatchOnly,
            Some(Goal::AnyPasses(_) | Goal::FirstPasses(_)) | None => false,
        }
    }

    /// Whether the innermost node may be selected by some query.
    pub(super) fn may_select(&self) -> bool {
        let frame = self
            .frames
            .last()
            .expect("the document's frame is always there");
        self.bindings[frame.bindings..]
            .iter()
            .any(|binding| self.selects(self.steps[binding.step as usize].step.goal.as_ref()))
    }

    /// Where the node of a binding stands for the predicate that it is at, as far as is known.
    pub(super) fn place(&mut self, at: usize) -> Place {
        let binding = &self.bindings[at];
        let linked = self.steps[binding.step as usize];
        if binding.position.is_some() || !linked.step.predicates[binding.predicate].needs_position {
            return Place {
                position: binding.position,
                last: None,
            };
        }
        let depth = binding.depth - 1;
        let parent = self.frames[depth as usize].order;
        let levels = &mut self.positions[linked.positions as usize].levels;
        let level = levels.partition_point(|siblings| siblings.depth < depth);
        if levels
            .get(level)
            .is_none_or(|siblings| siblings.depth != depth)
        {
            levels.insert(
                level,
                Siblings {
                    parent,
                    depth,
                    counts: vec![0; linked.step.predicates.len()],
                },
            );
        }
        let siblings = &mut levels[level];
        if siblings.parent != parent {
            siblings.parent = parent;
            siblings.counts.fill(0);
        }
        let count = &mut siblings.counts[binding.predicate];
        *count += 1;
        let position = Some(*count);
        self.bindings[at].position = position;
        Place {
            position,
            last: None,
        }
    }
}
