//! Evaluates queries on the events of a document: binds nodes to the steps that wait for them.

use crate::events::{Attribute, Context, Handler, NameId, Names, Span, StartElement, Stop};
use crate::value_tests::ValueTest;
use crate::xpath::ast::{Axis, Kind};

use super::candidate::{Candidate, CandidateNode};
use super::node_capture::NodeCapture;
use super::open_atoms::{OpenAtom, OpenAtomId, NONE};
use super::open_nodes::{BindingId, Verdict, DOCUMENT_BINDING};
use super::pending_steps::{accepts, PendingSteps, ANY_NAME, TEXT};
use super::propagation::Propagation;
use super::query_result::{QueryResult, ResultDetail, SelectionOptions, SelectionResult};
use super::query_steps::{AtomId, QueryStep, QuerySteps, StepId, DOCUMENT};
use super::query_work::{STEPS_PER_BINDING, STEPS_PER_VISIT};
use super::selector::Goal;

/// Evaluates queries on one document. Read the document with it as the handler, then call
/// [`Selection::finish`].
pub struct Selection<'a> {
    propagation: Propagation<'a>,
    pending: PendingSteps,
    capture: NodeCapture,
    /// Document-order number of the last node.
    order: u64,
    text: OpenText,
    reports_nodes: bool,
    /// Whether attributes or text nodes may be selected, so that the scope of each element is needed.
    reports_leaves: bool,
}

/// The start tag of the innermost element.
#[derive(Clone, Copy)]
struct StartTag<'e> {
    names: &'e Names,
    attributes: &'e [Attribute<'e>],
}

/// The text node being read.
#[derive(Default)]
struct OpenText {
    /// Its byte spans; empty if no text node is open.
    spans: Vec<Span>,
    /// Whether it has a frame, because some step waits for it.
    has_frame: bool,
}

impl<'a> Selection<'a> {
    /// Evaluates the queries of `steps`; the results come in the same order.
    pub fn new(steps: &'a QuerySteps<'a>, options: SelectionOptions) -> Self {
        let reports_nodes = options.detail != ResultDetail::MatchOnly;
        let reports_leaves = reports_nodes
            && steps.iter().any(|linked| {
                linked.step.kind != Kind::Element && matches!(linked.goal, Some(Goal::Select))
            });
        let mut selection = Self {
            pending: PendingSteps::new(steps.len()),
            propagation: Propagation::new(steps, options),
            capture: NodeCapture::new(options.detail),
            order: 0,
            text: OpenText::default(),
            reports_nodes,
            reports_leaves,
        };
        selection.push_frame();
        selection.bind_document();
        selection
    }

    fn bind_document(&mut self) {
        let steps = self.propagation.steps;
        let nodes = &mut self.propagation.nodes;
        let binding = nodes.push_binding(DOCUMENT, steps.step(DOCUMENT), NONE);
        debug_assert_eq!(binding, DOCUMENT_BINDING);
        nodes.binding_mut(binding).verdict = Verdict::Holds;
        nodes.publish(binding);
        self.await_next_steps(binding);
    }

    /// The results, in the order of the queries. The document must have been read to its end.
    pub fn finish(self) -> Vec<QueryResult> {
        self.propagation.finish().queries
    }

    /// The results, and the steps they took. The document must have been read to its end.
    pub(crate) fn finish_with_steps(self) -> SelectionResult {
        self.propagation.finish()
    }

    /// The results so far of a document that was stopped. Where only the match is reported, a query
    /// that matched so far matches.
    pub(crate) fn interrupt(self) -> SelectionResult {
        self.propagation.interrupt()
    }

    fn push_frame(&mut self) {
        let deferred = self.propagation.deferred_mark();
        let pending = self.pending.mark();
        self.propagation
            .nodes
            .push_frame(self.order, deferred, pending);
    }

    /// Ends the innermost node and decides its bindings, except for `last()`.
    fn close_frame(&mut self, kind: Kind, spans: &[Span]) {
        let frame = self.propagation.nodes.top();
        let (deferred, pending) = (frame.deferred_mark, frame.pending_mark);
        self.propagation.resolve_deferred(deferred);
        self.propagation.settle_atoms();
        let (capture, order) = (&self.capture, self.order);
        for binding in self.propagation.nodes.top_bindings() {
            self.propagation
                .close_binding(binding, |nodes| capture.node(nodes, kind, spans, order));
        }
        self.propagation.nodes.pop_frame();
        self.pending.roll_back(pending);
    }

    /// Adds the steps that the node of a new binding waits for.
    fn await_next_steps(&mut self, id: BindingId) {
        let steps = self.propagation.steps;
        let binding = self.propagation.nodes.binding(id);
        let (depth, outer) = (binding.depth, binding.outer);
        for step in steps.next_steps(steps.step(binding.step)) {
            self.await_step(step, id, depth, outer == NONE);
        }
    }

