//! The arena of nodes and the primitive operations on it.

use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashTable};
use std::hash::BuildHasher;

use crate::events::{NameId, Names};
use crate::reader::{is_char, is_name, is_space};

use super::journal::{Change, Journal};
use super::node_id::NodeId;
use super::tag_limits::TagLimits;
use super::text_heap::{TextHeap, TextRef};
use super::tree_error::{TreeError, TreeResult};

/// The position of a node in the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Slot(pub u32);

impl Slot {
    pub const NONE: Slot = Slot(u32::MAX);
    /// The document node.
    pub const DOCUMENT: Slot = Slot(0);

    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// `None` for [`Slot::NONE`].
    pub fn some(self) -> Option<Slot> {
        (self != Self::NONE).then_some(self)
    }
}

/// The kind of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// The document node, which every tree has.
    Document,
    /// An element.
    Element,
    /// Text. Adjacent text nodes are one text node for queries.
    Text,
    /// A comment.
    Comment,
    /// A processing instruction.
    Instruction,
}

/// Number of a qualified name: prefix and expanded name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct QNameId(pub u32);

/// A name with its prefix and its namespace, both empty for none. The target of an instruction is a local name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct QualifiedName {
    /// Prefix.
    pub prefix: String,
    /// Namespace URI.
    pub uri: String,
    /// Local name.
    pub local: String,
}

/// Attributes and namespace declarations.
#[derive(Clone, Debug, Default)]
pub(super) struct ElementData {
    pub attributes: Vec<(QNameId, TextRef)>,
    /// Prefix and URI, as the document declares them.
    pub declarations: Vec<(Box<str>, Box<str>)>,
}

/// Deleted siblings that may separate an inserted node from a visible one; they are recorded with its place.
const ANCHORS_MAX: usize = 64;

const DELETED: u8 = 1;
const ABSENT: u8 = 2;
const BARE: u8 = 4;
const FREE: u8 = 8;

/// A node. Parent, siblings and children are slots, [`Slot::NONE`] if there is none.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub id: NodeId,
    pub parent: Slot,
    pub previous: Slot,
    pub next: Slot,
    pub first_child: Slot,
    pub last_child: Slot,
    /// The name of an element, the target of an instruction.
    pub name: QNameId,
    pub value: TextRef,
    pub element: Option<Box<ElementData>>,
    pub kind: NodeKind,
    flags: u8,
}

impl Node {
    pub fn new(id: NodeId, kind: NodeKind) -> Self {
        Self {
            id,
            parent: Slot::NONE,
            previous: Slot::NONE,
            next: Slot::NONE,
            first_child: Slot::NONE,
            last_child: Slot::NONE,
            name: QNameId(0),
            value: TextRef::default(),
            element: None,
            kind,
            flags: 0,
        }
    }

    /// Whether it is neither deleted nor absent. It can still be inside such a node.
    pub fn is_visible(&self) -> bool {
        self.flags & (DELETED | ABSENT) == 0
    }

    /// Whether the cache has only its name.
    pub fn is_bare(&self) -> bool {
        self.flags & BARE != 0
    }

    pub fn set_bare(&mut self, is_bare: bool) {
        self.flags = self.flags & !BARE | if is_bare { BARE } else { 0 };
    }

    pub fn attributes(&self) -> &[(QNameId, TextRef)] {
        self.element.as_ref().map_or(&[], |data| &data.attributes)
    }

    pub fn declarations(&self) -> &[(Box<str>, Box<str>)] {
        self.element.as_ref().map_or(&[], |data| &data.declarations)
    }

    /// Whether it can have children.
    pub fn is_parent(&self) -> bool {
        matches!(self.kind, NodeKind::Document | NodeKind::Element)
    }
}

/// Limits of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeLimits {
    /// Nodes, deleted ones that are not forgotten included.
    pub nodes_max: usize,
    /// Bytes of all values, replaced ones that are not forgotten included.
    pub text_bytes_max: usize,
    /// Elements within one another.
    pub depth_max: usize,
    /// What the tag of an element may have; those that patches add are not checked.
    pub tag: TagLimits,
}

impl Default for TreeLimits {
    fn default() -> Self {
        Self {
            nodes_max: 50_000_000,
            text_bytes_max: 2 << 30,
            depth_max: 1_000,
            tag: TagLimits::default(),
        }
    }
}

