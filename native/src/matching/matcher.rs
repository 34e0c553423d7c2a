//! A matcher: a snapshot of an index, and workers that hold the engines' memory.
//!
//! A matcher can be used from many threads at once; each takes a worker from the pool for one
//! document. The pool outlives the matcher, so that the next snapshot of the same index finds the
//! segments that it shares with this one warm.

use std::sync::{Arc, OnceLock};

use crate::baselines::yfilter::{NfaRun, SharedNfa};
use crate::dispatch::document_source::{MatchError, Source};
use crate::dispatch::event_source::{Passage, Read, Through};
use crate::dispatch::fanout::Beside;
use crate::dispatch::worker_pool::{arrange, NumberedReader, Pool, Worker};
use crate::matching::engine_handlers::{SharedEngine, YFilterEngine};
use crate::matching::segment_run::Run;
use crate::path_index::segment::Segment;
use crate::path_index::subscription_index::PathSnapshot;
use crate::reader::{Limits, Summary};
use crate::rewriting::fragment_extractor::Fragment;
use crate::rewriting::{Mapping, RewriterBuffers};
use crate::select::{
    explain, Explanation, QueryResult, ResultDetail, SelectedNode, SelectionOptions, Selector,
    CANDIDATES_MAX,
};
use crate::subscription_store::class_set::{ClassSet, Classes};
use crate::subscription_store::numbering::Numbered;
use crate::xpath::ast::Query;

/// Which engine matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// The lazily determinised automaton with conditions found by value.
    Shared,
    /// The baseline.
    YFilter,
}

/// What matching one document took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Bytes read.
    pub bytes: u64,
    /// Elements read.
    pub elements: u64,
    /// Distinct queries that were evaluated on their own.
    pub verified: u64,
    /// Paths that no earlier document had.
    pub paths_made: u64,
    /// States that no earlier document had.
    pub states_made: u64,
    /// How often the cache was dropped.
    pub caches_dropped: u64,
    /// The memory of the cache, about.
    pub cache_bytes: u64,
    /// Elements that the mapping's local schema does not have.
    pub unknown: u64,
    /// What the rewriter held at once, at most.
    pub held_bytes: u64,
    /// Copies of subtrees that did not have to be run, since one was.
    pub copies_known: u64,
}

impl std::ops::AddAssign for Counters {
    fn add_assign(&mut self, other: Counters) {
        self.bytes += other.bytes;
        self.elements += other.elements;
        self.verified += other.verified;
        self.paths_made += other.paths_made;
        self.states_made += other.states_made;
        self.caches_dropped += other.caches_dropped;
        self.cache_bytes = self.cache_bytes.max(other.cache_bytes);
        self.unknown += other.unknown;
        self.held_bytes = self.held_bytes.max(other.held_bytes);
        self.copies_known += other.copies_known;
    }
}

/// A document's matches.
#[derive(Clone, Debug, Default)]
pub struct Matched {
    /// Handles of the snapshot, each once, in no particular order.
    pub handles: Vec<u32>,
    /// What it took.
    pub counters: Counters,
}

/// Selectors kept from document to document by a worker; past it all are dropped.
const SELECTORS_KEPT_MAX: usize = 10_000;

/// A snapshot of an index, ready to match.
pub struct Matcher {
    numbered: Numbered<Segment>,
    engine: Engine,
    pool: Arc<Pool>,
    nfas: OnceLock<Vec<SharedNfa>>,
}

impl Matcher {
    /// A matcher of `snapshot`.
    pub fn new(snapshot: PathSnapshot, engine: Engine, pool: Arc<Pool>) -> Matcher {
        Matcher {
            numbered: Numbered::new(snapshot),
            engine,
            pool,
            nfas: OnceLock::new(),
        }
    }

    /// The same, reading documents within other limits. It keeps its own memory.
    pub fn reading_within(&self, limits: Limits) -> Matcher {
        let mut options = self.pool.options.clone();
        options.reader.limits = limits;
        let pool = Arc::new(Pool::new(options));
        Matcher::new(self.numbered.snapshot.clone(), self.engine, pool)
    }

    /// The subscriptions that match a document as it is.
    pub fn matches(&self, source: &mut Source<'_>) -> Result<Matched, MatchError> {
        self.matches_through(&mut Through::plain(source))
    }

