//! The automaton of all queries (Section 4.2 of the KEMB paper). Its states are keyword sets.
//!
//! Every subset of a query is a state, the empty set is the initial state, and the query itself is
//! an accepting state; a keyword leads from a set without it to the set with it. Queries share the
//! states of common subsets. Transitions are stored in one hash table by state and keyword instead
//! of one small table per state: the same lookups with fewer allocations.
//!
//! A state does not store its set. The states of all subsets of a query are found by following
//! transitions, since every subset of a state's set is a state, too.

use hashbrown::HashMap;

use crate::baselines::kemb::coverage_rules::RuleId;
use crate::baselines::kemb::word_sets::is_subset;
use crate::keywords::token_sink::WordId;

/// State number, dense from 0; numbers of removed states are reused.
pub type StateId = u32;

/// Number of an accepting state's entry; reused, too.
pub type AcceptId = u32;

/// Maximum number of words of a query in the automaton, which needs a state for each subset; the
/// value is the paper's.
pub const NFA_WORDS_MAX: usize = 10;

/// Maximum number of states (about half a gigabyte including transitions); queries that would need
/// more are left to KALE.
pub const NFA_STATES_MAX: usize = 1 << 22;

/// The empty keyword set.
pub const INITIAL: StateId = 0;

const NO_ACCEPT: AcceptId = AcceptId::MAX;

#[derive(Clone, Copy, Debug)]
struct NfaState {
    /// Number of outgoing transitions.
    out_degree: u32,
    /// The words of its outgoing transitions.
    outgoing: WordSignature,
    accept: AcceptId,
}

/// A state without transitions.
const ISOLATED: NfaState = NfaState {
    out_degree: 0,
    outgoing: WordSignature(0),
    accept: NO_ACCEPT,
};

/// Bloom filter for the words of a state's outgoing transitions. Most states have few, so it avoids
/// most lookups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WordSignature(u32);

impl WordSignature {
    fn of(word: WordId) -> Self {
        WordSignature(1 << (word.wrapping_mul(0x9e37_79b9) >> 27))
    }

    /// Whether the word may have a transition.
    #[inline]
    fn may_contain(self, word: WordSignature) -> bool {
        self.0 & word.0 != 0
    }
}

/// An active state of an element.
#[derive(Clone, Copy, Debug)]
pub struct ActiveState {
    /// The state.
    pub state: StateId,
    outgoing: WordSignature,
}

/// Entry of an accepting state.
#[derive(Clone, Debug, Default)]
pub struct AcceptEntry {
    /// The words of its queries, ascending.
    pub words: Box<[WordId]>,
    /// Queries with exactly these words; empty if the entry is unused.
    pub queries: Vec<u32>,
    /// Source vertexes in the coverage graph: the rules that directly cover its queries.
    pub sources: Vec<RuleId>,
}

/// The automaton.
#[derive(Debug)]
pub struct Nfa {
    states: Vec<NfaState>,
    free_states: Vec<StateId>,
    transitions: HashMap<(StateId, WordId), StateId, foldhash::fast::RandomState>,
    accepts: Vec<AcceptEntry>,
    free_accepts: Vec<AcceptId>,
    /// Accepting states by their first word.
    by_first_word: HashMap<WordId, Vec<AcceptId>, foldhash::fast::RandomState>,
    states_max: usize,
}

impl Nfa {
    /// Creates an automaton without queries, limited to `states_max` states.
    pub fn new(states_max: usize) -> Self {
        Nfa {
            states: vec![ISOLATED],
            free_states: Vec::new(),
            transitions: HashMap::default(),
            accepts: Vec::new(),
            free_accepts: Vec::new(),
            by_first_word: HashMap::default(),
            states_max,
        }
    }

    /// Number of states, including the initial state.
    pub fn state_count(&self) -> usize {
        self.states.len() - self.free_states.len()
    }

    /// Number of transitions, excluding self-loops.
    pub fn transition_count(&self) -> usize {
        self.transitions.len()
    }

    /// The target of a transition.
    #[inline]
    pub fn next(&self, state: StateId, word: WordId) -> Option<StateId> {
        self.transitions.get(&(state, word)).copied()
    }

    /// The initial state.
    pub fn initial(&self) -> ActiveState {
        self.active(INITIAL)
    }

    /// Adds the states reached by a word from a set of active states, none of which may have been
    /// reached by this word before. Calls `accepting` for each new accepting state.
    pub fn trigger(
        &self,
        active: &mut Vec<ActiveState>,
        word: WordId,
        mut accepting: impl FnMut(AcceptId),
    ) {
        let signature = WordSignature::of(word);
        for at in 0..active.len() {
            let ActiveState { state, outgoing } = active[at];
            if !outgoing.may_contain(signature) {
                continue;
            }
            if let Some(next) = self.next(state, word) {
                active.push(self.active(next));
                if let Some(accept) = self.accept_of(next) {
                    accepting(accept);
                }
            }
        }
    }

    fn active(&self, state: StateId) -> ActiveState {
        let outgoing = self.states[state as usize].outgoing;
        ActiveState { state, outgoing }
    }

    /// Whether a query contains this word.
    #[inline]
    pub fn uses(&self, word: WordId) -> bool {
        self.next(INITIAL, word).is_some()
    }

    /// The entry of a state, if it is accepting.
    #[inline]
    pub fn accept_of(&self, state: StateId) -> Option<AcceptId> {
        let accept = self.states[state as usize].accept;
        (accept != NO_ACCEPT).then_some(accept)
    }

    /// Returns the entry of an accepting state.
    #[inline]
    pub fn accept(&self, accept: AcceptId) -> &AcceptEntry {
        &self.accepts[accept as usize]
    }

