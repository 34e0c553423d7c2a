//! The automaton over a segment's structural trie, determinised as documents come.
//!
//! A *state* is the set of trie nodes that an element's path reaches, with the nodes above it that a
//! descendant step can still leave. A *path* is a distinct sequence of letters from the root; paths
//! form a tree that summarises every document seen, each pointing at its state; the links between
//! them show only the document at hand. Different paths share
//! a state where the queries cannot tell them apart, so a new path is usually cheap.
//!
//! Everything here is a cache: it can be dropped at any time and grows back.

use std::hash::{BuildHasherDefault, Hasher};

use hashbrown::HashMap;

use crate::matching::alphabet::{Letters, NONE};
use crate::matching::condition_table::PathSites;
use crate::matching::match_bitmap::{Mask, Told};
use crate::matching::required_values::{Holding, Holdings, NOTHING};
use crate::matching::transition_table::{StepTables, Steps};
use crate::path_index::segment::{Comparison, Segment, SlotRecord, StepEdge, ROOT, VERIFY};
use crate::subscription_store::flat_layout::fetch;

type Table<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// Where a letter leads from a state, by number and letter.
type Moves = HashMap<u64, u32, BuildHasherDefault<Spread>>;

fn key(number: u32, letter: u32) -> u64 {
    u64::from(number) << 32 | u64::from(letter)
}

/// Hashes one number by a multiplication: these keys are dense and ours, and an element waits for them.
#[derive(Default)]
struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _bytes: &[u8]) {
        unreachable!("keys are u64");
    }

    fn write_u64(&mut self, number: u64) {
        let product = u128::from(number) * 0x9e37_79b9_7f4a_7c15;
        self.0 = (product >> 64) as u64 ^ product as u64;
    }
}

/// A run of numbers in the automaton's arena.
#[derive(Clone, Copy, Debug, Default)]
pub struct List {
    start: u32,
    len: u32,
}

impl List {
    /// How many numbers.
    #[inline]
    pub fn len(self) -> usize {
        self.len as usize
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// The places of the numbers in the arena.
    #[inline]
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..(self.start + self.len) as usize
    }
}

/// A set of trie nodes, laid out by what an element in that state must do.
#[derive(Clone, Copy, Debug, Default)]
pub struct State {
    /// Nodes that a child step can leave.
    pub open: List,
    /// Nodes, here or above, that a descendant step can leave.
    pub looping: List,
    /// Nodes with conditions: matches if those hold.
    pub conditional: List,
    /// In `masks`: classes that match as soon as an element gets here.
    pub accepts: List,
    /// Classes that must then be verified.
    pub candidates: List,
    /// Slots that conditions look at, ascending.
    pub slots: List,
}

/// A distinct path of letters. An element waits for it, so it lies in one line of the processor's cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct Path {
    /// The element that was last here, in the runtime's count of elements; 0 for never.
    pub last_seen: u64,
    /// Its state.
    pub state: u32,
    /// Its last letter.
    pub letter: u32,
    /// What an element here holds, by its number in [`Automaton::holdings`].
    pub holding: u32,
    /// What an element here must do: bits of [`Path::ACCEPTS`] and its kin.
    pub duties: u32,
    /// Its state's `accepts`.
    pub accepts: List,
    /// The conditions of matches that end here.
    pub sites: PathSites,
    /// The path one letter shorter.
    pub parent: u32,
    /// Of the paths one letter longer that this document has, the last to come, or [`NONE`].
    pub first_child: u32,
    /// The next such path with the same parent, or [`NONE`].
    pub next_sibling: u32,
    /// Where each letter leads that was ever read here.
    steps: Steps,
}

