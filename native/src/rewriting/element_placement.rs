//! Decides where elements go under the operators of their parents, and replays buffered trees.
//!
//! Elements from the reader and buffered trees pass through the same frames. The replay uses a stack of
//! tasks instead of recursion, because trees can be as deep as documents.

use std::sync::Arc;

use super::attribute_renaming::{rename_attributes, AttributeList};
use super::bound_mapping::BoundMapping;
use super::downgrade::apply_downgrades;
use super::downstream::Downstream;
use super::mapping::{Destination, Mapping, NodeOperators, SchemaNodeId};
use super::rewrite_budget::RewriteBudget;
use super::rewriter_buffers::RewriterBuffers;
use super::tree_buffer::{BufferMark, NodeId, BREAK, TEXT};
use crate::events::{Attribute, Context, Handler, NameId, Span, Stop};

/// Work to be done; the task pushed last is done first.
#[derive(Clone, Copy, Debug)]
pub(super) enum PlacementTask {
    /// Sends a child of the innermost open element to its destination.
    Child(NodeId),
    /// Sends a node downstream at the current position.
    Send(NodeId),
    /// Does `Child` for the children of a node from this index on.
    Children(NodeId, u32),
    /// Ends a buffered element.
    End(NodeId),
    /// Ends one occurrence of an element with several parents.
    EndRepeated(NodeId),
    /// Places the children that the innermost element buffered; the element has this span.
    PlaceBuffered(Span),
    /// Ends an element with operators.
    Close(Span),
    /// Starts an inserted path of a schema node; as many elements as the last number says are open.
    StartPath(SchemaNodeId, u32, usize),
    /// Ends an inserted path of a schema node; as many elements as the last number says stay open.
    EndPath(SchemaNodeId, u32, usize),
    /// Drops the trees buffered after the mark.
    Truncate(BufferMark),
}

/// The part of a rewriter that opens, places and closes elements.
pub(super) struct ElementPlacement<'m, H> {
    pub mapping: &'m Mapping,
    pub bound: Arc<BoundMapping>,
    pub buffers: &'m mut RewriterBuffers,
    pub downstream: Downstream<H>,
    pub budget: RewriteBudget,
}

