//! The matcher of path subscriptions: a snapshot of an index and a pool of workers.
//!
//! Threads share a matcher; each takes a worker from the pool for one document. The pool outlives
//! the matcher, so that a matcher of the next snapshot finds the segments it shares with this one
//! warm.

use std::sync::Arc;

use hashbrown::hash_map::Entry;
use hashbrown::HashMap;

use crate::dispatch::document_source::DocumentSource;
use crate::dispatch::document_work::DocumentWork;
use crate::dispatch::event_reader::{Evaluated, EventReader, Fragment, ReadSummary};
use crate::dispatch::event_source::EventSource;
use crate::dispatch::outcome::{Counters, MatchError, Matched};
use crate::dispatch::worker_pool::{align_with_snapshot, Pool};
use crate::dispatch::DocumentMatcher;
use crate::matching::automaton_engine::AutomatonEngine;
use crate::matching::class_costs::{ClassCosts, PartsOfClasses};
use crate::matching::class_parts::ClassParts;
use crate::matching::engine::PathEngine;
use crate::matching::segment_run::WorkBudget;
use crate::matching::set_aside::SetAside;
use crate::matching::worker::PathWorker;
use crate::path_index::segment::Segment;
use crate::path_index::subscription_index::PathSnapshot;
use crate::reader::{Limits, Summary};
use crate::select::{
    explain, Explanation, QueryParts, QueryResult, QuerySteps, ResultDetail, SelectedNode,
    SelectionOptions, Selector,
};
use crate::subscription_store::class_set::ClassSet;
use crate::subscription_store::header_tests::HeaderField;
use crate::subscription_store::numbering::NumberedSnapshot;
use crate::subscription_store::store::SegmentView;
use crate::subscription_store::subscription_table::SubscriptionTable;
use crate::xpath::ast::Query;

/// Compiled selectors that a worker caches; past it the cache is flushed.
const SELECTORS_CACHED_MAX: usize = 10_000;

/// How many work budgets of a document an explanation may take: it evaluates a query step by step,
/// and delays only its caller.
const EXPLANATION_BUDGETS: u64 = 10;

/// Maximum size of the parts of classes that a worker keeps; larger ones are found again for each
/// document that spends its work budget.
const CLASS_PARTS_CACHED_BYTES_MAX: usize = 16 * 1024 * 1024;

