//! Kept trees take their places: they pass through the same frames as what is read.
//!
//! The work to be done is a stack of tasks, not calls within calls: trees are as deep as documents.

use super::attribute_renaming::Attributes;
use super::mapping::{Destination, SchemaNodeId, UNKNOWN};
use super::rewriter::Rewriter;
use super::rewriter_buffers::NO_STATE;
use super::tree_buffer::{Mark, NodeId, BREAK, TEXT};
use crate::events::{Attribute, Context, Handler, Span, Stop};

/// What is to be done; the last first.
#[derive(Clone, Copy, Debug)]
pub(super) enum Task {
    /// A child of the innermost open element goes where its operators say.
    Child(NodeId),
    /// A node takes its place here.
    Place(NodeId),
    /// The children of a kept element from this one on.
    Children(NodeId, u32),
    /// A kept element ends.
    Leave(NodeId),
    /// A kept element that takes several places has taken one.
    EndRepeated(NodeId),
    /// What an element set aside takes its place; the element's range is this.
    Finish(Span),
    /// An element with operators ends.
    End(Span),
    /// An inserted path of an operator at a place begins.
    StartPath(SchemaNodeId, u32),
    /// It ends.
    EndPath(SchemaNodeId, u32),
    /// What was kept past the mark is not needed any more.
    Drop(Mark),
}

impl<H: Handler> Rewriter<'_, H> {
    /// Does what is to be done.
    pub(super) fn run(&mut self) -> Result<(), Stop> {
        let names = std::mem::take(&mut self.memory.names);
        let done = self.run_with(&names);
        self.memory.names = names;
        done
    }

    fn run_with(&mut self, context: &dyn Context) -> Result<(), Stop> {
        while let Some(task) = self.memory.tasks.pop() {
            match task {
                Task::Child(node) => self.child(context, node)?,
                Task::Place(node) => self.place(context, node)?,
                Task::Children(node, at) => {
                    let children = self.memory.trees.children(node);
                    let child = children[at as usize];
                    if at as usize + 1 < children.len() {
                        self.memory.tasks.push(Task::Children(node, at + 1));
                    }
                    self.child(context, child)?;
                }
                Task::Leave(node) => self.leave(self.memory.trees.span(node))?,
                Task::EndRepeated(node) => self.output.inner.end_repeated(node),
                Task::Finish(span) => self.finish_element(span),
                Task::End(span) => {
                    let state = self.top().state;
                    if !self.memory.states[state as usize].ended {
                        self.output.end(span)?;
                    }
                    self.close_frame();
                }
                Task::StartPath(place, path) => {
                    let path = &self.operators(place).paths[path as usize];
                    self.output.start_path(context, &self.bound, path)?;
                }
                Task::EndPath(place, path) => {
                    let path = &self.operators(place).paths[path as usize];
                    self.output.end_path(path)?;
                }
                Task::Drop(mark) => {
                    if self.memory.trees.drop_past(mark) {
                        self.output.inner.forget_repeated();
                    }
                }
            }
        }
        Ok(())
    }

    /// A kept node is a child of the innermost open element.
    fn child(&mut self, context: &dyn Context, node: NodeId) -> Result<(), Stop> {
        let kept = self.memory.trees.node(node);
        if !kept.is_element() {
            if self.is_waiting() {
                self.set_aside(Destination::Waits, node);
                return Ok(());
            }
            return self.place(context, node);
        }
        match self.way_of(kept.place) {
            Destination::Stays => self.place(context, node),
            Destination::Passes => {
                self.prepare_to_pass(context)?;
                self.place(context, node)
            }
            way => {
                self.set_aside(way, node);
                Ok(())
            }
        }
    }

    /// A kept node takes its place.
    fn place(&mut self, context: &dyn Context, node: NodeId) -> Result<(), Stop> {
        let trees = &self.memory.trees;
        let kept = *trees.node(node);
        match kept.place {
            TEXT => {
                let span = trees.span(node);
                return self.output.text(trees.text(node), span);
            }
            BREAK => return self.output.text_break(),
            _ => {}
        }
        let span = trees.span(node);
        if kept.is_repeated() {
            if self.output.inner.begin_repeated(node)? {
                return Ok(());
            }
            self.memory.tasks.push(Task::EndRepeated(node));
        }
        let trees = &self.memory.trees;
        self.memory.tasks.push(Task::Leave(node));
        if !trees.children(node).is_empty() {
            self.memory.tasks.push(Task::Children(node, 0));
        }
        let whole = H::SPANS.then_some(span);
        if !kept.has_attributes() {
            return self.enter(context, kept.place, kept.name, &[], span, whole);
        }
        let mut values = std::mem::take(&mut self.memory.values);
        values.clear();
        let mut shapes = Vec::new();
        self.memory.trees.for_attributes(node, |name, value, span| {
            shapes.push((name, values.len(), value.len(), span));
            values.push_str(value);
        });
        let mut attributes = Attributes::new();
        for (name, first, count, span) in shapes {
            attributes.push(Attribute {
                name,
                value: &values[first..][..count],
                span,
            });
        }
        let entered = self.enter(
            context,
            kept.place,
            kept.name,
            attributes.as_slice(),
            span,
            whole,
        );
        drop(attributes);
        self.memory.values = values;
        entered
    }

    /// The innermost open element ends.
    #[inline]
    pub(super) fn leave(&mut self, span: Span) -> Result<(), Stop> {
        let frame = self.top();
        if frame.state == NO_STATE {
            self.memory.frames.pop();
            return self.output.end(span);
        }
        self.note_end(span);
        self.memory.tasks.push(Task::Finish(span));
        if self.is_waiting() {
            self.decide()?;
        }
        Ok(())
    }

    /// What the innermost open element set aside takes its place, and the element ends.
    fn finish_element(&mut self, span: Span) {
        let frame = self.top();
        let operators = self.operators(frame.place);
        let state = &mut self.memory.states[frame.state as usize];
        // Inserted paths in their order, the rest behind them; what is in each keeps its order.
        state.aside.sort_by_key(|(way, _)| *way);
        let behind = |(way, _): &(Destination, NodeId)| *way < Destination::Upgraded;
        let (inserted, upgraded) = state.aside.split_at(state.aside.partition_point(behind));
        let tasks = &mut self.memory.tasks;
        tasks.push(Task::Drop(state.mark));
        let insert = |tasks: &mut Vec<Task>| {
            let same_way =
                |one: &(Destination, NodeId), other: &(Destination, NodeId)| one.0 == other.0;
            for moved in inserted.chunk_by(same_way).rev() {
                let Destination::Inserted(number) = moved[0].0 else {
                    unreachable!("what is set aside is inserted or upgraded");
                };
                tasks.push(Task::EndPath(frame.place, number));
                tasks.extend(moved.iter().rev().map(|&(_, node)| Task::Place(node)));
                tasks.push(Task::StartPath(frame.place, number));
            }
        };
        // Inserted paths are children like others: where all are moved behind the element, so are they.
        let inserts_behind = operators.upgrades_all && state.upgrades;
        if inserts_behind {
            insert(tasks);
        }
        tasks.extend(upgraded.iter().rev().map(|&(_, node)| Task::Place(node)));
        tasks.push(Task::End(span));
        if !inserts_behind {
            insert(tasks);
        }
        if state.path_open {
            tasks.push(Task::EndPath(frame.place, 0));
        }
        debug_assert_ne!(frame.place, UNKNOWN, "what is not known has no operators");
    }
}