/// Where a node goes: among the children of `parent`, beside the first anchor that is still a child of it, or
/// else at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The parent.
    pub parent: NodeId,
    /// Siblings, and whether the node goes after (or before) each; the first that fits counts. The parent
    /// itself stands for the start.
    pub anchors: Vec<(NodeId, bool)>,
}

/// A document whose nodes have identities and can be changed.
#[derive(Debug)]
pub struct DocumentTree {
    nodes: Vec<Node>,
    /// Slots by identity.
    ids: HashTable<u32>,
    hashing: RandomState,
    free: Vec<Slot>,
    pub(super) names: Names,
    /// Prefix and expanded name by [`QNameId`].
    pub(super) qnames: Vec<(Box<str>, NameId)>,
    qname_ids: HashMap<(Box<str>, NameId), QNameId, RandomState>,
    pub(super) heap: TextHeap,
    pub(super) journal: Journal,
    pub(super) version: u64,
    /// Deleted nodes that the journal still refers to, although their deletion is forgotten.
    pub(super) tombstones: Vec<Slot>,
    pub(super) limits: TreeLimits,
}

impl DocumentTree {
    /// A tree with nothing but the document node.
    pub fn new(limits: TreeLimits) -> Self {
        let mut tree = Self {
            nodes: Vec::new(),
            ids: HashTable::new(),
            hashing: RandomState::default(),
            free: Vec::new(),
            names: Names::default(),
            qnames: Vec::new(),
            qname_ids: HashMap::default(),
            heap: TextHeap::default(),
            journal: Journal::default(),
            version: 0,
            tombstones: Vec::new(),
            limits,
        };
        tree.qname("", "", "");
        tree.add(Node::new(NodeId::DOCUMENT, NodeKind::Document))
            .expect("an empty tree has room");
        tree
    }

    pub(super) fn node(&self, slot: Slot) -> &Node {
        &self.nodes[slot.index()]
    }

    pub(super) fn node_mut(&mut self, slot: Slot) -> &mut Node {
        &mut self.nodes[slot.index()]
    }

    /// The size of the arena.
    pub(super) fn slots(&self) -> usize {
        self.nodes.len()
    }

    /// The number of nodes, deleted ones included.
    pub fn len(&self) -> usize {
        self.nodes.len() - self.free.len()
    }

    /// Whether there is no root element.
    pub fn is_empty(&self) -> bool {
        self.root().is_none()
    }

    /// The slot of a node, deleted or not.
    pub(super) fn find(&self, id: NodeId) -> Option<Slot> {
        let hash = self.hashing.hash_one(id);
        let found = self
            .ids
            .find(hash, |&slot| self.nodes[slot as usize].id == id);
        found.map(|&slot| Slot(slot))
    }

    /// The slot of a node that exists, deleted or not.
    pub(super) fn existing(&self, id: NodeId) -> TreeResult<Slot> {
        let found = self.find(id);
        let exists = |slot: &Slot| self.node(*slot).flags & ABSENT == 0;
        found.filter(exists).ok_or(TreeError::NoNode(id))
    }

    /// The slot of a node that neither is deleted nor is inside a deleted one.
    pub(super) fn live(&self, id: NodeId) -> TreeResult<Slot> {
        let slot = self.existing(id)?;
        let is_live = self
            .ancestors(slot)
            .all(|each| self.node(each).is_visible());
        if is_live {
            Ok(slot)
        } else {
            Err(TreeError::NoNode(id))
        }
    }

