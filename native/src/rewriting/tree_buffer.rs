//! Buffers trees until an operator can place them.
//!
//! All nodes are in one table and are immutable once complete, so several parents can share a child: a
//! copy costs nothing until it is replayed. When an element ends, the trees buffered for it are
//! truncated from the end of the tables: everything buffered later belongs to elements inside it.

use super::mapping::SchemaNodeId;
use crate::events::{Attribute, NameId, Span};

/// Index of a buffered node.
pub(super) type NodeId = u32;

/// The schema node of a text node.
pub(super) const TEXT: SchemaNodeId = u32::MAX - 1;

/// The schema node of a text break, which is a comment or processing instruction.
pub(super) const BREAK: SchemaNodeId = u32::MAX - 2;

/// A text node counts as one more node per this many bytes, and so do the attribute values of an
/// element. Otherwise a few nodes could be copied into gigabytes. Equals `COPIED_NODE_BYTES` in Python.
const COPIED_NODE_BYTES: u32 = 64;

/// Flag in the number of an element's attributes: the element has several parents.
const REPEATED: u32 = 1 << 31;

/// A buffered node.
#[derive(Clone, Copy, Debug)]
pub(super) struct BufferedNode {
    /// The schema node of an element; or [`TEXT`] or [`BREAK`].
    pub schema_node: SchemaNodeId,
    /// The name of an element.
    pub name: NameId,
    /// Index of the first child, or of the first byte of the text.
    first: u32,
    /// Number of children, or of bytes.
    count: u32,
    attributes_first: u32,
    attributes_count: u32,
    /// The number of elements and text nodes in a copy of it; long ones count as several.
    pub weight: u32,
}

impl BufferedNode {
    fn leaf(schema_node: SchemaNodeId) -> BufferedNode {
        BufferedNode {
            schema_node,
            name: NameId(0),
            first: 0,
            count: 0,
            attributes_first: 0,
            attributes_count: 0,
            weight: 0,
        }
    }

    #[inline]
    pub fn has_attributes(&self) -> bool {
        self.attributes_count & !REPEATED != 0
    }

    /// Whether it has several parents.
    #[inline]
    pub fn is_repeated(&self) -> bool {
        self.attributes_count & REPEATED != 0
    }

    #[inline]
    pub fn is_element(&self) -> bool {
        self.schema_node != TEXT && self.schema_node != BREAK
    }
}

#[derive(Clone, Copy, Debug)]
struct BufferedAttribute {
    name: NameId,
    /// Index of the value's first byte, and its length.
    first: u32,
    count: u32,
    /// Index of its span, if spans are stored.
    span: u32,
}

/// A state of the buffer to which [`TreeBuffer::truncate`] returns.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BufferMark {
    nodes: usize,
    children: usize,
    texts: usize,
    attributes: usize,
    attribute_spans: usize,
}

/// Buffered trees.
#[derive(Debug, Default)]
pub(super) struct TreeBuffer {
    nodes: Vec<BufferedNode>,
    /// Parallel to `nodes` if spans are stored, otherwise empty.
    spans: Vec<Span>,
    children: Vec<NodeId>,
    /// Text and attribute values.
    texts: String,
    attributes: Vec<BufferedAttribute>,
    attribute_spans: Vec<Span>,
    /// The elements being buffered, each with the index of its first child in `open_children`.
    open: Vec<(NodeId, usize)>,
    open_children: Vec<NodeId>,
    /// An index past all nodes with several parents.
    repeated_end: usize,
}

fn number(size: usize) -> u32 {
    u32::try_from(size).expect("the size of the buffer is limited")
}

impl TreeBuffer {
    pub fn clear(&mut self) {
        self.truncate(BufferMark::default());
        self.open.clear();
        self.open_children.clear();
    }

    #[inline]
    pub fn mark(&self) -> BufferMark {
        BufferMark {
            nodes: self.nodes.len(),
            children: self.children.len(),
            texts: self.texts.len(),
            attributes: self.attributes.len(),
            attribute_spans: self.attribute_spans.len(),
        }
    }

    /// Drops the nodes added after `mark`; whether some of them may have several parents.
    pub fn truncate(&mut self, mark: BufferMark) -> bool {
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

    /// The size of the contents in bytes.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.nodes.len() * size_of::<BufferedNode>()
            + self.spans.len() * size_of::<Span>()
            + (self.children.len() + self.open_children.len()) * size_of::<NodeId>()
            + self.texts.len()
            + self.attributes.len() * size_of::<BufferedAttribute>()
            + self.attribute_spans.len() * size_of::<Span>()
            + self.open.len() * size_of::<(NodeId, usize)>()
    }

    #[inline]
    pub fn node(&self, id: NodeId) -> &BufferedNode {
        &self.nodes[id as usize]
    }

    /// The span of a node, if spans are stored.
    #[inline]
    pub fn span(&self, id: NodeId) -> Span {
        self.spans.get(id as usize).copied().unwrap_or_default()
    }

    /// The children of an element.
    #[inline]
    pub fn children(&self, id: NodeId) -> &[NodeId] {
        let node = self.node(id);
        &self.children[node.first as usize..][..node.count as usize]
    }

    /// The text of a text node.
    #[inline]
    pub fn text(&self, id: NodeId) -> &str {
        let node = self.node(id);
        &self.texts[node.first as usize..][..node.count as usize]
    }

    /// Calls `visit` with each attribute of an element.
    pub fn visit_attributes(&self, id: NodeId, mut visit: impl FnMut(NameId, &str, Span)) {
        for attribute in self.attributes_of(id) {
            let value = &self.texts[attribute.first as usize..][..attribute.count as usize];
            let span = self.attribute_spans.get(attribute.span as usize);
            visit(attribute.name, value, span.copied().unwrap_or_default());
        }
    }