impl<'m, H: Handler> ElementPlacement<'m, H> {
    /// The operators at a schema node that has some.
    #[inline]
    fn operators(&self, schema_node: SchemaNodeId) -> &'m NodeOperators {
        let operators = self.mapping.nodes[schema_node as usize]
            .operators
            .as_deref();
        operators.expect("frames with a state have operators")
    }

    /// Opens the frame of the virtual root.
    pub fn open_root(&mut self, schema_node: SchemaNodeId) {
        if self.mapping.nodes[schema_node as usize].operators.is_none() {
            self.buffers.elements.push_plain(schema_node);
            return;
        }
        let mark = self.buffers.trees.mark();
        let elements = &mut self.buffers.elements;
        elements.push_with_operators(schema_node, false, None, mark);
        // It is not an element, so no end tag is sent for it.
        elements.state().ended = true;
    }

    /// Where a child of the innermost open element goes.
    pub fn destination(&mut self, child: SchemaNodeId) -> Destination {
        let frame = self.buffers.elements.top();
        if !frame.has_operators() {
            return Destination::InPlace;
        }
        let operators = self.operators(frame.schema_node);
        let state = self.buffers.elements.state();
        if !state.downgraded && (state.collects || operators.is_in_downgrade(child)) {
            state.collects = true;
            return Destination::Undecided;
        }
        match operators.destination(child) {
            Destination::AfterElement if !state.can_upgrade => Destination::InPlace,
            destination => destination,
        }
    }

    /// Before a streamed child: ends the element if the child goes after it, and starts the inserted
    /// path if the child goes into it.
    pub fn prepare_stream(&mut self, context: &dyn Context) -> Result<(), Stop> {
        let operators = self.operators(self.buffers.elements.top().schema_node);
        let state = self.buffers.elements.state();
        let ends = operators.ends_before_children && state.can_upgrade && !state.ended;
        let starts_path = operators.streams_into_path && !state.path_open;
        state.ended |= ends;
        state.path_open |= starts_path;
        if ends {
            let span = self.span_of_open();
            self.downstream.end(span)?;
        }
        if starts_path {
            let path = &operators.inserted_paths[0].names;
            self.budget.charge_inserted(path.len())?;
            self.downstream.start_path(context, &self.bound, path)?;
        }
        Ok(())
    }

    /// The span of the innermost open element, or a placeholder for it.
    fn span_of_open(&mut self) -> Span {
        if !H::SPANS {
            return Span::default();
        }
        let state = self.buffers.elements.state();
        let provenance = &mut self.downstream.provenance;
        *state
            .span
            .get_or_insert_with(|| provenance.add(Vec::new(), None).span())
    }

    /// Records a buffered child of the innermost open element.
    #[inline]
    pub fn buffer_child(&mut self, destination: Destination, node: NodeId) {
        self.buffers.elements.state().buffer(destination, node);
    }

    /// Buffers a chunk of text among undecided children.
    pub fn buffer_text(&mut self, text: &str, span: Span) {
        let before = self.buffers.elements.state().undecided.last().copied();
        let span = H::SPANS.then_some(span);
        let (node, is_new) = self.buffers.trees.add_text(before, text, span);
        if is_new {
            self.buffer_child(Destination::Undecided, node);
        }
    }

    /// Buffers a text break among undecided children.
    pub fn buffer_break(&mut self) {
        let node = self.buffers.trees.add_break(H::SPANS);
        self.buffer_child(Destination::Undecided, node);
    }

    /// Starts an element at the current position. `span` is the span of the complete element, if it is
    /// known.
    #[inline]
    pub fn start(
        &mut self,
        context: &dyn Context,
        schema_node: SchemaNodeId,
        name: NameId,
        attributes: &[Attribute<'_>],
        tag: Span,
        span: Option<Span>,
    ) -> Result<(), Stop> {
        // The number of an unknown schema node is out of range.
        let Some(known) = self.mapping.nodes.get(schema_node as usize) else {
            self.downstream.start(context, name, attributes, tag)?;
            self.buffers.elements.push_plain(schema_node);
            return Ok(());
        };
        let name = self.bound.name_if_any(known.new_name).unwrap_or(name);
        match known.operators.as_deref() {
            None => {
                self.downstream.start(context, name, attributes, tag)?;
                self.buffers.elements.push_plain(schema_node);
                Ok(())
            }
            Some(operators) => {
                let is_inside = !self.downstream.is_outside();
                self.send_start(context, operators, name, attributes, tag)?;
                let mark = self.buffers.trees.mark();
                self.buffers
                    .elements
                    .push_with_operators(schema_node, is_inside, span, mark);
                self.place_attribute_elements(context, operators, attributes)
            }
        }
    }

    fn send_start(
        &mut self,
        context: &dyn Context,
        operators: &NodeOperators,
        name: NameId,
        attributes: &[Attribute<'_>],
        tag: Span,
    ) -> Result<(), Stop> {
        let downstream = &mut self.downstream;
        if operators.element_of_attribute.is_empty() && operators.attribute_names.is_empty() {
            return downstream.start(context, name, attributes, tag);
        }
        let provenance = H::SPANS.then_some(&mut downstream.provenance);
        let renamed = rename_attributes(&self.bound, operators, attributes, provenance);
        downstream.start(context, name, renamed.as_slice(), tag)
    }

    /// Turns attributes of the innermost open element into child elements, in the mapping's order.
    fn place_attribute_elements(
        &mut self,
        context: &dyn Context,
        operators: &NodeOperators,
        attributes: &[Attribute<'_>],
    ) -> Result<(), Stop> {
        if operators.element_of_attribute.is_empty() {
            return Ok(());
        }
        // Looks up the attributes of the element: the mapping may have many more.
        let mut found = std::mem::take(&mut self.buffers.attribute_elements);
        found.clear();
        for (at, attribute) in attributes.iter().enumerate() {
            let symbol = self.bound.symbol(attribute.name);
            let number = operators.element_of_attribute.get(symbol);
            found.extend(number.map(|number| (number, at)));
        }
        found.sort_unstable();
        for &(number, at) in &found {
            let (name, schema_node) = operators.attribute_elements[number as usize];
            let name = self.bound.name(name);
            self.place_attribute_element(context, name, schema_node, attributes[at].value)?;
        }
        self.buffers.attribute_elements = found;
        Ok(())
    }

    fn place_attribute_element(
        &mut self,
        context: &dyn Context,
        name: NameId,
        schema_node: SchemaNodeId,
        value: &str,
    ) -> Result<(), Stop> {
        let destination = self.destination(schema_node);
        let span = self.span_of_open();
        match destination {
            Destination::InPlace | Destination::Streamed => {
                if destination == Destination::Streamed {
                    self.prepare_stream(context)?;
                }
                self.downstream.start(context, name, &[], Span::default())?;
                if !value.is_empty() {
                    self.downstream.text(value, span)?;
                }
                self.downstream.end(span)
            }
            buffered => {
                let span = H::SPANS.then_some(span);
                let trees = &mut self.buffers.trees;
                let node = trees.add_attribute_element(schema_node, name, value, span);
                self.buffer_child(buffered, node);
                self.check_held()
            }
        }
    }

    /// Ends the innermost open element. If its schema node has operators, this pushes tasks for the
    /// buffered children.
    #[inline]
    pub fn end(&mut self, span: Span) -> Result<(), Stop> {
        if !self.buffers.elements.top().has_operators() {
            self.buffers.elements.pop();
            return self.downstream.end(span);
        }
        self.set_span(span);
        self.buffers.tasks.push(PlacementTask::PlaceBuffered(span));
        if self.buffers.elements.collects() {
            self.decide_destinations()?;
        }
        Ok(())
    }

    /// Sets the span of the innermost open element, which has been read to its end.
    fn set_span(&mut self, span: Span) {
        if !H::SPANS {
            return;
        }
        let state = self.buffers.elements.state();
        match state.span {
            Some(placeholder) => self.downstream.provenance.set(placeholder, span),
            None => state.span = Some(span),
        }
    }

    /// Applies the Downgrades to the undecided children of the innermost open element; the other
    /// operators then decide where the remaining ones go.
    fn decide_destinations(&mut self) -> Result<(), Stop> {
        let operators = self.operators(self.buffers.elements.top().schema_node);
        let state = self.buffers.elements.state();
        (state.collects, state.downgraded) = (false, true);
        let mut nodes = std::mem::take(&mut state.undecided);
        let trees = &mut self.buffers.trees;
        apply_downgrades(operators, trees, &mut self.budget, &mut nodes)?;
        self.check_held()?;
        let children = nodes.drain(..).rev().map(PlacementTask::Child);
        self.buffers.tasks.extend(children);
        self.buffers.elements.state().undecided = nodes;
        Ok(())
    }

    /// Stops the document if too much is buffered.
    #[inline]
    pub fn check_held(&mut self) -> Result<(), Stop> {
        self.budget.check_held(&self.buffers.trees)
    }

    /// Does all pending tasks.
    pub fn run_tasks(&mut self) -> Result<(), Stop> {
        let names = std::mem::take(&mut self.buffers.names);
        let done = self.run_tasks_with(&names);
        self.buffers.names = names;
        done
    }

    fn run_tasks_with(&mut self, context: &dyn Context) -> Result<(), Stop> {
        while let Some(task) = self.buffers.tasks.pop() {
            match task {
                PlacementTask::Child(node) => self.place_child(context, node)?,
                PlacementTask::Send(node) => self.send(context, node)?,
                PlacementTask::Children(node, at) => {
                    let children = self.buffers.trees.children(node);
                    let child = children[at as usize];
                    if at as usize + 1 < children.len() {
                        let rest = PlacementTask::Children(node, at + 1);
                        self.buffers.tasks.push(rest);
                    }
                    self.place_child(context, child)?;
                }
                PlacementTask::End(node) => self.end(self.buffers.trees.span(node))?,
                PlacementTask::EndRepeated(node) => self.downstream.handler.end_repeated(node),
                PlacementTask::PlaceBuffered(span) => self.place_buffered(span),
                PlacementTask::Close(span) => {
                    if !self.buffers.elements.state().ended {
                        self.downstream.end(span)?;
                    }
                    self.buffers.elements.pop();
                }
                PlacementTask::StartPath(schema_node, path, open) => {
                    let path = &self.operators(schema_node).inserted_paths[path as usize];
                    let path = &path.names[open..];
                    self.budget.charge_inserted(path.len())?;
                    self.downstream.start_path(context, &self.bound, path)?;
                }
                PlacementTask::EndPath(schema_node, path, open) => {
                    let path = &self.operators(schema_node).inserted_paths[path as usize];
                    self.downstream.end_path(&path.names[open..])?;
                }
                PlacementTask::Truncate(mark) => {
                    if self.buffers.trees.truncate(mark) {
                        self.downstream.handler.forget_repeated();
                    }
                }
            }
        }
        Ok(())
    }

    /// Sends a buffered child of the innermost open element to its destination.
    fn place_child(&mut self, context: &dyn Context, node: NodeId) -> Result<(), Stop> {
        let buffered = self.buffers.trees.node(node);
        if !buffered.is_element() {
            if self.buffers.elements.collects() {
                self.buffer_child(Destination::Undecided, node);
                return Ok(());
            }
            return self.send(context, node);
        }
        match self.destination(buffered.schema_node) {
            Destination::InPlace => self.send(context, node),
            Destination::Streamed => {
                self.prepare_stream(context)?;
                self.send(context, node)
            }
            destination => {
                self.buffer_child(destination, node);
                Ok(())
            }
        }
    }

    /// Sends a buffered node downstream: text at once; an element starts, and tasks are pushed for its
    /// children and its end.
    fn send(&mut self, context: &dyn Context, node: NodeId) -> Result<(), Stop> {
        let trees = &self.buffers.trees;
        let (buffered, span) = (*trees.node(node), trees.span(node));
        match buffered.schema_node {
            TEXT => return self.downstream.text(trees.text(node), span),
            BREAK => return self.downstream.text_break(),
            _ => {}
        }
        let tasks = &mut self.buffers.tasks;
        if buffered.is_repeated() {
            if self.downstream.handler.begin_repeated(node)? {
                return Ok(());
            }
            tasks.push(PlacementTask::EndRepeated(node));
        }
        tasks.push(PlacementTask::End(node));
        if !trees.children(node).is_empty() {
            tasks.push(PlacementTask::Children(node, 0));
        }
        let known_span = H::SPANS.then_some(span);
        let (schema_node, name) = (buffered.schema_node, buffered.name);
        if !buffered.has_attributes() {
            return self.start(context, schema_node, name, &[], span, known_span);
        }
        // The attributes must not borrow from the buffer, to which `start` may add nodes.
        let mut values = std::mem::take(&mut self.buffers.attribute_values);
        values.clear();
        let mut value_ranges = Vec::new();
        let trees = &self.buffers.trees;
        trees.visit_attributes(node, |name, value, span| {
            value_ranges.push((name, values.len(), value.len(), span));
            values.push_str(value);
        });
        let mut attributes = AttributeList::new();
        for (name, first, count, span) in value_ranges {
            attributes.push(Attribute {
                name,
                value: &values[first..][..count],
                span,
            });
        }
        let attribute_slice = attributes.as_slice();
        let started = self.start(
            context,
            schema_node,
            name,
            attribute_slice,
            span,
            known_span,
        );
        drop(attributes);
        self.buffers.attribute_values = values;
        started
    }

    /// Pushes tasks that place the buffered children of the innermost open element and close it.
    fn place_buffered(&mut self, span: Span) {
        let schema_node = self.buffers.elements.top().schema_node;
        let operators = self.operators(schema_node);
        let RewriterBuffers {
            elements, tasks, ..
        } = &mut *self.buffers;
        let state = elements.state();
        // Inserted paths come first, in their order; the children in each keep their order.
        state.buffered.sort_by_key(|(destination, _)| *destination);
        let is_inserted =
            |(destination, _): &(Destination, NodeId)| *destination < Destination::AfterElement;
        let (inserted, after) = state
            .buffered
            .split_at(state.buffered.partition_point(is_inserted));
        tasks.push(PlacementTask::Truncate(state.mark));
        let push_inserted = |tasks: &mut Vec<PlacementTask>| {
            let number_of = |moved: &[(Destination, NodeId)]| match moved[0].0 {
                Destination::InsertedPath(number) => number,
                _ => unreachable!("buffered children go into a path or after the element"),
            };
            let paths = &operators.inserted_paths;
            let mut stay_open = 0;
            let mut chunks = inserted
                .chunk_by(|one, other| one.0 == other.0)
                .rev()
                .peekable();
            while let Some(moved) = chunks.next() {
                let number = number_of(moved);
                tasks.push(PlacementTask::EndPath(schema_node, number, stay_open));
                let nodes = moved.iter().rev();
                tasks.extend(nodes.map(|&(_, node)| PlacementTask::Send(node)));
                stay_open = chunks.peek().map_or(0, |before| {
                    paths[number as usize].common(&paths[number_of(before) as usize])
                });
                tasks.push(PlacementTask::StartPath(schema_node, number, stay_open));
            }
        };
        // Inserted paths are children too: if all children move after the element, so do they.
        let inserts_after = operators.upgrades_all && state.can_upgrade;
        if inserts_after {
            push_inserted(tasks);
        }
        let nodes = after.iter().rev();
        tasks.extend(nodes.map(|&(_, node)| PlacementTask::Send(node)));
        tasks.push(PlacementTask::Close(span));
        if !inserts_after {
            push_inserted(tasks);
        }
        if state.path_open {
            tasks.push(PlacementTask::EndPath(schema_node, 0, 0));
        }
    }
}
