//! Runs KEMB on documents: a stack of open elements with their active states (Sections 4.2 and
//! 4.5).
//!
//! A state is active at an element if the element contains all keywords of its set. A keyword that
//! is new to an element triggers transitions from each of its active states. When an element ends,
//! its words are added to its parent.
//!
//! Lemma 2 is decided by counting. An element contains a keyword in a number of *parts*: its own
//! content and each child. A child that contains all keywords of a query is one part for each of
//! them. So the remaining parts contain all keywords if and only if each keyword has more parts
//! than there are such children.

use hashbrown::HashMap;

use crate::baselines::disjunctions::DisjunctionRunner;
use crate::baselines::kale::query_stacks::QueryStacks;
use crate::baselines::kemb::counters::KembCounters;
use crate::baselines::kemb::nfa::{AcceptId, ActiveState, Nfa};
use crate::baselines::kemb::rule_search::RuleSearch;
use crate::baselines::kemb::Kemb;
use crate::baselines::limits::BaselineLimits;
use crate::baselines::results::{BaselineResults, ResultKind};
use crate::baselines::retained_elements::{ClosedElement, RetainedElements};
use crate::events::{Span, Stop};
use crate::keywords::token_sink::{TokenSink, WordId};

/// An open element.
#[derive(Debug, Default)]
struct OpenElement {
    element: u32,
    active: Vec<ActiveState>,
    /// The accepting states among the active ones.
    accepting: Vec<AcceptId>,
    /// Words contained so far, in order of arrival.
    words: Vec<WordId>,
    /// Accepting states all of whose words a single child contains.
    complete_below: Vec<AcceptId>,
}

/// How an open element contains a word.
#[derive(Clone, Copy, Debug, Default)]
struct WordTally {
    /// Number of parts.
    parts: u32,
    /// Whether the element directly contains the word.
    own: bool,
    /// Whether the word has triggered transitions; not if it occurs only in children where it was
    /// outdated.
    triggered: bool,
}

/// Runs KEMB on documents. Reused across documents to avoid reallocation.
#[derive(Debug, Default)]
pub struct KembRunner {
    /// Open elements by depth; entries past `depth` are reused.
    frames: Vec<OpenElement>,
    depth: usize,
    /// By depth and word.
    tallies: HashMap<(u32, WordId), WordTally, foldhash::fast::RandomState>,
    /// By depth and accepting state: the number of children that contain all of its words.
    complete_children: HashMap<(u32, AcceptId), u32, foldhash::fast::RandomState>,
    rule_search: RuleSearch,
    retained: RetainedElements,
    stacks: QueryStacks,
    disjunctions: DisjunctionRunner,
    results: BaselineResults,
    limits: BaselineLimits,
    active_now: u64,
    counters: KembCounters,
}

impl KembRunner {
    /// Creates a runner with these limits.
    pub fn new(limits: BaselineLimits) -> Self {
        KembRunner {
            limits,
            ..KembRunner::default()
        }
    }

    /// Starts a document.
    pub fn start_document<'a>(&'a mut self, kemb: &'a Kemb, kind: ResultKind) -> KembSink<'a> {
        for frame in &mut self.frames[..self.depth] {
            frame.clear();
        }
        self.depth = 0;
        self.tallies.clear();
        self.complete_children.clear();
        self.retained.begin();
        self.stacks.begin(&kemb.stack_queries);
        self.disjunctions.begin();
        self.results.begin(kind, kemb.query_count);
        self.active_now = 0;
        self.counters = KembCounters::default();
        KembSink {
            retains_for_or: kind == ResultKind::Answers && !kemb.disjunctive.is_empty(),
            kemb,
            runner: self,
        }
    }

    /// Results of the last document.
    pub fn results(&self) -> &BaselineResults {
        &self.results
    }

    /// Counters of the last document.
    pub fn counters(&self) -> &KembCounters {
        &self.counters
    }

