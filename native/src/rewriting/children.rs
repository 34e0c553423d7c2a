//! An element with operators: where its children go.

use super::mapping::{Destination, Operators, SchemaNodeId};
use super::provenance::Provenance;
use super::rewriter::Rewriter;
use super::rewriter_buffers::{Frame, State, NO_STATE};
use super::tree_buffer::NodeId;
use crate::events::{Attribute, Context, Handler, NameId, Span, Stop};

impl<'m, H: Handler> Rewriter<'m, H> {
    /// The operators at a place.
    #[inline]
    pub(super) fn operators(&self, place: SchemaNodeId) -> &'m Operators {
        let operators = self.mapping.places[place as usize].operators.as_deref();
        operators.expect("where there is a state there are operators")
    }

    fn state(&mut self) -> &mut State {
        let state = self.top().state;
        &mut self.memory.states[state as usize]
    }

    /// Whether the children of the innermost open element wait for its end.
    #[inline]
    pub(super) fn is_waiting(&self) -> bool {
        let state = self.top().state;
        state != NO_STATE && self.memory.states[state as usize].waits
    }

    /// Opens the frame of an element; `span` is its range, where it is known.
    pub(super) fn open_frame(&mut self, place: SchemaNodeId, span: Option<Span>) {
        let has_operators = self.mapping.places[place as usize].operators.is_some();
        let state = if has_operators {
            self.open_state(span)
        } else {
            NO_STATE
        };
        self.memory.frames.push(Frame { place, state });
    }

    fn open_state(&mut self, span: Option<Span>) -> u32 {
        let memory = &mut *self.memory;
        if memory.states.len() == memory.states_open {
            memory.states.push(State::default());
        }
        let state = &mut memory.states[memory.states_open];
        let (mut waiting, mut aside) = (
            std::mem::take(&mut state.waiting),
            std::mem::take(&mut state.aside),
        );
        waiting.clear();
        aside.clear();
        *state = State {
            // Its own start tag has passed, if it is an element at all.
            upgrades: !self.output.is_outside(),
            span,
            mark: memory.trees.mark(),
            waiting,
            aside,
            ..State::default()
        };
        memory.states_open += 1;
        u32::try_from(memory.states_open - 1).expect("depth is limited")
    }

    /// Closes the frame of an element that has ended.
    pub(super) fn close_frame(&mut self) {
        let frame = self.memory.frames.pop();
        if frame.is_some_and(|frame| frame.state != NO_STATE) {
            self.memory.states_open -= 1;
        }
    }

    /// Where a child goes.
    pub(super) fn way_of(&mut self, place: SchemaNodeId) -> Destination {
        let frame = self.top();
        if frame.state == NO_STATE {
            return Destination::Stays;
        }
        let operators = self.operators(frame.place);
        let state = self.state();
        if !state.decided && (state.waits || operators.waiting.has(place)) {
            state.waits = true;
            return Destination::Waits;
        }
        match operators.way_of(place) {
            Destination::Upgraded if !state.upgrades => Destination::Stays,
            way => way,
        }
    }

    /// Lets the element end before its children, or an inserted path begin, where they pass so.
    pub(super) fn prepare_to_pass(&mut self, context: &dyn Context) -> Result<(), Stop> {
        let operators = self.operators(self.top().place);
        let state = self.state();
        let ends = operators.ends_early && state.upgrades && !state.ended;
        let opens = operators.opens_path && !state.path_open;
        state.ended |= ends;
        state.path_open |= opens;
        if ends {
            let span = self.span_of_open();
            self.output.end(span)?;
        }
        if opens {
            self.output
                .start_path(context, &self.bound, &operators.paths[0])?;
        }
        Ok(())
    }

    /// The range of the innermost open element, or a sign for it.
    fn span_of_open(&mut self) -> Span {
        if !H::SPANS {
            return Span::default();
        }
        if let Some(span) = self.state().span {
            return span;
        }
        let sign = Provenance::sign(self.output.provenance.add(Vec::new(), None));
        self.state().span = Some(sign);
        sign
    }

    /// Sets a child aside.
    pub(super) fn set_aside(&mut self, way: Destination, node: NodeId) {
        let state = self.state();
        match way {
            Destination::Waits => state.waiting.push(node),
            _ => state.aside.push((way, node)),
        }
    }

    /// A piece of text among children that wait.
    pub(super) fn wait_with_text(&mut self, text: &str, span: Span) {
        let before = self.state().waiting.last().copied();
        let span = H::SPANS.then_some(span);
        let (node, is_new) = self.memory.trees.add_text(before, text, span);
        if is_new {
            self.set_aside(Destination::Waits, node);
        }
    }

    /// A comment or processing instruction among children that wait.
    pub(super) fn wait_with_break(&mut self) {
        let node = self.memory.trees.add_break(H::SPANS);
        self.set_aside(Destination::Waits, node);
    }

    /// An element begins whose place is here; `whole` is its range where it is known already.
    #[inline]
    pub(super) fn enter(
        &mut self,
        context: &dyn Context,
        place: SchemaNodeId,
        name: NameId,
        attributes: &[Attribute<'_>],
        tag: Span,
        whole: Option<Span>,
    ) -> Result<(), Stop> {
        // Unknown places have numbers past all others.
        let Some(known) = self.mapping.places.get(place as usize) else {
            self.output.start(context, name, attributes, tag)?;
            let state = NO_STATE;
            self.memory.frames.push(Frame { place, state });
            return Ok(());
        };
        let name = self.bound.renamed(known.renamed).unwrap_or(name);
        match known.operators.as_deref() {
            None => {
                self.output.start(context, name, attributes, tag)?;
                let state = NO_STATE;
                self.memory.frames.push(Frame { place, state });
                Ok(())
            }
            Some(operators) => {
                self.start_with(context, operators, name, attributes, tag, place, whole)
            }
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn start_with(
        &mut self,
        context: &dyn Context,
        operators: &'m Operators,
        name: NameId,
        attributes: &[Attribute<'_>],
        tag: Span,
        place: SchemaNodeId,
        whole: Option<Span>,
    ) -> Result<(), Stop> {
        let is_top = self.output.is_outside();
        if operators.made_of.is_empty() && operators.attribute_names.is_empty() {
            self.output.start(context, name, attributes, tag)?;
        } else {
            let staying = self.staying(operators, attributes);
            self.output.start(context, name, staying.as_slice(), tag)?;
        }
        self.open_frame(place, whole);
        self.state().upgrades = !is_top;
        if operators.made_of.is_empty() {
            return Ok(());
        }
        // By the attributes that are there: a mapping can name many more.
        let mut made = std::mem::take(&mut self.memory.made);
        made.clear();
        for (at, attribute) in attributes.iter().enumerate() {
            let number = operators.made_of.get(self.bound.symbol(attribute.name));
            made.extend(number.map(|number| (number, at)));
        }
        made.sort_unstable();
        for &(number, at) in &made {
            let (name, place) = operators.to_elements[number as usize];
            let name = self.bound.name(name);
            self.make_element(context, name, place, attributes[at].value)?;
        }
        self.memory.made = made;
        Ok(())
    }

    /// An attribute becomes a child of the innermost open element.
    fn make_element(
        &mut self,
        context: &dyn Context,
        name: NameId,
        place: SchemaNodeId,
        value: &str,
    ) -> Result<(), Stop> {
        let way = self.way_of(place);
        let span = self.span_of_open();
        match way {
            Destination::Stays | Destination::Passes => {
                if way == Destination::Passes {
                    self.prepare_to_pass(context)?;
                }
                self.output.start(context, name, &[], Span::default())?;
                if !value.is_empty() {
                    self.output.text(value, span)?;
                }
                self.output.end(span)
            }
            way => {
                let span = H::SPANS.then_some(span);
                let node = self.memory.trees.add_made(place, name, value, span);
                self.set_aside(way, node);
                self.check_held()
            }
        }
    }

    /// The innermost open element has been read: its range is known.
    pub(super) fn note_end(&mut self, span: Span) {
        if !H::SPANS {
            return;
        }
        match self.state().span {
            Some(sign) => self.output.provenance.settle(sign, span),
            None => self.state().span = Some(span),
        }
    }
}
