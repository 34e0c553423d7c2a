//! The automaton over a segment's structural trie: a lazy DFA, determinized as documents arrive.
//!
//! A *state* is the set of trie nodes that an element's label path reaches, with the nodes above it
//! that a descendant step can still leave. A *label path* is a distinct sequence of symbols from
//! the root. Label paths form a tree that summarizes all documents seen; each refers to its state.
//! The links between them (`first_child`, `next_sibling`) cover the current document only. Paths
//! that the queries do not distinguish share a state, so a new path is usually cheap.
//!
//! Everything here is a cache, which can be evicted at any time.

use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use hashbrown::HashMap;

use crate::matching::alphabet::Alphabet;
use crate::matching::bit_set::BitSet;
use crate::matching::class_restriction::ClassRestriction;
use crate::matching::condition_table::PathConditions;
use crate::matching::digest::digest_of_number;
use crate::matching::match_bitmap::{Mask, MatchBitmap};
use crate::matching::required_values::{RequiredValues, RequiredValuesTable, NO_VALUES};
use crate::matching::transition_table::{TransitionArena, TransitionTable};
use crate::matching::work_meter::{Attribution, WorkMeter};
use crate::matching::NONE;
use crate::path_index::segment::{Comparison, OperandRecord, Segment, StepEdge, ROOT, VERIFY};
use crate::subscription_store::flat_layout::prefetch;

/// Steps for each trie node of a new state.
const STEPS_PER_NODE: usize = 16;

type HashTable<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// Transitions between states, by [`transition_key`].
type StateTransitions = HashMap<u64, u32, BuildHasherDefault<MultiplyHasher>>;

fn transition_key(state: u32, symbol: u32) -> u64 {
    u64::from(state) << 32 | u64::from(symbol)
}

/// Hashes a number by one multiplication: the keys are dense and trusted, and an element waits for
/// them.
#[derive(Default)]
struct MultiplyHasher(u64);

impl Hasher for MultiplyHasher {
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

/// A range of the automaton's arena.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ArenaList {
    start: u32,
    len: u32,
}

impl ArenaList {
    /// Whether it has no items.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// The items that were appended since `start`.
    fn since(start: usize, arena: &[u32]) -> ArenaList {
        ArenaList {
            start: start as u32,
            len: (arena.len() - start) as u32,
        }
    }

    /// Its positions in the arena.
    #[inline]
    fn range(self) -> std::ops::Range<usize> {
        self.start as usize..(self.start + self.len) as usize
    }
}

/// A set of trie nodes, grouped by what an element in the state must do.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct State {
    /// Nodes that a child step can leave.
    child_sources: ArenaList,
    /// Nodes, here or above, that a descendant step can leave, ascending.
    descendant_sources: ArenaList,
    /// Nodes with conditions.
    pub conditional: ArenaList,
    /// In `masks`: classes that match as soon as an element reaches the state.
    accepts: ArenaList,
    /// Classes that must then be verified.
    pub candidates: ArenaList,
    /// Operands that conditions use, ascending.
    operands: ArenaList,
    /// Steps to create the state.
    build_steps: u32,
    /// The digest of the descendant sources.
    sources_digest: u128,
}

/// A distinct label path. An element waits for it, so it fits one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct LabelPath {
    /// The number of the last element at this path; 0 for none.
    pub last_seen: u64,
    /// Its state.
    pub state: u32,
    /// Its last symbol.
    pub symbol: u32,
    /// The values that an element here must record, by number in [`Automaton::required_values`].
    pub required: u32,
    /// What an element here must do: bits of [`LabelPath::ACCEPTS`] and the other constants.
    pub actions: u32,
    /// The `accepts` of its state.
    accepts: ArenaList,
    /// The conditions of the matches that end here.
    pub conditions: PathConditions,
    /// The path without the last symbol.
    pub parent: u32,
    /// The last of its child paths that the current document reached, or [`NONE`].
    pub first_child: u32,
    /// The next such path with the same parent, or [`NONE`].
    pub next_sibling: u32,
    /// The child paths that any document reached.
    transitions: TransitionTable,
}

