//! The matcher of keyword subscriptions: a snapshot of an index and a pool of workers.

use std::sync::Arc;

use crate::dispatch::document_source::DocumentSource;
use crate::dispatch::document_work::DocumentWork;
use crate::dispatch::event_reader::ReadSummary;
use crate::dispatch::event_source::EventSource;
use crate::dispatch::outcome::{Counters, MatchError, Matched};
use crate::dispatch::worker_pool::{align_with_snapshot, Pool};
use crate::dispatch::DocumentMatcher;
use crate::events::Refusal;
use crate::keywords::answer_engine::{
    AnswerBuffers, AnswerEngine, AnswerOptions, ANSWER_BYTES_MAX,
};
use crate::keywords::answers::QueryAnswers;
use crate::keywords::engine::{KeywordEngine, PostingsEngine};
use crate::keywords::segment::KeywordSegment;
use crate::keywords::segment_builder::KeywordBuilder;
use crate::keywords::store::KeywordSnapshot;
use crate::keywords::token_dispatcher::{PendingText, RouteBuffers, TokenDispatcher, TokenRoute};
use crate::keywords::worker::{KeywordWorker, MatchingState, SegmentState};
use crate::reader::Summary;
use crate::subscription_store::header_tests::{word_of, HeaderField};
use crate::subscription_store::numbering::NumberedSnapshot;
use crate::subscription_store::store::BuildSegment;
use crate::subscription_store::subscription_table::SubscriptionTable;

/// Matches documents against a snapshot of an index of keyword subscriptions.
pub struct KeywordMatcher<E: KeywordEngine = PostingsEngine> {
    numbered: NumberedSnapshot<KeywordSegment>,
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
            numbered: NumberedSnapshot::new(snapshot),
            pool,
        }
    }

    /// The engine.
    pub fn engine(&self) -> &E {
        &self.engine
    }

    /// The subscriptions.
    pub fn numbered(&self) -> &NumberedSnapshot<KeywordSegment> {
        &self.numbered
    }

    /// Whether some subscription tests header fields.
    pub fn tests_headers(&self) -> bool {
        let views = &self.numbered.snapshot.views;
        views.iter().any(|view| view.segment.tests_headers())
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
        header: &[HeaderField],
    ) -> KeywordPass<'w, E> {
        self.begin_matching(&mut worker.state, names_table, header)
    }

    fn begin_matching<'w>(
        &'w self,
        state: &'w mut MatchingState<E>,
        names_table: u64,
        header: &[HeaderField],
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
            let mut sink = self.engine.match_sink(at, segment, &mut state.engine);
            if segment.tests_headers() {
                for (field, value) in header {
                    if let Some(word) = segment.vocabulary.find(word_of(field, value).as_bytes()) {
                        E::add_header_word(&mut sink, word);
                    }
                }
            }
            pass.routes.push(TokenRoute {
                vocabulary: &segment.vocabulary,
                buffers: &mut state.buffers,
                sink,
            });
            pass.segments.push((&**segment, &mut state.matched));
        }
        pass
    }

    /// Returns the answers of these subscriptions, at most `limit` each, always by the answer
    /// engine; also the segment that numbers the words in the answers, and the reader's summary.
    /// Answers that take too much memory refuse the document.
    pub fn answers(
        &self,
        document: &mut DocumentSource<'_>,
        handles: &[u32],
        limit: usize,
    ) -> Result<(Vec<Arc<QueryAnswers>>, KeywordSegment, Summary), MatchError> {
        let options = AnswerOptions {
            limit,
            ..AnswerOptions::default()
        };
        let found = self.answers_within(options, document, handles)?;
        if found.0.iter().any(|answers| answers.is_abandoned) {
            return Err(MatchError::Refused(too_many_answers(&found.2)));
        }
        Ok(found)
    }

    /// Returns all answers of these subscriptions for their path returns, within the work budget of the
    /// document, and the reader's summary. Those of subscriptions that take too much are abandoned.
    pub fn path_returns(
        &self,
        document: &mut DocumentSource<'_>,
        handles: &[u32],
    ) -> Result<(Vec<Arc<QueryAnswers>>, Summary), MatchError> {
        let limits = &self.pool.options().limits;
        let bytes = document
            .count_bytes(limits.document_bytes)
            .map_err(MatchError::Io)?;
        let work = DocumentWork::new(bytes, self.numbered.count(), limits.work);
        let options = AnswerOptions {
            steps_max: work.steps as u64,
            ..AnswerOptions::default()
        };
        let (answers, _, summary) = self.answers_within(options, document, handles)?;
        Ok((answers, summary))
    }

    fn answers_within(
        &self,
        options: AnswerOptions,
        document: &mut DocumentSource<'_>,
        handles: &[u32],
    ) -> Result<(Vec<Arc<QueryAnswers>>, KeywordSegment, Summary), MatchError> {
        let views = &self.numbered.snapshot.views;
        let tokenizer = views.first().map(|view| view.segment.vocabulary.options);
        let mut builder = KeywordBuilder::new(tokenizer.unwrap_or_default());
        for &handle in handles {
            let (view, own) = self.numbered.locate(handle);
            builder.copy_content(&views[view].segment, own);
        }
        let requested = builder.finish();
        let (mut buffers, mut answer_buffers) = (RouteBuffers::default(), AnswerBuffers::default());
        let mut routes = [TokenRoute {
            vocabulary: &requested.vocabulary,
            buffers: &mut buffers,
            sink: AnswerEngine::new(requested.query_indexes(), options, &mut answer_buffers),
        }];
        let mut worker = self.pool.take();
        let KeywordWorker { reader, state, .. } = &mut *worker;
        let mut dispatcher =
            TokenDispatcher::new(&mut state.pending, &mut routes, reader.names_table());
        let summary = reader.read_original(document, &mut dispatcher)?;
        let [route] = routes;
        let mut of_class: Vec<Arc<QueryAnswers>> = Vec::new();
        of_class.resize_with(requested.subscriptions.class_count(), Arc::default);
        for (class, answers) in route.sink.finish() {
            of_class[class as usize] = Arc::new(answers);
        }
        let classes = requested.subscriptions.row_classes.iter();
        let answers = classes.map(|&class| Arc::clone(&of_class[class as usize]));
        Ok((answers.collect(), requested, summary))
    }

    /// Makes the segments of the working memory those of the snapshot.
    pub(crate) fn align(&self, state: &mut MatchingState<E>) {
        let snapshot = &self.numbered.snapshot;
        align_with_snapshot(&mut state.segments, snapshot, |_, segment| {
            SegmentState::new(segment)
        });
    }
}

