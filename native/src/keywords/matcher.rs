//! The matcher of keyword subscriptions: a snapshot of an index and a pool of workers.

use std::sync::Arc;

use crate::dispatch::document_source::DocumentSource;
use crate::dispatch::event_reader::ReadSummary;
use crate::dispatch::event_source::EventSource;
use crate::dispatch::outcome::{Counters, MatchError, Matched};
use crate::dispatch::worker_pool::{align_with_snapshot, Pool};
use crate::dispatch::DocumentMatcher;
use crate::keywords::answer_engine::{Answering, Options, State};
use crate::keywords::answers::Answer;
use crate::keywords::engine::{parts, KeywordEngine, PostingsEngine};
use crate::keywords::segment::KeywordSegment;
use crate::keywords::segment_builder::KeywordBuilder;
use crate::keywords::store::KeywordSnapshot;
use crate::keywords::token_dispatcher::{PendingText, RouteBuffers, TokenDispatcher, TokenRoute};
use crate::keywords::worker::{KeywordWorker, MatchingState, SegmentState};
use crate::reader::Summary;
use crate::subscription_store::class_set::{ClassSet, Classes};
use crate::subscription_store::numbering::Numbered;
use crate::subscription_store::store::Build;

/// Subscriptions with equal queries, and the elements that answer them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// The subscriptions.
    pub handles: Vec<u32>,
    /// The numbers of the elements in document order, the root's being 0.
    pub elements: Vec<u32>,
}

/// Matches documents against a snapshot of an index of keyword subscriptions.
pub struct KeywordMatcher<E: KeywordEngine = PostingsEngine> {
    numbered: Numbered<KeywordSegment>,
    engine: E,
    pool: Arc<Pool<KeywordWorker<E>>>,
}

impl<E: KeywordEngine> KeywordMatcher<E> {
    /// A matcher of `snapshot`. The engine prepares itself for all queries now.
    pub fn new(
        snapshot: KeywordSnapshot,
        options: E::Options,
        pool: Arc<Pool<KeywordWorker<E>>>,
    ) -> KeywordMatcher<E> {
        KeywordMatcher {
            engine: E::new(options, &snapshot),
            numbered: Numbered::new(snapshot),
            pool,
        }
    }

    /// The engine.
    pub fn engine(&self) -> &E {
        &self.engine
    }

    /// The subscriptions.
    pub fn numbered(&self) -> &Numbered<KeywordSegment> {
        &self.numbered
    }

    /// The workers.
    pub(crate) fn pool(&self) -> &Pool<KeywordWorker<E>> {
        &self.pool
    }