impl LabelPath {
    /// Classes match, or must be verified, as soon as an element reaches the path.
    pub const ACCEPTS: u32 = 1;
    /// Attributes may have to be recorded.
    pub const RECORDS_ATTRIBUTES: u32 = 2;
    /// The string-value has to be collected.
    pub const COLLECTS_STRING_VALUE: u32 = 4;
    /// Classes match here if conditions hold.
    pub const HAS_CONDITIONS: u32 = 8;
    /// Text nodes have to be recorded.
    pub const RECORDS_TEXT_NODES: u32 = 16;
    /// Some of the classes that match as soon as an element reaches the path must be verified.
    pub const HAS_CANDIDATES: u32 = 32;
    /// The string-value has to be recorded, if only that it exists.
    pub const RECORDS_STRING_VALUE: u32 = 64;
    /// Compound conditions have to be evaluated.
    pub const HAS_COMPOUNDS: u32 = 128;
    /// Values may have to be propagated to the parent.
    pub const PROPAGATES: u32 = 256;
    /// The bits from this one on are the steps to compute the values that the path requires, in
    /// units of [`LabelPath::STEPS_UNIT`].
    const STEPS_SHIFT: u32 = 16;
    const STEPS_UNIT: usize = 64;
    /// The end of every element here needs work.
    pub const ACTS_AT_END: u32 = LabelPath::COLLECTS_STRING_VALUE
        | LabelPath::RECORDS_STRING_VALUE
        | LabelPath::HAS_COMPOUNDS;

    /// Steps to compute the values that a path requires, whether they were cached or not.
    #[inline]
    pub fn required_steps(actions: u32) -> usize {
        (actions >> LabelPath::STEPS_SHIFT) as usize * LabelPath::STEPS_UNIT
    }

    /// The bits of `actions` for the steps to compute the values that a path requires.
    fn steps_bits(steps: usize) -> u32 {
        let units = (steps / LabelPath::STEPS_UNIT).min(usize::from(u16::MAX));
        (units as u32) << LabelPath::STEPS_SHIFT
    }

    fn actions_of(state: &State, required: &RequiredValues) -> u32 {
        let when = |holds: bool, action: u32| if holds { action } else { 0 };
        let [whole, views @ ..] = required.string_value_uses;
        let compared = whole & (Comparison::TEXTUAL | Comparison::NUMERIC)
            | views.iter().fold(0, |all, uses| all | uses);
        let unused = [0; OperandRecord::VIEWS];
        when(
            !state.accepts.is_empty() || !state.candidates.is_empty(),
            LabelPath::ACCEPTS,
        ) | when(!state.candidates.is_empty(), LabelPath::HAS_CANDIDATES)
            | when(required.has_attributes, LabelPath::RECORDS_ATTRIBUTES)
            | when(compared != 0, LabelPath::COLLECTS_STRING_VALUE)
            | when(!state.conditional.is_empty(), LabelPath::HAS_CONDITIONS)
            | when(
                required.text_node_uses != unused,
                LabelPath::RECORDS_TEXT_NODES,
            )
            | when(
                required.string_value_uses != unused,
                LabelPath::RECORDS_STRING_VALUE,
            )
            | when(required.has_compounds, LabelPath::HAS_COMPOUNDS)
            | when(required.reaches_up, LabelPath::PROPAGATES)
    }
}

/// The path of the document node.
pub(super) const ROOT_PATH: u32 = 0;