    /// Adds a step that a binding or open atom waits for, unless it is one to attributes of the node,
    /// which are there already. If an outer node waits for the step, too, descendants are awaited.
    fn await_step(&mut self, id: StepId, target: u32, depth: u32, is_outermost: bool) {
        if !self.propagation.is_needed(id) {
            return;
        }
        let step = self.propagation.steps.step(id).step;
        match step.axis {
            Axis::Child if step.is_own_attribute() => {}
            Axis::Child => self.pending.add_child(id, step, target, depth),
            Axis::Descendant if is_outermost => self.pending.add_descendant(id, step),
            Axis::Descendant => {}
        }
    }

    /// Binds the innermost node, an element, to the steps that wait for it.
    fn bind_pending(&mut self, name: NameId, tag: StartTag<'_>) {
        let depth = self.propagation.nodes.depth();
        let own = self.pending.list_of(tag.names, name);
        // The current ends of the lists: steps that the element itself waits for are added after them.
        let lists = [own, ANY_NAME].map(|list| {
            let children = self.pending.children(list, depth - 1);
            (list, children, self.pending.descendants(list).len())
        });
        for (list, children, descendants) in lists {
            let accepted = |selection: &Self, step: StepId| {
                let test = &selection.propagation.steps.step(step).step.test;
                list != ANY_NAME || accepts(test, tag.names.get(name))
            };
            for at in children {
                if self.propagation.work.is_spent() {
                    return;
                }
                let child = self.pending.child(list, at);
                let part = self.propagation.steps.step(child.step).part;
                self.propagation.work.spend(part, STEPS_PER_VISIT);
                if self.propagation.is_needed(child.step)
                    && self.propagation.needs(child.step, child.target) == Some(true)
                    && accepted(self, child.step)
                {
                    self.bind_element(child.step, child.target, tag);
                }
            }
            for at in 0..descendants {
                if self.propagation.work.is_spent() {
                    return;
                }
                let step = self.pending.descendants(list)[at];
                if let Some(target) = self.propagation.descendant_target(step, depth) {
                    if accepted(self, step) {
                        self.bind_element(step, target, tag);
                    }
                }
            }
        }
    }

    /// Binds the innermost node, an element, to a step, unless its start tag already fails the step's
    /// predicates.
    fn bind_element(&mut self, id: StepId, target: u32, tag: StartTag<'_>) {
        let steps = self.propagation.steps;
        let step = steps.step(id);
        let visits = STEPS_PER_VISIT * step.step.atoms.len() as u64;
        self.propagation.work.spend(
            step.part,
            STEPS_PER_BINDING * (2 + steps.next_count(step)) + visits,
        );
        let binding = self.propagation.nodes.push_binding(id, step, target);
        let first_slot = self.propagation.nodes.binding(binding).first_slot;
        for (slot, &atom) in (first_slot..).zip(steps.atoms_of(step)) {
            if steps.atom(atom).atom.at_start_tag {
                let value = self.start_tag_value(atom, tag);
                self.propagation.nodes.atoms.set_slot(slot, value);
            }
        }
        self.propagation.evaluate_predicates(binding);
        if self.propagation.nodes.binding(binding).verdict == Verdict::Fails {
            self.propagation.nodes.discard_binding();
            return;
        }
        self.open_atoms(binding, step, Some(tag));
        for next in steps.next_steps(step) {
            if steps.step(next).step.is_own_attribute() {
                self.visit_attributes(next, binding, tag);
            }
        }
        self.await_next_steps(binding);
        self.propagation.nodes.publish(binding);
    }

    /// The value of an atom of the innermost node that its start tag decides. It is determined once for
    /// all bindings of the node.
    fn start_tag_value(&mut self, atom: AtomId, tag: StartTag<'_>) -> bool {
        let nodes = &self.propagation.nodes;
        if let Some(known) = nodes.atoms.start_tag_value(atom, nodes.top().order) {
            return known;
        }
        let steps = self.propagation.steps;
        let part = steps.atom(atom).part;
        self.propagation.work.spend(part, STEPS_PER_BINDING);
        let open = self.propagation.nodes.push_atom(atom, steps);
        for step in steps.first_steps(atom) {
            self.visit_attributes(step, open, tag);
        }
        self.propagation.settle_atom(open);
        self.propagation.nodes.pop_start_tag_atom()
    }

