//! The changes of a tree by version, so that it can be rolled back and forward.

use super::text_heap::TextRef;
use super::tree::{DocumentTree, QNameId, Slot};

/// How to undo a change; applying it yields how to redo it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// The subtree exists, or does not exist yet.
    Presence { slot: Slot, is_absent: bool },
    /// The subtree is deleted, or not.
    Deletion { slot: Slot, is_deleted: bool },
    /// The parent, and the previous sibling in its list.
    Placement {
        slot: Slot,
        parent: Slot,
        previous: Slot,
    },
    /// The name of an element.
    Name { slot: Slot, name: QNameId },
    /// The value of a text, comment or instruction.
    Value { slot: Slot, value: TextRef },
    /// The value of an attribute; `None` if there is none.
    Attribute {
        slot: Slot,
        name: QNameId,
        value: Option<TextRef>,
    },
}

/// Changes by version, oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Journal {
    /// How to undo each change.
    pub done: Vec<(u64, Change)>,
    /// How to redo the changes that were rolled back, the last one first.
    pub undone: Vec<(u64, Change)>,
}

impl DocumentTree {
    /// Records how to undo a change that was just made.
    pub(super) fn record(&mut self, undo: Change) {
        debug_assert!(self.journal.undone.is_empty(), "the tree is rolled back");
        self.journal.done.push((self.version, undo));
    }

    /// The version of the changes that follow. Versions never decrease.
    pub fn set_version(&mut self, version: u64) {
        assert!(version >= self.version && self.journal.undone.is_empty());
        self.version = version;
    }

    /// The current version.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Undoes the changes after `version`, until [`DocumentTree::roll_forward`]. The tree must not be changed
    /// in between.
    pub fn roll_back(&mut self, version: u64) {
        while let Some((at, undo)) = self.journal.done.pop_if(|(at, _)| *at > version) {
            let redo = self.swap(undo);
            self.journal.undone.push((at, redo));
        }
    }

    /// Redoes what was rolled back.
    pub fn roll_forward(&mut self) {
        while let Some((at, redo)) = self.journal.undone.pop() {
            let undo = self.swap(redo);
            self.journal.done.push((at, undo));
        }
    }

    /// Drops what was rolled back; nodes inserted by it cease to exist.
    pub fn discard_undone(&mut self) {
        let undone = std::mem::take(&mut self.journal.undone);
        if let Some((oldest, _)) = undone.last() {
            self.version = self.version.min(oldest.saturating_sub(1));
        }
        // The newest first: what was inserted into an inserted node goes before it.
        for (_, redo) in &undone {
            if let Change::Presence { slot, .. } = *redo {
                self.unlink(slot);
                self.free_subtree(slot);
            }
        }
    }

    /// Forgets how to undo the changes up to `version`, and removes the nodes that were deleted by then.
    pub fn forget(&mut self, version: u64) {
        assert!(self.journal.undone.is_empty(), "the tree is rolled back");
        let first = self.journal.done.partition_point(|(at, _)| *at <= version);
        let forgotten: Vec<(u64, Change)> = self.journal.done.drain(..first).collect();
        let mut referenced = vec![false; self.slots()];
        for (_, undo) in &self.journal.done {
            for slot in undo.slots() {
                referenced[slot.index()] = true;
            }
        }
        for (_, undo) in forgotten {
            if let Change::Deletion { slot, .. } = undo {
                self.tombstones.push(slot);
            }
        }
        let tombstones = std::mem::take(&mut self.tombstones);
        for slot in tombstones {
            if !self.is_tombstone(slot) {
                continue;
            }
            if self.subtree(slot).any(|node| referenced[node.index()]) {
                self.tombstones.push(slot);
            } else {
                self.unlink(slot);
                self.free_subtree(slot);
            }
        }
        self.compact_text();
    }

    /// Applies a change and returns its inverse.
    fn swap(&mut self, change: Change) -> Change {
        match change {
            Change::Presence { slot, is_absent } => {
                self.set_absent(slot, is_absent);
                Change::Presence {
                    slot,
                    is_absent: !is_absent,
                }
            }
            Change::Deletion { slot, is_deleted } => {
                self.set_deleted(slot, is_deleted);
                Change::Deletion {
                    slot,
                    is_deleted: !is_deleted,
                }
            }
            Change::Placement {
                slot,
                parent,
                previous,
            } => {
                let inverse = self.placement(slot);
                self.unlink(slot);
                self.link_after(slot, parent, previous);
                inverse
            }
            Change::Name { slot, name } => Change::Name {
                slot,
                name: self.replace_name(slot, name),
            },
            Change::Value { slot, value } => Change::Value {
                slot,
                value: self.replace_value(slot, value),
            },
            Change::Attribute { slot, name, value } => Change::Attribute {
                slot,
                name,
                value: self.replace_attribute(slot, name, value),
            },
        }
    }

    /// Where a node is, as a change that puts it there.
    pub(super) fn placement(&self, slot: Slot) -> Change {
        let node = self.node(slot);
        Change::Placement {
            slot,
            parent: node.parent,
            previous: node.previous,
        }
    }
}

impl Change {
    /// The nodes that it refers to.
    fn slots(self) -> impl Iterator<Item = Slot> {
        let slots = match self {
            Self::Placement {
                slot,
                parent,
                previous,
            } => [slot, parent, previous],
            Self::Presence { slot, .. }
            | Self::Deletion { slot, .. }
            | Self::Name { slot, .. }
            | Self::Value { slot, .. }
            | Self::Attribute { slot, .. } => [slot, Slot::NONE, Slot::NONE],
        };
        slots.into_iter().filter(|slot| *slot != Slot::NONE)
    }

    /// The value that it keeps, if any.
    pub fn value_mut(&mut self) -> Option<&mut TextRef> {
        match self {
            Self::Value { value, .. } => Some(value),
            Self::Attribute { value, .. } => value.as_mut(),
            _ => None,
        }
    }
}
