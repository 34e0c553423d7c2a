//! Evaluates queries on the events of a document: binds nodes to the steps that wait for them.

use crate::events::{Attribute, Context, Handler, Names, Span, StartElement, Stop};
use crate::xpath::ast::Kind;

use super::candidate::{Candidate, CandidateNode};
use super::node_capture::NodeCapture;
use super::open_nodes::{BindingId, Verdict, NONE};
use super::pending_steps::{accepts, PendingSteps, ANY_NAME, TEXT};
use super::propagation::Propagation;
use super::query_result::{QueryResult, ResultDetail, SelectionOptions};
use super::query_steps::StepId;
use super::query_work::{STEPS_PER_BINDING, STEPS_PER_VISIT};
use super::selector::{Goal, Selector};

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

/// The text node being read.
#[derive(Default)]
struct OpenText {
    /// Its byte spans; empty if no text node is open.
    spans: Vec<Span>,
    /// Whether it has a frame, because some step waits for it.
    has_frame: bool,
}

impl<'a> Selection<'a> {
    /// Evaluates `selectors`, which may contain duplicates; the results come in the same order.
    pub fn new(selectors: &[&'a Selector], options: SelectionOptions) -> Self {
        let propagation = Propagation::new(selectors, options);
        let reports_nodes = options.detail != ResultDetail::MatchOnly;
        let reports_leaves = reports_nodes
            && propagation.steps.iter().any(|linked| {
                linked.step.kind != Kind::Element && matches!(linked.step.goal, Some(Goal::Select))
            });
        let mut selection = Self {
            pending: PendingSteps::new(propagation.steps.len()),
            propagation,
            capture: NodeCapture::new(options.detail),
            order: 0,
            text: OpenText::default(),
            reports_nodes,
            reports_leaves,
        };
        selection.push_frame();
        let mut document = 0;
        for (query, selector) in (0..).zip(selectors) {
            selection.bind_document(query, document);
            document += u32::try_from(selector.steps.len()).expect("fewer than 2^32 steps");
        }
        selection
    }

    /// Binds the document node to the first step of a query.
    fn bind_document(&mut self, query: u32, step: StepId) {
        let nodes = &mut self.propagation.nodes;
        let binding = nodes.push_binding(step, self.propagation.steps[step], NONE);
        debug_assert_eq!(binding, query, "document bindings are numbered by query");
        nodes.binding_mut(binding).verdict = Verdict::Holds;
        nodes.publish(binding);
        self.await_next_steps(binding);
    }

    /// The results, in the order of the selectors. The document must have been read to its end.
    pub fn finish(self) -> Vec<QueryResult> {
        self.propagation.finish()
    }

    /// The results so far of a document that was stopped. Where only the match is reported, a query
    /// that matched so far matches.
    pub(crate) fn interrupt(self) -> Vec<QueryResult> {
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
        let binding = self.propagation.nodes.binding(id);
        let (depth, outer) = (binding.depth, binding.outer);
        let linked = self.propagation.steps[binding.step];
        for &child in &linked.step.children {
            let step = linked.base + child;
            let compiled = self.propagation.steps[step].step;
            self.pending.add_child(step, compiled, id, depth);
        }
        // If an outer node is bound to the same step, its descendants are already awaited.
        if outer == NONE {
            for &descendant in &linked.step.descendants {
                let step = linked.base + descendant;
                let compiled = self.propagation.steps[step].step;
                self.pending.add_descendant(step, compiled);
            }
        }
    }

    /// Binds the innermost node, an element, to the steps that wait for it.
    fn bind_pending(&mut self, names: &Names, element: &StartElement<'_>) {
        let depth = self.propagation.nodes.depth();
        let own = self.pending.list_of(names, element.name);
        // The current ends of the lists: steps that the element itself waits for are added after them.
        let lists = [own, ANY_NAME].map(|list| {
            let children = self.pending.children(list, depth - 1);
            (list, children, self.pending.descendants(list).len())
        });
        for (list, children, descendants) in lists {
            let accepted = |selection: &Self, step: StepId| {
                let test = &selection.propagation.steps[step].step.test;
                list != ANY_NAME || accepts(test, names.get(element.name))
            };
            for at in children {
                let child = self.pending.child(list, at);
                let query = self.propagation.steps[child.step].query;
                self.propagation.work.spend(query, STEPS_PER_VISIT);
                if !self.propagation.is_finished(query)
                    && self.propagation.needs(child.step, child.target) == Some(true)
                    && accepted(self, child.step)
                {
                    self.bind_element(child.step, child.target, names, element.attributes);
                }
            }
            for at in 0..descendants {
                if self.propagation.work.is_spent() {
                    return;
                }
                let step = self.pending.descendants(list)[at];
                if let Some(target) = self.propagation.descendant_target(step, depth) {
                    if accepted(self, step) {
                        self.bind_element(step, target, names, element.attributes);
                    }
                }
            }
        }
    }

    /// Binds the innermost node, an element, to a step, unless its start tag already fails the step's
    /// predicates.
    fn bind_element(
        &mut self,
        step: StepId,
        target: BindingId,
        names: &Names,
        attributes: &[Attribute<'_>],
    ) {
        let linked = self.propagation.steps[step];
        self.propagation.work.spend(
            linked.query,
            STEPS_PER_BINDING * (2 + linked.step.children.len() + linked.step.atoms.len()) as u64,
        );
        let binding = self.propagation.nodes.push_binding(step, linked, target);
        for &attribute in &linked.step.predicate_attributes {
            self.visit_attributes(linked.base + attribute, binding, names, attributes);
        }
        self.propagation.settle_start_tag_atoms(binding);
        self.propagation.evaluate_predicates(binding);
        if self.propagation.nodes.binding(binding).verdict == Verdict::Fails {
            self.propagation.nodes.discard_binding();
            return;
        }
        for &attribute in &linked.step.path_attributes {
            self.visit_attributes(linked.base + attribute, binding, names, attributes);
        }
        self.await_next_steps(binding);
        self.propagation.nodes.publish(binding);
    }

    /// Binds the innermost node, an attribute or a text node, to a step.
    fn bind_leaf(&mut self, step: StepId, target: BindingId) {
        let linked = self.propagation.steps[step];
        self.propagation.work.spend(linked.query, STEPS_PER_BINDING);
        let nodes = &mut self.propagation.nodes;
        let binding = nodes.push_binding(step, linked, target);
        nodes.publish(binding);
        self.propagation.evaluate_predicates(binding);
    }

    /// Binds the element's attributes to the steps that wait for attributes of descendants.
    fn bind_descendant_attributes(&mut self, names: &Names, attributes: &[Attribute<'_>]) {
        if !self.pending.had_attributes() || attributes.is_empty() {
            return;
        }
        let depth = self.propagation.nodes.depth() + 1;
        let mut steps: Vec<StepId> = self.pending.attributes(ANY_NAME).to_vec();
        for attribute in attributes {
            let list = self.pending.list_of(names, attribute.name);
            steps.extend(self.pending.attributes(list));
        }
        for step in steps {
            if let Some(target) = self.propagation.descendant_target(step, depth) {
                self.visit_attributes(step, target, names, attributes);
            }
        }
    }

    /// Evaluates a step on the attributes that it accepts.
    fn visit_attributes(
        &mut self,
        step: StepId,
        target: BindingId,
        names: &Names,
        attributes: &[Attribute<'_>],
    ) {
        let element = self.order;
        let query = self.propagation.steps[step].query;
        let steps = STEPS_PER_VISIT * (1 + attributes.len() as u64);
        self.propagation.work.spend(query, steps);
        let deferred = self.propagation.deferred_mark();
        for (number, attribute) in (1..).zip(attributes) {
            let test = &self.propagation.steps[step].step.test;
            if accepts(test, names.get(attribute.name)) {
                self.order = element + number;
                self.visit_attribute(step, target, names, attribute);
            }
        }
        self.order = element;
        self.propagation.resolve_deferred(deferred);
    }

    /// Evaluates a step on an attribute whose name it accepts.
    fn visit_attribute(
        &mut self,
        step: StepId,
        target: BindingId,
        names: &Names,
        attribute: &Attribute<'_>,
    ) {
        let linked = self.propagation.steps[step];
        let goal = linked.step.goal.as_ref();
        let bytes = attribute.value.len();
        let steps = match goal {
            Some(Goal::AnyPasses(test) | Goal::FirstPasses(test)) => test.steps(bytes),
            Some(Goal::Compare(..)) => bytes,
            Some(Goal::Select | Goal::Exists | Goal::Count) | None => 0,
        };
        self.propagation.work.spend(linked.query, steps as u64);
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
        let candidate = match goal {
            Some(Goal::Exists | Goal::Select) => Candidate::Existence,
            Some(Goal::AnyPasses(test)) if test.holds(attribute.value) => Candidate::Existence,
            Some(Goal::FirstPasses(test)) => {
                Candidate::First(self.order, test.holds(attribute.value))
            }
            Some(Goal::Count) => {
                let node = CandidateNode::Counted(self.order);
                self.propagation.propagate_attribute(step, target, node);
                return;
            }
            Some(Goal::Compare(side, value_type)) => {
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
            propagation.reports_nodes(propagation.steps[step].step.goal.as_ref())
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
            let query = self.propagation.steps[child.step].query;
            self.propagation.work.spend(query, STEPS_PER_VISIT);
            if self.propagation.needs(child.step, child.target) == Some(true) {
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
        self.bind_pending(names, element);
        self.bind_descendant_attributes(names, element.attributes);
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
