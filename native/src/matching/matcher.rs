//! The matcher of path subscriptions: a snapshot of an index and a pool of workers.
//!
//! Threads share a matcher; each takes a worker from the pool for one document. The pool outlives
//! the matcher, so that a matcher of the next snapshot finds the segments it shares with this one
//! warm.

use std::sync::Arc;

use hashbrown::hash_map::Entry;

use crate::dispatch::document_source::DocumentSource;
use crate::dispatch::event_reader::{EventReader, Fragment, ReadSummary};
use crate::dispatch::event_source::EventSource;
use crate::dispatch::outcome::{Counters, MatchError, Matched};
use crate::dispatch::worker_pool::{align_with_snapshot, Pool};
use crate::dispatch::DocumentMatcher;
use crate::matching::automaton_engine::AutomatonEngine;
use crate::matching::engine::PathEngine;
use crate::matching::worker::PathWorker;
use crate::path_index::segment::Segment;
use crate::path_index::subscription_index::PathSnapshot;
use crate::reader::{Limits, Summary};
use crate::select::{
    explain, Explanation, QueryResult, ResultDetail, SelectedNode, SelectionOptions, Selector,
    CANDIDATES_MAX,
};
use crate::subscription_store::class_set::ClassSet;
use crate::subscription_store::header_tests::HeaderField;
use crate::subscription_store::numbering::NumberedSnapshot;
use crate::subscription_store::subscription_table::SubscriptionTable;
use crate::xpath::ast::Query;

/// Compiled selectors that a worker caches; past it the cache is flushed.
const SELECTORS_CACHED_MAX: usize = 10_000;

/// Matches documents against a snapshot of an index of path subscriptions.
pub struct PathMatcher<E: PathEngine = AutomatonEngine> {
    numbered: NumberedSnapshot<Segment>,
    engine: E,
    pool: Arc<Pool<PathWorker<E>>>,
    /// The header fields that some subscription tests; ascending, distinct.
    header_fields: Vec<String>,
}

impl<E: PathEngine> PathMatcher<E> {
    /// A matcher of `snapshot`.
    pub fn new(snapshot: PathSnapshot, pool: Arc<Pool<PathWorker<E>>>) -> PathMatcher<E> {
        let segments = snapshot.views.iter().map(|view| &view.segment);
        let mut header_fields: Vec<String> = segments
            .flat_map(|segment| segment.header_fields())
            .collect();
        header_fields.sort_unstable();
        header_fields.dedup();
        PathMatcher {
            header_fields,
            engine: E::new(&snapshot),
            numbered: NumberedSnapshot::new(snapshot),
            pool,
        }
    }

    /// A matcher of the same snapshot whose reader has other limits. It has its own workers.
    pub fn with_limits(&self, limits: Limits) -> PathMatcher<E> {
        let mut options = self.pool.options().clone();
        options.reader.limits = limits;
        let pool = Arc::new(Pool::new(options));
        PathMatcher::new(self.numbered.snapshot.clone(), pool)
    }

    /// The subscriptions.
    pub fn numbered(&self) -> &NumberedSnapshot<Segment> {
        &self.numbered
    }

    /// The workers.
    pub(crate) fn pool(&self) -> &Pool<PathWorker<E>> {
        &self.pool
    }

    /// Whether some subscription tests header fields.
    pub fn tests_headers(&self) -> bool {
        !self.header_fields.is_empty()
    }