impl Path {
    /// Some classes match, or must be verified, as soon as an element gets here.
    pub const ACCEPTS: u32 = 1;
    /// Some attribute may have to be held.
    pub const ATTRIBUTES: u32 = 2;
    /// The string-value has to be gathered.
    pub const GATHERS: u32 = 4;
    /// Some classes match here under conditions.
    pub const DECIDES: u32 = 8;
    /// The text nodes have to be held.
    pub const TEXTS: u32 = 16;
    /// Some of the classes that match as soon as an element gets here must be verified.
    pub const SUSPECTS: u32 = 32;
    /// Something is asked of the string-value, be it that there is one.
    pub const VALUES: u32 = 64;
    /// Joint conditions have to be looked at.
    pub const JOINS: u32 = 128;
    /// Something may have to be passed on to the parent.
    pub const PASSES: u32 = 256;
    /// There is something to do at the end of every element here.
    pub const ENDS: u32 = Path::GATHERS | Path::VALUES | Path::JOINS;

    /// What an element in `state` that has `holding` must do.
    fn duties_of(state: &State, holding: &Holding) -> u32 {
        let when = |holds: bool, duty: u32| if holds { duty } else { 0 };
        let [whole, parts, starts] = holding.value_asked;
        let compared = whole & (Comparison::TEXTUAL | Comparison::NUMERIC) | parts | starts;
        when(
            !state.accepts.is_empty() || !state.candidates.is_empty(),
            Path::ACCEPTS,
        ) | when(!state.candidates.is_empty(), Path::SUSPECTS)
            | when(holding.attributes, Path::ATTRIBUTES)
            | when(compared != 0, Path::GATHERS)
            | when(!state.conditional.is_empty(), Path::DECIDES)
            | when(holding.text_asked != [0; SlotRecord::VIEWS], Path::TEXTS)
            | when(holding.value_asked != [0; SlotRecord::VIEWS], Path::VALUES)
            | when(holding.joins, Path::JOINS)
            | when(holding.reaches_up, Path::PASSES)
    }
}

/// The path of the document node.
pub const ROOT_PATH: u32 = 0;

/// The cache of states and paths, and what the document at hand matches by it.
pub struct Automaton {
    /// The classes that match.
    pub told: Told,
    /// Names as letters.
    pub letters: Letters,
    /// By number.
    pub states: Vec<State>,
    /// By number.
    pub paths: Vec<Path>,
    /// What elements hold.
    pub holdings: Holdings,
    /// The numbers in all [`List`]s but those of masks.
    pub arena: Vec<u32>,
    /// The classes that match at a state.
    pub masks: Vec<Mask>,
    steps: StepTables,
    transitions: Moves,
    by_digest: Table<u128, u32>,
    reached: Vec<u32>,
    looping: Table<u32, ()>,
    newly_looping: Vec<u32>,
}

impl Automaton {
    /// An automaton that knows only the document node.
    pub fn new(segment: &Segment) -> Automaton {
        let mut automaton = Automaton {
            told: Told::new(segment.class_count()),
            letters: Letters::new(segment),
            states: Vec::new(),
            paths: Vec::new(),
            holdings: Holdings::new(segment),
            arena: Vec::new(),
            masks: Vec::new(),
            steps: StepTables::default(),
            transitions: Moves::default(),
            by_digest: Table::default(),
            reached: Vec::new(),
            looping: Table::default(),
            newly_looping: Vec::new(),
        };
        automaton.clear(segment);
        automaton
    }

    /// Forgets everything but the document node, the alphabet, and what was told.
    pub fn clear(&mut self, segment: &Segment) {
        self.states.clear();
        self.paths.clear();
        self.holdings.clear();
        self.arena.clear();
        self.masks.clear();
        self.steps.clear();
        self.transitions.clear();
        self.by_digest.clear();
        self.reached.clear();
        self.reached.push(ROOT);
        let state = self.intern(segment, List::default());
        self.paths.push(Path {
            last_seen: 0,
            state,
            letter: NONE,
            holding: NOTHING,
            duties: 0,
            accepts: List::default(),
            sites: PathSites::UNKNOWN,
            parent: ROOT_PATH,
            first_child: NONE,
            next_sibling: NONE,
            steps: Steps::default(),
        });
    }