    #[inline]
    fn attributes_of(&self, id: NodeId) -> &[BufferedAttribute] {
        let node = self.node(id);
        let own = &self.attributes[node.attributes_first as usize..];
        &own[..(node.attributes_count & !REPEATED) as usize]
    }

    /// Records that a node has several parents.
    pub fn set_repeated(&mut self, id: NodeId) {
        if self.node(id).is_element() {
            self.nodes[id as usize].attributes_count |= REPEATED;
            self.repeated_end = self.repeated_end.max(id as usize + 1);
        }
    }

    /// The schema node of the innermost element being buffered.
    pub fn open_schema_node(&self) -> SchemaNodeId {
        let &(id, _) = self.open.last().expect("an element is being buffered");
        self.node(id).schema_node
    }

    /// Starts to buffer an element.
    pub fn start_element(
        &mut self,
        schema_node: SchemaNodeId,
        name: NameId,
        attributes: &[Attribute<'_>],
        with_spans: bool,
    ) {
        let attributes_first = number(self.attributes.len());
        for attribute in attributes {
            let first = number(self.texts.len());
            self.texts.push_str(attribute.value);
            self.attributes.push(BufferedAttribute {
                name: attribute.name,
                first,
                count: number(attribute.value.len()),
                span: number(self.attribute_spans.len()),
            });
            if with_spans {
                self.attribute_spans.push(attribute.span);
            }
        }
        let node = BufferedNode {
            name,
            attributes_first,
            attributes_count: number(attributes.len()),
            weight: 1,
            ..BufferedNode::leaf(schema_node)
        };
        let id = self.push(node, with_spans.then(Span::default));
        self.open.push((id, self.open_children.len()));
    }

    /// Ends the innermost element being buffered; returns it and whether it was the outermost.
    pub fn end_element(&mut self, span: Span) -> (NodeId, bool) {
        let (id, first_child) = self.open.pop().expect("an element is being buffered");
        let open_children = std::mem::take(&mut self.open_children);
        self.set_children(id, &open_children[first_child..]);
        self.open_children = open_children;
        self.open_children.truncate(first_child);
        if let Some(own) = self.spans.get_mut(id as usize) {
            *own = span;
        }
        let is_outermost = self.open.is_empty();
        if !is_outermost {
            self.open_children.push(id);
        }
        (id, is_outermost)
    }

    /// Adds a chunk of text to the innermost element being buffered.
    pub fn push_text(&mut self, chunk: &str, span: Option<Span>) {
        let &(_, first_child) = self.open.last().expect("an element is being buffered");
        let before = self.open_children[first_child..].last().copied();
        let (id, is_new) = self.add_text(before, chunk, span);
        if is_new {
            self.open_children.push(id);
        }
    }

    /// Adds a text break to the innermost element being buffered.
    pub fn push_break(&mut self, with_spans: bool) {
        let id = self.add_break(with_spans);
        self.open_children.push(id);
    }

    /// Appends a chunk of text to the node `before` it, if that is an unfinished text node; otherwise
    /// adds a text node. Returns the text node and whether it is new.
    pub fn add_text(
        &mut self,
        before: Option<NodeId>,
        chunk: &str,
        span: Option<Span>,
    ) -> (NodeId, bool) {
        let first = number(self.texts.len());
        self.texts.push_str(chunk);
        if let Some(id) = before.filter(|&id| self.is_unfinished_text(id, first)) {
            let node = &mut self.nodes[id as usize];
            node.count += number(chunk.len());
            node.weight = 1 + node.count / COPIED_NODE_BYTES;
            if let (Some(own), Some(span)) = (self.spans.get_mut(id as usize), span) {
                own.end = span.end;
                own.from_entity |= span.from_entity;
            }
            return (id, false);
        }
        let node = BufferedNode {
            first,
            count: number(chunk.len()),
            weight: 1 + number(chunk.len()) / COPIED_NODE_BYTES,
            ..BufferedNode::leaf(TEXT)
        };
        (self.push(node, span), true)
    }

    /// Whether a node is a text node to which text at offset `end` can be appended.
    fn is_unfinished_text(&self, id: NodeId, end: u32) -> bool {
        let node = self.node(id);
        let is_last = id as usize + 1 == self.nodes.len();
        is_last && node.schema_node == TEXT && node.first + node.count == end
    }

    /// Adds a text break.
    pub fn add_break(&mut self, with_spans: bool) -> NodeId {
        self.push(BufferedNode::leaf(BREAK), with_spans.then(Span::default))
    }

    /// Adds an element made from an attribute.
    pub fn add_attribute_element(
        &mut self,
        schema_node: SchemaNodeId,
        name: NameId,
        value: &str,
        span: Option<Span>,
    ) -> NodeId {
        let text = (!value.is_empty()).then(|| self.add_text(None, value, span).0);
        let node = BufferedNode {
            name,
            weight: 1,
            ..BufferedNode::leaf(schema_node)
        };
        let id = self.push(node, span);
        self.set_children(id, text.as_slice());
        id
    }

    /// Adds a copy of an element with other children. The copy has one parent, even if the element has
    /// several.
    pub fn with_children(&mut self, id: NodeId, children: &[NodeId]) -> NodeId {
        let span = self.spans.get(id as usize).copied();
        let mut node = *self.node(id);
        node.attributes_count &= !REPEATED;
        let copy = self.push(node, span);
        self.set_children(copy, children);
        copy
    }

    fn set_children(&mut self, id: NodeId, children: &[NodeId]) {
        let weights = children.iter().map(|&child| self.node(child).weight);
        let values = self.attributes_of(id).iter().map(|each| each.count);
        let own = 1 + values.fold(0, u32::saturating_add) / COPIED_NODE_BYTES;
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
