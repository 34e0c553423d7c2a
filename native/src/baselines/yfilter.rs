//! YFilter (Diao, Altinel, Franklin, Zhang and Fischer, 2003): one shared NFA with a stack of
//! active states.
//!
//! Queries share common prefixes. A descendant step is an epsilon transition to a state with a
//! self-loop. A start tag takes one transition from every active state; an end tag restores the
//! previous set. Predicates are postponed: queries that match structurally are evaluated exactly
//! afterwards, one by one. The baseline shares only the reader and that evaluation with the default
//! engine.

use std::sync::Arc;

use hashbrown::HashMap;

use crate::dispatch::outcome::Counters;
use crate::events::{Context, Handler, NameId, Names, Span, StartElement, Stop};
use crate::matching::engine::PathEngine;
use crate::matching::segment_run::{RunLimits, WorkBudget};
use crate::path_index::segment::Segment;
use crate::path_index::subscription_index::PathSnapshot;
use crate::subscription_store::class_set::OrderedClassSet;
use crate::xpath::ast::{Axis, Kind, NameTest, Path};

type Table<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

#[derive(Default)]
struct State {
    /// By name test.
    transitions: Table<u32, u32>,
    /// The target of the epsilon transition, a state with a self-loop.
    descends: Option<u32>,
    /// Whether every start tag also leads back to this state.
    loops: bool,
    /// Accepted classes, and whether they match only if their conditions hold.
    accepts: Vec<(u32, bool)>,
}

/// The shared automaton of a segment.
struct SharedNfa {
    tests: Table<NameTest, u32>,
    states: Vec<State>,
}

const START: u32 = 0;

impl SharedNfa {
    /// The automaton of all classes of a segment.
    fn new(segment: &Segment) -> SharedNfa {
        let mut nfa = SharedNfa {
            tests: Table::default(),
            states: vec![State::default()],
        };
        for class in 0..segment.class_count() as u32 {
            let query = segment.query_of(class).expect("the file is undamaged");
            for path in &query.branches {
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
                // Attributes and text are checked afterwards, like a condition.
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
        if let Some(&state) = self.states[from as usize].transitions.get(&test) {
            return state;
        }
        let state = self.new_state();
        self.states[from as usize].transitions.insert(test, state);
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

/// Working memory of the shared automaton, reused across documents.
pub struct NfaRun {
    active: Vec<u32>,
    levels: Vec<usize>,
    /// By state: the stamp of the level at which it was last activated, so that it is active once
    /// per level.
    activated_at: Vec<u64>,
    stamp: u64,
    /// By name id: the name tests it passes, computed on first use.
    tests_of_name: Vec<Option<Vec<u32>>>,
    names_table: u64,
    matched: OrderedClassSet,
    candidates: OrderedClassSet,
}

impl NfaRun {
    /// Working memory for `nfa`, which was built from `segment`.
    fn new(nfa: &SharedNfa, segment: &Segment) -> NfaRun {
        NfaRun {
            active: Vec::new(),
            levels: Vec::new(),
            activated_at: vec![0; nfa.states.len()],
            stamp: 0,
            tests_of_name: Vec::new(),
            names_table: 0,
            matched: OrderedClassSet::new(segment.class_count()),
            candidates: OrderedClassSet::new(segment.class_count()),
        }
    }

    /// Begins a document whose names are numbered by the table `names_table`.
    fn begin(&mut self, nfa: &SharedNfa, names_table: u64) {
        if self.names_table != names_table {
            self.names_table = names_table;
            self.tests_of_name.clear();
        }
        self.matched.clear();
        self.candidates.clear();
        self.active.clear();
        self.levels.clear();
        self.stamp += 1;
        self.enter(nfa, START);
    }

    /// Handles a start tag.
    fn start(&mut self, nfa: &SharedNfa, names: &Names, name: NameId) {
        let at = name.0 as usize;
        if self.tests_of_name.len() <= at {
            self.tests_of_name.resize(at + 1, None);
        }
        let tests = self.tests_of_name[at].take().unwrap_or_else(|| {
            let (uri, local) = names.get(name);
            nfa.tests_met(uri, local)
        });
        let from = self.levels.last().copied().unwrap_or(0);
        let to = self.active.len();
        self.levels.push(to);
        self.stamp += 1;
        for place in from..to {
            let number = self.active[place];
            let state = &nfa.states[number as usize];
            for test in &tests {
                if let Some(&next) = state.transitions.get(test) {
                    self.enter(nfa, next);
                }
            }
            if state.loops {
                self.enter(nfa, number);
            }
        }
        self.tests_of_name[at] = Some(tests);
    }

    fn enter(&mut self, nfa: &SharedNfa, state: u32) {
        let mut next = Some(state);
        while let Some(state) = next {
            if std::mem::replace(&mut self.activated_at[state as usize], self.stamp) == self.stamp {
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

    /// Handles an end tag.
    fn end(&mut self) {
        let level = self.levels.pop().expect("the reader balances tags");
        self.active.truncate(level);
    }
}

/// The baseline as a path engine: one automaton for each segment.
pub struct YFilterEngine {
    nfas: Vec<SharedNfa>,
}

impl PathEngine for YFilterEngine {
    type State = NfaRun;
    type Handler<'a> = YFilterHandler<'a>;
    type Matches = OrderedClassSet;

    fn new(snapshot: &PathSnapshot) -> YFilterEngine {
        let segments = snapshot.views.iter().map(|view| &view.segment);
        YFilterEngine {
            nfas: segments.map(|segment| SharedNfa::new(segment)).collect(),
        }
    }

    fn new_state(&self, at: usize, segment: &Segment, _: RunLimits) -> NfaRun {
        NfaRun::new(&self.nfas[at], segment)
    }

    fn begin<'a>(
        &'a self,
        states: &'a mut [(Arc<Segment>, NfaRun)],
        names_table: u64,
        _memoize_repeated: bool,
        _: WorkBudget,
    ) -> YFilterHandler<'a> {
        for (nfa, (_, run)) in self.nfas.iter().zip(&mut *states) {
            run.begin(nfa, names_table);
        }
        YFilterHandler {
            nfas: &self.nfas,
            runs: states,
        }
    }

    fn results(run: &NfaRun) -> (&OrderedClassSet, &OrderedClassSet) {
        (&run.matched, &run.candidates)
    }

    fn count(_: &NfaRun, _: &mut Counters) {}
}

/// Feeds the events of a document to the automata of all segments.
pub struct YFilterHandler<'a> {
    nfas: &'a [SharedNfa],
    runs: &'a mut [(Arc<Segment>, NfaRun)],
}

impl Handler for YFilterHandler<'_> {
    const SPANS: bool = false;

    fn start_element(
        &mut self,
        context: &dyn Context,
        element: &StartElement<'_>,
    ) -> Result<(), Stop> {
        for (nfa, (_, run)) in self.nfas.iter().zip(self.runs.iter_mut()) {
            run.start(nfa, context.names(), element.name);
        }
        Ok(())
    }

    fn end_element(&mut self, _span: Span, _end_tag: Span) -> Result<(), Stop> {
        for (_, run) in self.runs.iter_mut() {
            run.end();
        }
        Ok(())
    }

    fn text(&mut self, _text: &str, _span: Span) -> Result<(), Stop> {
        Ok(())
    }

    fn text_break(&mut self) -> Result<(), Stop> {
        Ok(())
    }
}