    /// Tests the atoms of a new binding of the innermost node that are not decided yet, each once for
    /// all bindings of the node, and watches the node's value for the goal of the step.
    fn open_atoms(&mut self, binding: BindingId, step: &QueryStep<'a>, tag: Option<StartTag<'_>>) {
        let steps = self.propagation.steps;
        self.propagation.nodes.watch_goal(step);
        let binding = self.propagation.nodes.binding(binding);
        if binding.verdict != Verdict::Undecided {
            return;
        }
        let depth = binding.depth;
        for (slot, &atom) in (binding.first_slot..).zip(steps.atoms_of(step)) {
            let atoms = &mut self.propagation.nodes.atoms;
            if !atoms.is_unset(slot) {
                continue;
            }
            if let Some(open) = atoms.at_depth(atom, depth) {
                atoms.link_slot(slot, open);
                continue;
            }
            let open = self.open_atom(atom);
            self.propagation.nodes.atoms.link_slot(slot, open);
            let Some(tag) = tag else { continue };
            for first in steps.first_steps(atom) {
                if steps.step(first).step.is_own_attribute() {
                    self.visit_attributes(first, open, tag);
                }
            }
        }
    }

    /// Tests an atom for the innermost node.
    fn open_atom(&mut self, atom: AtomId) -> OpenAtomId {
        let steps = self.propagation.steps;
        let compiled = steps.atom(atom);
        let paths = compiled.atom.paths.len() as u64;
        self.propagation
            .work
            .spend(compiled.part, STEPS_PER_BINDING * (1 + paths));
        let open = self.propagation.nodes.push_atom(atom, steps);
        let OpenAtom { depth, outer, .. } = *self.propagation.nodes.atoms.get(open);
        for step in steps.first_steps(atom) {
            self.await_step(step, open, depth, outer == NONE);
        }
        open
    }

    /// Binds the innermost node, an attribute or a text node, to a step.
    fn bind_leaf(&mut self, id: StepId, target: u32) {
        let step = self.propagation.steps.step(id);
        self.propagation.work.spend(step.part, STEPS_PER_BINDING);
        let nodes = &mut self.propagation.nodes;
        let binding = nodes.push_binding(id, step, target);
        nodes.publish(binding);
        self.open_atoms(binding, step, None);
        self.propagation.evaluate_predicates(binding);
    }

    /// Binds the element's attributes to the steps that wait for attributes of descendants.
    fn bind_descendant_attributes(&mut self, tag: StartTag<'_>) {
        if !self.pending.had_attributes() || tag.attributes.is_empty() {
            return;
        }
        let depth = self.propagation.nodes.depth() + 1;
        let mut steps: Vec<StepId> = self.pending.attributes(ANY_NAME).to_vec();
        for attribute in tag.attributes {
            let list = self.pending.list_of(tag.names, attribute.name);
            steps.extend(self.pending.attributes(list));
        }
        for step in steps {
            if let Some(target) = self.propagation.descendant_target(step, depth) {
                self.visit_attributes(step, target, tag);
            }
        }
    }

    /// Evaluates a step on the attributes that it accepts.
    fn visit_attributes(&mut self, step: StepId, target: u32, tag: StartTag<'_>) {
        let element = self.order;
        let part = self.propagation.steps.step(step).part;
        let steps = STEPS_PER_VISIT * (1 + tag.attributes.len() as u64);
        self.propagation.work.spend(part, steps);
        let deferred = self.propagation.deferred_mark();
        for (number, attribute) in (1..).zip(tag.attributes) {
            if self.propagation.work.is_spent() {
                break;
            }
            let test = &self.propagation.steps.step(step).step.test;
            if accepts(test, tag.names.get(attribute.name)) {
                self.order = element + number;
                self.visit_attribute(step, target, tag.names, attribute);
            }
        }
        self.order = element;
        self.propagation.resolve_deferred(deferred);
    }

    /// Evaluates a step on an attribute whose name it accepts.
    fn visit_attribute(
        &mut self,
        step: StepId,
        target: u32,
        names: &Names,
        attribute: &Attribute<'_>,
    ) {
        let linked = self.propagation.steps.step(step);
        let goal = linked.goal;
        let is_reported = self.propagation.reports_nodes(goal);
        if is_reported || !linked.step.predicates.is_empty() {
            self.push_frame();
            if is_reported {
                let name = self.capture.name(names, attribute.name);
                self.propagation.nodes.top_mut().name = Some(name);
            }
            self.bind_leaf(step, target);
            let first_watcher = self.propagation.nodes.top().first_watcher;
            self.propagation.feed(first_watcher, attribute.value);
            self.close_frame(Kind::Attribute, &[attribute.span]);
            return;
        }
        // Without predicates, the attribute is decided at once and needs no frame.
        let work = &mut self.propagation.work;
        let mut passes = |test: &ValueTest| {
            let (holds, steps) = test.holds_within(attribute.value, work.remaining());
            work.spend(linked.part, steps as u64);
            holds
        };
        let candidate = match goal {
            Some(Goal::Exists | Goal::Select) => Candidate::Existence(linked.ends.first),
            Some(Goal::AnyPasses(test)) if passes(test) => Candidate::Existence(linked.ends.first),
            Some(Goal::FirstPasses(test)) => Candidate::First(self.order, passes(test)),
            Some(Goal::Count) => {
                let node = CandidateNode::Counted(self.order);
                self.propagation.propagate_attribute(step, target, node);
                return;
            }
            Some(Goal::Compare(side, value_type)) => {
                let bytes = attribute.value.len() as u64;
                self.propagation.work.spend(linked.part, bytes);
                let value = value_type.of_text(attribute.value);
                let node = CandidateNode::Compared(*side, value);
                self.propagation.propagate_attribute(step, target, node);
                return;
            }
            Some(Goal::AnyPasses(_)) | None => return,
        };
        self.propagation.propagate(step, target, candidate);
    }