    /// The node and its ancestors, upwards.
    pub(super) fn ancestors(&self, slot: Slot) -> impl Iterator<Item = Slot> + '_ {
        std::iter::successors(slot.some(), |&at| self.node(at).parent.some())
    }

    /// The visible root element.
    pub(super) fn root(&self) -> Option<Slot> {
        self.children(Slot::DOCUMENT).find(|&child| {
            let node = self.node(child);
            node.kind == NodeKind::Element && node.is_visible()
        })
    }

    /// The children of a node, invisible ones included.
    pub(super) fn children(&self, slot: Slot) -> impl Iterator<Item = Slot> + '_ {
        let first = self.node(slot).first_child.some();
        std::iter::successors(first, |&at| self.node(at).next.some())
    }

    /// The nodes of a subtree in document order, invisible ones included.
    pub(super) fn subtree(&self, top: Slot) -> impl Iterator<Item = Slot> + '_ {
        std::iter::successors(Some(top), move |&at| self.following(at, top, |_| true))
    }

    /// The visible nodes below and at a visible node, in document order.
    pub(super) fn visible_subtree(&self, top: Slot) -> impl Iterator<Item = Slot> + '_ {
        std::iter::successors(Some(top), move |&at| {
            self.following(at, top, |node| node.is_visible())
        })
    }

    /// The nodes below and at a node that exist, deleted or not, in document order.
    pub(super) fn present_subtree(&self, top: Slot) -> impl Iterator<Item = Slot> + '_ {
        std::iter::successors(Some(top), move |&at| {
            self.following(at, top, |node| node.flags & ABSENT == 0)
        })
    }

    /// The next node in document order within the subtree of `top`, without the subtrees of those that do not
    /// `pass`.
    fn following(&self, at: Slot, top: Slot, pass: impl Fn(&Node) -> bool) -> Option<Slot> {
        let mut next = self.node(at).first_child;
        let mut up = at;
        loop {
            while let Some(slot) = next.some() {
                if pass(self.node(slot)) {
                    return Some(slot);
                }
                next = self.node(slot).next;
            }
            if up == top {
                return None;
            }
            next = self.node(up).next;
            up = self.node(up).parent;
        }
    }

    /// Adds a node that has no place yet.
    pub(super) fn add(&mut self, node: Node) -> TreeResult<Slot> {
        if self.find(node.id).is_some() {
            return Err(TreeError::IdentityTaken(node.id));
        }
        if self.len() >= self.limits.nodes_max {
            return Err(TreeError::Limit("the tree has too many nodes"));
        }
        let hash = self.hashing.hash_one(node.id);
        let slot = match self.free.pop() {
            Some(slot) => {
                self.nodes[slot.index()] = node;
                slot
            }
            None => {
                let full = TreeError::Limit("the tree has too many nodes");
                let slot = Slot(u32::try_from(self.nodes.len()).map_err(|_| full)?);
                self.nodes.push(node);
                slot
            }
        };
        let (nodes, hashing) = (&self.nodes, &self.hashing);
        self.ids.insert_unique(hash, slot.0, |&slot| {
            hashing.hash_one(nodes[slot as usize].id)
        });
        Ok(slot)
    }

    /// Removes the nodes of a subtree that is not linked.
    pub(super) fn free_subtree(&mut self, top: Slot) {
        let slots: Vec<Slot> = self.subtree(top).collect();
        for slot in slots {
            let id = self.node(slot).id;
            let hash = self.hashing.hash_one(id);
            if let Ok(entry) = self.ids.find_entry(hash, |&each| each == slot.0) {
                entry.remove();
            }
            let node = self.node_mut(slot);
            *node = Node::new(NodeId::DOCUMENT, NodeKind::Text);
            node.flags = FREE | ABSENT;
            self.free.push(slot);
        }
    }

    /// Whether a node is deleted and not freed yet.
    pub(super) fn is_tombstone(&self, slot: Slot) -> bool {
        let flags = self.node(slot).flags;
        flags & DELETED != 0 && flags & FREE == 0
    }

    pub(super) fn set_deleted(&mut self, slot: Slot, is_deleted: bool) {
        let flags = &mut self.node_mut(slot).flags;
        *flags = *flags & !DELETED | if is_deleted { DELETED } else { 0 };
    }

    pub(super) fn set_absent(&mut self, slot: Slot, is_absent: bool) {
        let flags = &mut self.node_mut(slot).flags;
        *flags = *flags & !ABSENT | if is_absent { ABSENT } else { 0 };
    }

    /// Takes a node out of its parent's list.
    pub(super) fn unlink(&mut self, slot: Slot) {
        let Node {
            parent,
            previous,
            next,
            ..
        } = *self.node(slot);
        match previous.some() {
            Some(before) => self.node_mut(before).next = next,
            None if parent != Slot::NONE => self.node_mut(parent).first_child = next,
            None => {}
        }
        match next.some() {
            Some(after) => self.node_mut(after).previous = previous,
            None if parent != Slot::NONE => self.node_mut(parent).last_child = previous,
            None => {}
        }
        let node = self.node_mut(slot);
        (node.parent, node.previous, node.next) = (Slot::NONE, Slot::NONE, Slot::NONE);
    }

    /// Puts an unlinked node after a child of `parent`, or first.
    pub(super) fn link_after(&mut self, slot: Slot, parent: Slot, previous: Slot) {
        let next = match previous.some() {
            Some(before) => std::mem::replace(&mut self.node_mut(before).next, slot),
            None => std::mem::replace(&mut self.node_mut(parent).first_child, slot),
        };
        match next.some() {
            Some(after) => self.node_mut(after).previous = slot,
            None => self.node_mut(parent).last_child = slot,
        }
        let node = self.node_mut(slot);
        (node.parent, node.previous, node.next) = (parent, previous, next);
    }

    /// The parent and previous sibling that a place stands for.
    pub(super) fn resolve(&self, place: &Place) -> TreeResult<(Slot, Slot)> {
        let parent = self.live(place.parent)?;
        if parent == Slot::DOCUMENT {
            return Err(TreeError::Root);
        }
        if self.node(parent).kind != NodeKind::Element {
            return Err(TreeError::NoNode(place.parent));
        }
        for (anchor, is_after) in &place.anchors {
            let Ok(slot) = self.existing(*anchor) else {
                continue;
            };
            let node = self.node(slot);
            if slot == parent {
                return Ok((parent, Slot::NONE));
            }
            if node.parent == parent {
                let previous = if *is_after { slot } else { node.previous };
                return Ok((parent, self.near_visible(previous)));
            }
        }
        Ok((parent, self.near_visible(self.node(parent).last_child)))
    }

    /// The sibling itself, unless too many deleted ones separate it from a visible one; then that one.
    fn near_visible(&self, sibling: Slot) -> Slot {
        let mut at = sibling;
        for _ in 0..ANCHORS_MAX {
            match at.some() {
                Some(slot) if !self.node(slot).is_visible() => at = self.node(slot).previous,
                _ => return sibling,
            }
        }
        while let Some(slot) = at.some() {
            if self.node(slot).is_visible() {
                break;
            }
            at = self.node(slot).previous;
        }
        at
    }

    /// The place of a node, in a form that stands for the same place when deleted siblings are forgotten.
    pub fn recorded_place(&self, id: NodeId) -> TreeResult<Place> {
        let slot = self.existing(id)?;
        let parent = self.node(self.node(slot).parent).id;
        let mut anchors = Vec::new();
        let mut at = self.node(slot).previous;
        loop {
            let Some(before) = at.some() else {
                anchors.push((parent, true));
                break;
            };
            let node = self.node(before);
            anchors.push((node.id, true));
            if node.is_visible() {
                break;
            }
            at = node.previous;
        }
        Ok(Place { parent, anchors })
    }

    /// The number of elements at and above a node.
    pub(super) fn depth(&self, slot: Slot) -> usize {
        self.ancestors(slot)
            .filter(|&each| self.node(each).kind == NodeKind::Element)
            .count()
    }

    /// The greatest number of elements within one another in a subtree.
    pub(super) fn height(&self, top: Slot) -> usize {
        let mut open: Vec<Slot> = Vec::new();
        let mut height = 0;
        for slot in self.subtree(top) {
            while open
                .last()
                .is_some_and(|last| *last != self.node(slot).parent)
            {
                open.pop();
            }
            if self.node(slot).kind == NodeKind::Element {
                open.push(slot);
                height = height.max(open.len());
            }
        }
        height
    }

    pub(super) fn check_depth(&self, parent: Slot, height: usize) -> TreeResult<()> {
        if self.depth(parent) + height > self.limits.depth_max {
            return Err(TreeError::Limit("elements are nested too deeply"));
        }
        Ok(())
    }

    pub(super) fn add_text(&mut self, value: &str) -> TreeResult<TextRef> {
        if self.heap.len() + value.len() > self.limits.text_bytes_max {
            return Err(TreeError::Limit("the tree has too much text"));
        }
        self.heap.add(value)
    }

    pub(super) fn qname(&mut self, prefix: &str, uri: &str, local: &str) -> QNameId {
        let name = self.names.intern(uri, local);
        let key = (Box::from(prefix), name);
        if let Some(&id) = self.qname_ids.get(&key) {
            return id;
        }
        let id = QNameId(u32::try_from(self.qnames.len()).expect("fewer than 2^32 names"));
        self.qnames.push(key.clone());
        self.qname_ids.insert(key, id);
        id
    }

    pub(super) fn expanded(&self, name: QNameId) -> NameId {
        self.qnames[name.0 as usize].1
    }

    /// Deletes a node; whether it was there. The effect of deleting twice is that of deleting once.
    pub fn delete(&mut self, id: NodeId) -> TreeResult<()> {
        let slot = self.existing(id)?;
        if Some(slot) == self.root() || slot == Slot::DOCUMENT {
            return Err(TreeError::Root);
        }
        if self.is_tombstone(slot) {
            return Ok(());
        }
        self.set_deleted(slot, true);
        self.record(Change::Deletion {
            slot,
            is_deleted: false,
        });
        Ok(())
    }

    /// Undoes the deletion of a node.
    pub fn restore(&mut self, id: NodeId) -> TreeResult<()> {
        let slot = self.existing(id)?;
        if self.is_tombstone(slot) {
            self.set_deleted(slot, false);
            self.record(Change::Deletion {
                slot,
                is_deleted: true,
            });
        }
        Ok(())
    }

    /// Moves a node with its subtree.
    pub fn move_to(&mut self, id: NodeId, place: &Place) -> TreeResult<()> {
        let slot = self.live(id)?;
        if slot == Slot::DOCUMENT || Some(slot) == self.root() {
            return Err(TreeError::Root);
        }
        let (parent, previous) = self.resolve(place)?;
        if self.ancestors(parent).any(|each| each == slot) {
            return Err(TreeError::Cycle(id));
        }
        self.check_depth(parent, self.height(slot))?;
        let undo = self.placement(slot);
        // A node beside itself keeps its place.
        let previous = if previous == slot {
            self.node(slot).previous
        } else {
            previous
        };
        self.unlink(slot);
        self.link_after(slot, parent, previous);
        self.record(undo);
        Ok(())
    }

    /// Sets the value of a text, comment or instruction.
    pub fn set_value(&mut self, id: NodeId, value: &str) -> TreeResult<()> {
        let slot = self.live(id)?;
        match self.node(slot).kind {
            NodeKind::Document | NodeKind::Element => return Err(TreeError::NoNode(id)),
            NodeKind::Text | NodeKind::Comment | NodeKind::Instruction => {}
        }
        self.check_content(self.node(slot).kind, value)?;
        let value = self.add_text(value)?;
        let before = self.replace_value(slot, value);
        self.record(Change::Value {
            slot,
            value: before,
        });
        Ok(())
    }

    pub(super) fn check_content(&self, kind: NodeKind, value: &str) -> TreeResult<()> {
        if !value.chars().all(is_char) {
            return Err(TreeError::Content(
                "a value has a character that XML does not allow",
            ));
        }
        match kind {
            NodeKind::Comment if value.contains("--") || value.ends_with('-') => {
                Err(TreeError::Content("a comment must not contain \"--\""))
            }
            NodeKind::Instruction if value.contains("?>") => {
                Err(TreeError::Content("an instruction must not contain \"?>\""))
            }
            // A reader takes it for the white space after the target.
            NodeKind::Instruction if value.bytes().next().is_some_and(is_space) => Err(
                TreeError::Content("the value of an instruction must not begin with white space"),
            ),
            _ => Ok(()),
        }
    }

    pub(super) fn replace_value(&mut self, slot: Slot, value: TextRef) -> TextRef {
        std::mem::replace(&mut self.node_mut(slot).value, value)
    }

    /// Renames an element.
    pub fn rename(&mut self, id: NodeId, name: &QualifiedName) -> TreeResult<()> {
        let slot = self.live(id)?;
        if self.node(slot).kind != NodeKind::Element {
            return Err(TreeError::NoNode(id));
        }
        name.check()?;
        self.check_prefix(slot, name, None)?;
        self.check_changed_tag(slot, Some(name), None)?;
        let name = self.qname(&name.prefix, &name.uri, &name.local);
        let before = self.replace_name(slot, name);
        self.record(Change::Name { slot, name: before });
        Ok(())
    }

    /// Checks that the prefix of a new name does not stand for another namespace in an attribute of the element,
    /// or in its name.
    fn check_prefix(
        &self,
        slot: Slot,
        new: &QualifiedName,
        element: Option<QNameId>,
    ) -> TreeResult<()> {
        let attributes = self.node(slot).attributes().iter().map(|(name, _)| *name);
        for name in attributes.chain(element) {
            let (prefix, id) = &self.qnames[name.0 as usize];
            let is_same = !prefix.is_empty() && **prefix == *new.prefix;
            if is_same && self.names.get(*id).0 != new.uri {
                return Err(TreeError::Content(
                    "a prefix stands for another namespace in the same element",
                ));
            }
        }
        Ok(())
    }

    pub(super) fn replace_name(&mut self, slot: Slot, name: QNameId) -> QNameId {
        std::mem::replace(&mut self.node_mut(slot).name, name)
    }

    /// Sets an attribute of an element, or removes it. The attribute keeps its prefix if it has one.
    pub fn set_attribute(
        &mut self,
        id: NodeId,
        name: &QualifiedName,
        value: Option<&str>,
    ) -> TreeResult<()> {
        let slot = self.live(id)?;
        if self.node(slot).kind != NodeKind::Element {
            return Err(TreeError::NoNode(id));
        }
        name.check_attribute()?;
        self.check_prefix(slot, name, Some(self.node(slot).name))?;
        let value = match value {
            Some(text) => {
                self.check_content(NodeKind::Text, text)?;
                self.check_changed_tag(slot, None, Some((name, text)))?;
                Some(self.add_text(text)?)
            }
            None => None,
        };
        let expanded = self.names.intern(&name.uri, &name.local);
        let known = self.attribute(slot, expanded).map(|(name, _)| name);
        let name = known.unwrap_or_else(|| self.qname(&name.prefix, &name.uri, &name.local));
        let before = self.replace_attribute(slot, name, value);
        self.record(Change::Attribute {
            slot,
            name,
            value: before,
        });
        Ok(())
    }

    /// The attribute with this expanded name.
    pub(super) fn attribute(&self, slot: Slot, name: NameId) -> Option<(QNameId, TextRef)> {
        let attributes = self.node(slot).attributes().iter();
        attributes
            .copied()
            .find(|(qname, _)| self.expanded(*qname) == name)
    }

    pub(super) fn replace_attribute(
        &mut self,
        slot: Slot,
        name: QNameId,
        value: Option<TextRef>,
    ) -> Option<TextRef> {
        let data = self.node_mut(slot).element.get_or_insert_default();
        let at = data.attributes.iter().position(|(each, _)| *each == name);
        match (at, value) {
            (Some(at), Some(value)) => Some(std::mem::replace(&mut data.attributes[at].1, value)),
            (Some(at), None) => Some(data.attributes.remove(at).1),
            (None, Some(value)) => {
                data.attributes.push((name, value));
                None
            }
            (None, None) => None,
        }
    }

    /// Rewrites the heap without replaced values, if they are more than half of it.
    pub(super) fn compact_text(&mut self) {
        let nodes = self.nodes.iter().map(|node| {
            let attributes = node.attributes().iter().map(|(_, value)| value.len());
            node.value.len() + attributes.sum::<usize>()
        });
        let live: usize = nodes.sum();
        if self.heap.len() < 2 * live + (1 << 16) {
            return;
        }
        let old = self.heap.begin_compaction();
        let heap = &mut self.heap;
        let mut renew = |value: &mut TextRef| {
            *value = heap.add(old.get(*value)).expect("no larger than before");
        };
        for node in &mut self.nodes {
            renew(&mut node.value);
            if let Some(data) = &mut node.element {
                data.attributes
                    .iter_mut()
                    .for_each(|(_, value)| renew(value));
            }
        }
        for (_, change) in &mut self.journal.done {
            if let Some(value) = change.value_mut() {
                renew(value);
            }
        }
    }
}