    /// The entries of all accepting states.
    pub fn accepting(&self) -> impl Iterator<Item = AcceptId> + '_ {
        (0..self.accepts.len() as AcceptId).filter(|&id| !self.accept(id).queries.is_empty())
    }

    /// The entries of accepting states whose words are a subset of `words`, which are ascending.
    pub fn accepting_within<'a>(
        &'a self,
        words: &'a [WordId],
    ) -> impl Iterator<Item = AcceptId> + 'a {
        let candidates = words.iter().filter_map(|word| self.by_first_word.get(word));
        let all = candidates.flatten().copied();
        all.filter(|&accept| is_subset(&self.accept(accept).words, words))
    }

    /// Sets the source vertexes of an accepting state.
    pub fn set_sources(&mut self, accept: AcceptId, sources: Vec<RuleId>) {
        self.accepts[accept as usize].sources = sources;
    }

    /// Adds a query. Returns `None` and changes nothing if it has too many words or would exceed
    /// the state limit.
    pub fn insert(&mut self, query: u32, words: &[WordId]) -> Option<AcceptId> {
        if words.len() > NFA_WORDS_MAX {
            return None;
        }
        let mut subsets = self.subsets(words);
        let missing = subsets.iter().filter(|state| state.is_none()).count();
        if self.state_count() + missing > self.states_max {
            return None;
        }
        for mask in 1..subsets.len() {
            if subsets[mask].is_none() {
                subsets[mask] = Some(self.add_state(words, &subsets, mask));
            }
        }
        let last = subsets[subsets.len() - 1].expect("every subset has a state now");
        let accept = self.accept_of(last).unwrap_or_else(|| {
            let accept = self.add_accept(words);
            self.states[last as usize].accept = accept;
            accept
        });
        self.accepts[accept as usize].queries.push(query);
        Some(accept)
    }

    /// Removes a query and the states that no query needs any longer. Returns `None` if the
    /// automaton does not contain it, otherwise whether it was the last of its accepting state.
    pub fn remove(&mut self, query: u32, words: &[WordId]) -> Option<bool> {
        if words.len() > NFA_WORDS_MAX {
            return None;
        }
        let subsets = self.subsets(words);
        let last = subsets[subsets.len() - 1]?;
        let accept = self.accept_of(last)?;
        let queries = &mut self.accepts[accept as usize].queries;
        let place = queries.iter().position(|&other| other == query)?;
        queries.remove(place);
        if !queries.is_empty() {
            return Some(false);
        }
        self.remove_accept(accept);
        self.states[last as usize].accept = NO_ACCEPT;
        // A subset has a smaller index than its supersets, so the successors of a state are
        // processed first.
        for mask in (1..subsets.len()).rev() {
            let state = subsets[mask].expect("every subset of a state is a state");
            let NfaState {
                out_degree, accept, ..
            } = self.states[state as usize];
            if out_degree == 0 && accept == NO_ACCEPT {
                self.remove_state(words, &subsets, mask, state);
            }
        }
        Some(true)
    }

    /// The states of all subsets of `words` by bit mask; `None` for sets that are not states.
    fn subsets(&self, words: &[WordId]) -> Vec<Option<StateId>> {
        let mut subsets = vec![None; 1 << words.len()];
        subsets[0] = Some(INITIAL);
        for mask in 1..subsets.len() {
            let bit = mask.trailing_zeros() as usize;
            subsets[mask] =
                subsets[mask & (mask - 1)].and_then(|state| self.next(state, words[bit]));
        }
        subsets
    }

    fn add_state(&mut self, words: &[WordId], subsets: &[Option<StateId>], mask: usize) -> StateId {
        let id = if let Some(id) = self.free_states.pop() {
            self.states[id as usize] = ISOLATED;
            id
        } else {
            self.states.push(ISOLATED);
            (self.states.len() - 1) as StateId
        };
        for (before, word) in predecessors(words, subsets, mask) {
            self.transitions.insert((before, word), id);
            let before = &mut self.states[before as usize];
            before.out_degree += 1;
            before.outgoing.0 |= WordSignature::of(word).0;
        }
        id
    }

    fn remove_state(
        &mut self,
        words: &[WordId],
        subsets: &[Option<StateId>],
        mask: usize,
        state: StateId,
    ) {
        for (before, word) in predecessors(words, subsets, mask) {
            self.transitions.remove(&(before, word));
            self.states[before as usize].out_degree -= 1;
        }
        self.free_states.push(state);
    }

    fn add_accept(&mut self, words: &[WordId]) -> AcceptId {
        let accept = AcceptEntry {
            words: words.into(),
            ..AcceptEntry::default()
        };
        let id = if let Some(id) = self.free_accepts.pop() {
            self.accepts[id as usize] = accept;
            id
        } else {
            self.accepts.push(accept);
            (self.accepts.len() - 1) as AcceptId
        };
        self.by_first_word.entry(words[0]).or_default().push(id);
        id
    }

    fn remove_accept(&mut self, accept: AcceptId) {
        let AcceptEntry { words, .. } = std::mem::take(&mut self.accepts[accept as usize]);
        if let Some(accepts) = self.by_first_word.get_mut(&words[0]) {
            accepts.retain(|&other| other != accept);
        }
        self.free_accepts.push(accept);
    }
}

/// The states one word short of the subset `mask`, each with that word.
fn predecessors<'a>(
    words: &'a [WordId],
    subsets: &'a [Option<StateId>],
    mask: usize,
) -> impl Iterator<Item = (StateId, WordId)> + 'a {
    let bits = (0..words.len()).filter(move |bit| mask & (1 << bit) != 0);
    bits.map(move |bit| {
        let before = subsets[mask & !(1 << bit)].expect("smaller sets have their states first");
        (before, words[bit])
    })
}

#[cfg(test)]
mod tests;