    /// The subscriptions that match a document.
    pub fn matches_through(&self, through: &mut Through<'_, '_>) -> Result<Matched, MatchError> {
        let mut worker = self.pool.take();
        let matched = self.matches_by(&mut worker, through, None);
        self.pool.put(worker);
        matched
    }

    /// The subscriptions that match a document that is read by a worker of the pool, while another may
    /// hear it as it is.
    pub fn matches_by(
        &self,
        worker: &mut Worker,
        through: &mut Through<'_, '_>,
        beside: Option<&mut dyn Beside>,
    ) -> Result<Matched, MatchError> {
        match self.engine {
            Engine::Shared => self.match_shared(worker, through, beside),
            Engine::YFilter => self.match_yfilter(worker, through, beside),
        }
    }

    fn passage<'w>(
        &self,
        reader: &'w mut NumberedReader,
        memory: &'w mut RewriterBuffers,
    ) -> Passage<'w> {
        Passage {
            reader,
            memory,
            depth_max: self.pool.options.reader.limits.depth as u64,
        }
    }

    /// The workers.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    fn match_shared(
        &self,
        worker: &mut Worker,
        through: &mut Through<'_, '_>,
        mut beside: Option<&mut dyn Beside>,
    ) -> Result<Matched, MatchError> {
        let limits = self.pool.options.run;
        arrange(&mut worker.runs, &self.numbered.snapshot, |_, segment| {
            Run::new(segment, limits)
        });
        let names = worker.names_table();
        for (segment, run) in &mut worker.runs {
            run.begin(segment, names);
        }
        let engine = SharedEngine {
            runs: &mut worker.runs,
            takes_once: through.takes_once,
        };
        let mut passage = self.passage(&mut worker.reader, &mut worker.rewriting);
        let read = passage.read(through, engine, &mut beside)?;
        let mut matched = Matched {
            counters: counters_of_read(&read),
            ..Matched::default()
        };
        for (_, run) in &worker.runs {
            let counters = run.counters();
            matched.counters.paths_made += counters.paths_made;
            matched.counters.states_made += counters.states_made;
            matched.counters.caches_dropped += counters.caches_dropped;
            // All segments take a copy so, or none does.
            matched.counters.copies_known = counters.copies_known;
            matched.counters.cache_bytes += run.cache_bytes() as u64;
        }
        let runs = std::mem::take(&mut worker.runs);
        let collected = self.collect(worker, through, &mut matched, |at| runs[at].1.results());
        worker.runs = runs;
        collected.map(|()| matched)
    }

    fn match_yfilter(
        &self,
        worker: &mut Worker,
        through: &mut Through<'_, '_>,
        mut beside: Option<&mut dyn Beside>,
    ) -> Result<Matched, MatchError> {
        let views = &self.numbered.snapshot.views;
        let nfas = self.nfas.get_or_init(|| {
            views
                .iter()
                .map(|view| SharedNfa::new(&view.segment))
                .collect()
        });
        arrange(
            &mut worker.nfa_runs,
            &self.numbered.snapshot,
            |at, segment| NfaRun::new(&nfas[at], segment),
        );
        let names = worker.names_table();
        for (nfa, (_, run)) in nfas.iter().zip(&mut worker.nfa_runs) {
            run.begin(nfa, names);
        }
        let engine = YFilterEngine {
            nfas,
            runs: &mut worker.nfa_runs,
        };
        let mut passage = self.passage(&mut worker.reader, &mut worker.rewriting);
        let read = passage.read(through, engine, &mut beside)?;
        let mut matched = Matched {
            counters: counters_of_read(&read),
            ..Matched::default()
        };
        let runs = std::mem::take(&mut worker.nfa_runs);
        let collected = self.collect(worker, through, &mut matched, |at| runs[at].1.results());
        worker.nfa_runs = runs;
        collected.map(|()| matched)
    }

    /// Turns classes into handles, after verifying those that need it.
    fn collect<'a, S: ClassSet + 'a>(
        &self,
        worker: &mut Worker,
        through: &mut Through<'_, '_>,
        matched: &mut Matched,
        results: impl Fn(usize) -> (&'a S, &'a Classes),
    ) -> Result<(), MatchError> {
        let mut handles = std::mem::take(&mut worker.handles);
        handles.clear();
        let mut unsure = Vec::new();
        for at in 0..self.numbered.snapshot.views.len() {
            let (sure, candidates) = results(at);
            let telling = self.numbered.telling(at);
            sure.for_each(|class| telling.add(class, &mut handles));
            let open = candidates
                .list()
                .iter()
                .filter(|&&class| !sure.contains(class));
            unsure.extend(open.map(|&class| (at, class)));
        }
        if !unsure.is_empty() {
            matched.counters.verified = unsure.len() as u64;
            let (outcomes, _) =
                self.evaluate(worker, through, &unsure, SelectionOptions::default())?;
            for (&(at, class), outcome) in unsure.iter().zip(&outcomes) {
                if outcome.matched {
                    self.numbered.telling(at).add(class, &mut handles);
                }
            }
        }
        matched.handles = handles.as_slice().into();
        worker.handles = handles;
        Ok(())
    }

    /// Evaluates classes, each by its place among the views and its number, exactly.
    fn evaluate(
        &self,
        worker: &mut Worker,
        through: &mut Through<'_, '_>,
        classes: &[(usize, u32)],
        options: SelectionOptions,
    ) -> Result<(Vec<QueryResult>, Summary), MatchError> {
        if worker.selectors.len() > SELECTORS_KEPT_MAX {
            worker.selectors.clear();
        }
        let selectors: Vec<Arc<Selector>> = classes
            .iter()
            .map(|&(at, class)| {
                let segment = &self.numbered.snapshot.views[at].segment;
                let key = (segment.serial, class);
                let compile = || Arc::new(Selector::compile(&segment.query_of(class)));
                Arc::clone(worker.selectors.entry(key).or_insert_with(compile))
            })
            .collect();
        let borrowed: Vec<&Selector> = selectors.iter().map(|selector| &**selector).collect();
        self.passage(&mut worker.reader, &mut worker.rewriting)
            .evaluate(through, &borrowed, options)
    }

    /// The nodes that each of these subscriptions selects in a document.
    pub fn select(
        &self,
        source: &mut Source<'_>,
        handles: &[u32],
    ) -> Result<(Vec<Vec<SelectedNode>>, Summary), MatchError> {
        let mut worker = self.pool.take();
        let outcomes = self.select_by(&mut worker, &mut Through::plain(source), handles);
        self.pool.put(worker);
        let (outcomes, summary) = outcomes?;
        Ok((
            outcomes.into_iter().map(|outcome| outcome.nodes).collect(),
            summary,
        ))
    }

    fn select_by(
        &self,
        worker: &mut Worker,
        through: &mut Through<'_, '_>,
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
        self.evaluate(worker, through, &classes, options)
    }

    /// The parts of the original that each of these subscriptions selects in what a mapping makes of
    /// it.
    pub fn select_mapped(
        &self,
        source: &mut Source<'_>,
        mapping: &Mapping,
        handles: &[u32],
    ) -> Result<(Vec<Vec<Fragment>>, Summary), MatchError> {
        let mut worker = self.pool.take();
        let mut through = Through {
            source,
            mapping: Some(mapping),
            takes_once: false,
        };
        let selected = self.select_by(&mut worker, &mut through, handles);
        let cut = selected.and_then(|(outcomes, summary)| {
            let mut passage = self.passage(&mut worker.reader, &mut worker.rewriting);
            Ok((passage.cut(through.source, &outcomes)?, summary))
        });
        self.pool.put(worker);
        cut
    }

    /// The query of a handle in normal form, and why it selects something or nothing.
    pub fn explain(
        &self,
        source: &mut Source<'_>,
        handle: u32,
    ) -> Result<(Query, Explanation), MatchError> {
        let (view, class) = self.numbered.class_of(handle);
        let query = self.numbered.snapshot.views[view].segment.query_of(class);
        let mut worker = self.pool.take();
        let explanation = explain(&query, CANDIDATES_MAX, |selection| {
            source.read(&mut worker.reader.reader, selection).map(drop)
        });
        self.pool.put(worker);
        Ok((query, explanation?))
    }

    /// The subscriptions.
    pub fn numbered(&self) -> &Numbered<Segment> {
        &self.numbered
    }
}

fn counters_of_read(read: &Read) -> Counters {
    Counters {
        unknown: read.unknown,
        held_bytes: read.held_bytes,
        ..counters_of(&read.summary)
    }
}

/// What reading a document took.
pub(crate) fn counters_of(summary: &Summary) -> Counters {
    Counters {
        bytes: summary.bytes,
        elements: summary.elements,
        ..Counters::default()
    }
}