impl QualifiedName {
    /// Checks that it can be the name of an element or attribute.
    pub fn check(&self) -> TreeResult<()> {
        let is_ncname = |name: &str| is_name(name) && !name.contains(':');
        let has_prefix = !self.prefix.is_empty();
        if !is_ncname(&self.local) || has_prefix && !is_ncname(&self.prefix) {
            return Err(TreeError::Content("a name is not an XML name"));
        }
        let is_xml = self.uri == XML_URI;
        if has_prefix && self.uri.is_empty()
            || self.prefix == "xmlns"
            || self.uri == XMLNS_URI
            || (self.prefix == "xml") != is_xml
            || !self.uri.chars().all(is_char)
        {
            return Err(TreeError::Content("a prefix does not fit its namespace"));
        }
        Ok(())
    }

    /// Checks that it can be the name of an attribute.
    pub(super) fn check_attribute(&self) -> TreeResult<()> {
        self.check()?;
        if self.prefix.is_empty() != self.uri.is_empty() {
            return Err(TreeError::Content(
                "an attribute in a namespace needs a prefix",
            ));
        }
        // Written, it would be a namespace declaration.
        if self.prefix.is_empty() && self.local == "xmlns" {
            return Err(TreeError::Content("`xmlns` is no name of an attribute"));
        }
        Ok(())
    }
}

pub(super) const XML_URI: &str = "http://www.w3.org/XML/1998/namespace";
pub(super) const XMLNS_URI: &str = "http://www.w3.org/2000/xmlns/";
