//! One reading of a document for a set of queries.

use std::rc::Rc;

use crate::events::{Attribute, Context, Handler, NameId, Names, Span, StartElement, Stop};
use crate::xpath::ast::{Axis, Kind};

use super::compile::{Selector, Step};
use super::formula::Answer;
use super::names::{accepts, NameIndex};
use super::nodes::{Candidates, Node, Scope};
use super::state::{Binding, Frame, Gathered, Siblings, Verdict, Waiting, Watching, NONE};

/// How many undecided things a selection holds by default; see [`Options::candidates_max`].
pub const CANDIDATES_MAX: usize = 1_000_000;

/// What a selection gives, and its limit.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Whether the selected nodes are wanted, or only whether there is one.
    pub nodes: bool,
    /// How many nodes may be held because a predicate above or beside them is undecided. A node that
    /// may be let through in several ways counts once for each. Past it the document is stopped with
    /// `limit.candidates`.
    pub candidates_max: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            nodes: false,
            candidates_max: CANDIDATES_MAX,
        }
    }
}

/// What became of one query.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Whether it selects anything.
    pub matched: bool,
    /// What it selects, in document order; empty where nodes were not asked for.
    pub nodes: Vec<Node>,
}

/// Evaluates queries over one document: hear the document, then [`Selection::finish`].
pub struct Selection<'a> {
    pub(super) options: Options,
    pub(super) steps: Vec<LinkedStep<'a>>,
    elements: NameIndex<'a>,
    descendant_attributes: NameIndex<'a>,
    /// For each step its innermost open binding.
    pub(super) open: Vec<u32>,
    /// For each step that counts positions, its counts by depth of the parent, outermost first.
    pub(super) siblings: Vec<Vec<Siblings>>,
    pub(super) frames: Vec<Frame>,
    pub(super) bindings: Vec<Binding>,
    pub(super) answers: Vec<Answer>,
    pub(super) watches: Vec<Watching<'a>>,
    pub(super) waiting: Vec<Waiting>,
    /// The open steps to text nodes anywhere below.
    pub(super) descendant_texts: Vec<u32>,
    /// The number of the last node, in document order.
    pub(super) order: u64,
    pub(super) candidates: Candidates,
    pub(super) selected: Vec<Vec<Node>>,
    /// How much is held undecided.
    pub(super) held: usize,
    pub(super) walk: u64,
    /// The ranges of the open text node; empty where none is open.
    text_spans: Vec<Span>,
    /// Whether the open text node has a frame: something wants to see it.
    text_framed: bool,
    last_scope: Option<Scope>,
}

/// A step of one of the queries, with its place among the steps of all of them.
#[derive(Clone, Copy)]
pub(super) struct LinkedStep<'a> {
    pub step: &'a Step,
    /// Where the steps of its query begin.
    pub base: u32,
    pub query: u32,
    /// Where its counts are, if it counts positions.
    pub siblings: u32,
}

