//! The atoms that are tested for open nodes, and the bindings that use their values.
//!
//! An atom depends only on the node, so it is tested once for all bindings of a node. Each binding has a
//! *slot* for every atom of its step. It refers to the open atom of the node, or has the value that the
//! start tag decided.

use super::open_nodes::BindingId;
use super::query_steps::AtomId;

/// Index of an open atom in [`OpenAtoms`].
pub(super) type OpenAtomId = u32;

/// Index of a slot in [`OpenAtoms`].
type SlotId = u32;

/// No binding, open atom or slot.
pub(super) const NONE: u32 = u32::MAX;

/// An atom that is tested for an open node.
pub(super) struct OpenAtom {
    pub atom: AtomId,
    /// Index of the node's frame.
    pub depth: u32,
    /// The same atom of the next enclosing node.
    pub outer: OpenAtomId,
    pub value: AtomValue,
    /// Index of the watcher of the node's own value, if the atom tests it.
    pub watcher: usize,
    /// Index of its accumulator, if it has one.
    pub accumulator: usize,
    /// The first slot that refers to it.
    users: SlotId,
}

/// What is known about an open atom.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum AtomValue {
    Unknown,
    Known(bool),
    /// The value for the first node in document order so far, with its document-order number. An
    /// earlier node may still become certain.
    Provisional(u64, bool),
}

impl AtomValue {
    #[inline]
    pub fn known(self) -> Option<bool> {
        match self {
            Self::Known(value) => Some(value),
            Self::Unknown | Self::Provisional(..) => None,
        }
    }
}

/// Where a binding has the value of an atom of its predicates.
struct AtomSlot {
    source: SlotSource,
    binding: BindingId,
    /// The next slot that refers to the same open atom.
    next_user: SlotId,
}

#[derive(Clone, Copy)]
enum SlotSource {
    /// Nothing needs the value yet.
    Unset,
    /// The start tag decided it.
    Known(bool),
    Open(OpenAtomId),
}

/// The value of an atom that the start tag of the node with this document-order number decided.
#[derive(Clone, Copy, Default)]
struct StartTagValue {
    order: u64,
    value: bool,
}

/// A mark for [`OpenAtoms::roll_back`].
#[derive(Clone, Copy)]
pub(super) struct AtomsMark {
    slots: usize,
    atoms: usize,
}

/// Atoms of open nodes and slots of their bindings. Both are stacks in the order of the open nodes.
pub(super) struct OpenAtoms {
    slots: Vec<AtomSlot>,
    atoms: Vec<OpenAtom>,
    /// For each atom, the innermost open one.
    innermost: Vec<OpenAtomId>,
    /// For each atom, the last value that a start tag decided.
    start_tag_values: Vec<StartTagValue>,
}

impl OpenAtoms {
    /// No open atoms; `atoms` is the number of atoms of all queries.
    pub fn new(atoms: usize) -> Self {
        Self {
            slots: Vec::new(),
            atoms: Vec::new(),
            innermost: vec![NONE; atoms],
            start_tag_values: vec![StartTagValue::default(); atoms],
        }
    }

    #[inline]
    pub fn mark(&self) -> AtomsMark {
        AtomsMark {
            slots: self.slots.len(),
            atoms: self.atoms.len(),
        }
    }

    /// Removes the open atoms and slots added since `mark`.
    pub fn roll_back(&mut self, mark: AtomsMark) {
        self.slots.truncate(mark.slots);
        for open in self.atoms.drain(mark.atoms..).rev() {
            self.innermost[open.atom as usize] = open.outer;
        }
    }