/// The refusal of a document whose answers take too much memory.
fn too_many_answers(summary: &Summary) -> Refusal {
    Refusal {
        code: "keywords.too-many-answers",
        message: format!("the answers of the document take more than {ANSWER_BYTES_MAX} bytes"),
        offset: summary.bytes,
        line: 1,
        column: 1,
        path: String::new(),
    }
}

/// One document that is being matched: read it into [`KeywordPass::handler`], then call
/// [`KeywordPass::finish`].
pub(crate) struct KeywordPass<'w, E: KeywordEngine> {
    matcher: &'w KeywordMatcher<E>,
    names_table: u64,
    pending: &'w mut PendingText,
    routes: Vec<TokenRoute<'w, E::MatchSink<'w>>>,
    segments: Vec<(&'w KeywordSegment, &'w mut Vec<u32>)>,
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
            let expansion = self.matcher.numbered.handle_expansion(at);
            expansion.expand_all(matched, &mut handles);
        }
        handles
    }
}

impl<E: KeywordEngine> DocumentMatcher for KeywordMatcher<E> {
    /// Keywords are matched against the original document, whatever its mapping.
    fn match_document(&self, source: &mut EventSource<'_, '_>) -> Result<Matched, MatchError> {
        let mut worker = self.pool.take();
        let KeywordWorker { reader, state } = &mut *worker;
        let mut pass = self.begin_matching(state, reader.names_table(), source.header);
        let summary = reader.read_unmapped(source, &mut pass.handler())?;
        Ok(Matched {
            handles: pass.finish(),
            set_aside: Vec::new(),
            counters: Counters::of_read(&ReadSummary::unmapped(summary)),
        })
    }

    fn id(&self, handle: u32) -> &str {
        self.numbered.id(handle)
    }

    fn in_order_added(&self, handles: &[u32]) -> Vec<u32> {
        self.numbered.in_order_added(handles)
    }

    fn subscription_tables(&self) -> Vec<&SubscriptionTable> {
        self.numbered.subscription_tables().collect()
    }
}

#[cfg(test)]
mod tests;