    /// The fields of a header that some subscription tests.
    pub(crate) fn tested<'h>(&self, header: &'h [HeaderField]) -> Vec<&'h HeaderField> {
        let is_tested = |(field, _): &&HeaderField| self.header_fields.binary_search(field).is_ok();
        header.iter().filter(is_tested).collect()
    }

    /// Begins a document: the reader to read it with, and the handler of its events.
    pub(crate) fn begin<'w>(
        &'w self,
        worker: &'w mut PathWorker<E>,
        memoize_repeated: bool,
    ) -> (&'w mut EventReader, E::Handler<'w>) {
        let limits = self.pool.options().run;
        let snapshot = &self.numbered.snapshot;
        align_with_snapshot(&mut worker.states, snapshot, |at, segment| {
            self.engine.new_state(at, segment, limits)
        });
        let names_table = worker.reader.names_table();
        let handler = self
            .engine
            .begin(&mut worker.states, names_table, memoize_repeated);
        (&mut worker.reader, handler)
    }

    /// Collects the matches of a document that was read into the handler of [`PathMatcher::begin`].
    /// Verification may read the document again.
    pub(crate) fn finish(
        &self,
        worker: &mut PathWorker<E>,
        source: &mut EventSource<'_, '_>,
        read: &ReadSummary,
    ) -> Result<Matched, MatchError> {
        let mut counters = Counters::of_read(read);
        let mut handles = std::mem::take(&mut worker.handles);
        handles.clear();
        let mut unverified = Vec::new();
        for (at, (_, state)) in worker.states.iter().enumerate() {
            E::count(state, &mut counters);
            let (matches, candidates) = E::results(state);
            let expansion = self.numbered.handle_expansion(at);
            matches.for_each(|class| expansion.expand(class, &mut handles));
            let open = candidates
                .list()
                .iter()
                .filter(|&&class| !matches.contains(class));
            unverified.extend(open.map(|&class| (at, class)));
        }
        let verified = self.verify(worker, source, &unverified, &mut handles);
        counters.verified = unverified.len() as u64;
        let matched = Matched {
            handles: handles.as_slice().into(),
            counters,
        };
        worker.handles = handles;
        verified.map(|()| matched)
    }

    /// Evaluates candidates exactly and adds the handles of those that match.
    fn verify(
        &self,
        worker: &mut PathWorker<E>,
        source: &mut EventSource<'_, '_>,
        candidates: &[(usize, u32)],
        handles: &mut Vec<u32>,
    ) -> Result<(), MatchError> {
        if candidates.is_empty() {
            return Ok(());
        }
        let (outcomes, _) =
            self.evaluate(worker, source, candidates, SelectionOptions::default())?;
        for (&(at, class), outcome) in candidates.iter().zip(&outcomes) {
            if outcome.matched {
                self.numbered.handle_expansion(at).expand(class, handles);
            }
        }
        Ok(())
    }

    /// Evaluates classes exactly; each is given by the position of its view and its number there.
    fn evaluate(
        &self,
        worker: &mut PathWorker<E>,
        source: &mut EventSource<'_, '_>,
        classes: &[(usize, u32)],
        options: SelectionOptions,
    ) -> Result<(Vec<QueryResult>, Summary), MatchError> {
        if worker.selectors.len() > SELECTORS_CACHED_MAX {
            worker.selectors.clear();
        }
        let mut selectors: Vec<Arc<Selector>> = Vec::with_capacity(classes.len());
        for &(at, class) in classes {
            let segment = &self.numbered.snapshot.views[at].segment;
            selectors.push(match worker.selectors.entry((segment.serial, class)) {
                Entry::Occupied(known) => Arc::clone(known.get()),
                Entry::Vacant(new) => {
                    let query = segment.query_of(class)?;
                    Arc::clone(new.insert(Arc::new(Selector::compile(&query))))
                }
            });
        }
        let borrowed: Vec<&Selector> = selectors.iter().map(|selector| &**selector).collect();
        worker.reader.evaluate(source, &borrowed, options)
    }

    /// The nodes that each of these subscriptions selects in a document.
    pub fn select(
        &self,
        document: &mut DocumentSource<'_>,
        handles: &[u32],
    ) -> Result<(Vec<Vec<SelectedNode>>, Summary), MatchError> {
        let mut source = EventSource::unmapped(document);
        let (outcomes, summary) = self.select_nodes(&mut self.pool.take(), &mut source, handles)?;
        Ok((
            outcomes.into_iter().map(|outcome| outcome.nodes).collect(),
            summary,
        ))
    }

    /// The fragments of the original document that each of these subscriptions selects in the
    /// rewritten document.
    pub fn select_fragments(
        &self,
        source: &mut EventSource<'_, '_>,
        handles: &[u32],
    ) -> Result<(Vec<Vec<Fragment>>, Summary), MatchError> {
        let mut worker = self.pool.take();
        let (outcomes, summary) = self.select_nodes(&mut worker, source, handles)?;
        Ok((worker.reader.cut(source.document, &outcomes)?, summary))
    }

    fn select_nodes(
        &self,
        worker: &mut PathWorker<E>,
        source: &mut EventSource<'_, '_>,
        handles: &[u32],
    ) -> Result<(Vec<QueryResult>, Summary), MatchError> {
        let classes: Vec<(usize, u32)> = handles
            .iter()
            .map(|&handle| self.numbered.class_of(handle))
            .collect();
        let options = SelectionOptions {
            detail: ResultDetail::AllNodes,
            ..SelectionOptions::default()
        };
        self.evaluate(worker, source, &classes, options)
    }

    /// The query of a handle in normal form, and why it selects something or nothing.
    pub fn explain(
        &self,
        document: &mut DocumentSource<'_>,
        handle: u32,
    ) -> Result<(Query, Explanation), MatchError> {
        let (view, class) = self.numbered.class_of(handle);
        let query = self.numbered.snapshot.views[view].segment.query_of(class)?;
        let mut worker = self.pool.take();
        let explanation = explain(&query, CANDIDATES_MAX, |selection| {
            worker.reader.read_original(document, selection).map(drop)
        })?;
        Ok((query, explanation))
    }
}

impl<E: PathEngine> DocumentMatcher for PathMatcher<E> {
    fn match_document(&self, source: &mut EventSource<'_, '_>) -> Result<Matched, MatchError> {
        let mut worker = self.pool.take();
        let (reader, handler) = self.begin(&mut worker, source.memoize_repeated);
        let header = self.tested(source.header);
        let read = reader.read_with_header(source, &header, handler, None)?;
        self.finish(&mut worker, source, &read)
    }

    fn id(&self, handle: u32) -> &str {
        self.numbered.id(handle)
    }

    fn added_before(&self, handle: u32) -> u32 {
        self.numbered.added_before(handle)
    }

    fn subscription_tables(&self) -> Vec<&SubscriptionTable> {
        self.numbered.subscription_tables().collect()
    }
}