/// The cache of states and label paths, and the matches of the current document.
pub(super) struct Automaton {
    /// The classes that match.
    pub matches: MatchBitmap,
    /// Symbols by name.
    pub alphabet: Alphabet,
    /// By number.
    pub states: Vec<State>,
    /// By number.
    pub paths: Vec<LabelPath>,
    /// The values that elements must record.
    pub required_values: RequiredValuesTable,
    /// The items of all [`ArenaList`]s except masks.
    arena: Vec<u32>,
    /// The classes that match at a state.
    masks: Vec<Mask>,
    path_transitions: TransitionArena,
    state_transitions: StateTransitions,
    states_by_digest: HashTable<u128, u32>,
    determinizer: Determinizer,
    /// States that the current document reached.
    pub counted_states: BitSet,
    /// Set if only a part of the classes takes part.
    pub restriction: Option<Arc<ClassRestriction>>,
}

/// The state under construction. Its trie nodes and what belongs to them are spread over a large
/// segment, so every list is prefetched while the one that refers to it is read.
#[derive(Default)]
struct Determinizer {
    /// The nodes that the last symbol led to.
    reached: Vec<u32>,
    /// Those of them that a descendant step can leave.
    descendant_sources: Vec<u32>,
    child_sources: Vec<u32>,
    conditional: Vec<u32>,
    /// Classes that match unconditionally.
    accepts: Vec<u32>,
    /// Classes that must be verified.
    candidates: Vec<u32>,
    operands: Vec<u32>,
}

impl Automaton {
    /// An automaton with only the document node.
    pub fn new(segment: &Segment, restriction: Option<ClassRestriction>) -> Automaton {
        let mut automaton = Automaton {
            matches: MatchBitmap::new(segment.class_count()),
            alphabet: Alphabet::new(segment),
            states: Vec::new(),
            paths: Vec::new(),
            required_values: RequiredValuesTable::new(segment),
            arena: Vec::new(),
            masks: Vec::new(),
            path_transitions: TransitionArena::default(),
            state_transitions: StateTransitions::default(),
            states_by_digest: HashTable::default(),
            determinizer: Determinizer::default(),
            counted_states: BitSet::default(),
            restriction: restriction.map(Arc::new),
        };
        automaton.clear(segment);
        automaton
    }

    /// Removes everything but the document node, the alphabet and the matches, and releases the memory:
    /// other workers of the process may need it.
    pub fn clear(&mut self, segment: &Segment) {
        self.states = Vec::new();
        self.counted_states = BitSet::default();
        self.paths = Vec::new();
        self.required_values = RequiredValuesTable::new(segment);
        self.arena = Vec::new();
        self.masks = Vec::new();
        self.path_transitions = TransitionArena::default();
        self.state_transitions = StateTransitions::default();
        self.states_by_digest = HashTable::default();
        self.determinizer.reached.clear();
        self.determinizer.reached.push(ROOT);
        let state = self.intern_state(segment, NONE);
        self.paths.push(LabelPath {
            last_seen: 0,
            state,
            symbol: NONE,
            required: NO_VALUES,
            actions: 0,
            accepts: ArenaList::default(),
            conditions: PathConditions::UNKNOWN,
            parent: ROOT_PATH,
            first_child: NONE,
            next_sibling: NONE,
            transitions: TransitionTable::default(),
        });
    }

    /// Approximate memory in use.
    pub fn bytes(&self) -> usize {
        self.arena.len() * 4
            + self.masks.len() * size_of::<Mask>()
            + self.matches.bytes()
            + self.states.len() * (size_of::<State>() + 40)
            + self.paths.len() * size_of::<LabelPath>()
            + self.path_transitions.bytes()
            + self.state_transitions.len() * 20
            + self.required_values.bytes()
    }

    /// The items of a list.
    #[inline]
    pub fn list(&self, list: ArenaList) -> &[u32] {
        &self.arena[list.range()]
    }

    /// The child path for a symbol, if some document reached it.
    #[inline]
    pub fn known_child(&self, path: u32, symbol: u32) -> Option<u32> {
        let transitions = self.paths[path as usize].transitions;
        self.path_transitions.find(transitions, symbol)
    }

    /// The child path for a symbol.
    #[inline]
    pub fn child(&mut self, segment: &Segment, path: u32, symbol: u32) -> u32 {
        match self.known_child(path, symbol) {
            Some(child) => child,
            None => self.add_path(segment, path, symbol),
        }
    }

