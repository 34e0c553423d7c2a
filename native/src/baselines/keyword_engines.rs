//! The keyword baselines as engines of a [`KeywordMatcher`].

use crate::baselines::kale::query_stacks::LcaRule;
use crate::baselines::kale::{Kale, KaleRunner, KaleSink};
use crate::baselines::kemb::counters::{KembCounters, SharedKembCounters};
use crate::baselines::kemb::runner::{KembRunner, KembSink};
use crate::baselines::kemb::Kemb;
use crate::baselines::results::{BaselineResults, ResultKind};
use crate::dispatch::document_source::DocumentSource;
use crate::dispatch::outcome::MatchError;
use crate::keywords::engine::KeywordEngine;
use crate::keywords::matcher::KeywordMatcher;
use crate::keywords::segment::KeywordSegment;
use crate::keywords::store::KeywordSnapshot;
use crate::keywords::token_dispatcher::{TokenDispatcher, TokenRoute};
use crate::keywords::worker::KeywordWorker;

/// A keyword engine that finds all answers of all queries while it reads a document, as in the
/// papers. The default engine matches first, then answers selected subscriptions.
pub trait BaselineEngine: KeywordEngine {
    /// Starts a document for the segment at position `at` of the snapshot, to find all answers.
    fn answer_sink<'a>(&'a self, at: usize, state: &'a mut Self::State) -> Self::MatchSink<'a>;

    /// Ends a document; adds class and element of each answer, ordered by class.
    fn finish_answers(&self, sink: Self::MatchSink<'_>, answers: &mut Vec<(u32, u32)>);
}

/// Subscriptions with equal queries, and the elements that answer them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnsweredClass {
    /// The subscriptions.
    pub handles: Vec<u32>,
    /// The answering elements by number, ascending; the root is 0.
    pub elements: Vec<u32>,
}

/// Finds all answers of all subscriptions of a matcher.
pub fn find_answers<E: BaselineEngine>(
    matcher: &KeywordMatcher<E>,
    document: &mut DocumentSource<'_>,
) -> Result<Vec<AnsweredClass>, MatchError> {
    let mut worker = matcher.pool().take();
    let KeywordWorker { reader, state } = &mut *worker;
    matcher.align(state);
    let mut routes = Vec::with_capacity(state.segments.len());
    for (at, (segment, state)) in state.segments.iter_mut().enumerate() {
        routes.push(TokenRoute {
            vocabulary: &segment.vocabulary,
            buffers: &mut state.buffers,
            sink: matcher.engine().answer_sink(at, &mut state.engine),
        });
    }
    let mut dispatcher =
        TokenDispatcher::new(&mut state.pending, &mut routes, reader.names_table());
    reader.read_original(document, &mut dispatcher)?;
    let mut answered = Vec::new();
    let mut answers = Vec::new();
    for (at, route) in routes.into_iter().enumerate() {
        answers.clear();
        matcher.engine().finish_answers(route.sink, &mut answers);
        let expansion = matcher.numbered().handle_expansion(at);
        for of_class in answers.chunk_by(|a, b| a.0 == b.0) {
            let mut handles = Vec::new();
            expansion.expand(of_class[0].0, &mut handles);
            if !handles.is_empty() {
                let elements = of_class.iter().map(|answer| answer.1).collect();
                answered.push(AnsweredClass { handles, elements });
            }
        }
    }
    Ok(answered)
}

/// KALE, one stack per query; or, by [`LcaRule::Slca`], the SLCA baseline.
pub struct KaleEngine {
    kales: Vec<Kale>,
}

impl KeywordEngine for KaleEngine {
    type Options = LcaRule;
    type State = KaleRunner;
    type MatchSink<'a> = KaleSink<'a>;

    fn new(rule: LcaRule, snapshot: &KeywordSnapshot) -> KaleEngine {
        let queries = snapshot.views.iter().map(|view| &view.segment.queries);
        KaleEngine {
            kales: queries.map(|queries| Kale::new(queries, rule)).collect(),
        }
    }

    fn new_state(_: &KeywordSegment) -> KaleRunner {
        KaleRunner::default()
    }

    fn match_sink<'a>(
        &'a self,
        at: usize,
        _: &'a KeywordSegment,
        state: &'a mut KaleRunner,
    ) -> KaleSink<'a> {
        state.start_document(&self.kales[at], ResultKind::Matches)
    }

    fn finish_matches(&self, _: &KeywordSegment, sink: KaleSink<'_>, matched: &mut Vec<u32>) {
        add_matches(sink.finish().results(), matched);
    }
}

impl BaselineEngine for KaleEngine {
    fn answer_sink<'a>(&'a self, at: usize, state: &'a mut KaleRunner) -> KaleSink<'a> {
        state.start_document(&self.kales[at], ResultKind::Answers)
    }

    fn finish_answers(&self, sink: KaleSink<'_>, answers: &mut Vec<(u32, u32)>) {
        add_answers(sink.finish().results(), answers);
    }
}

/// KEMB: one automaton for all queries of a segment.
pub struct KembEngine {
    kembs: Vec<Kemb>,
    counters: SharedKembCounters,
}

impl KembEngine {
    /// The automaton of each segment.
    pub fn kembs(&self) -> &[Kemb] {
        &self.kembs
    }

    /// The counters summed over all documents so far.
    pub fn counters(&self) -> KembCounters {
        self.counters.get()
    }
}

/// Options of [`KembEngine`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KembOptions {
    /// Whether outdated elements are discarded.
    pub discard: bool,
}

impl KeywordEngine for KembEngine {
    type Options = KembOptions;
    type State = KembRunner;
    type MatchSink<'a> = KembSink<'a>;

    fn new(options: KembOptions, snapshot: &KeywordSnapshot) -> KembEngine {
        let queries = snapshot.views.iter().map(|view| &view.segment.queries);
        let kemb = |queries| Kemb::new(queries, options.discard);
        KembEngine {
            kembs: queries.map(|queries| kemb(queries)).collect(),
            counters: SharedKembCounters::default(),
        }
    }

    fn new_state(_: &KeywordSegment) -> KembRunner {
        KembRunner::default()
    }

    fn match_sink<'a>(
        &'a self,
        at: usize,
        _: &'a KeywordSegment,
        state: &'a mut KembRunner,
    ) -> KembSink<'a> {
        state.start_document(&self.kembs[at], ResultKind::Matches)
    }

    fn finish_matches(&self, _: &KeywordSegment, sink: KembSink<'_>, matched: &mut Vec<u32>) {
        let runner = sink.finish();
        self.counters.add(runner.counters());
        add_matches(runner.results(), matched);
    }
}

impl BaselineEngine for KembEngine {
    fn answer_sink<'a>(&'a self, at: usize, state: &'a mut KembRunner) -> KembSink<'a> {
        state.start_document(&self.kembs[at], ResultKind::Answers)
    }

    fn finish_answers(&self, sink: KembSink<'_>, answers: &mut Vec<(u32, u32)>) {
        let runner = sink.finish();
        self.counters.add(runner.counters());
        add_answers(runner.results(), answers);
    }
}

fn add_matches(results: &BaselineResults, matched: &mut Vec<u32>) {
    let first = matched.len();
    matched.extend_from_slice(results.matches());
    debug_assert!(matched[first..].is_sorted_by(|a, b| a < b));
}

fn add_answers(results: &BaselineResults, answers: &mut Vec<(u32, u32)>) {
    let found = results.answers().iter();
    answers.extend(found.map(|answer| (answer.query, answer.element)));
}

#[cfg(test)]
mod tests;