/// A result for each query; `None` for those whose evaluation spent the work budget.
pub type ByQuery<T> = Vec<Option<T>>;

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

    /// Reads a document into the engine by calling `read`, and collects its matches. If the work
    /// budget is spent, the most expensive classes are set aside and the document is read again
    /// without them. Verification may also read the document again.
    pub(crate) fn match_by(
        &self,
        worker: &mut PathWorker<E>,
        source: &mut EventSource<'_, '_>,
        mut read: impl FnMut(
            &mut EventReader,
            &mut EventSource<'_, '_>,
            E::Handler<'_>,
        ) -> Result<ReadSummary, MatchError>,
    ) -> Result<Matched, MatchError> {
        let limits = self.pool.options().run;
        let snapshot = &self.numbered.snapshot;
        align_with_snapshot(&mut worker.states, snapshot, |at, segment| {
            self.engine.new_state(at, segment, limits)
        });
        worker.restricted = None;
        let work = self.work_of(source)?;
        let mut set_aside = SetAside::default();
        let mut steps_before = 0;
        loop {
            let PathWorker {
                reader,
                states,
                restricted,
                ..
            } = &mut *worker;
            let is_first = restricted.is_none();
            let states = restricted.as_mut().unwrap_or(states);
            let names_table = reader.names_table();
            let steps = set_aside.reading_steps(&work);
            let budget = WorkBudget {
                steps,
                attributed_below: if is_first { steps / 2 } else { steps },
                node_quota: set_aside.node_quota(&work),
            };
            let memoize_repeated = source.memoize_repeated;
            let handler = self
                .engine
                .begin(states, names_table, memoize_repeated, budget);
            let spent_at = match read(reader, source, handler) {
                Ok(read) => {
                    if !is_first {
                        let dropped = E::dropped_classes(states).into_iter().enumerate();
                        dropped.for_each(|(view, classes)| set_aside.extend(view, classes));
                    }
                    let mut counters = Counters::of_read(&read);
                    let own = if states.is_empty() {
                        0
                    } else {
                        steps - E::steps_left(states)
                    };
                    counters.steps = steps_before + own as u64;
                    return self.finish(worker, source, counters, (work, set_aside));
                }
                Err(error) => error.work_spent_at().ok_or(error)?,
            };
            // What exceeds the budget is counted, too.
            steps_before += (steps - E::steps_left(states)) as u64;
            let attributions = E::take_attributions(states);
            let parts = self.parts_of_classes(&mut worker.class_parts);
            let of_views = attributions.iter().zip(&parts).enumerate();
            let costs = of_views.map(|(view, (attribution, parts))| {
                let steps = attribution.nodes.iter().chain(&attribution.operands);
                let classes = (0..parts.class_count()).filter(|&at| !set_aside.contains(view, at));
                ClassCosts::new(&**parts, steps.copied(), classes.collect())
            });
            set_aside.add_most_expensive_of(costs.collect(), work.share_read(spent_at));
            worker.restricted = Some(match set_aside.leaves_none() {
                true => Vec::new(),
                false => self.restricted_states(&parts, &set_aside),
            });
        }
    }

    /// How much work a document may take.
    fn work_of(&self, source: &mut EventSource<'_, '_>) -> Result<DocumentWork, MatchError> {
        let limits = &self.pool.options().reader.limits;
        let bytes = source
            .document
            .count_bytes(limits.document_bytes)
            .map_err(MatchError::Io)?;
        Ok(DocumentWork::new(bytes, self.numbered.count(), limits.work))
    }

    /// The parts that the classes of each segment use, from the cache if it has them.
    fn parts_of_classes(&self, cached: &mut HashMap<u64, Arc<ClassParts>>) -> Vec<Arc<ClassParts>> {
        let views = self.numbered.snapshot.views.iter();
        let of_view = |view: &SegmentView<Segment>| match cached.get(&view.segment.serial) {
            Some(known) => Arc::clone(known),
            None => Arc::new(ClassParts::new(&view.segment)),
        };
        let parts: Vec<Arc<ClassParts>> = views.clone().map(of_view).collect();
        // Only those of the current segments are kept.
        cached.clear();
        if parts.iter().map(|parts| parts.bytes()).sum::<usize>() <= CLASS_PARTS_CACHED_BYTES_MAX {
            let serials = views.map(|view| view.segment.serial);
            cached.extend(serials.zip(parts.iter().cloned()));
        }
        parts
    }

    /// Working memory without the classes that are set aside.
    fn restricted_states(
        &self,
        parts: &[Arc<ClassParts>],
        set_aside: &SetAside,
    ) -> Vec<(Arc<Segment>, E::State)> {
        let limits = self.pool.options().run;
        let views = self.numbered.snapshot.views.iter().enumerate();
        let state = |(at, view): (usize, &SegmentView<Segment>)| {
            let segment = Arc::clone(&view.segment);
            let is_set_aside = |class| set_aside.contains(at, class);
            let engine = &self.engine;
            let state =
                engine.new_restricted_state(at, &segment, limits, &parts[at], &is_set_aside);
            (segment, state)
        };
        views.map(state).collect()
    }

    /// Collects the matches of a document that was read. Verification may read the document again.
    fn finish(
        &self,
        worker: &mut PathWorker<E>,
        source: &mut EventSource<'_, '_>,
        mut counters: Counters,
        (work, mut set_aside): (DocumentWork, SetAside),
    ) -> Result<Matched, MatchError> {
        let mut handles = std::mem::take(&mut worker.handles);
        handles.clear();
        let mut unverified = Vec::new();
        let states = worker.restricted.as_ref().unwrap_or(&worker.states);
        for (at, (_, state)) in states.iter().enumerate() {
            E::count(state, &mut counters);
            let (matches, candidates) = E::results(state);
            let expansion = self.numbered.handle_expansion(at);
            if set_aside.is_empty() {
                matches.for_each(|class| expansion.expand(class, &mut handles));
            } else {
                matches.for_each(|class| {
                    if !set_aside.contains(at, class) {
                        expansion.expand(class, &mut handles);
                    }
                });
            }
            let open = candidates
                .list()
                .iter()
                .filter(|&&class| !matches.contains(class) && !set_aside.contains(at, class));
            unverified.extend(open.map(|&class| (at, class)));
        }
        worker.restricted = None;
        counters.verified = unverified.len() as u64;
        let verified = self.verify(
            worker,
            source,
            unverified,
            work,
            &mut set_aside,
            &mut handles,
        );
        if let Ok(steps) = &verified {
            counters.steps += steps;
        }
        let mut aside = Vec::new();
        for (view, class) in set_aside.sorted() {
            let expansion = self.numbered.handle_expansion(view);
            expansion.expand(class, &mut aside);
        }
        aside.sort_unstable();
        let matched = Matched {
            handles: handles.as_slice().into(),
            set_aside: aside,
            counters,
        };
        worker.handles = handles;
        verified.map(|_| matched)
    }

    /// Evaluates candidates exactly and adds the handles of those that match. If the work budget is
    /// spent, the most expensive ones that did not match so far are set aside. Returns the steps it
    /// took.
    fn verify(
        &self,
        worker: &mut PathWorker<E>,
        source: &mut EventSource<'_, '_>,
        candidates: Vec<(usize, u32)>,
        work: DocumentWork,
        set_aside: &mut SetAside,
        handles: &mut Vec<u32>,
    ) -> Result<u64, MatchError> {
        let detail = ResultDetail::MatchOnly;
        let (results, steps, _) = self.evaluate(worker, source, &candidates, (detail, work))?;
        for (&(view, class), result) in candidates.iter().zip(&results) {
            match result {
                Some(result) if result.matched => {
                    self.numbered.handle_expansion(view).expand(class, handles);
                }
                Some(_) => {}
                None => set_aside.extend(view, [class]),
            }
        }
        Ok(steps)
    }

    /// Evaluates classes exactly; each is given by the position of its view and its number there. If
    /// the work budget is spent, the most expensive ones are set aside: they have no result. Returns
    /// the results, the steps they took, and the summary of the last reading if it was complete.
    fn evaluate(
        &self,
        worker: &mut PathWorker<E>,
        source: &mut EventSource<'_, '_>,
        classes: &[(usize, u32)],
        (detail, work): (ResultDetail, DocumentWork),
    ) -> Result<(ByQuery<QueryResult>, u64, Option<Summary>), MatchError> {
        let mut results: Vec<Option<QueryResult>> = vec![None; classes.len()];
        let mut steps = 0;
        if classes.is_empty() {
            return Ok((results, steps, None));
        }
        let selectors = self.selectors(worker, classes)?;
        // The views and numbers of `set_aside` are 0 and positions in `classes`.
        let mut set_aside = SetAside::default();
        let mut open: Vec<u32> = (0..classes.len() as u32).collect();
        loop {
            open.retain(|&at| !set_aside.contains(0, at));
            let evaluated = open.iter().map(|&at| &*selectors[at as usize]);
            let evaluated: Vec<&Selector> = evaluated.collect();
            // The other half is for reading the document.
            let (table, order) = QuerySteps::within(&evaluated, work.steps as u64 / 2);
            open = order.into_iter().map(|at| open[at]).collect();
            set_aside.extend(0, open.drain(table.query_count()..));
            if open.is_empty() {
                return Ok((results, steps, None));
            }
            let options = SelectionOptions {
                detail,
                steps_max: set_aside.reading_steps(&work) as u64,
                ..SelectionOptions::default()
            };
            let (selected, read) = worker.reader.evaluate(source, &table, options)?;
            steps += selected.total_steps();
            let costs = selected.costs().to_vec();
            let is_complete = matches!(read, Evaluated::Complete(_));
            for (&at, outcome) in open.iter().zip(selected.queries) {
                // What matched so far matches.
                if is_complete || (detail == ResultDetail::MatchOnly && outcome.matched) {
                    results[at as usize] = Some(outcome);
                }
            }
            match read {
                Evaluated::Complete(summary) => return Ok((results, steps, Some(summary))),
                Evaluated::Interrupted { offset } => {
                    let parts = EvaluatedParts::new(&table, &open);
                    let undecided = open.iter().copied();
                    let undecided = undecided.filter(|&at| results[at as usize].is_none());
                    let mut undecided: Vec<u32> = undecided.collect();
                    undecided.sort_unstable();
                    let costs = ClassCosts::new(&parts, costs.into_iter(), undecided.clone());
                    let share_read = work.share_read(offset);
                    set_aside.add_users_of_most_expensive(vec![costs], share_read);
                    open = undecided;
                }
            }
        }
    }

    /// The compiled queries of classes, from the cache if it has them.
    fn selectors(
        &self,
        worker: &mut PathWorker<E>,
        classes: &[(usize, u32)],
    ) -> Result<Vec<Arc<Selector>>, MatchError> {
        if worker.selectors.len() > SELECTORS_CACHED_MAX {
            worker.selectors.clear();
            worker.compiler.clear();
        }
        let mut selectors: Vec<Arc<Selector>> = Vec::with_capacity(classes.len());
        for &(at, class) in classes {
            let segment = &self.numbered.snapshot.views[at].segment;
            selectors.push(match worker.selectors.entry((segment.serial, class)) {
                Entry::Occupied(known) => Arc::clone(known.get()),
                Entry::Vacant(new) => {
                    let query = segment.query_of(class)?;
                    Arc::clone(new.insert(Arc::new(worker.compiler.compile(&query))))
                }
            });
        }
        Ok(selectors)
    }

    /// The nodes that each of these subscriptions selects in a document; `None` for those whose
    /// evaluation spent the work budget.
    pub fn select(
        &self,
        document: &mut DocumentSource<'_>,
        handles: &[u32],
    ) -> Result<(ByQuery<Vec<SelectedNode>>, Summary), MatchError> {
        let mut source = EventSource::unmapped(document);
        let (outcomes, summary) = self.select_nodes(&mut self.pool.take(), &mut source, handles)?;
        let nodes = |outcome: Option<QueryResult>| outcome.map(|outcome| outcome.nodes);
        Ok((outcomes.into_iter().map(nodes).collect(), summary))
    }

    /// The fragments of the original document that each of these subscriptions selects in the
    /// rewritten document; `None` for those whose evaluation spent the work budget.
    pub fn select_fragments(
        &self,
        source: &mut EventSource<'_, '_>,
        handles: &[u32],
    ) -> Result<(ByQuery<Vec<Fragment>>, Summary), MatchError> {
        let mut worker = self.pool.take();
        let (outcomes, summary) = self.select_nodes(&mut worker, source, handles)?;
        let is_set_aside: Vec<bool> = outcomes.iter().map(Option::is_none).collect();
        let outcomes: Vec<QueryResult> = outcomes
            .into_iter()
            .map(Option::unwrap_or_default)
            .collect();
        let cut = worker.reader.cut(source.document, &outcomes)?.into_iter();
        let fragments = cut.zip(is_set_aside);
        Ok((
            fragments
                .map(|(fragments, is_set_aside)| (!is_set_aside).then_some(fragments))
                .collect(),
            summary,
        ))
    }

    fn select_nodes(
        &self,
        worker: &mut PathWorker<E>,
        source: &mut EventSource<'_, '_>,
        handles: &[u32],
    ) -> Result<(ByQuery<QueryResult>, Summary), MatchError> {
        let classes: Vec<(usize, u32)> = handles
            .iter()
            .map(|&handle| self.numbered.class_of(handle))
            .collect();
        let work = self.work_of(source)?;
        let detail = ResultDetail::AllNodes;
        let (outcomes, _, summary) = self.evaluate(worker, source, &classes, (detail, work))?;
        let summary = match summary {
            Some(summary) => summary,
            // No query remains, but the document must be well-formed.
            None => {
                let options = SelectionOptions::default();
                let nothing = QuerySteps::new(&[]);
                match worker.reader.evaluate(source, &nothing, options)?.1 {
                    Evaluated::Complete(summary) => summary,
                    Evaluated::Interrupted { .. } => unreachable!("no query spends the budget"),
                }
            }
        };
        Ok((outcomes, summary))
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
        let work = self.work_of(&mut EventSource::unmapped(document))?;
        let options = SelectionOptions {
            steps_max: (work.steps as u64).saturating_mul(EXPLANATION_BUDGETS),
            ..SelectionOptions::default()
        };
        let explanation = explain(&query, options, |selection| {
            worker.reader.read_original(document, selection).map(drop)
        })?;
        Ok((query, explanation))
    }
}

/// The parts of a table of steps that classes use; each class is a position in a list of classes.
struct EvaluatedParts {
    /// By class: its query in the table, if it is there.
    queries: Vec<usize>,
    parts: QueryParts,
}

impl EvaluatedParts {
    /// The parts of `classes`, which are the queries of the table.
    fn new(table: &QuerySteps<'_>, classes: &[u32]) -> EvaluatedParts {
        let mut queries = vec![0; classes.iter().max().map_or(0, |&last| last as usize + 1)];
        for (query, &class) in classes.iter().enumerate() {
            queries[class as usize] = query;
        }
        EvaluatedParts {
            queries,
            parts: table.parts_of_queries(),
        }
    }
}

impl PartsOfClasses for EvaluatedParts {
    fn parts_of(&self, class: u32) -> &[u32] {
        self.parts.of_query(self.queries[class as usize])
    }
}

impl<E: PathEngine> DocumentMatcher for PathMatcher<E> {
    fn match_document(&self, source: &mut EventSource<'_, '_>) -> Result<Matched, MatchError> {
        let mut worker = self.pool.take();
        let header = self.tested(source.header);
        self.match_by(&mut worker, source, |reader, source, handler| {
            reader.read_with_header(source, &header, handler, None)
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
