//! The working memory of one thread that matches paths.

use std::sync::Arc;

use hashbrown::HashMap;

use crate::dispatch::event_reader::EventReader;
use crate::dispatch::worker_pool::WorkerState;
use crate::matching::automaton_engine::AutomatonEngine;
use crate::matching::class_parts::ClassParts;
use crate::matching::engine::PathEngine;
use crate::matching::segment_run::RunLimits;
use crate::path_index::segment::Segment;
use crate::reader::ReaderOptions;
use crate::select::{Selector, SelectorCompiler};

/// Options of a path matcher.
#[derive(Clone, Debug, PartialEq)]
pub struct MatcherOptions {
    /// Of the reader.
    pub reader: ReaderOptions,
    /// Of the engine.
    pub run: RunLimits,
}

/// The working memory of one thread that matches paths.
pub struct PathWorker<E: PathEngine = AutomatonEngine> {
    pub(super) reader: EventReader,
    /// By segment, in the order of the snapshot's views.
    pub(super) states: Vec<(Arc<Segment>, E::State)>,
    /// Used instead of `states` for a document for which classes are set aside.
    pub(super) restricted: Option<Vec<(Arc<Segment>, E::State)>>,
    /// The parts that the classes of each segment use, by segment serial: of documents that spent
    /// their work budget.
    pub(super) class_parts: HashMap<u64, Arc<ClassParts>>,
    /// Compiled queries for exact evaluation, by segment serial and class.
    pub(super) selectors: HashMap<(u64, u32), Arc<Selector>>,
    /// Has compiled `selectors`, so that their equal parts are shared.
    pub(super) compiler: SelectorCompiler,
    /// Buffer for the handles of one document.
    pub(super) handles: Vec<u32>,
}

impl<E: PathEngine> WorkerState for PathWorker<E> {
    type Options = MatcherOptions;

    fn new(options: &MatcherOptions) -> PathWorker<E> {
        PathWorker {
            reader: EventReader::new(&options.reader),
            states: Vec::new(),
            restricted: None,
            class_parts: HashMap::new(),
            selectors: HashMap::new(),
            compiler: SelectorCompiler::default(),
            handles: Vec::new(),
        }
    }
}