    /// The memory in use, about.
    pub fn bytes(&self) -> usize {
        self.arena.len() * 4
            + self.masks.len() * size_of::<Mask>()
            + self.told.bytes()
            + self.states.len() * (size_of::<State>() + 40)
            + self.paths.len() * size_of::<Path>()
            + self.steps.bytes()
            + self.transitions.len() * 20
            + self.holdings.bytes()
    }

    /// The numbers of a list.
    #[inline]
    pub fn list(&self, list: List) -> &[u32] {
        &self.arena[list.range()]
    }

    /// The path one letter longer, if it is known.
    #[inline]
    pub fn known_child(&self, path: u32, letter: u32) -> Option<u32> {
        self.steps.find(self.paths[path as usize].steps, letter)
    }

    /// The path one letter longer.
    #[inline]
    pub fn child(&mut self, segment: &Segment, path: u32, letter: u32) -> u32 {
        match self.known_child(path, letter) {
            Some(child) => child,
            None => self.grow(segment, path, letter),
        }
    }

    /// Marks a path as seen by element number `element` of the document that began with element
    /// number `began`; returns the number of the element that was there before.
    #[inline]
    pub fn see(&mut self, path: u32, element: u64, began: u64) -> u64 {
        let seen = &mut self.paths[path as usize];
        let before = std::mem::replace(&mut seen.last_seen, element);
        if before < began {
            self.link(path);
        }
        before
    }

    /// Adds a path that this document did not have before to those below its parent.
    #[inline]
    pub fn link(&mut self, path: u32) {
        let seen = &mut self.paths[path as usize];
        seen.first_child = NONE;
        let parent = seen.parent;
        let sibling = std::mem::replace(&mut self.paths[parent as usize].first_child, path);
        self.paths[path as usize].next_sibling = sibling;
    }

    /// Fetches the classes that match at a path from memory: they will be told soon.
    #[inline]
    pub fn fetch_accepts(&self, path: u32) {
        let accepts = self.paths[path as usize].accepts;
        fetch(&self.masks, accepts.start as usize);
    }

    /// Tells the classes that match at a path.
    #[inline]
    pub fn tell_accepts(&mut self, path: u32) {
        for &mask in &self.masks[self.paths[path as usize].accepts.range()] {
            self.told.tell(mask);
        }
    }

    #[cold]
    fn grow(&mut self, segment: &Segment, parent: u32, letter: u32) -> u32 {
        let from = self.paths[parent as usize].state;
        let state = match self.transitions.get(&key(from, letter)) {
            Some(&state) => state,
            None => {
                let state = self.step(segment, from, letter);
                self.transitions.insert(key(from, letter), state);
                state
            }
        };
        let slots = self.states[state as usize].slots;
        let holding = self.holdings.below(
            segment,
            self.paths[parent as usize].holding,
            (letter, &self.letters.get(letter).tests),
            (state, &self.arena[slots.range()]),
        );
        let child = self.paths.len() as u32;
        self.paths.push(Path {
            last_seen: 0,
            state,
            letter,
            holding,
            duties: Path::duties_of(&self.states[state as usize], self.holdings.get(holding)),
            accepts: self.states[state as usize].accepts,
            sites: PathSites::UNKNOWN,
            parent,
            first_child: NONE,
            next_sibling: NONE,
            steps: Steps::default(),
        });
        let steps = &mut self.paths[parent as usize].steps;
        self.steps.insert(steps, letter, child);
        child
    }

    /// The state that `letter` leads to.
    fn step(&mut self, segment: &Segment, from: u32, letter: u32) -> u32 {
        let from = self.states[from as usize];
        let tests = &self.letters.get(letter).tests;
        self.reached.clear();
        for at in from.open.range() {
            follow(
                segment.children_of(self.arena[at]),
                tests,
                &mut self.reached,
            );
        }
        for at in from.looping.range() {
            follow(
                segment.descendants_of(self.arena[at]),
                tests,
                &mut self.reached,
            );
        }
        self.intern(segment, from.looping)
    }