    /// The ids of the open atoms added since `mark`.
    #[inline]
    pub fn since(&self, mark: AtomsMark) -> std::ops::Range<OpenAtomId> {
        number(mark.atoms)..number(self.atoms.len())
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &OpenAtom> {
        self.atoms.iter()
    }

    #[inline]
    pub fn get(&self, open: OpenAtomId) -> &OpenAtom {
        &self.atoms[open as usize]
    }

    #[inline]
    pub fn set_value(&mut self, open: OpenAtomId, value: AtomValue) {
        self.atoms[open as usize].value = value;
    }

    /// The innermost open one of an atom.
    #[inline]
    pub fn innermost(&self, atom: AtomId) -> OpenAtomId {
        self.innermost[atom as usize]
    }

    /// The open one of an atom in frame `depth`, which is that of the innermost node.
    #[inline]
    pub fn at_depth(&self, atom: AtomId, depth: u32) -> Option<OpenAtomId> {
        let open = self.innermost(atom);
        (open != NONE && self.get(open).depth == depth).then_some(open)
    }

    /// Tests an atom for the innermost node, whose frame is `depth`. Its watcher and accumulator, if it
    /// has them, get these indexes.
    pub fn push(
        &mut self,
        atom: AtomId,
        depth: u32,
        watcher: usize,
        accumulator: usize,
    ) -> OpenAtomId {
        let id = number(self.atoms.len());
        self.atoms.push(OpenAtom {
            atom,
            depth,
            outer: self.innermost(atom),
            value: AtomValue::Unknown,
            watcher,
            accumulator,
            users: NONE,
        });
        self.innermost[atom as usize] = id;
        id
    }

    /// Removes the last open atom.
    pub fn pop(&mut self) -> OpenAtom {
        let open = self.atoms.pop().expect("an atom was pushed");
        self.innermost[open.atom as usize] = open.outer;
        open
    }

    /// The value of an atom for the node with the document-order number `order`, if its start tag
    /// decided it.
    #[inline]
    pub fn start_tag_value(&self, atom: AtomId, order: u64) -> Option<bool> {
        let known = &self.start_tag_values[atom as usize];
        (known.order == order).then_some(known.value)
    }

    pub fn set_start_tag_value(&mut self, atom: AtomId, order: u64, value: bool) {
        self.start_tag_values[atom as usize] = StartTagValue { order, value };
    }

    /// Adds the slots of a binding; returns the index of the first.
    pub fn push_slots(&mut self, binding: BindingId, count: usize) -> usize {
        let first = self.slots.len();
        self.slots.resize_with(first + count, || AtomSlot {
            source: SlotSource::Unset,
            binding,
            next_user: NONE,
        });
        first
    }

    /// Removes the slots from index `first` on, which refer to no open atoms.
    pub fn truncate_slots(&mut self, first: usize) {
        self.slots.truncate(first);
    }

    /// Whether a slot has no value and no open atom yet.
    #[inline]
    pub fn is_unset(&self, slot: usize) -> bool {
        matches!(self.slots[slot].source, SlotSource::Unset)
    }

    /// Sets the value in a slot, which the start tag decided.
    #[inline]
    pub fn set_slot(&mut self, slot: usize, value: bool) {
        self.slots[slot].source = SlotSource::Known(value);
    }

    /// Makes a slot refer to an open atom.
    #[inline]
    pub fn link_slot(&mut self, slot: usize, open: OpenAtomId) {
        let users = &mut self.atoms[open as usize].users;
        self.slots[slot].source = SlotSource::Open(open);
        self.slots[slot].next_user = std::mem::replace(users, number(slot));
    }

    /// The value in a slot, if it is known.
    #[inline]
    pub fn slot_value(&self, slot: usize) -> Option<bool> {
        match self.slots[slot].source {
            SlotSource::Unset => None,
            SlotSource::Known(value) => Some(value),
            SlotSource::Open(open) => self.get(open).value.known(),
        }
    }

    /// The first user of an open atom: its slot and binding.
    #[inline]
    pub fn first_user(&self, open: OpenAtomId) -> Option<(SlotId, BindingId)> {
        self.user(self.get(open).users)
    }

    /// The user of an open atom after the one with this slot.
    #[inline]
    pub fn next_user(&self, slot: SlotId) -> Option<(SlotId, BindingId)> {
        self.user(self.slots[slot as usize].next_user)
    }

    #[inline]
    fn user(&self, slot: SlotId) -> Option<(SlotId, BindingId)> {
        (slot != NONE).then(|| (slot, self.slots[slot as usize].binding))
    }

    /// Removes the first user of an open atom.
    #[inline]
    pub fn remove_first_user(&mut self, open: OpenAtomId) {
        let users = &mut self.atoms[open as usize].users;
        *users = self.slots[*users as usize].next_user;
    }
}

/// An index as the number that refers to it.
#[inline]
pub(super) fn number(index: usize) -> u32 {
    u32::try_from(index).expect("depth and queries are limited")
}
