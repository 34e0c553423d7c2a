//! The working memory of one thread that matches keywords.

use std::sync::Arc;

use crate::dispatch::event_reader::EventReader;
use crate::dispatch::worker_pool::WorkerState;
use crate::keywords::engine::{KeywordEngine, PostingsEngine};
use crate::keywords::segment::KeywordSegment;
use crate::keywords::token_dispatcher::{PendingText, RouteBuffers};
use crate::reader::ReaderOptions;

/// The working memory of one thread that matches keywords.
pub struct KeywordWorker<E: KeywordEngine = PostingsEngine> {
    /// Unused for documents that are also read for other subscriptions.
    pub(crate) reader: EventReader,
    pub(crate) state: MatchingState<E>,
}

/// Working memory for matching a document.
pub(crate) struct MatchingState<E: KeywordEngine> {
    pub pending: PendingText,
    /// Segments of the snapshot and their working memory, in the snapshot's order.
    pub segments: Vec<(Arc<KeywordSegment>, SegmentState<E>)>,
}

/// Working memory for one segment.
pub(crate) struct SegmentState<E: KeywordEngine> {
    pub buffers: RouteBuffers,
    pub engine: E::State,
    /// The classes that match the last document.
    pub matched: Vec<u32>,
}

impl<E: KeywordEngine> SegmentState<E> {
    pub fn new(segment: &KeywordSegment) -> SegmentState<E> {
        SegmentState {
            buffers: RouteBuffers::default(),
            engine: E::new_state(segment),
            matched: Vec::new(),
        }
    }
}

impl<E: KeywordEngine> WorkerState for KeywordWorker<E> {
    type Options = ReaderOptions;

    fn new(options: &ReaderOptions) -> KeywordWorker<E> {
        KeywordWorker {
            reader: EventReader::new(options),
            state: MatchingState {
                pending: PendingText::default(),
                segments: Vec::new(),
            },
        }
    }
}