    /// Whether some query may select the innermost node.
    fn may_select(&self) -> bool {
        let propagation = &self.propagation;
        propagation.nodes.top_bindings().any(|binding| {
            let step = propagation.nodes.binding(binding).step;
            propagation.reports_nodes(propagation.steps.step(step).goal)
        })
    }

    fn open_text(&mut self) {
        self.order += 1;
        if let Some(paths) = &mut self.capture.paths {
            paths.start_text();
        }
        let children = self.pending.children(TEXT, self.propagation.nodes.depth());
        let descendants = self.pending.descendants(TEXT).len();
        self.text.has_frame = !children.is_empty() || descendants > 0;
        if !self.text.has_frame {
            return;
        }
        self.push_frame();
        for at in children {
            let child = self.pending.child(TEXT, at);
            let part = self.propagation.steps.step(child.step).part;
            self.propagation.work.spend(part, STEPS_PER_VISIT);
            if self.propagation.is_needed(child.step)
                && self.propagation.needs(child.step, child.target) == Some(true)
            {
                self.bind_leaf(child.step, child.target);
            }
        }
        let depth = self.propagation.nodes.depth();
        for at in 0..descendants {
            let step = self.pending.descendants(TEXT)[at];
            if let Some(target) = self.propagation.descendant_target(step, depth) {
                self.bind_leaf(step, target);
            }
        }
    }

    /// Ends the open text node, if there is one.
    fn close_text(&mut self) {
        if self.text.spans.is_empty() {
            return;
        }
        let mut spans = std::mem::take(&mut self.text.spans);
        if self.text.has_frame {
            self.close_frame(Kind::Text, &spans);
        }
        spans.clear();
        self.text.spans = spans;
    }
}

impl Handler for Selection<'_> {
    const SPANS: bool = true;

    fn start_element(
        &mut self,
        context: &dyn Context,
        element: &StartElement<'_>,
    ) -> Result<(), Stop> {
        self.close_text();
        self.order += 1;
        self.push_frame();
        let names = context.names();
        if self.reports_leaves {
            let scope = self.capture.scope(context);
            self.propagation.nodes.top_mut().namespaces = Some(scope);
        }
        if let Some(paths) = &mut self.capture.paths {
            paths.start_element(names.get(element.name));
        }
        let tag = StartTag {
            names,
            attributes: element.attributes,
        };
        self.bind_pending(element.name, tag);
        self.bind_descendant_attributes(tag);
        self.order += element.attributes.len() as u64;
        if self.reports_nodes && self.may_select() {
            let name = self.capture.name(names, element.name);
            let scope = self.capture.scope(context);
            let frame = self.propagation.nodes.top_mut();
            (frame.name, frame.namespaces) = (Some(name), Some(scope));
        }
        self.propagation.check_limit()
    }

    fn end_element(&mut self, span: Span, _: Span) -> Result<(), Stop> {
        self.close_text();
        self.close_frame(Kind::Element, &[span]);
        if let Some(paths) = &mut self.capture.paths {
            paths.end_element();
        }
        self.propagation.check_limit()
    }

    fn text(&mut self, text: &str, span: Span) -> Result<(), Stop> {
        if self.text.spans.is_empty() {
            self.open_text();
        }
        match self.text.spans.last_mut() {
            // Adjacent chunks are one span, and so are chunks from the same entity reference.
            Some(last) if last.from_entity == span.from_entity && last.end == span.start => {
                last.end = span.end
            }
            Some(last) if *last == span => {}
            _ => self.text.spans.push(span),
        }
        self.propagation.feed(0, text);
        self.propagation.check_limit()
    }

    fn text_break(&mut self) -> Result<(), Stop> {
        self.close_text();
        self.propagation.check_limit()
    }
}
