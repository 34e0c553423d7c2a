//! What a selection does at each event of the document.

use crate::events::{
    sorted_bindings, Attribute, Context, ExpandedName, Handler, NameId, Names, NamespaceScope,
    Span, StartElement, Stop,
};
use crate::xpath::ast::Kind;

use super::pending_steps::{accepts, Expected, ANY_NAME, TEXT};
use super::selection::{ResultDetail, Selection};

impl Selection<'_> {
    /// Binds the innermost node, an element, to the steps that wait for it.
    fn bind_expected(&mut self, names: &Names, element: &StartElement<'_>) {
        let depth = self.depth();
        let own = self.expected.list_of(names, element.name);
        // Where they end now: what the element itself waits for is noted behind.
        let lists = [own, ANY_NAME].map(|list| {
            let children = self.expected.children(list, depth - 1);
            (list, children, self.expected.descendants(list).len())
        });
        for (list, children, descendants) in lists {
            let accepted = |selection: &Self, step: u32| {
                let test = &selection.steps[step as usize].step.test;
                list != ANY_NAME || accepts(test, names.get(element.name))
            };
            for at in children {
                let Expected { step, target, .. } = self.expected.child(list, at);
                if self.wants(step, target) == Some(true) && accepted(self, step) {
                    self.bind_element(step, target, names, element.attributes);
                }
            }
            for at in 0..descendants {
                let step = self.expected.descendants(list)[at];
                if let Some(target) = self.find_target(step, depth) {
                    if accepted(self, step) {
                        self.bind_element(step, target, names, element.attributes);
                    }
                }
            }
        }
    }

    /// Binds the steps that reach attributes of the element anywhere below their context.
    fn bind_descendant_attributes(&mut self, names: &Names, attributes: &[Attribute<'_>]) {
        if self.expected.no_attributes() || attributes.is_empty() {
            return;
        }
        let depth = self.depth() + 1;
        let mut steps: Vec<u32> = self.expected.attributes(ANY_NAME).to_vec();
        for attribute in attributes {
            let list = self.expected.list_of(names, attribute.name);
            steps.extend(self.expected.attributes(list));
        }
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
            if accepts(
                &self.steps[step as usize].step.test,
                names.get(attribute.name),
            ) {
                self.order = element + number;
                self.visit_attribute(step, target, names, attribute);
            }
        }
        self.order = element;
        self.resolve_waiting(waiting);
    }

    /// A name to keep; names by number do not outlast the reading.
    pub(super) fn capture_name(&mut self, names: &Names, id: NameId) -> ExpandedName {
        let name = self.names.entry(id).or_insert_with(|| {
            let (uri, local) = names.get(id);
            ExpandedName::new((uri.into(), local.into()))
        });
        ExpandedName::clone(name)
    }

    /// What is in scope, shared with the scope captured before where they are the same.
    fn capture_scope(&mut self, context: &dyn Context) -> NamespaceScope {
        let scope = sorted_bindings(context);
        match &self.last_scope {
            Some(last) if **last == *scope => NamespaceScope::clone(last),
            _ => {
                let scope: NamespaceScope = scope.into();
                self.last_scope = Some(NamespaceScope::clone(&scope));
                scope
            }
        }
    }

    fn open_text(&mut self) {
        self.order += 1;
        if let Some(paths) = &mut self.paths {
            paths.text();
        }
        let children = self.expected.children(TEXT, self.depth());
        let descendants = self.expected.descendants(TEXT).len();
        self.text_framed = !children.is_empty() || descendants > 0;
        if !self.text_framed {
            return;
        }
        self.push_frame();
        for at in children {
            let Expected { step, target, .. } = self.expected.child(TEXT, at);
            if self.wants(step, target) == Some(true) {
                self.bind_leaf(step, target);
            }
        }
        let depth = self.depth();
        for at in 0..descendants {
            let step = self.expected.descendants(TEXT)[at];
            if let Some(target) = self.find_target(step, depth) {
                self.bind_leaf(step, target);
            }
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
        self.push_frame();
        let names = context.names();
        if self.leaves_wanted {
            let scope = self.capture_scope(context);
            self.frames.last_mut().expect("just pushed").namespaces = Some(scope);
        }
        if let Some(paths) = &mut self.paths {
            paths.start_element(names.get(element.name));
        }
        self.bind_expected(names, element);
        self.bind_descendant_attributes(names, element.attributes);
        self.order += element.attributes.len() as u64;
        if self.options.detail != ResultDetail::MatchOnly && self.may_select() {
            let (name, scope) = (
                self.capture_name(names, element.name),
                self.capture_scope(context),
            );
            let frame = self.frames.last_mut().expect("just pushed");
            (frame.name, frame.namespaces) = (Some(name), Some(scope));
        }
        self.check_held()
    }

    fn end_element(&mut self, span: Span, _: Span) -> Result<(), Stop> {
        self.close_text();
        self.close_frame(Kind::Element, &[span]);
        if let Some(paths) = &mut self.paths {
            paths.end_element();
        }
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
