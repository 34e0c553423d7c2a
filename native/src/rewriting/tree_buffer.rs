//! TreeBuffer that are kept because an operator blocks.
//!
//! Nodes stand in one table and are not changed once they are whole, so several parents can share a
//! child: a copy costs nothing until it is placed. What an element kept is dropped from the end of the
//! tables when it ends: everything kept later belongs to elements inside it.

use super::mapping::SchemaNodeId;
use crate::events::{Attribute, NameId, Span};

/// The number of a kept node.
pub type NodeId = u32;

/// In the place of a text.
pub const TEXT: SchemaNodeId = u32::MAX - 1;

/// In the place of a comment or processing instruction.
pub const BREAK: SchemaNodeId = u32::MAX - 2;

/// A kept node.
#[derive(Clone, Copy, Debug)]
pub struct BufferedNode {
    /// Of an element; or [`TEXT`] or [`BREAK`].
    pub place: SchemaNodeId,
    /// Of an element.
    pub name: NameId,
    /// Where its children begin, or its text.
    first: u32,
    /// How many children it has, or bytes.
    count: u32,
    attributes_first: u32,
    attributes_count: u32,
    /// How many elements and texts a copy of it has, long ones counted as several.
    pub weight: u32,
}

/// A text counts as one more node for each so many bytes, and so do the values of an element's
/// attributes: else a few nodes could be copied into gigabytes. Python's `COPIED_NODE_BYTES`.
const NODE_BYTES: u32 = 64;

/// Set in how many attributes an element has where it takes several places.
const REPEATED: u32 = 1 << 31;

impl BufferedNode {
    /// Whether it has attributes.
    pub fn has_attributes(&self) -> bool {
        self.attributes_count & !REPEATED != 0
    }

    /// Whether it takes several places.
    pub fn is_repeated(&self) -> bool {
        self.attributes_count & REPEATED != 0
    }

    /// Whether it is an element.
    pub fn is_element(&self) -> bool {
        self.place != TEXT && self.place != BREAK
    }
}

#[derive(Clone, Copy, Debug)]
struct KeptAttribute {
    name: NameId,
    first: u32,
    count: u32,
    /// Where its range is, if ranges are kept.
    span: u32,
}

/// Up to where the tables are filled.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mark {
    nodes: usize,
    children: usize,
    texts: usize,
    attributes: usize,
    attribute_spans: usize,
}

/// Kept trees.
#[derive(Debug, Default)]
pub struct TreeBuffer {
    nodes: Vec<BufferedNode>,
    /// As many as nodes, where ranges are kept.
    spans: Vec<Span>,
    children: Vec<NodeId>,
    texts: String,
    attributes: Vec<KeptAttribute>,
    attribute_spans: Vec<Span>,
    /// The open elements, each with where its children begin in `pending`.
    open: Vec<(NodeId, usize)>,
    pending: Vec<NodeId>,
    /// Past all nodes that take several places.
    repeated_end: usize,
}

fn number(size: usize) -> u32 {
    u32::try_from(size).expect("what is held is limited")
}

impl TreeBuffer {
    /// Forgets everything.
    pub fn clear(&mut self) {
        self.drop_past(Mark::default());
        self.open.clear();
        self.pending.clear();
    }

    /// Up to where the tables are filled.
    pub fn mark(&self) -> Mark {
        Mark {
            nodes: self.nodes.len(),
            children: self.children.len(),
            texts: self.texts.len(),
            attributes: self.attributes.len(),
            attribute_spans: self.attribute_spans.len(),
        }
    }

    /// Notes that a node takes several places.
    pub fn set_repeated(&mut self, id: NodeId) {
        if self.node(id).is_element() {
            self.nodes[id as usize].attributes_count |= REPEATED;
            self.repeated_end = self.repeated_end.max(id as usize + 1);
        }
    }