    /// The state of the nodes in `reached`, below an element whose looping nodes are `looping`.
    fn intern(&mut self, segment: &Segment, looping: List) -> u32 {
        self.looping.clear();
        self.newly_looping.clear();
        let mut digest = 0u128;
        for at in looping.range() {
            let node = self.arena[at];
            self.looping.insert(node, ());
            digest = digest.wrapping_add(mix(u64::from(node) << 1 | 1));
        }
        for at in 0..self.reached.len() {
            let node = self.reached[at];
            digest = digest.wrapping_add(mix(u64::from(node) << 1));
            if !segment.descendants_of(node).is_empty() && self.looping.insert(node, ()).is_none() {
                self.newly_looping.push(node);
                digest = digest.wrapping_add(mix(u64::from(node) << 1 | 1));
            }
        }
        // The sum does not depend on order, so nothing needs sorting; 128 bits do not collide.
        if let Some(&state) = self.by_digest.get(&digest) {
            return state;
        }
        let state = self.lay_out(segment, looping);
        self.states.push(state);
        let number = self.states.len() as u32 - 1;
        self.by_digest.insert(digest, number);
        number
    }

    fn lay_out(&mut self, segment: &Segment, looping: List) -> State {
        let reached = std::mem::take(&mut self.reached);
        let has_children = |&&node: &&u32| !segment.children_of(node).is_empty();
        let has_conditions = |&&node: &&u32| !segment.conditions_of(node).is_empty();
        let accepts = || {
            reached
                .iter()
                .flat_map(|&node| segment.accepts_of(node))
                .copied()
        };
        let first_mask = self.masks.len();
        self.told.masks(
            accepts().filter(|class| class & VERIFY == 0),
            &mut self.masks,
        );
        let mut state = State {
            open: self.push(reached.iter().filter(has_children).copied()),
            conditional: self.push(reached.iter().filter(has_conditions).copied()),
            accepts: List {
                start: first_mask as u32,
                len: (self.masks.len() - first_mask) as u32,
            },
            candidates: self.push(
                accepts()
                    .filter(|class| class & VERIFY != 0)
                    .map(|class| class & !VERIFY),
            ),
            ..State::default()
        };
        let start = self.arena.len();
        self.arena.extend_from_within(looping.range());
        self.arena.extend_from_slice(&self.newly_looping);
        state.looping = List {
            start: start as u32,
            len: (self.arena.len() - start) as u32,
        };
        let mut slots: Vec<u32> = reached
            .iter()
            .flat_map(|&node| segment.wants_of(node))
            .copied()
            .collect();
        slots.sort_unstable();
        slots.dedup();
        state.slots = self.push(slots.into_iter());
        self.reached = reached;
        state
    }

    /// Adds numbers to the arena.
    pub fn push(&mut self, numbers: impl Iterator<Item = u32>) -> List {
        let start = self.arena.len();
        self.arena.extend(numbers);
        List {
            start: start as u32,
            len: (self.arena.len() - start) as u32,
        }
    }
}

/// Adds the nodes that `tests` lead to.
#[inline]
fn follow(edges: &[StepEdge], tests: &[u32], reached: &mut Vec<u32>) {
    if edges.len() <= 8 {
        reached.extend(
            edges
                .iter()
                .filter(|edge| tests.contains(&edge.test))
                .map(|edge| edge.node),
        );
    } else {
        for test in tests {
            if let Ok(at) = edges.binary_search_by_key(test, |edge| edge.test) {
                reached.push(edges[at].node);
            }
        }
    }
}

/// Spreads a number over 128 bits.
#[inline]
fn mix(number: u64) -> u128 {
    let spread = |seed: u64| {
        let mut bits = number
            .wrapping_add(seed)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15);
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    };
    u128::from(spread(0x243f_6a88_85a3_08d3)) << 64 | u128::from(spread(0x1319_8a2e_0370_7344))
}