    /// Records that element number `element` is at a path, in the document that began with element
    /// number `document_start`; returns the number of the last element before it at that path.
    #[inline]
    pub fn mark_seen(&mut self, path: u32, element: u64, document_start: u64) -> u64 {
        let seen = &mut self.paths[path as usize];
        let before = std::mem::replace(&mut seen.last_seen, element);
        if before < document_start {
            self.link_to_parent(path);
        }
        before
    }

    /// Links a path that the current document reached for the first time to its parent.
    #[inline]
    pub fn link_to_parent(&mut self, path: u32) {
        let seen = &mut self.paths[path as usize];
        seen.first_child = NONE;
        let parent = seen.parent;
        let sibling = std::mem::replace(&mut self.paths[parent as usize].first_child, path);
        self.paths[path as usize].next_sibling = sibling;
    }

    /// Counts the steps to create a path and its state, whether they were cached or not, so that the
    /// steps of a document do not depend on earlier ones. A state is counted once per document.
    #[inline]
    pub fn spend_on_path(&mut self, path: u32, work: &mut WorkMeter) {
        let LabelPath {
            state,
            actions,
            required,
            ..
        } = self.paths[path as usize];
        work.spend(LabelPath::required_steps(actions));
        if let Some(attribution) = work.attribution() {
            self.required_values.attribute(required, attribution);
        }
        if self.counted_states.insert_growing(state) {
            work.spend(self.states[state as usize].build_steps as usize);
            if let Some(attribution) = work.attribution() {
                self.attribute_state(state, attribution);
            }
        }
    }

    /// Attributes the steps to create a state to its trie nodes.
    #[cold]
    fn attribute_state(&self, state: u32, attribution: &mut Attribution) {
        let state = self.states[state as usize];
        let lists = [
            state.child_sources,
            state.descendant_sources,
            state.conditional,
        ];
        let count: usize = lists.iter().map(|list| list.len as usize).sum();
        let share = (state.build_steps as usize).div_ceil(count.max(1));
        for list in lists {
            for &node in self.list(list) {
                attribution.add_to_node(node, share);
            }
        }
    }

    /// Prefetches the classes for [`Automaton::accept`].
    #[inline]
    pub fn prefetch_accepts(&self, path: u32) {
        let accepts = self.paths[path as usize].accepts;
        prefetch(&self.masks, accepts.start as usize);
    }

    /// Adds the classes that match at a path unconditionally.
    #[inline]
    pub fn accept(&mut self, path: u32) {
        for &mask in &self.masks[self.paths[path as usize].accepts.range()] {
            self.matches.set(mask);
        }
    }

    #[cold]
    fn add_path(&mut self, segment: &Segment, parent: u32, symbol: u32) -> u32 {
        let from = self.paths[parent as usize].state;
        let key = transition_key(from, symbol);
        let state = match self.state_transitions.get(&key) {
            Some(&state) => state,
            None => {
                let state = self.add_transition(segment, from, symbol);
                self.state_transitions.insert(key, state);
                state
            }
        };
        let operands = self.states[state as usize].operands;
        let required = self.required_values.child(
            segment,
            self.paths[parent as usize].required,
            (symbol, self.alphabet.tests_of(symbol)),
            (state, &self.arena[operands.range()]),
            self.restriction.as_deref(),
        );
        let entry = self.required_values.get(required);
        let steps = self.required_values.build_steps(required);
        let child = self.paths.len() as u32;
        self.paths.push(LabelPath {
            last_seen: 0,
            state,
            symbol,
            required,
            actions: LabelPath::actions_of(&self.states[state as usize], entry)
                | LabelPath::steps_bits(steps),
            accepts: self.states[state as usize].accepts,
            conditions: PathConditions::UNKNOWN,
            parent,
            first_child: NONE,
            next_sibling: NONE,
            transitions: TransitionTable::default(),
        });
        let transitions = &mut self.paths[parent as usize].transitions;
        self.path_transitions.insert(transitions, symbol, child);
        child
    }