    /// Drops what came after the mark; whether nodes that take several places may be among it.
    pub fn drop_past(&mut self, mark: Mark) -> bool {
        let is_repeated = self.repeated_end > mark.nodes;
        self.repeated_end = self.repeated_end.min(mark.nodes);
        self.nodes.truncate(mark.nodes);
        self.spans.truncate(mark.nodes);
        self.children.truncate(mark.children);
        self.texts.truncate(mark.texts);
        self.attributes.truncate(mark.attributes);
        self.attribute_spans.truncate(mark.attribute_spans);
        is_repeated
    }

    /// The memory of what is kept.
    pub fn bytes(&self) -> usize {
        self.nodes.len() * size_of::<BufferedNode>()
            + self.spans.len() * size_of::<Span>()
            + (self.children.len() + self.pending.len()) * size_of::<NodeId>()
            + self.texts.len()
            + self.attributes.len() * size_of::<KeptAttribute>()
            + self.attribute_spans.len() * size_of::<Span>()
            + self.open.len() * size_of::<(NodeId, usize)>()
    }

    /// A kept node.
    pub fn node(&self, id: NodeId) -> &BufferedNode {
        &self.nodes[id as usize]
    }

    /// Its range, where ranges are kept.
    pub fn span(&self, id: NodeId) -> Span {
        self.spans.get(id as usize).copied().unwrap_or_default()
    }

    /// An element's children.
    pub fn children(&self, id: NodeId) -> &[NodeId] {
        let node = self.node(id);
        &self.children[node.first as usize..][..node.count as usize]
    }

    /// A text.
    pub fn text(&self, id: NodeId) -> &str {
        let node = self.node(id);
        &self.texts[node.first as usize..][..node.count as usize]
    }

    /// Calls `visit` with each attribute of an element.
    pub fn for_attributes(&self, id: NodeId, mut visit: impl FnMut(NameId, &str, Span)) {
        for kept in self.attributes_of(id) {
            let value = &self.texts[kept.first as usize..][..kept.count as usize];
            let span = self.attribute_spans.get(kept.span as usize);
            visit(kept.name, value, span.copied().unwrap_or_default());
        }
    }

    fn attributes_of(&self, id: NodeId) -> &[KeptAttribute] {
        let node = self.node(id);
        let own = &self.attributes[node.attributes_first as usize..];
        &own[..(node.attributes_count & !REPEATED) as usize]
    }

    /// The place of the innermost open element.
    pub fn open_place(&self) -> SchemaNodeId {
        let &(id, _) = self.open.last().expect("an element is open");
        self.node(id).place
    }