    /// The element at this depth contains a word in one more part; `triggers` is false if the word
    /// is outdated there.
    fn add_part(&mut self, nfa: &Nfa, depth: usize, word: WordId, own: bool, triggers: bool) {
        let frame = &mut self.frames[depth];
        let tally = self.tallies.entry((depth as u32, word)).or_default();
        if tally.parts == 0 {
            frame.words.push(word);
        }
        tally.parts += 1;
        tally.own |= own;
        if triggers && !std::mem::replace(&mut tally.triggered, true) {
            let before = frame.active.len();
            let accepting = &mut frame.accepting;
            nfa.trigger(&mut frame.active, word, |accept| accepting.push(accept));
            self.active_now += (frame.active.len() - before) as u64;
        }
    }

    /// Lemma 2: whether the innermost element contains all words of an accepting state outside of
    /// the children that contain all of them.
    fn is_answer(&self, words: &[WordId], accept: AcceptId) -> bool {
        let depth = (self.depth - 1) as u32;
        let set_aside = self.complete_children.get(&(depth, accept));
        let set_aside = set_aside.copied().unwrap_or(0);
        words
            .iter()
            .all(|&word| self.tallies[&(depth, word)].parts > set_aside)
    }
}

impl OpenElement {
    fn clear(&mut self) {
        self.active.clear();
        self.accepting.clear();
        self.words.clear();
        self.complete_below.clear();
    }
}

/// Receives one document.
#[derive(Debug)]
pub struct KembSink<'a> {
    kemb: &'a Kemb,
    runner: &'a mut KembRunner,
    /// Whether OR queries need retained elements.
    retains_for_or: bool,
}

impl<'a> KembSink<'a> {
    /// Ends the document.
    pub fn finish(self) -> &'a KembRunner {
        self.runner.results.finish();
        self.runner
    }

    /// Reports the answers of the innermost element.
    fn report_answers(&mut self) {
        let runner = &mut *self.runner;
        let frame = &runner.frames[runner.depth - 1];
        for &accept in &frame.accepting {
            let entry = self.kemb.nfa.accept(accept);
            let (queries, results) = (&entry.queries, &runner.results);
            if queries.iter().all(|&query| results.is_decided(query)) {
                continue;
            }
            if runner.is_answer(&entry.words, accept) {
                for &query in queries {
                    runner.results.add_answer(query, frame.element);
                }
            }
        }
    }

    /// Finds the relevant rules of the innermost element and discards what they make outdated
    /// (Lemma 5).
    fn discard(&mut self, closed: ClosedElement) {
        let Some(graph) = &self.kemb.coverage else {
            return;
        };
        let runner = &mut *self.runner;
        runner.rule_search.start_element(graph);
        let depth = runner.depth - 1;
        let (frame, tallies) = (&runner.frames[depth], &runner.tallies);
        let contains = |coverage: &[WordId]| {
            coverage.len() <= frame.words.len()
                && (coverage.iter()).all(|&word| tallies.contains_key(&(depth as u32, word)))
        };
        for &accept in &frame.accepting {
            let sources = &self.kemb.nfa.accept(accept).sources;
            runner.rule_search.find(graph, sources, contains);
        }
        if !runner.rule_search.rules().is_empty() {
            let outdated = |word: WordId| {
                let rule = graph.rules().rule_of(word);
                rule.is_some_and(|rule| runner.rule_search.has(rule))
                    && !(self.retains_for_or && self.kemb.disjunctive.uses(word))
            };
            runner.counters.discarded += runner.retained.discard(closed, outdated) as u64;
        }
    }

    /// Pops the innermost element and adds its words to its parent.
    fn pop(&mut self) {
        let runner = &mut *self.runner;
        runner.depth -= 1;
        let depth = runner.depth;
        let mut frame = std::mem::take(&mut runner.frames[depth]);
        runner.active_now -= frame.active.len() as u64;
        for &word in &frame.words {
            runner.tallies.remove(&(depth as u32, word));
            if depth > 0 {
                let graph = self.kemb.coverage.as_ref();
                let rule = graph.and_then(|graph| graph.rules().rule_of(word));
                let outdated = rule.is_some_and(|rule| runner.rule_search.has(rule));
                runner.add_part(&self.kemb.nfa, depth - 1, word, false, !outdated);
            }
        }
        // An element contains everything that a child contains. If the child's words were outdated,
        // its accepting states may not be active here.
        for &accept in &frame.complete_below {
            runner.complete_children.remove(&(depth as u32, accept));
        }
        frame.complete_below.extend_from_slice(&frame.accepting);
        frame.complete_below.sort_unstable();
        frame.complete_below.dedup();
        if let Some(parent) = depth.checked_sub(1) {
            for &accept in &frame.complete_below {
                let key = (parent as u32, accept);
                let count = runner.complete_children.entry(key).or_insert(0);
                if *count == 0 {
                    runner.frames[parent].complete_below.push(accept);
                }
                *count += 1;
            }
        }
        frame.clear();
        runner.frames[depth] = frame;
    }
}

