//! One automaton for all queries: its states are sets of keywords (Section 4.2 of the KEMB paper).
//!
//! Every subset of a query is a state, the empty set is the initial one, the query itself is an
//! accepting one; a keyword leads from a set without it to the set with it. QuerySet share the
//! states of the subsets they share. Transitions stand in one hash table under (state, keyword)
//! instead of one small table a state: the same lookups with fewer allocations.
//!
//! A state does not know its set. Whoever has a query's words finds the states of all its subsets
//! by walking, because every subset of a state's set is a state too.

use hashbrown::HashMap;

use crate::baselines::kemb::rules::RuleId;
use crate::baselines::kemb::word_sets::is_subset;
use crate::keywords::token_sink::WordId;

/// A state, dense from 0; numbers of removed states are given again.
pub type StateId = u32;

/// An accepting state's entry in [`Nfa::accepting`]; numbers are given again too.
pub type AcceptId = u32;

/// QuerySet with more words do not enter the automaton, which takes a state for each subset: the
/// paper's own figure.
pub const NFA_WORDS_MAX: usize = 10;

/// How many states an automaton has at most (about half a gigabyte with their transitions); a
/// query that would need more is left to KALE.
pub const NFA_STATES_MAX: usize = 1 << 22;

/// The empty set of keywords.
pub const INITIAL: StateId = 0;

const NO_ACCEPT: AcceptId = AcceptId::MAX;

#[derive(Clone, Copy, Debug)]
struct State {
    /// How many transitions leave it.
    leaving: u32,
    /// Which words may lead on from it.
    leads: Signature,
    accept: AcceptId,
}

/// A state with no transition yet.
const LONE: State = State {
    leaving: 0,
    leads: Signature(0),
    accept: NO_ACCEPT,
};

/// Which words a state has transitions for, a bit for many words: most states have few, and most
/// words lead on from few of them, so that most lookups need not be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature(u32);

impl Signature {
    fn of(word: WordId) -> Self {
        Signature(1 << (word.wrapping_mul(0x9e37_79b9) >> 27))
    }

    /// Whether a word may lead on.
    #[inline]
    fn may_lead(self, word: Signature) -> bool {
        self.0 & word.0 != 0
    }
}

/// A state that is active at an element.
#[derive(Clone, Copy, Debug)]
pub struct Active {
    /// The state.
    pub state: StateId,
    leads: Signature,
}

/// What is known of an accepting state.
#[derive(Clone, Debug, Default)]
pub struct Accept {
    /// The words of its queries, ascending.
    pub words: Box<[WordId]>,
    /// Its queries: those with exactly these words. None: the entry is free.
    pub queries: Vec<u32>,
    /// Its source vertexes in the coverage graph: the rules that directly cover its queries.
    pub sources: Vec<RuleId>,
}

/// The automaton.
#[derive(Debug)]
pub struct Nfa {
    states: Vec<State>,
    free_states: Vec<StateId>,
    transitions: HashMap<(StateId, WordId), StateId, foldhash::fast::RandomState>,
    accepts: Vec<Accept>,
    free_accepts: Vec<AcceptId>,
    /// Accepting states under the first of their words.
    by_first_word: HashMap<WordId, Vec<AcceptId>, foldhash::fast::RandomState>,
    states_max: usize,
}

impl Nfa {
    /// An automaton of no query, which will have at most `states_max` states.
    pub fn new(states_max: usize) -> Self {
        Nfa {
            states: vec![LONE],
            free_states: Vec::new(),
            transitions: HashMap::default(),
            accepts: Vec::new(),
            free_accepts: Vec::new(),
            by_first_word: HashMap::default(),
            states_max,
        }
    }

    /// How many states there are, the initial one among them.
    pub fn state_count(&self) -> usize {
        self.states.len() - self.free_states.len()
    }

    /// How many transitions there are, without the loop of each state on itself.
    pub fn transition_count(&self) -> usize {
        self.transitions.len()
    }

    /// Where a word leads from a state.
    #[inline]
    pub fn next(&self, state: StateId, word: WordId) -> Option<StateId> {
        self.transitions.get(&(state, word)).copied()
    }

