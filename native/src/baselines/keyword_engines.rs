//! The keyword baselines as engines of a [`KeywordMatcher`](crate::keywords::matcher::KeywordMatcher).

use crate::baselines::kale::{Kale, KaleRunner, KaleSink};
use crate::baselines::kemb::counters::{KembCounters, SharedKembCounters};
use crate::baselines::kemb::runner::{KembRunner, KembSink};
use crate::baselines::kemb::Kemb;
use crate::baselines::results::{BaselineResults, ResultKind};
use crate::keywords::answer_engine::{Answering, State};
use crate::keywords::conjunctive_answers::Which;
use crate::keywords::engine::{answer_sink, finish_answers, KeywordEngine};
use crate::keywords::segment::KeywordSegment;
use crate::keywords::store::KeywordSnapshot;
use crate::subscription_store::class_set::Classes;

/// SLCA: the smallest elements that contain all words. It answers no OR query.
pub struct SlcaEngine;

impl KeywordEngine for SlcaEngine {
    type Options = ();
    type State = State;
    type MatchSink<'a> = Answering<'a, false>;
    type AnswerSink<'a> = Answering<'a, false>;

    fn new((): (), _: &KeywordSnapshot) -> SlcaEngine {
        SlcaEngine
    }

    fn new_state(_: &KeywordSegment) -> State {
        State::default()
    }

    fn match_sink<'a>(
        &'a self,
        at: usize,
        segment: &'a KeywordSegment,
        state: &'a mut State,
    ) -> Answering<'a, false> {
        self.answer_sink(at, segment, state)
    }

    fn finish_matches(
        &self,
        segment: &KeywordSegment,
        sink: Answering<'_, false>,
        matched: &mut Classes,
    ) {
        let mut answers = Vec::new();
        finish_answers(segment, sink, &mut answers);
        answers.iter().for_each(|answer| matched.insert(answer.0));
    }

    fn answer_sink<'a>(
        &'a self,
        _: usize,
        segment: &'a KeywordSegment,
        state: &'a mut State,
    ) -> Answering<'a, false> {
        answer_sink(segment, Which::Smallest, state)
    }

    fn finish_answers(
        &self,
        segment: &KeywordSegment,
        sink: Answering<'_, false>,
        answers: &mut Vec<(u32, u32)>,
    ) {
        finish_answers(segment, sink, answers);
    }
}

/// KALE: a stack for each query.
pub struct KaleEngine {
    kales: Vec<Kale>,
}

impl KeywordEngine for KaleEngine {
    type Options = ();
    type State = KaleRunner;
    type MatchSink<'a> = KaleSink<'a>;
    type AnswerSink<'a> = KaleSink<'a>;

    fn new((): (), snapshot: &KeywordSnapshot) -> KaleEngine {
        let queries = snapshot.views.iter().map(|view| &view.segment.queries);
        KaleEngine {
            kales: queries.map(|queries| Kale::new(queries)).collect(),
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

    fn finish_matches(&self, _: &KeywordSegment, sink: KaleSink<'_>, matched: &mut Classes) {
        add_matches(sink.finish().results(), matched);
    }

    fn answer_sink<'a>(
        &'a self,
        at: usize,
        _: &'a KeywordSegment,
        state: &'a mut KaleRunner,
    ) -> KaleSink<'a> {
        state.start_document(&self.kales[at], ResultKind::Answers)
    }

    fn finish_answers(
        &self,
        _: &KeywordSegment,
        sink: KaleSink<'_>,
        answers: &mut Vec<(u32, u32)>,
    ) {
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

    /// The work done for all documents so far.
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
    type AnswerSink<'a> = KembSink<'a>;

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

    fn finish_matches(&self, _: &KeywordSegment, sink: KembSink<'_>, matched: &mut Classes) {
        let runner = sink.finish();
        self.counters.add(runner.counters());
        add_matches(runner.results(), matched);
    }

    fn answer_sink<'a>(
        &'a self,
        at: usize,
        _: &'a KeywordSegment,
        state: &'a mut KembRunner,
    ) -> KembSink<'a> {
        state.start_document(&self.kembs[at], ResultKind::Answers)
    }

    fn finish_answers(
        &self,
        _: &KeywordSegment,
        sink: KembSink<'_>,
        answers: &mut Vec<(u32, u32)>,
    ) {
        let runner = sink.finish();
        self.counters.add(runner.counters());
        add_answers(runner.results(), answers);
    }
}

fn add_matches(results: &BaselineResults, matched: &mut Classes) {
    let classes = results.matches().iter();
    classes.for_each(|&class| matched.insert(class));
}

fn add_answers(results: &BaselineResults, answers: &mut Vec<(u32, u32)>) {
    let found = results.answers().iter();
    answers.extend(found.map(|answer| (answer.query, answer.element)));
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::dispatch::document_source::DocumentSource;
    use crate::dispatch::event_source::EventSource;
    use crate::dispatch::worker_pool::Pool;
    use crate::dispatch::DocumentMatcher;
    use crate::keywords::matcher::KeywordMatcher;
    use crate::keywords::store::KeywordIndex;
    use crate::reader::ReaderOptions;

    #[test]
    fn counters_are_summed_over_documents() {
        let mut index = KeywordIndex::default();
        assert!(index.add("a", "x y").is_ok());
        let pool = Arc::new(Pool::new(ReaderOptions::default()));
        let options = KembOptions { discard: true };
        let matcher = KeywordMatcher::<KembEngine>::new(index.snapshot(), options, pool);
        assert_eq!(matcher.engine().kembs().len(), 1);
        let match_once = || {
            let document = &mut DocumentSource::Bytes(b"<d><e>x y</e><e>x</e></d>");
            let matched = matcher.match_document(&mut EventSource::unmapped(document));
            assert!(matched.is_ok());
        };
        match_once();
        let once = matcher.engine().counters();
        assert_eq!(once.elements, 3);
        assert!(once.active_states > 0 && once.active_states_peak > 0);
        match_once();
        let twice = matcher.engine().counters();
        assert_eq!(twice.elements, 6);
        assert_eq!(twice.active_states, 2 * once.active_states);
        assert_eq!(twice.active_states_peak, once.active_states_peak);
    }
}