impl TokenSink for KembSink<'_> {
    fn open(&mut self) -> Result<(), Stop> {
        let runner = &mut *self.runner;
        if runner.depth == runner.frames.len() {
            runner.frames.push(OpenElement::default());
        }
        let element = runner.counters.elements as u32;
        runner.limits.check_element(element)?;
        runner.frames[runner.depth].element = element;
        runner.frames[runner.depth]
            .active
            .push(self.kemb.nfa.initial());
        runner.depth += 1;
        runner.retained.open(element);
        runner.active_now += 1;
        runner.counters.elements += 1;
        Ok(())
    }

    fn token(&mut self, word: WordId) -> Result<(), Stop> {
        let (kemb, runner) = (self.kemb, &mut *self.runner);
        let depth = runner.depth - 1;
        runner
            .stacks
            .add_word(&kemb.stack_queries, depth as u32, word);
        let in_or_query = kemb.disjunctive.uses(word);
        if in_or_query {
            runner
                .disjunctions
                .add_word(&kemb.disjunctive, word, &mut runner.results);
        }
        let in_nfa = kemb.nfa.uses(word);
        if in_nfa {
            let tally = runner.tallies.get(&(depth as u32, word));
            if tally.is_none_or(|tally| !tally.own) {
                runner.add_part(&kemb.nfa, depth, word, true, true);
            }
        }
        if in_nfa || in_or_query && self.retains_for_or {
            runner.retained.token(word);
        }
        Ok(())
    }

    fn close(&mut self, _: Span, _: Span) -> Result<(), Stop> {
        let runner = &mut *self.runner;
        let frame = &runner.frames[runner.depth - 1];
        runner.counters.active_states += frame.active.len() as u64;
        runner.counters.active_states_peak =
            runner.counters.active_states_peak.max(runner.active_now);
        let depth = (runner.depth - 1) as u32;
        runner.stacks.close(
            &self.kemb.stack_queries,
            depth,
            frame.element,
            &mut runner.results,
        );
        self.report_answers();
        let closed = self.runner.retained.close();
        self.discard(closed);
        self.pop();
        let runner = &mut *self.runner;
        if !runner.limits.allows_retained(runner.retained.size()) {
            if self.retains_for_or {
                return Err(runner.limits.too_large_for_or());
            }
            runner.counters.evicted += runner.retained.evict_all() as u64;
        }
        if self.retains_for_or && runner.depth == 0 {
            runner.disjunctions.answer_queries(
                &self.kemb.disjunctive,
                &runner.retained,
                &runner.limits,
                &mut runner.results,
            )?;
        }
        runner.limits.check_answers(runner.results.answers().len())
    }
}

#[cfg(test)]
mod tests;
