//! KEMB, the keyword-based XML message broker of Li, Feng, Wang and Zhou.
//!
//! All short AND queries share one automaton over keyword sets ([`nfa`]); the elements on the stack
//! have sets of active states ([`runner`]). Maximal coverage rules ([`coverage_rules`]), organized
//! in a coverage graph ([`coverage_graph`], [`rule_search`]), determine which elements are outdated
//! and need not be retained ([`retained_elements`](crate::baselines::retained_elements)). Longer
//! queries get a stack each ([`kale`](crate::baselines::kale)); OR queries are answered at the end
//! from the retained elements ([`disjunctions`](crate::baselines::disjunctions)).
//!
//! Two details differ from the paper, which gives wrong answers otherwise. An element that contains
//! all keywords of a query passes nothing of that query to its parent, answer or not. And
//! discarding frees elements and saves transitions, but does not change which words an element
//! contains: for {a, b} and {a, c} on `<p><e>a b</e>b</p>`, b is outdated at the end of e and a is
//! not, and p would become an answer to {a, b} if it ignored that e contains b, too.

use crate::baselines::disjunctions::DisjunctiveQueries;
use crate::baselines::kale::query_stacks::StackQueries;
use crate::keywords::token_sink::{Mode, QuerySet, WordId};
use coverage_graph::CoverageGraph;
use coverage_rules::RuleChange;
use nfa::{AcceptId, Nfa, NFA_STATES_MAX, NFA_WORDS_MAX};

pub(crate) mod counters;
pub(crate) mod coverage_graph;
pub(crate) mod coverage_rules;
pub(crate) mod nfa;
pub(crate) mod rule_search;
pub(crate) mod runner;
mod word_sets;

/// The indexed queries; shared by any number of [`runner::KembRunner`]s.
#[derive(Debug)]
pub struct Kemb {
    nfa: Nfa,
    /// The coverage graph, if outdated elements are discarded.
    coverage: Option<CoverageGraph>,
    /// AND queries that are not in the automaton.
    stack_queries: StackQueries,
    disjunctive: DisjunctiveQueries,
    query_count: usize,
    rejected: usize,
}

impl Kemb {
    /// Indexes these queries; `discard` says whether outdated elements are discarded.
    pub fn new(queries: &dyn QuerySet, discard: bool) -> Self {
        Kemb::with_states(queries, discard, NFA_STATES_MAX)
    }

    /// Like [`Kemb::new`], with at most `states_max` states in the automaton.
    pub fn with_states(queries: &dyn QuerySet, discard: bool, states_max: usize) -> Self {
        let mut kemb = Kemb {
            nfa: Nfa::new(states_max),
            coverage: None,
            stack_queries: StackQueries::default(),
            disjunctive: DisjunctiveQueries::default(),
            query_count: 0,
            rejected: 0,
        };
        for query in 0..queries.count() as u32 {
            kemb.insert(query, queries.words(query), queries.mode(query));
        }
        if discard {
            let accepts: Vec<AcceptId> = kemb.nfa.accepting().collect();
            let words = accepts.iter().map(|&id| &*kemb.nfa.accept(id).words);
            let graph = CoverageGraph::build(words);
            for accept in accepts {
                let sources = graph.sources(&kemb.nfa.accept(accept).words);
                kemb.nfa.set_sources(accept, sources);
            }
            kemb.coverage = Some(graph);
        }
        kemb
    }

    /// Adds a query with an unused number and ascending words.
    pub fn insert(&mut self, query: u32, words: &[WordId], mode: Mode) {
        self.query_count = self.query_count.max(query as usize + 1);
        match mode {
            Mode::Any => self.disjunctive.insert(query, words),
            Mode::All => {
                if let Some(accept) = self.nfa.insert(query, words) {
                    let first = self.nfa.accept(accept).queries.len() == 1;
                    if let Some(graph) = self.coverage.as_mut().filter(|_| first) {
                        let change = graph.insert(words);
                        self.update_sources(&change);
                        // All of its rules may have existed already.
                        self.set_sources(accept);
                    }
                } else {
                    self.rejected += usize::from(words.len() <= NFA_WORDS_MAX);
                    self.stack_queries.insert(query, words);
                }
            }
        }
    }

    /// Removes a query with the words and mode it was added with; returns whether it existed.
    pub fn remove(&mut self, query: u32, words: &[WordId], mode: Mode) -> bool {
        if mode == Mode::Any {
            return self.disjunctive.remove(query);
        }
        let Some(last) = self.nfa.remove(query, words) else {
            let removed = self.stack_queries.remove(query, words);
            self.rejected -= usize::from(removed && words.len() <= NFA_WORDS_MAX);
            return removed;
        };
        if let Some(graph) = self.coverage.as_mut().filter(|_| last) {
            let change = graph.remove(words);
            self.update_sources(&change);
        }
        true
    }

    /// The automaton.
    pub fn nfa(&self) -> &Nfa {
        &self.nfa
    }

    /// Number of coverage rules; 0 if nothing is discarded.
    pub fn rule_count(&self) -> usize {
        let rules = self.coverage.as_ref().map(|graph| graph.rules().ids());
        rules.map_or(0, Iterator::count)
    }

    /// Number of AND queries with a stack of their own: those with more than [`NFA_WORDS_MAX`]
    /// words, and those that exceeded the state limit.
    pub fn stack_query_count(&self) -> usize {
        self.stack_queries.count()
    }

    /// Number of queries that exceeded the automaton's state limit.
    pub fn rejected_count(&self) -> usize {
        self.rejected
    }

    /// Updates the source vertexes of the accepting states covered by changed rules.
    fn update_sources(&mut self, change: &RuleChange) {
        let Some(graph) = &self.coverage else {
            return;
        };
        let mut accepts: Vec<AcceptId> = Vec::new();
        for &rule in change.removed.iter().chain(&change.added) {
            let covered = self
                .nfa
                .accepting_within(&graph.rules().rule(rule).coverage);
            accepts.extend(covered);
        }
        accepts.sort_unstable();
        accepts.dedup();
        for accept in accepts {
            self.set_sources(accept);
        }
    }

    fn set_sources(&mut self, accept: AcceptId) {
        if let Some(graph) = &self.coverage {
            let sources = graph.sources(&self.nfa.accept(accept).words);
            self.nfa.set_sources(accept, sources);
        }
    }
}