impl<'a> Selection<'a> {
    /// For these queries, duplicates allowed; outcomes come in the same order.
    pub fn new(selectors: &[&'a Selector], options: Options) -> Self {
        let total = selectors.iter().map(|selector| selector.steps.len()).sum();
        let mut selection = Self {
            options,
            steps: Vec::with_capacity(total),
            elements: NameIndex::default(),
            descendant_attributes: NameIndex::default(),
            open: vec![NONE; total],
            siblings: Vec::new(),
            frames: Vec::new(),
            bindings: Vec::new(),
            answers: Vec::new(),
            watches: Vec::new(),
            waiting: Vec::new(),
            descendant_texts: Vec::new(),
            order: 0,
            candidates: Candidates::default(),
            selected: vec![Vec::new(); selectors.len()],
            held: 0,
            walk: 0,
            text_spans: Vec::new(),
            text_framed: false,
            last_scope: None,
        };
        selection.push_frame(None);
        for (query, selector) in selectors.iter().enumerate() {
            selection.link(
                u32::try_from(query).expect("fewer than 2^32 queries"),
                selector,
            );
        }
        selection
    }

    fn link(&mut self, query: u32, selector: &'a Selector) {
        let base = u32::try_from(self.steps.len()).expect("fewer than 2^32 steps");
        for (id, step) in (base..).zip(&selector.steps) {
            let siblings = u32::try_from(self.siblings.len()).expect("fewer than 2^32 steps");
            if step
                .predicates
                .iter()
                .any(|predicate| predicate.needs_position)
            {
                self.siblings.push(Vec::new());
            }
            self.steps.push(LinkedStep {
                step,
                base,
                query,
                siblings,
            });
            if id == base {
                continue; // the document node has no name
            }
            match (step.kind, step.axis) {
                (Kind::Element, _) => self.elements.add(id, &step.test),
                (Kind::Attribute, Axis::Descendant) => {
                    self.descendant_attributes.add(id, &step.test)
                }
                (Kind::Attribute, Axis::Child) | (Kind::Text, _) => {}
            }
        }
        let binding = u32::try_from(self.bindings.len()).expect("fewer than 2^32 queries");
        debug_assert_eq!(
            binding, query,
            "the documents' bindings come first, in order"
        );
        self.bindings.push(Binding {
            step: base,
            depth: 0,
            target: NONE,
            outer: NONE,
            answers: 0,
            watches: 0,
            predicate: 0,
            position: None,
            verdict: Verdict::Holds,
            gathered: Gathered::Nothing,
            walk: 0,
        });
        self.open[base as usize] = binding;
        for &text in &selector.steps[0].descendant_texts {
            self.descendant_texts.push(base + text);
        }
    }

    /// The outcomes, in the order of the queries; the document must have been read to its end.
    pub fn finish(mut self) -> Vec<Outcome> {
        self.resolve_waiting(0);
        debug_assert_eq!(self.held, 0, "at the end nothing is undecided");
        let nodes_wanted = self.options.nodes;
        let outcome = |(document, mut nodes): (&Binding, Vec<Node>)| {
            // Two branches of a union may select the same node.
            nodes.sort_unstable_by_key(|node| node.order);
            nodes.dedup_by_key(|node| node.order);
            let matched = if nodes_wanted {
                !nodes.is_empty()
            } else {
                document.gathered == Gathered::Found
            };
            Outcome { matched, nodes }
        };
        self.bindings
            .iter()
            .zip(self.selected)
            .map(outcome)
            .collect()
    }

    /// Opens a node's frame.
    pub(super) fn push_frame(&mut self, name: Option<NameId>) {
        self.frames.push(Frame {
            order: self.order,
            name,
            bindings: self.bindings.len(),
            answers: self.answers.len(),
            watches: self.watches.len(),
            waiting: self.waiting.len(),
            descendant_texts: self.descendant_texts.len(),
            namespaces: None,
        });
    }

    /// Stops the document where too much is undecided.
    fn check_held(&self) -> Result<(), Stop> {
        if self.held <= self.options.candidates_max {
            return Ok(());
        }
        Err(Stop {
            code: "limit.candidates",
            message: format!(
                "more than {} nodes wait for predicates that are not decided yet",
                self.options.candidates_max
            ),
        })
    }

    /// Binds the steps that reach attributes of the element anywhere below their context.
    fn bind_descendant_attributes(&mut self, names: &Names, attributes: &[Attribute<'_>]) {
        if self.descendant_attributes.is_empty() {
            return;
        }
        let depth = self.depth() + 1;
        let mut steps: Vec<u32> = Vec::new();
        for attribute in attributes {
            steps.extend(
                self.descendant_attributes
                    .steps(names, attribute.name)
                    .iter(),
            );
        }
        steps.sort_unstable();
        steps.dedup();
        for step in steps {
            if let Some(target) = self.find_target(step, depth) {
                self.visit_attributes(step, target, names, attributes);
            }
        }
    }

    /// Shows the attributes that a step accepts to it.
    pub(super) fn visit_attributes(
        &mut self,
        step: u32,
        target: u32,
        names: &Names,
        attributes: &[Attribute<'_>],
    ) {
        let element = self.order;
        let waiting = self.waiting.len();
        for (number, attribute) in (1..).zip(attributes) {
            let (uri, local) = names.get(attribute.name);
            if accepts(&self.steps[step as usize].step.test, uri, local) {
                self.order = element + number;
                self.visit_attribute(step, target, attribute);
            }
        }
        self.order = element;
        self.resolve_waiting(waiting);
    }

    /// What is in scope, shared with the scope captured before where they are the same.
    fn capture_scope(&mut self, context: &dyn Context) -> Scope {
        let mut scope: Vec<(Box<str>, Box<str>)> = Vec::new();
        context.namespaces_in_scope(&mut |prefix, uri| scope.push((prefix.into(), uri.into())));
        scope.sort_unstable();
        match &self.last_scope {
            Some(last) if **last == *scope => Scope::clone(last),
            _ => {
                let scope: Scope = scope.into();
                self.last_scope = Some(Scope::clone(&scope));
                scope
            }
        }
    }

    fn open_text(&mut self) {
        self.order += 1;
        let parent = self
            .frames
            .last()
            .expect("the document's frame is always there");
        let bindings = parent.bindings..self.bindings.len();
        self.push_frame(None);
        let depth = self.depth();
        for target in bindings {
            let linked = self.steps[self.bindings[target].step as usize];
            for &text in &linked.step.texts {
                let step = linked.base + text;
                if let Some(target) = self.find_target(step, depth) {
                    self.bind_leaf(step, target);
                }
            }
        }
        for at in 0..self.descendant_texts.len() {
            let step = self.descendant_texts[at];
            if let Some(target) = self.find_target(step, depth) {
                self.bind_leaf(step, target);
            }
        }
        let frame = self.frames.last().expect("just pushed");
        self.text_framed = frame.bindings < self.bindings.len();
        if !self.text_framed {
            self.frames.pop();
        }
    }

    /// Ends the open text node, if there is one.
    fn close_text(&mut self) {
        if self.text_spans.is_empty() {
            return;
        }
        let mut spans = std::mem::take(&mut self.text_spans);
        if self.text_framed {
            self.close_frame(Kind::Text, &spans);
        }
        spans.clear();
        self.text_spans = spans;
    }

    /// Shows a piece of text to the watches from this one on.
    pub(super) fn feed(&mut self, watches: usize, piece: &str) {
        for watching in &mut self.watches[watches..] {
            watching.watch.feed(watching.test, piece);
        }
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
        self.push_frame(Some(element.name));
        let depth = self.depth();
        let names = context.names();
        let steps: Rc<[u32]> = self.elements.steps(names, element.name);
        for &step in &*steps {
            if let Some(target) = self.find_target(step, depth) {
                self.bind_element(step, target, names, element.attributes);
            }
        }
        self.bind_descendant_attributes(names, element.attributes);
        self.order += element.attributes.len() as u64;
        if self.options.nodes && self.may_select() {
            let scope = self.capture_scope(context);
            self.frames.last_mut().expect("just pushed").namespaces = Some(scope);
        }
        self.check_held()
    }

    fn end_element(&mut self, span: Span) -> Result<(), Stop> {
        self.close_text();
        self.close_frame(Kind::Element, &[span]);
        self.check_held()
    }

    fn text(&mut self, text: &str, span: Span) -> Result<(), Stop> {
        if self.text_spans.is_empty() {
            self.open_text();
        }
        match self.text_spans.last_mut() {
            // Pieces side by side, or out of the same entity, are one range.
            Some(last) if last.from_entity == span.from_entity && last.end == span.start => {
                last.end = span.end
            }
            Some(last) if *last == span => {}
            _ => self.text_spans.push(span),
        }
        self.feed(0, text);
        Ok(())
    }

    fn text_break(&mut self) -> Result<(), Stop> {
        self.close_text();
        self.check_held()
    }
}
