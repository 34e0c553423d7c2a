//! Downwards: which steps a node binds to, and what becomes of its bindings when it ends.

use crate::events::{Attribute, Names, Span};
use crate::values::Watch;
use crate::xpath::ast::Kind;

use super::compile::{Atom, Goal, Slot};
use super::formula::{Answer, Place};
use super::nodes::Node;
use super::selection::{Selection, Wanted};
use super::state::{Binding, Frame, Gathered, Gift, Siblings, Verdict, Waiting, Watching, NONE};

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
        self.bindings.push(Binding {
            step,
            depth: self.depth(),
            target,
            outer: self.open[step as usize],
            answers: self.answers.len(),
            watches: self.watches.len(),
            predicate: 0,
            position: None,
            verdict: Verdict::Open,
            gathered: Gathered::Nothing,
            walk: 0,
        });
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
        self.options.wanted != Wanted::Match && matches!(goal, Some(Goal::Select))
    }

    /// Whether a step ends a path of which only existence is wanted.
    pub(super) fn finds(&self, goal: Option<&Goal>) -> bool {
        match goal {
            Some(Goal::Exists) => true,
            Some(Goal::Select) => self.options.wanted == Wanted::Match,
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

    /// Gives an atom its answer where nothing more can come.
    fn settle(&mut self, at: usize, atom: &Atom) {
        let Atom::Path { otherwise, .. } = atom else {
            return;
        };
        self.answers[at] = match self.answers[at] {
            Answer::Unknown => Answer::Known(*otherwise),
            Answer::First(_, passes) => Answer::Known(passes),
            Answer::Known(known) => Answer::Known(known),
        };
    }

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
        self.held += 1;
        let answers = self.answers[answers..][..linked.step.atoms.len()].into();
        self.waiting.push(Waiting {
            step,
            target,
            answers,
            gathered,
        });
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
                let Frame {
                    order,
                    name,
                    namespaces,
                    ..
                } = self.frames.last().expect("its frame is open");
                let node = Node {
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
                    namespaces: namespaces.clone(),
                    path: self
                        .paths
                        .as_ref()
                        .map(|paths| paths.to(kind, name.as_deref())),
                };
                Some(Gift::Candidate(self.candidates.add(node)))
            }
        }
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
        let levels = &mut self.siblings[linked.siblings as usize];
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
