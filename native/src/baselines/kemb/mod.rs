//! KEMB, the keyword-based XML message broker of Li, Feng, Wang and Zhou: the paper's own engine.
//!
//! All AND queries of few words share one automaton over sets of keywords ([`nfa`]); the elements
//! on the stack have sets of its states ([`run`]). Coverage rules ([`rules`]) in a graph
//! ([`coverage`], [`relevant`]) tell which elements are outdated and need not be kept ([`kept`]).
//! Longer queries get a stack each ([`kale`](crate::baselines::kale)), OR queries are answered at the end from
//! what is kept ([`any`]).
//!
//! Two things are other than printed, because the printed ones give false answers. An element that
//! contains all of a query's keywords passes nothing of that query upwards, answered or not. And
//! discarding frees elements and spares transitions, but what an element contains is always all
//! that it contains: for {a, b} and {a, c} on `<p><e>a b</e>b</p>`, b is outdated at the end of e
//! and a is not, and p would be an answer to {a, b} if it forgot that e has b too.

use crate::baselines::kale::AllQueries;
use crate::keywords::token_sink::{Mode, QuerySet, WordId};
use coverage::Coverage;
use disjunctions::AnyQueries;
use nfa::{AcceptId, Nfa, NFA_STATES_MAX, NFA_WORDS_MAX};
use rules::Change;

pub mod coverage;
pub mod disjunctions;
pub mod limits;
pub mod nfa;
pub mod results;
pub mod retained_elements;
pub mod rule_search;
pub mod rules;
pub mod run;
mod word_sets;

/// The queries, indexed: shared by any number of [`run::Run`]s.
#[derive(Debug)]
pub struct Kemb {
    nfa: Nfa,
    /// Where outdated elements are to be discarded.
    coverage: Option<Coverage>,
    /// AND queries that are not in the automaton.
    by_stack: AllQueries,
    any: AnyQueries,
    query_end: usize,
    turned_away: usize,
}

impl Kemb {
    /// Indexes these queries. `discard`: whether outdated elements are discarded.
    pub fn new(queries: &dyn QuerySet, discard: bool) -> Self {
        Kemb::with_states(queries, discard, NFA_STATES_MAX)
    }

    /// The same with at most `states_max` states in the automaton.
    pub fn with_states(queries: &dyn QuerySet, discard: bool, states_max: usize) -> Self {
        let mut kemb = Kemb {
            nfa: Nfa::new(states_max),
            coverage: None,
            by_stack: AllQueries::default(),
            any: AnyQueries::default(),
            query_end: 0,
            turned_away: 0,
        };
        for query in 0..queries.count() as u32 {
            kemb.insert(query, queries.words(query), queries.mode(query));
        }
        if discard {
            let accepts: Vec<AcceptId> = kemb.nfa.accepting().collect();
            let words = accepts.iter().map(|&id| &*kemb.nfa.accept(id).words);
            let graph = Coverage::build(words);
            for accept in accepts {
                let sources = graph.sources(&kemb.nfa.accept(accept).words);
                kemb.nfa.set_sources(accept, sources);
            }
            kemb.coverage = Some(graph);
        }
        kemb
    }

    /// Adds a query under a number that no other has; its words ascend.
    pub fn insert(&mut self, query: u32, words: &[WordId], mode: Mode) {
        self.query_end = self.query_end.max(query as usize + 1);
        match mode {
            Mode::Any => self.any.insert(query, words),
            Mode::All => {
                if let Some(accept) = self.nfa.insert(query, words) {
                    let first = self.nfa.accept(accept).queries.len() == 1;
                    if let Some(graph) = self.coverage.as_mut().filter(|_| first) {
                        let change = graph.insert(words);
                        self.follow(&change);
                        // Its rules may all have been there.
                        self.point_at_sources(accept);
                    }
                } else {
                    self.turned_away += usize::from(words.len() <= NFA_WORDS_MAX);
                    self.by_stack.insert(query, words);
                }
            }
        }
    }

    /// Takes a query out, of the words and mode it was added with. Whether it was there.
    pub fn remove(&mut self, query: u32, words: &[WordId], mode: Mode) -> bool {
        if mode == Mode::Any {
            return self.any.remove(query);
        }
        let Some(last) = self.nfa.remove(query, words) else {
            let removed = self.by_stack.remove(query, words);
            self.turned_away -= usize::from(removed && words.len() <= NFA_WORDS_MAX);
            return removed;
        };
        if let Some(graph) = self.coverage.as_mut().filter(|_| last) {
            let change = graph.remove(words);
            self.follow(&change);
        }
        true
    }

    /// The automaton.
    pub fn nfa(&self) -> &Nfa {
        &self.nfa
    }

    /// How many coverage rules there are: none where nothing is to be discarded.
    pub fn rule_count(&self) -> usize {
        let rules = self.coverage.as_ref().map(|graph| graph.rules().ids());
        rules.map_or(0, Iterator::count)
    }

    /// How many AND queries have a stack of their own: those of more than [`NFA_WORDS_MAX`] words,
    /// and those that the automaton had no room for.
    pub fn by_stack_count(&self) -> usize {
        self.by_stack.len()
    }

    /// How many queries the automaton had no room for.
    pub fn turned_away_count(&self) -> usize {
        self.turned_away
    }

    /// After the rules changed: points the accepting states they cover, or covered, at their
    /// source vertexes.
    fn follow(&mut self, change: &Change) {
        let Some(graph) = &self.coverage else {
            return;
        };
        let mut accepts: Vec<AcceptId> = Vec::new();
        for &rule in change.gone.iter().chain(&change.new) {
            let covered = self
                .nfa
                .accepting_within(&graph.rules().rule(rule).coverage);
            accepts.extend(covered);
        }
        accepts.sort_unstable();
        accepts.dedup();
        for accept in accepts {
            self.point_at_sources(accept);
        }
    }

    fn point_at_sources(&mut self, accept: AcceptId) {
        if let Some(graph) = &self.coverage {
            let sources = graph.sources(&self.nfa.accept(accept).words);
            self.nfa.set_sources(accept, sources);
        }
    }
}
