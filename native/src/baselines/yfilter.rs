//! The field's yardstick: one shared automaton, not determinised, with a stack of active states.
//!
//! After YFilter (Diao, Altinel, Franklin, Zhang and Fischer, 2003): common prefixes are shared, a
//! descendant step is an empty move to a state that loops, each start tag takes one move from every
//! active state, each end tag goes back. Conditions are postponed: what matches by structure is
//! evaluated exactly afterwards, query by query. Nothing is shared with the default engine but the
//! reader and that evaluation.

use hashbrown::HashMap;

use crate::events::{NameId, Names};
use crate::path_index::segment::Segment;
use crate::subscription_store::class_set::Classes;
use crate::xpath::ast::{Axis, Kind, NameTest, Path};

type Table<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

#[derive(Default)]
struct State {
    /// By name test.
    moves: Table<u32, u32>,
    /// The looping state that an empty move leads to.
    descends: Option<u32>,
    /// Whether any start tag also leads back here.
    loops: bool,
    /// Classes that match, and classes that match if their conditions hold.
    accepts: Vec<(u32, bool)>,
}

/// The shared automaton of a segment.
pub struct SharedNfa {
    tests: Table<NameTest, u32>,
    states: Vec<State>,
}

const START: u32 = 0;

impl SharedNfa {
    /// The automaton of all classes of a segment.
    pub fn new(segment: &Segment) -> SharedNfa {
        let mut nfa = SharedNfa {
            tests: Table::default(),
            states: vec![State::default()],
        };
        for class in 0..segment.class_count() as u32 {
            for path in &segment.query_of(class).branches {
                nfa.add(class, path);
            }
        }
        nfa
    }

    fn add(&mut self, class: u32, path: &Path) {
        let mut state = START;
        let mut conditional = false;
        for step in &path.steps {
            conditional |= !step.predicates.is_empty();
            if step.kind != Kind::Element {
                // An attribute or text is looked for afterwards, like a condition.
                conditional = true;
                break;
            }
            if step.axis == Axis::Descendant {
                state = self.descend(state);
            }
            state = self.advance(state, &step.test);
        }
        self.states[state as usize]
            .accepts
            .push((class, conditional));
    }

    fn descend(&mut self, from: u32) -> u32 {
        if let Some(state) = self.states[from as usize].descends {
            return state;
        }
        let state = self.new_state();
        self.states[state as usize].loops = true;
        self.states[from as usize].descends = Some(state);
        state
    }

    fn advance(&mut self, from: u32, test: &NameTest) -> u32 {
        let number = self.tests.len() as u32;
        let test = *self.tests.entry(test.clone()).or_insert(number);
        if let Some(&state) = self.states[from as usize].moves.get(&test) {
            return state;
        }
        let state = self.new_state();
        self.states[from as usize].moves.insert(test, state);
        state
    }

    fn new_state(&mut self) -> u32 {
        self.states.push(State::default());
        self.states.len() as u32 - 1
    }

    fn tests_met(&self, uri: &str, local: &str) -> Vec<u32> {
        let test = |uri: Option<&str>, local: Option<&str>| NameTest {
            uri: uri.map(Into::into),
            local: local.map(Into::into),
        };
        [
            test(Some(uri), Some(local)),
            test(None, Some(local)),
            test(Some(uri), None),
            test(None, None),
        ]
        .iter()
        .filter_map(|test| self.tests.get(test).copied())
        .collect()
    }
}

/// A runner of the shared automaton over one document.
pub struct NfaRun {
    active: Vec<u32>,
    levels: Vec<usize>,
    /// Per state, the level at which it was last made active: a state is active once a level.
    marks: Vec<u64>,
    mark: u64,
    of_name: Vec<Option<Vec<u32>>>,
    names: u64,
    matched: Classes,
    candidates: Classes,
}

impl NfaRun {
    /// Working memory for `nfa`, built of `segment`.
    pub fn new(nfa: &SharedNfa, segment: &Segment) -> NfaRun {
        NfaRun {
            active: Vec::new(),
            levels: Vec::new(),
            marks: vec![0; nfa.states.len()],
            mark: 0,
            of_name: Vec::new(),
            names: 0,
            matched: Classes::new(segment.class_count()),
            candidates: Classes::new(segment.class_count()),
        }
    }

    /// Begins a document whose names are numbered by the table `names`.
    pub fn begin(&mut self, nfa: &SharedNfa, names: u64) {
        if self.names != names {
            self.names = names;
            self.of_name.clear();
        }
        self.matched.clear();
        self.candidates.clear();
        self.active.clear();
        self.levels.clear();
        self.mark += 1;
        self.enter(nfa, START);
    }

    /// A start tag.
    pub fn start(&mut self, nfa: &SharedNfa, names: &Names, name: NameId) {
        let at = name.0 as usize;
        if self.of_name.len() <= at {
            self.of_name.resize(at + 1, None);
        }
        let tests = self.of_name[at].take().unwrap_or_else(|| {
            let (uri, local) = names.get(name);
            nfa.tests_met(uri, local)
        });
        let from = self.levels.last().copied().unwrap_or(0);
        let to = self.active.len();
        self.levels.push(to);
        self.mark += 1;
        for place in from..to {
            let number = self.active[place];
            let state = &nfa.states[number as usize];
            for test in &tests {
                if let Some(&next) = state.moves.get(test) {
                    self.enter(nfa, next);
                }
            }
            if state.loops {
                self.enter(nfa, number);
            }
        }
        self.of_name[at] = Some(tests);
    }

    fn enter(&mut self, nfa: &SharedNfa, state: u32) {
        let mut next = Some(state);
        while let Some(state) = next {
            if std::mem::replace(&mut self.marks[state as usize], self.mark) == self.mark {
                return;
            }
            self.active.push(state);
            for &(class, conditional) in &nfa.states[state as usize].accepts {
                let set = if conditional {
                    &mut self.candidates
                } else {
                    &mut self.matched
                };
                set.insert(class);
            }
            next = nfa.states[state as usize].descends;
        }
    }

    /// An end tag.
    pub fn end(&mut self) {
        let level = self.levels.pop().expect("the reader balances tags");
        self.active.truncate(level);
    }

    /// The classes that match, and those that must be verified.
    pub fn results(&self) -> (&Classes, &Classes) {
        (&self.matched, &self.candidates)
    }
}