    /// The state that `symbol` leads to.
    fn add_transition(&mut self, segment: &Segment, from: u32, symbol: u32) -> u32 {
        let State {
            child_sources,
            descendant_sources,
            ..
        } = self.states[from as usize];
        let tests = self.alphabet.tests_of(symbol);
        let reached = &mut self.determinizer.reached;
        reached.clear();
        let sources = &self.arena[child_sources.range()];
        follow_edges(segment, StepKind::Child, sources, tests, reached);
        let sources = &self.arena[descendant_sources.range()];
        follow_edges(segment, StepKind::Descendant, sources, tests, reached);
        if let Some(restriction) = &self.restriction {
            reached.retain(|&node| restriction.has_node(node));
        }
        self.intern_state(segment, from)
    }

    /// The state of the nodes in `determinizer.reached`, which a symbol reached from the state
    /// `from`.
    fn intern_state(&mut self, segment: &Segment, from: u32) -> u32 {
        // The first state is reached from no other.
        let (inherited, mut sources_digest) = match self.states.get(from as usize) {
            Some(from) => (from.descendant_sources, from.sources_digest),
            None => (ArenaList::default(), 0),
        };
        let Determinizer {
            reached,
            descendant_sources,
            ..
        } = &mut self.determinizer;
        descendant_sources.clear();
        let mut digest = 0u128;
        for &node in &*reached {
            digest = digest.wrapping_add(digest_of_number(u64::from(node) << 1));
            let (this, next) = segment.edges_of(node);
            if this.accept < next.accept {
                prefetch(&segment.accepts, this.accept as usize);
            }
            if this.required < next.required {
                prefetch(&segment.required, this.required as usize);
            }
            if this.descendant < next.descendant {
                descendant_sources.push(node);
            }
        }
        descendant_sources.sort_unstable();
        let mut above = self.arena[inherited.range()].iter().peekable();
        descendant_sources.retain(|node| {
            while above.next_if(|&above| above < node).is_some() {}
            above.peek() != Some(&node)
        });
        for &node in &*descendant_sources {
            let of_source = digest_of_number(u64::from(node) << 1 | 1);
            sources_digest = sources_digest.wrapping_add(of_source);
        }
        // The sum does not depend on the order of nodes, so they need no sorting; 128 bits do not
        // collide.
        let digest = digest.wrapping_add(sources_digest);
        if let Some(&state) = self.states_by_digest.get(&digest) {
            return state;
        }
        let state = State {
            sources_digest,
            ..self.build_state(segment, inherited)
        };
        self.states.push(state);
        let number = self.states.len() as u32 - 1;
        self.states_by_digest.insert(digest, number);
        number
    }

    fn build_state(&mut self, segment: &Segment, inherited: ArenaList) -> State {
        let mut determinizer = std::mem::take(&mut self.determinizer);
        determinizer.collect(segment, &self.matches, self.restriction.as_deref());
        let Determinizer {
            reached,
            descendant_sources,
            child_sources,
            conditional,
            accepts,
            candidates,
            operands,
        } = &mut determinizer;
        // Sorted, because the order in which conditions are decided must not depend on the path that
        // reached the state first.
        conditional.sort_unstable();
        operands.sort_unstable();
        operands.dedup();
        let first_mask = self.masks.len();
        self.matches.masks_of(accepts, &mut self.masks);
        let descendant_sources = self.push_merged(inherited, descendant_sources);
        let steps = (reached.len() + descendant_sources.len as usize) * STEPS_PER_NODE;
        let state = State {
            child_sources: self.push_list(child_sources),
            descendant_sources,
            conditional: self.push_list(conditional),
            accepts: ArenaList {
                start: first_mask as u32,
                len: (self.masks.len() - first_mask) as u32,
            },
            candidates: self.push_list(candidates),
            operands: self.push_list(operands),
            build_steps: u32::try_from(steps).unwrap_or(u32::MAX),
            sources_digest: 0,
        };
        self.determinizer = determinizer;
        state
    }

