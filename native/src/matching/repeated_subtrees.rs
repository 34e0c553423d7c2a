//! Subtrees that a mapping repeats, taken once.
//!
//! Exchange and Downgrade copy subtrees into several elements. The first copy below a path is run as any
//! other, and what it meant to the elements around it is noted; the next copies below the same path are
//! only told to those elements. In the paper's words the matches that end inside the subtree, or wait for
//! the elements around it, are its partial matches: those that need nothing from outside were *confirmed*
//! by the first copy, and what matched under conditions on the elements around it is *potential*, and is
//! asked of each of them again.
//!
//! That this is all there is to a copy follows from what a run does with an element:
//!
//! * which paths were seen: those of the first copy, marked again;
//! * what attributes of the elements around it decide at those paths: decided again, by the same code;
//! * matches that wait for an element around it, since a condition inside holds: they wait again;
//! * values passed on to the parent, and text that is part of a string-value around it: passed on again;
//! * everything else is decided inside the subtree, told once for all in the document.

use hashbrown::HashMap;

use crate::events::Stop;
use crate::matching::alphabet::NONE;
use crate::matching::automaton::Path;
use crate::matching::segment_run::Run;
use crate::matching::string_values::Value;
use crate::path_index::segment::Segment;

/// Copies that are known at once; past it those known are forgotten.
const KNOWN_MAX: usize = 1_000;

/// What a subtree means to the elements around it.
#[derive(Default)]
struct Copy {
    /// The paths in it.
    paths: Vec<u32>,
    /// What it passes on to its parent, and what that asks of it.
    values: Vec<(Value, u32)>,
    /// Matches that wait: for the element at which place, the node, and what the element stands for.
    waits: Vec<(usize, u32, u32)>,
    /// Its text, where that is part of a string-value around it.
    text: String,
    /// Whether this is all.
    is_whole: bool,
}

/// No subtree is being noted.
const NOWHERE: usize = usize::MAX;

/// The copies of a document.
pub(super) struct Repeats {
    /// By the subtree's number and its parent's path.
    known: HashMap<(u32, u32), Copy, foldhash::fast::RandomState>,
    /// How many elements are around the subtree that is being noted.
    around: usize,
    noted: Copy,
    key: (u32, u32),
    /// The elements counted before it.
    elements_before: u64,
}

impl Default for Repeats {
    fn default() -> Repeats {
        Repeats {
            known: HashMap::default(),
            around: NOWHERE,
            noted: Copy::default(),
            key: (NONE, NONE),
            elements_before: 0,
        }
    }
}

impl Repeats {
    /// Forgets the copies: numbers of subtrees or paths will mean others.
    pub(super) fn clear(&mut self) {
        self.known.clear();
        self.noted.is_whole = false;
    }

    /// Begins a document.
    pub(super) fn begin(&mut self) {
        self.clear();
        self.around = NOWHERE;
    }

    /// Whether the innermost of `open` elements holds the subtree that is being noted.
    #[inline]
    pub(super) fn is_around(&self, open: usize) -> bool {
        self.around == open
    }

    /// Notes what is passed on to the parent.
    pub(super) fn note_values(&mut self, passed: &[(Value, u32)]) {
        self.noted.values.extend_from_slice(passed);
    }

    /// Notes a match that waits for the element at `place`.
    #[inline]
    pub(super) fn note_wait(&mut self, place: usize, node: u32, structural: u32) {
        if self.around != NOWHERE && place < self.around {
            self.noted.waits.push((place, node, structural));
        }
    }

    /// Notes text in a string-value around the subtree.
    #[inline]
    pub(super) fn note_text(&mut self, piece: &str) {
        if self.around != NOWHERE {
            self.noted.text.push_str(piece);
        }
    }

    /// What comes now cannot be noted: the copies are run like others.
    pub(super) fn give_up(&mut self) {
        self.noted.is_whole = false;
    }

    /// Until [`Repeats::resume`] nothing is noted: the elements around the subtree decide.
    pub(super) fn pause(&mut self) -> usize {
        std::mem::replace(&mut self.around, NOWHERE)
    }

    /// Goes on.
    pub(super) fn resume(&mut self, around: usize) {
        self.around = around;
    }
}

impl Run {
    /// Forgets the copies: the numbers of subtrees will be those of others.
    pub fn forget_repeated(&mut self) {
        self.repeats.clear();
    }

    /// Whether a copy of this subtree is known below the innermost open element.
    pub fn knows_repeated(&self, number: u32) -> bool {
        let key = self.repeat_key(number);
        self.repeats.around == NOWHERE && self.repeats.known.contains_key(&key)
    }

    fn repeat_key(&self, number: u32) -> (u32, u32) {
        let parent = self.frames.last().expect("copies are in something");
        (number, parent.path)
    }

    /// Notes what follows as the content of a subtree, unless it is part of one that is being noted.
    pub fn begin_repeated(&mut self, segment: &Segment, number: u32) {
        if self.repeats.around != NOWHERE {
            return;
        }
        self.end_text_node(segment);
        self.repeats.key = self.repeat_key(number);
        self.repeats.elements_before = self.elements_so_far();
        self.repeats.noted = Copy {
            is_whole: true,
            ..Copy::default()
        };
        self.repeats.around = self.frames.len();
    }

    /// The subtree has passed.
    pub fn end_repeated(&mut self, number: u32) {
        let repeats = &self.repeats;
        if repeats.around != self.frames.len() || repeats.key.0 != number {
            return;
        }
        self.repeats.around = NOWHERE;
        let mut copy = std::mem::take(&mut self.repeats.noted);
        if !copy.is_whole {
            return;
        }
        let (_, parent) = self.repeats.key;
        let since = self.repeats.elements_before;
        let mut below = vec![self.automaton.paths[parent as usize].first_child];
        while let Some(mut path) = below.pop() {
            while path != NONE {
                let seen = &self.automaton.paths[path as usize];
                if seen.last_seen > since {
                    copy.paths.push(path);
                    below.push(seen.first_child);
                }
                path = seen.next_sibling;
            }
        }
        if self.repeats.known.len() == KNOWN_MAX {
            self.repeats.known.clear();
        }
        self.repeats.known.insert(self.repeats.key, copy);
    }

    /// Takes a copy of a subtree that is known here.
    pub fn repeat(&mut self, segment: &Segment, number: u32) -> Result<(), Stop> {
        let key = self.repeat_key(number);
        let copy = self.repeats.known.remove(&key).expect("it is known");
        self.end_text_node(segment);
        let since = self.frames.last().expect("still open").attributes_since;
        for &path in &copy.paths {
            let before = self.see_again(path);
            let duties = self.automaton.paths[path as usize].duties;
            if before < since && duties & Path::DECIDES != 0 {
                self.decide_by_attributes(segment, path, before)?;
            }
        }
        for &(place, node, structural) in &copy.waits {
            self.wait_for(node, structural, place)?;
        }
        if !copy.text.is_empty() {
            self.string_values.gatherer.feed(segment, &copy.text);
        }
        for &(value, asked) in &copy.values {
            self.hold(segment, value, asked);
        }
        self.repeats.known.insert(key, copy);
        self.count_known_copy();
        Ok(())
    }
}
