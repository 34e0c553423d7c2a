//! The difference of two views of a tree, and its application to a cache that has the first.

use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};

use super::insertion::NewNode;
use super::journal::Change;
use super::node_id::NodeId;
use super::patch_codec::{NodeState, PatchEntry, PatchReader, PatchWriter, Position};
use super::restriction::{View, ViewNode};
use super::tree::{DocumentTree, NodeKind, QNameId, QualifiedName, Slot, TreeLimits};
use super::tree_error::{TreeError, TreeResult};

/// What the changes since a version did to the nodes themselves.
#[derive(Default)]
struct Touched {
    placed: HashSet<Slot, RandomState>,
    content: HashSet<Slot, RandomState>,
}

impl DocumentTree {
    /// The patch that turns the view `before` of version `since` into `after`, a view of the current version.
    /// `None` if there is no difference.
    pub fn patch(&self, before: &View, after: &View, since: u64) -> Option<Vec<u8>> {
        let touched = self.touched(since);
        let mut patch = PatchWriter::default();
        for ViewNode { slot, parent, .. } in &before.nodes {
            let leaves = |slot: &Slot| !after.bare.contains_key(slot);
            // The document node is in no view.
            let is_top = *parent == Slot::DOCUMENT || !leaves(parent);
            if leaves(slot) && is_top {
                patch.leave(self.node(*slot).id);
            }
        }
        let mut last_child: HashMap<Slot, Slot, RandomState> = HashMap::default();
        for node in &after.nodes {
            let previous = last_child.insert(node.parent, node.slot);
            let position = Position {
                parent: self.node(node.parent).id,
                previous: previous.map(|slot| self.node(slot).id),
            };
            let Some(&was_bare) = before.bare.get(&node.slot) else {
                let content = self.content(node, after);
                patch.entry(&PatchEntry::Enter(position, content, self.state(node)));
                continue;
            };
            if touched.placed.contains(&node.slot) {
                let id = self.node(node.slot).id;
                patch.entry(&PatchEntry::Move(position, id));
            }
            let is_changed = was_bare != node.is_bare
                || touched.content.contains(&node.slot)
                || before.attributes_of(node.slot) != after.attributes_of(node.slot);
            if is_changed {
                let content = self.content(node, after);
                patch.entry(&PatchEntry::Change(content, self.state(node)));
            }
        }
        (!patch.is_empty()).then(|| patch.finish())
    }

    fn touched(&self, since: u64) -> Touched {
        let first = self.journal.done.partition_point(|(at, _)| *at <= since);
        let mut touched = Touched::default();
        for (_, change) in &self.journal.done[first..] {
            match *change {
                Change::Placement { slot, .. } => touched.placed.insert(slot),
                Change::Name { slot, .. }
                | Change::Value { slot, .. }
                | Change::Attribute { slot, .. } => touched.content.insert(slot),
                Change::Presence { .. } | Change::Deletion { .. } => false,
            };
        }
        touched
    }

    pub(super) fn qualified(&self, name: QNameId) -> QualifiedName {
        let (prefix, id) = &self.qnames[name.0 as usize];
        let (uri, local) = self.names.get(*id);
        QualifiedName {
            prefix: prefix.to_string(),
            uri: uri.to_owned(),
            local: local.to_owned(),
        }
    }

    fn state(&self, of: &ViewNode) -> NodeState {
        NodeState {
            is_bare: of.is_bare,
            is_deleted: self.is_tombstone(of.slot),
        }
    }

    /// What a view has of a node.
    fn content(&self, of: &ViewNode, view: &View) -> NewNode {
        let node = self.node(of.slot);
        let kept = view.attributes_of(of.slot);
        let attributes = node.attributes().iter();
        let attributes =
            attributes.filter(|(name, _)| !of.is_bare || kept.contains(&self.expanded(*name)));
        NewNode {
            id: node.id,
            depth: 0,
            kind: node.kind,
            name: self.qualified(node.name),
            value: self.heap.get(node.value).to_owned(),
            attributes: attributes
                .map(|(name, value)| (self.qualified(*name), self.heap.get(*value).to_owned()))
                .collect(),
            declarations: node
                .declarations()
                .iter()
                .map(|(prefix, uri)| (prefix.to_string(), uri.to_string()))
                .collect(),
        }
    }

    /// The whole tree as a patch from nothing, with the deleted nodes that are not forgotten.
    pub fn snapshot(&self) -> Vec<u8> {
        let patch = self.patch(&View::default(), &self.whole_view(), u64::MAX);
        patch.unwrap_or_else(|| PatchWriter::default().finish())
    }

