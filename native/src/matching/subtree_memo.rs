//! Memo of subtrees that a mapping repeats.
//!
//! Exchange and Downgrade copy subtrees into several elements. The first copy below a path is run
//! normally, and its effects on the elements around it are recorded; further copies below the same
//! path replay the effects. In the terms of the paper, the matches that end inside the subtree or
//! wait for the elements around it are its partial matches: those that need nothing from outside
//! are *confirmed* by the first copy; those under conditions on the elements around it are
//! *potential*, and those conditions are evaluated again for each copy.
//!
//! The recorded effects are complete, because a run does nothing else with an element:
//!
//! * it marks paths as seen: those of the first copy are marked again;
//! * attributes of the elements around it decide conditions at those paths: decided again, by the
//!   same code;
//! * matches wait for an element around it, because a condition inside holds: they wait again;
//! * values propagate to the parent, and text is part of string-values around it: replayed;
//! * everything else is decided inside the subtree, once for the document.

use hashbrown::HashMap;

use crate::matching::automaton::Automaton;
use crate::matching::operand_value::OperandValue;
use crate::matching::NONE;

/// Maximum number of subtrees; past it the memo is flushed.
const SUBTREES_MAX: usize = 1_000;

/// The effects of a subtree on the elements around it.
#[derive(Default)]
pub(super) struct SubtreeEffects {
    /// The label paths inside it.
    pub paths: Vec<u32>,
    /// The values that it propagates to its parent, with the uses of their operands.
    pub values: Vec<(OperandValue, u32)>,
    /// Matches that wait: the depth of the element they wait for, the node, and the structural
    /// node.
    pub pending: Vec<(usize, u32, u32)>,
    /// Its text, if that is part of a string-value around it.
    pub text: String,
    /// Whether all effects could be recorded.
    is_complete: bool,
}

/// Not recording.
const NOT_RECORDING: usize = usize::MAX;

/// The number of a subtree and the path of its parent.
type SubtreeKey = (u32, u32);

/// The subtrees of a document that have been run.
pub(super) struct SubtreeMemo {
    known: HashMap<SubtreeKey, SubtreeEffects, foldhash::fast::RandomState>,
    /// Number of elements around the subtree that is being recorded.
    outer_depth: usize,
    recorded: SubtreeEffects,
    key: SubtreeKey,
    /// Number of elements before it.
    elements_before: u64,
    /// Number of copies that were replayed in this document.
    replayed: u64,
}

impl Default for SubtreeMemo {
    fn default() -> SubtreeMemo {
        SubtreeMemo {
            known: HashMap::default(),
            outer_depth: NOT_RECORDING,
            recorded: SubtreeEffects::default(),
            key: (NONE, NONE),
            elements_before: 0,
            replayed: 0,
        }
    }
}

impl SubtreeMemo {
    /// Removes all subtrees: the numbers of subtrees or paths are about to change.
    pub fn clear(&mut self) {
        self.known.clear();
        self.recorded.is_complete = false;
    }

    /// Begins a document.
    pub fn begin(&mut self) {
        self.clear();
        self.outer_depth = NOT_RECORDING;
        self.replayed = 0;
    }

    /// Number of copies that were replayed in this document.
    pub fn replayed(&self) -> u64 {
        self.replayed
    }

    /// Whether a subtree can be replayed now.
    pub fn contains(&self, key: SubtreeKey) -> bool {
        !self.is_recording() && self.known.contains_key(&key)
    }

    /// Whether a subtree is being recorded.
    pub fn is_recording(&self) -> bool {
        self.outer_depth != NOT_RECORDING
    }

    /// Whether the innermost of `depth` open elements is the parent of the subtree that is being
    /// recorded.
    #[inline]
    pub fn is_recording_children_of(&self, depth: usize) -> bool {
        self.outer_depth == depth
    }

    /// Begins to record a subtree inside `depth` open elements, after `elements` elements.
    pub fn begin_recording(&mut self, key: SubtreeKey, depth: usize, elements: u64) {
        self.key = key;
        self.elements_before = elements;
        self.recorded = SubtreeEffects {
            is_complete: true,
            ..SubtreeEffects::default()
        };
        self.outer_depth = depth;
    }

    /// Ends the recording of subtree `number` inside `depth` open elements, if that is being
    /// recorded.
    pub fn end_recording(&mut self, automaton: &Automaton, number: u32, depth: usize) {
        if self.outer_depth != depth || self.key.0 != number {
            return;
        }
        self.outer_depth = NOT_RECORDING;
        let mut effects = std::mem::take(&mut self.recorded);
        if !effects.is_complete {
            return;
        }
        let (_, parent) = self.key;
        let mut open = vec![automaton.paths[parent as usize].first_child];
        while let Some(mut path) = open.pop() {
            while path != NONE {
                let seen = &automaton.paths[path as usize];
                if seen.last_seen > self.elements_before {
                    effects.paths.push(path);
                    open.push(seen.first_child);
                }
                path = seen.next_sibling;
            }
        }
        if self.known.len() == SUBTREES_MAX {
            self.known.clear();
        }
        self.known.insert(self.key, effects);
    }

    /// Records values that propagate to the parent.
    pub fn record_values(&mut self, propagated: &[(OperandValue, u32)]) {
        self.recorded.values.extend_from_slice(propagated);
    }

    /// Records a match that waits for the element at `depth`, if that is around the subtree.
    #[inline]
    pub fn record_pending(&mut self, depth: usize, node: u32, structural: u32) {
        if self.outer_depth != NOT_RECORDING && depth < self.outer_depth {
            self.recorded.pending.push((depth, node, structural));
        }
    }

    /// Records text in a string-value around the subtree.
    #[inline]
    pub fn record_text(&mut self, piece: &str) {
        if self.outer_depth != NOT_RECORDING {
            self.recorded.text.push_str(piece);
        }
    }

    /// Gives up recording: an effect cannot be replayed, so the copies run normally.
    pub fn abandon(&mut self) {
        self.recorded.is_complete = false;
    }

    /// Stops recording until [`SubtreeMemo::resume`]; returns its argument.
    pub fn pause(&mut self) -> usize {
        std::mem::replace(&mut self.outer_depth, NOT_RECORDING)
    }

    /// Continues recording.
    pub fn resume(&mut self, outer_depth: usize) {
        self.outer_depth = outer_depth;
    }

    /// Takes the effects of a known subtree out, to be replayed.
    pub fn take(&mut self, key: SubtreeKey) -> SubtreeEffects {
        self.known.remove(&key).expect("a known subtree")
    }

    /// Puts the effects of a replayed subtree back.
    pub fn put_back(&mut self, key: SubtreeKey, effects: SubtreeEffects) {
        self.known.insert(key, effects);
        self.replayed += 1;
    }
}