    /// Opens an element.
    pub fn start(
        &mut self,
        place: SchemaNodeId,
        name: NameId,
        attributes: &[Attribute<'_>],
        keep_spans: bool,
    ) {
        let attributes_first = number(self.attributes.len());
        for attribute in attributes {
            let first = number(self.texts.len());
            self.texts.push_str(attribute.value);
            self.attributes.push(KeptAttribute {
                name: attribute.name,
                first,
                count: number(attribute.value.len()),
                span: number(self.attribute_spans.len()),
            });
            if keep_spans {
                self.attribute_spans.push(attribute.span);
            }
        }
        let node = BufferedNode {
            place,
            name,
            first: 0,
            count: 0,
            attributes_first,
            attributes_count: number(attributes.len()),
            weight: 1,
        };
        let id = self.push(node, keep_spans.then(Span::default));
        self.open.push((id, self.pending.len()));
    }

    /// Ends the innermost open element: it, and whether it is the outermost.
    pub fn end(&mut self, span: Span) -> (NodeId, bool) {
        let (id, since) = self.open.pop().expect("an element is open");
        let pending = std::mem::take(&mut self.pending);
        self.set_children(id, &pending[since..]);
        self.pending = pending;
        self.pending.truncate(since);
        if let Some(own) = self.spans.get_mut(id as usize) {
            *own = span;
        }
        let is_outermost = self.open.is_empty();
        if !is_outermost {
            self.pending.push(id);
        }
        (id, is_outermost)
    }

    /// A piece of text in the innermost open element.
    pub fn text_inside(&mut self, piece: &str, span: Option<Span>) {
        let &(_, since) = self.open.last().expect("an element is open");
        let before = self.pending[since..].last().copied();
        let (id, is_new) = self.add_text(before, piece, span);
        if is_new {
            self.pending.push(id);
        }
    }

    /// A comment or processing instruction in the innermost open element.
    pub fn break_inside(&mut self, keep_spans: bool) {
        let id = self.add_break(keep_spans);
        self.pending.push(id);
    }

    /// A piece of text: the node `before` it, if that is a text and still grows, or a new one.
    pub fn add_text(
        &mut self,
        before: Option<NodeId>,
        piece: &str,
        span: Option<Span>,
    ) -> (NodeId, bool) {
        let first = number(self.texts.len());
        self.texts.push_str(piece);
        if let Some(id) = before.filter(|&id| self.grows(id, first)) {
            let node = &mut self.nodes[id as usize];
            node.count += number(piece.len());
            node.weight = 1 + node.count / NODE_BYTES;
            if let (Some(own), Some(span)) = (self.spans.get_mut(id as usize), span) {
                own.end = span.end;
                own.from_entity |= span.from_entity;
            }
            return (id, false);
        }
        let node = BufferedNode {
            first,
            count: number(piece.len()),
            weight: 1 + number(piece.len()) / NODE_BYTES,
            ..BufferedNode::leaf(TEXT)
        };
        (self.push(node, span), true)
    }

    fn grows(&self, id: NodeId, end: u32) -> bool {
        let node = self.node(id);
        let is_last = id as usize + 1 == self.nodes.len();
        is_last && node.place == TEXT && node.first + node.count == end
    }

    /// A comment or processing instruction.
    pub fn add_break(&mut self, keep_spans: bool) -> NodeId {
        self.push(BufferedNode::leaf(BREAK), keep_spans.then(Span::default))
    }

    /// An element made of an attribute.
    pub fn add_made(
        &mut self,
        place: SchemaNodeId,
        name: NameId,
        value: &str,
        span: Option<Span>,
    ) -> NodeId {
        let text = (!value.is_empty()).then(|| self.add_text(None, value, span).0);
        let node = BufferedNode {
            name,
            weight: 1,
            ..BufferedNode::leaf(place)
        };
        let id = self.push(node, span);
        self.set_children(id, text.as_slice());
        id
    }

    /// The same element with other children. It takes one place, however many the element takes.
    pub fn with_children(&mut self, id: NodeId, children: &[NodeId]) -> NodeId {
        let span = self.spans.get(id as usize).copied();
        let mut node = *self.node(id);
        node.attributes_count &= !REPEATED;
        let made = self.push(node, span);
        self.set_children(made, children);
        made
    }

    fn set_children(&mut self, id: NodeId, children: &[NodeId]) {
        let weights = children.iter().map(|&child| self.node(child).weight);
        let values = self.attributes_of(id).iter().map(|each| each.count);
        let own = 1 + values.fold(0, u32::saturating_add) / NODE_BYTES;
        let weight = weights.fold(own, u32::saturating_add);
        let first = number(self.children.len());
        self.children.extend_from_slice(children);
        let node = &mut self.nodes[id as usize];
        (node.first, node.count, node.weight) = (first, number(children.len()), weight);
    }

    fn push(&mut self, node: BufferedNode, span: Option<Span>) -> NodeId {
        self.nodes.push(node);
        self.spans.extend(span);
        number(self.nodes.len() - 1)
    }
}

impl BufferedNode {
    fn leaf(place: SchemaNodeId) -> BufferedNode {
        BufferedNode {
            place,
            name: NameId(0),
            first: 0,
            count: 0,
            attributes_first: 0,
            attributes_count: 0,
            weight: 0,
        }
    }
}
