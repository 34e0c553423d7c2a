//! KEMB on a document: the stack of open elements with their active states (Sections 4.2, 4.5).
//!
//! A state is active at an element when its set of keywords lies within what the element contains.
//! A keyword that is new to an element leads on from each of its active states; one that it has
//! already would lead nowhere new. When an element ends, what it contains goes to its parent.
//!
//! Lemma 2 by counting: an element contains a keyword in so many *parts*, which are its own content
//! and each child. A child that contains all keywords of a query is one part of each. So what is
//! left without those children contains all of them exactly if each has more parts than there are
//! such children.

use hashbrown::HashMap;

use crate::baselines::kale::AllStacks;
use crate::baselines::kemb::disjunctions::AnyRun;
use crate::baselines::kemb::limits::Limits;
use crate::baselines::kemb::nfa::{AcceptId, Active, Nfa};
use crate::baselines::kemb::results::{Told, Want};
use crate::baselines::kemb::retained_elements::{Ended, Kept};
use crate::baselines::kemb::rule_search::Relevant;
use crate::baselines::kemb::Kemb;
use crate::events::{Span, Stop};
use crate::keywords::token_sink::{TokenSink, WordId};

/// What was done for the last document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Elements heard.
    pub elements: u64,
    /// States that were active at an element when it ended, over all elements.
    pub active_states: u64,
    /// States that were active at the open elements together, at most.
    pub active_states_peak: u64,
    /// Elements that were discarded as outdated.
    pub discarded: u64,
    /// Elements that were forgotten because too many were kept.
    pub forgotten: u64,
}

/// An open element.
#[derive(Debug, Default)]
struct Frame {
    element: u32,
    active: Vec<Active>,
    /// Those of the active states that accept.
    accepting: Vec<AcceptId>,
    /// The words it contains so far, in the order in which it got them.
    words: Vec<WordId>,
    /// The accepting states whose words a child contains all.
    complete_below: Vec<AcceptId>,
}

/// How an open element contains a word.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    /// In how many parts.
    parts: u32,
    /// Whether directly.
    own: bool,
    /// Whether the word has led on from its active states: not where it is only in children at
    /// whose end it was outdated.
    triggered: bool,
}

/// What answering takes, reused from document to document.
#[derive(Debug, Default)]
pub struct Run {
    /// By depth; those of elements that ended are used again.
    frames: Vec<Frame>,
    depth: usize,
    /// By depth and word.
    tallies: HashMap<(u32, WordId), Tally, foldhash::fast::RandomState>,
    /// By depth and accepting state: how many children contain all its words.
    complete_children: HashMap<(u32, AcceptId), u32, foldhash::fast::RandomState>,
    relevant: Relevant,
    kept: Kept,
    stacks: AllStacks,
    any: AnyRun,
    told: Told,
    limits: Limits,
    active_now: u64,
    counters: Counters,
}

impl Run {
    /// A run within these limits.
    pub fn new(limits: Limits) -> Self {
        Run {
            limits,
            ..Run::default()
        }
    }

    /// Begins a document.
    pub fn hear<'a>(&'a mut self, kemb: &'a Kemb, want: Want) -> Hearing<'a> {
        for frame in &mut self.frames[..self.depth] {
            frame.clear();
        }
        self.depth = 0;
        self.tallies.clear();
        self.complete_children.clear();
        self.kept.begin();
        self.stacks.begin(&kemb.by_stack);
        self.any.begin();
        self.told.begin(want, kemb.query_end);
        self.active_now = 0;
        self.counters = Counters::default();
        Hearing {
            keeps_for_any: want == Want::Answers && !kemb.any.is_empty(),
            kemb,
            run: self,
        }
    }

    /// What the last document gave.
    pub fn told(&self) -> &Told {
        &self.told
    }

    /// What was done for the last document.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The element at this depth contains a word in one more part; `triggers` where the word is not
    /// outdated in it.
    fn contain(&mut self, nfa: &Nfa, depth: usize, word: WordId, own: bool, triggers: bool) {
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

    /// Lemma 2: whether the innermost element contains all words of an accepting state without the
    /// children that do.
    fn is_answer(&self, words: &[WordId], accept: AcceptId) -> bool {
        let depth = (self.depth - 1) as u32;
        let aside = self.complete_children.get(&(depth, accept));
        let aside = aside.copied().unwrap_or(0);
        words
            .iter()
            .all(|&word| self.tallies[&(depth, word)].parts > aside)
    }
}

impl Frame {
    fn clear(&mut self) {
        self.active.clear();
        self.accepting.clear();
        self.words.clear();
        self.complete_below.clear();
    }
}

/// Hears one document.
#[derive(Debug)]
pub struct Hearing<'a> {
    kemb: &'a Kemb,
    run: &'a mut Run,
    /// Whether OR queries want elements kept.
    keeps_for_any: bool,
}