    /// Appends a list of the arena, merged with another list; both ascend and have no item in
    /// common.
    fn push_merged(&mut self, list: ArenaList, others: &[u32]) -> ArenaList {
        let start = self.arena.len();
        self.arena.reserve(list.len as usize + others.len());
        let mut others = others.iter().peekable();
        for at in list.range() {
            let item = self.arena[at];
            while let Some(&other) = others.next_if(|&&other| other < item) {
                self.arena.push(other);
            }
            self.arena.push(item);
        }
        self.arena.extend(others);
        ArenaList::since(start, &self.arena)
    }

    fn push_list(&mut self, items: &[u32]) -> ArenaList {
        let start = self.arena.len();
        self.arena.extend_from_slice(items);
        ArenaList::since(start, &self.arena)
    }
}

impl Determinizer {
    /// Fills the other lists with what belongs to the nodes that were reached.
    fn collect(
        &mut self,
        segment: &Segment,
        matches: &MatchBitmap,
        restriction: Option<&ClassRestriction>,
    ) {
        self.child_sources.clear();
        self.conditional.clear();
        self.accepts.clear();
        self.candidates.clear();
        self.operands.clear();
        for &node in &self.reached {
            let (this, next) = segment.edges_of(node);
            if this.child < next.child {
                self.child_sources.push(node);
            }
            if this.condition < next.condition {
                prefetch(&segment.conditions, this.condition as usize);
                self.conditional.push(node);
            }
            for &class in &segment.accepts[this.accept as usize..next.accept as usize] {
                if restriction.is_some_and(|only| !only.has_class(class & !VERIFY)) {
                    continue;
                }
                if class & VERIFY == 0 {
                    matches.prefetch_bit(class);
                    self.accepts.push(class);
                } else {
                    self.candidates.push(class & !VERIFY);
                }
            }
            for &operand in &segment.required[this.required as usize..next.required as usize] {
                if restriction.is_none_or(|only| only.requires(node, operand)) {
                    self.operands.push(operand);
                }
            }
        }
    }
}

/// Which edges of a trie node are followed.
#[derive(Clone, Copy)]
enum StepKind {
    Child,
    Descendant,
}

/// Edge lists that are prefetched before they are followed.
const EDGES_PREFETCHED: usize = 8;

/// Appends the nodes that edges of `sources` with one of `tests` lead to.
#[inline]
fn follow_edges(
    segment: &Segment,
    kind: StepKind,
    sources: &[u32],
    tests: &[u32],
    reached: &mut Vec<u32>,
) {
    let edges: &[StepEdge] = match kind {
        StepKind::Child => &segment.child_edges,
        StepKind::Descendant => &segment.descendant_edges,
    };
    let edges_of = |source: u32| {
        let (this, next) = segment.edges_of(source);
        match kind {
            StepKind::Child => this.child as usize..next.child as usize,
            StepKind::Descendant => this.descendant as usize..next.descendant as usize,
        }
    };
    let mut reach = |node: u32| {
        segment.prefetch_node(node);
        reached.push(node);
    };
    for &source in &sources[..sources.len().min(2 * EDGES_PREFETCHED)] {
        segment.prefetch_node(source);
    }
    for (at, &source) in sources.iter().enumerate() {
        if let Some(&later) = sources.get(at + 2 * EDGES_PREFETCHED) {
            segment.prefetch_node(later);
        }
        if let Some(&next) = sources.get(at + EDGES_PREFETCHED) {
            prefetch(edges, edges_of(next).start);
        }
        let edges = &edges[edges_of(source)];
        if edges.len() <= 8 {
            let passed = edges.iter().filter(|edge| tests.contains(&edge.test));
            passed.for_each(|edge| reach(edge.node));
        } else {
            for test in tests {
                if let Ok(at) = edges.binary_search_by_key(test, |edge| edge.test) {
                    reach(edges[at].node);
                }
            }
        }
    }
}