    /// The initial state, active.
    pub fn initial(&self) -> Active {
        self.active(INITIAL)
    }

    /// Leads on by a word from each state of a set, of which none has been reached by this word
    /// yet: the states that are reached join it, and those that accept are told.
    pub fn trigger(
        &self,
        active: &mut Vec<Active>,
        word: WordId,
        mut accepting: impl FnMut(AcceptId),
    ) {
        let signature = Signature::of(word);
        for at in 0..active.len() {
            let Active { state, leads } = active[at];
            if !leads.may_lead(signature) {
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

    fn active(&self, state: StateId) -> Active {
        let leads = self.states[state as usize].leads;
        Active { state, leads }
    }

    /// Whether a query has this word.
    #[inline]
    pub fn uses(&self, word: WordId) -> bool {
        self.next(INITIAL, word).is_some()
    }

    /// A state's entry among the accepting ones.
    #[inline]
    pub fn accept_of(&self, state: StateId) -> Option<AcceptId> {
        let accept = self.states[state as usize].accept;
        (accept != NO_ACCEPT).then_some(accept)
    }

    /// An accepting state's entry.
    #[inline]
    pub fn accept(&self, accept: AcceptId) -> &Accept {
        &self.accepts[accept as usize]
    }

    /// The entries of all accepting states.
    pub fn accepting(&self) -> impl Iterator<Item = AcceptId> + '_ {
        (0..self.accepts.len() as AcceptId).filter(|&id| !self.accept(id).queries.is_empty())
    }

    /// The entries of accepting states whose words are all among `words`, which ascend.
    pub fn accepting_within<'a>(
        &'a self,
        words: &'a [WordId],
    ) -> impl Iterator<Item = AcceptId> + 'a {
        let filed = words.iter().filter_map(|word| self.by_first_word.get(word));
        let all = filed.flatten().copied();
        all.filter(|&accept| is_subset(&self.accept(accept).words, words))
    }

    /// Points an accepting state at its source vertexes.
    pub fn set_sources(&mut self, accept: AcceptId, sources: Vec<RuleId>) {
        self.accepts[accept as usize].sources = sources;
    }

    /// Adds a query. `None`, and nothing is changed, where its words are too many, or where it
    /// would take more states than there may be.
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

    /// Takes a query out, and with it the states that no query needs any more. `None` where the
    /// automaton does not have it; otherwise whether it was the last of its accepting state.
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
        // A subset's number is smaller than its supersets': what leads on to a kept state is met
        // after that state.
        for mask in (1..subsets.len()).rev() {
            let state = subsets[mask].expect("every subset of a state is a state");
            let State {
                leaving, accept, ..
            } = self.states[state as usize];
            if leaving == 0 && accept == NO_ACCEPT {
                self.remove_state(words, &subsets, mask, state);
            }
        }
        Some(true)
    }

    /// The states of all subsets of `words`, by their bits; `None` for a set that is no state.
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
            self.states[id as usize] = LONE;
            id
        } else {
            self.states.push(LONE);
            (self.states.len() - 1) as StateId
        };
        for (before, word) in those_before(words, subsets, mask) {
            self.transitions.insert((before, word), id);
            let before = &mut self.states[before as usize];
            before.leaving += 1;
            before.leads.0 |= Signature::of(word).0;
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
        for (before, word) in those_before(words, subsets, mask) {
            self.transitions.remove(&(before, word));
            self.states[before as usize].leaving -= 1;
        }
        self.free_states.push(state);
    }

    fn add_accept(&mut self, words: &[WordId]) -> AcceptId {
        let accept = Accept {
            words: words.into(),
            ..Accept::default()
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
        let Accept { words, .. } = std::mem::take(&mut self.accepts[accept as usize]);
        if let Some(filed) = self.by_first_word.get_mut(&words[0]) {
            filed.retain(|&other| other != accept);
        }
        self.free_accepts.push(accept);
    }
}

/// The states one word short of the subset `mask`, each with the word that leads on from it.
fn those_before<'a>(
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