impl Hearing<'_> {
    /// Ends the document.
    pub fn finish(self) {
        self.run.told.finish();
    }

    /// Tells what the innermost element answers.
    fn tell_answers(&mut self) {
        let run = &mut *self.run;
        let frame = &run.frames[run.depth - 1];
        for &accept in &frame.accepting {
            let entry = self.kemb.nfa.accept(accept);
            let (queries, told) = (&entry.queries, &run.told);
            if queries.iter().all(|&query| told.needs_no_more_of(query)) {
                continue;
            }
            if run.is_answer(&entry.words, accept) {
                for &query in queries {
                    run.told.tell(query, frame.element);
                }
            }
        }
    }

    /// Finds the rules whose coverage the innermost element contains, and discards what is
    /// outdated by them (Lemma 5).
    fn discard(&mut self, ended: Ended) {
        let Some(graph) = &self.kemb.coverage else {
            return;
        };
        let run = &mut *self.run;
        run.relevant.begin(graph);
        let depth = run.depth - 1;
        let (frame, tallies) = (&run.frames[depth], &run.tallies);
        let contains = |coverage: &[WordId]| {
            coverage.len() <= frame.words.len()
                && (coverage.iter()).all(|&word| tallies.contains_key(&(depth as u32, word)))
        };
        for &accept in &frame.accepting {
            let sources = &self.kemb.nfa.accept(accept).sources;
            run.relevant.find(graph, sources, contains);
        }
        if !run.relevant.rules().is_empty() {
            let outdated = |word: WordId| {
                let rule = graph.rules().rule_of(word);
                rule.is_some_and(|rule| run.relevant.has(rule))
                    && !(self.keeps_for_any && self.kemb.any.uses(word))
            };
            run.counters.discarded += run.kept.discard(ended, outdated) as u64;
        }
    }

    /// Takes the innermost element off the stack: what it contains goes to its parent.
    fn pop(&mut self) {
        let run = &mut *self.run;
        run.depth -= 1;
        let depth = run.depth;
        let mut frame = std::mem::take(&mut run.frames[depth]);
        run.active_now -= frame.active.len() as u64;
        for &word in &frame.words {
            run.tallies.remove(&(depth as u32, word));
            if depth > 0 {
                let graph = self.kemb.coverage.as_ref();
                let rule = graph.and_then(|graph| graph.rules().rule_of(word));
                let outdated = rule.is_some_and(|rule| run.relevant.has(rule));
                run.contain(&self.kemb.nfa, depth - 1, word, false, !outdated);
            }
        }
        // An element contains all that a child contains: where the child's words were outdated,
        // its accepting states may no longer be active here.
        for &accept in &frame.complete_below {
            run.complete_children.remove(&(depth as u32, accept));
        }
        frame.complete_below.extend_from_slice(&frame.accepting);
        frame.complete_below.sort_unstable();
        frame.complete_below.dedup();
        if let Some(parent) = depth.checked_sub(1) {
            for &accept in &frame.complete_below {
                let key = (parent as u32, accept);
                let count = run.complete_children.entry(key).or_insert(0);
                if *count == 0 {
                    run.frames[parent].complete_below.push(accept);
                }
                *count += 1;
            }
        }
        frame.clear();
        run.frames[depth] = frame;
    }
}

impl TokenSink for Hearing<'_> {
    fn open(&mut self) -> Result<(), Stop> {
        let run = &mut *self.run;
        if run.depth == run.frames.len() {
            run.frames.push(Frame::default());
        }
        let element = run.counters.elements as u32;
        run.limits.check_element(element)?;
        run.frames[run.depth].element = element;
        run.frames[run.depth].active.push(self.kemb.nfa.initial());
        run.depth += 1;
        run.kept.open(element);
        run.active_now += 1;
        run.counters.elements += 1;
        Ok(())
    }

    fn token(&mut self, word: WordId) -> Result<(), Stop> {
        let (kemb, run) = (self.kemb, &mut *self.run);
        let depth = run.depth - 1;
        run.stacks.word(&kemb.by_stack, depth as u32, word);
        let by_any = kemb.any.uses(word);
        if by_any {
            run.any.hear(&kemb.any, word, &mut run.told);
        }
        let by_nfa = kemb.nfa.uses(word);
        if by_nfa {
            let tally = run.tallies.get(&(depth as u32, word));
            if tally.is_none_or(|tally| !tally.own) {
                run.contain(&kemb.nfa, depth, word, true, true);
            }
        }
        if by_nfa || by_any && self.keeps_for_any {
            run.kept.token(word);
        }
        Ok(())
    }

    fn close(&mut self, _: Span, _: Span) -> Result<(), Stop> {
        let run = &mut *self.run;
        let frame = &run.frames[run.depth - 1];
        run.counters.active_states += frame.active.len() as u64;
        run.counters.active_states_peak = run.counters.active_states_peak.max(run.active_now);
        let depth = (run.depth - 1) as u32;
        run.stacks
            .close(&self.kemb.by_stack, depth, frame.element, &mut run.told);
        self.tell_answers();
        let ended = self.run.kept.close();
        self.discard(ended);
        self.pop();
        let run = &mut *self.run;
        if !run.limits.allow_kept(run.kept.size()) {
            if self.keeps_for_any {
                return Err(run.limits.too_large_for_or());
            }
            run.counters.forgotten += run.kept.forget() as u64;
        }
        if self.keeps_for_any && run.depth == 0 {
            run.any
                .answer(&self.kemb.any, &run.kept, &run.limits, &mut run.told)?;
        }
        run.limits.check_answers(run.told.answers().len())
    }
}

#[cfg(test)]
mod tests;