    /// Begins a document whose names are numbered by the table `names_table`.
    pub(crate) fn begin<'w>(
        &'w self,
        worker: &'w mut KeywordWorker<E>,
        names_table: u64,
    ) -> KeywordPass<'w, E> {
        self.begin_matching(&mut worker.state, names_table)
    }

    fn begin_matching<'w>(
        &'w self,
        state: &'w mut MatchingState<E>,
        names_table: u64,
    ) -> KeywordPass<'w, E> {
        self.align(state);
        let count = state.segments.len();
        let mut pass = KeywordPass {
            matcher: self,
            names_table,
            pending: &mut state.pending,
            routes: Vec::with_capacity(count),
            segments: Vec::with_capacity(count),
        };
        for (at, (segment, state)) in state.segments.iter_mut().enumerate() {
            state.matched.clear();
            pass.routes.push(TokenRoute {
                vocabulary: &segment.vocabulary,
                buffers: &mut state.buffers,
                sink: self.engine.match_sink(at, segment, &mut state.engine),
            });
            pass.segments.push((&**segment, &mut state.matched));
        }
        pass
    }

    /// The elements that answer each subscription that has an answer.
    pub fn answer_ids(
        &self,
        document: &mut DocumentSource<'_>,
    ) -> Result<Vec<Answered>, MatchError> {
        self.read_answers(document, |segments| self.answered(segments))
    }

    /// How many answers a document has to all distinct queries.
    pub fn answer_count(&self, document: &mut DocumentSource<'_>) -> Result<usize, MatchError> {
        self.read_answers(document, |segments| {
            let counts = segments.iter().map(|(_, state)| state.answers.len());
            counts.sum()
        })
    }

    fn read_answers<T>(
        &self,
        document: &mut DocumentSource<'_>,
        collect: impl FnOnce(&[(Arc<KeywordSegment>, SegmentState<E>)]) -> T,
    ) -> Result<T, MatchError> {
        let mut worker = self.pool.take();
        let KeywordWorker { reader, state } = &mut *worker;
        self.align(state);
        let mut routes = Vec::with_capacity(state.segments.len());
        let mut segments = Vec::with_capacity(state.segments.len());
        for (at, (segment, state)) in state.segments.iter_mut().enumerate() {
            state.answers.clear();
            routes.push(TokenRoute {
                vocabulary: &segment.vocabulary,
                buffers: &mut state.buffers,
                sink: self.engine.answer_sink(at, segment, &mut state.engine),
            });
            segments.push((&**segment, &mut state.answers));
        }
        let mut dispatcher =
            TokenDispatcher::new(&mut state.pending, &mut routes, reader.names_table());
        reader.read_original(document, &mut dispatcher)?;
        for (route, (segment, answers)) in routes.into_iter().zip(segments) {
            self.engine.finish_answers(segment, route.sink, answers);
        }
        Ok(collect(&state.segments))
    }

    /// The best answers of each of these subscriptions, at most `limit` of each; always by the default
    /// engine. The words in the answers are numbered as the segment says.
    pub fn answers(
        &self,
        document: &mut DocumentSource<'_>,
        handles: &[u32],
        limit: usize,
    ) -> Result<(Vec<Vec<Answer>>, KeywordSegment, Summary), MatchError> {
        let mut builder = KeywordBuilder::default();
        for &handle in handles {
            let (view, own) = self.numbered.place_of(handle);
            builder.copy(&self.numbered.snapshot.views[view].segment, own);
        }
        let wanted = builder.finish();
        let options = Options {
            limit,
            ..Options::default()
        };
        let (mut buffers, mut state) = (RouteBuffers::default(), State::default());
        let mut routes = [TokenRoute {
            vocabulary: &wanted.vocabulary,
            buffers: &mut buffers,
            sink: Answering::<true>::new(parts(&wanted), options, &mut state),
        }];
        let mut worker = self.pool.take();
        let KeywordWorker { reader, state, .. } = &mut *worker;
        let mut dispatcher =
            TokenDispatcher::new(&mut state.pending, &mut routes, reader.names_table());
        let summary = reader.read_original(document, &mut dispatcher)?;
        let [route] = routes;
        let mut of_class = vec![Vec::new(); wanted.roster.class_count()];
        for (class, answers) in route.sink.finish() {
            of_class[class as usize] = answers;
        }
        let classes = wanted.roster.handle_classes.iter();
        let answers = classes.map(|&class| of_class[class as usize].clone());
        Ok((answers.collect(), wanted, summary))
    }

    fn align(&self, state: &mut MatchingState<E>) {
        let snapshot = &self.numbered.snapshot;
        align_with_snapshot(&mut state.segments, snapshot, |_, segment| {
            SegmentState::new(segment)
        });
    }

    fn answered(&self, segments: &[(Arc<KeywordSegment>, SegmentState<E>)]) -> Vec<Answered> {
        let mut answered = Vec::new();
        for (at, (_, state)) in segments.iter().enumerate() {
            let telling = self.numbered.telling(at);
            for of_class in state.answers.chunk_by(|a, b| a.0 == b.0) {
                let mut handles = Vec::new();
                telling.add(of_class[0].0, &mut handles);
                if !handles.is_empty() {
                    let elements = of_class.iter().map(|answer| answer.1).collect();
                    answered.push(Answered { handles, elements });
                }
            }
        }
        answered
    }
}

/// One document that is being matched: read it into [`KeywordPass::handler`], then call
/// [`KeywordPass::finish`].
pub(crate) struct KeywordPass<'w, E: KeywordEngine> {
    matcher: &'w KeywordMatcher<E>,
    names_table: u64,
    pending: &'w mut PendingText,
    routes: Vec<TokenRoute<'w, E::MatchSink<'w>>>,
    segments: Vec<(&'w KeywordSegment, &'w mut Classes)>,
}

impl<'w, E: KeywordEngine> KeywordPass<'w, E> {
    /// The handler of the document's events.
    pub fn handler(&mut self) -> TokenDispatcher<'_, 'w, E::MatchSink<'w>> {
        TokenDispatcher::new(self.pending, &mut self.routes, self.names_table)
    }

    /// The handles of the subscriptions that match.
    pub fn finish(self) -> Vec<u32> {
        let mut handles = Vec::new();
        let routes = self.routes.into_iter().zip(self.segments);
        for (at, (route, (segment, matched))) in routes.enumerate() {
            let engine = &self.matcher.engine;
            engine.finish_matches(segment, route.sink, matched);
            let telling = self.matcher.numbered.telling(at);
            matched.for_each(|class| telling.add(class, &mut handles));
        }
        handles
    }
}

impl<E: KeywordEngine> DocumentMatcher for KeywordMatcher<E> {
    /// Keywords are matched against the original document, whatever its mapping.
    fn match_document(&self, source: &mut EventSource<'_, '_>) -> Result<Matched, MatchError> {
        let mut worker = self.pool.take();
        let KeywordWorker { reader, state } = &mut *worker;
        let mut pass = self.begin_matching(state, reader.names_table());
        let summary = reader.read_original(source.document, &mut pass.handler())?;
        Ok(Matched {
            handles: pass.finish(),
            counters: Counters::of_read(&ReadSummary::unmapped(summary)),
        })
    }

    fn id(&self, handle: u32) -> &str {
        self.numbered.id(handle)
    }

    fn added_before(&self, handle: u32) -> u32 {
        self.numbered.added_before(handle)
    }
}

#[cfg(test)]
mod tests;