    /// The tree of a snapshot.
    pub fn from_snapshot(bytes: &[u8], limits: TreeLimits) -> TreeResult<Self> {
        let mut tree = Self::new(limits);
        tree.apply_patch(bytes)?;
        Ok(tree)
    }

    /// A view as a tree of its own.
    pub fn restricted(&self, view: &View) -> TreeResult<Self> {
        let patch = self.patch(&View::default(), view, u64::MAX);
        let bytes = patch.unwrap_or_else(|| PatchWriter::default().finish());
        Self::from_snapshot(&bytes, self.limits)
    }

    /// Applies a patch to a cache. It is not recorded in the journal, which must be empty. The tree is unusable
    /// after an error.
    pub fn apply_patch(&mut self, bytes: &[u8]) -> TreeResult<()> {
        assert!(self.journal.done.is_empty() && self.journal.undone.is_empty());
        // Moved nodes are taken out first: they may be inside a subtree that leaves, or become its parent.
        let mut moved = Vec::new();
        let mut reader = PatchReader::open(bytes)?;
        while let Some(entry) = reader.next()? {
            if let PatchEntry::Move(_, id) = entry {
                moved.push(self.known(id)?);
            }
        }
        let mut reader = PatchReader::open(bytes)?;
        let left = reader.left.iter().map(|id| self.known(*id));
        let left: Vec<Slot> = left.collect::<TreeResult<_>>()?;
        for &slot in moved.iter().chain(&left) {
            self.unlink(slot);
        }
        for &slot in &left {
            self.free_subtree(slot);
        }
        while let Some(entry) = reader.next()? {
            self.apply_entry(&entry)?;
        }
        let is_linked = |slot: &Slot| self.ancestors(*slot).any(|each| each == Slot::DOCUMENT);
        if !moved.iter().all(is_linked) {
            return Err(TreeError::Malformed("the patch moves a node into itself"));
        }
        let roots = self.children(Slot::DOCUMENT);
        if roots
            .filter(|slot| self.node(*slot).kind == NodeKind::Element)
            .count()
            > 1
        {
            return Err(TreeError::Malformed("the patch adds a second root element"));
        }
        self.compact_text();
        Ok(())
    }

    fn apply_entry(&mut self, entry: &PatchEntry) -> TreeResult<()> {
        match entry {
            PatchEntry::Enter(position, node, state) => {
                node.check(self)?;
                self.check_room(1, 0)?;
                let slot = self.add_new(node)?;
                self.node_mut(slot).set_bare(state.is_bare);
                if state.is_deleted {
                    self.set_deleted(slot, true);
                    self.tombstones.push(slot);
                }
                self.put(slot, *position)
            }
            PatchEntry::Move(position, id) => {
                let slot = self.known(*id)?;
                if self.node(slot).parent != Slot::NONE {
                    return Err(TreeError::Malformed("a node of the patch moves twice"));
                }
                self.put(slot, *position)
            }
            PatchEntry::Change(node, state) => self.change(node, state.is_bare),
        }
    }

    fn known(&self, id: NodeId) -> TreeResult<Slot> {
        let found = self.find(id).filter(|slot| *slot != Slot::DOCUMENT);
        found.ok_or(TreeError::Malformed(
            "the patch names a node that the cache does not have",
        ))
    }

    fn put(&mut self, slot: Slot, position: Position) -> TreeResult<()> {
        let malformed = TreeError::Malformed("a place of the patch does not exist");
        let parent = self.find(position.parent).ok_or(malformed.clone())?;
        if !self.node(parent).is_parent() {
            return Err(malformed);
        }
        let previous = match position.previous {
            Some(id) => self.known(id)?,
            None => Slot::NONE,
        };
        if previous != Slot::NONE && self.node(previous).parent != parent || parent == slot {
            return Err(malformed);
        }
        if self.node(slot).kind == NodeKind::Text && parent == Slot::DOCUMENT {
            return Err(TreeError::Malformed("the patch has text outside the root"));
        }
        self.check_depth(parent, 1)?;
        self.link_after(slot, parent, previous);
        Ok(())
    }

    fn change(&mut self, new: &NewNode, is_bare: bool) -> TreeResult<()> {
        new.check(self)?;
        let slot = self.known(new.id)?;
        if self.node(slot).kind != new.kind {
            return Err(TreeError::Malformed("the patch changes the kind of a node"));
        }
        let name = self.qname(&new.name.prefix, &new.name.uri, &new.name.local);
        let value = self.add_text(&new.value)?;
        let element = self.element_data(new)?;
        let node = self.node_mut(slot);
        (node.name, node.value, node.element) = (name, value, element);
        node.set_bare(is_bare);
        Ok(())
    }
}
