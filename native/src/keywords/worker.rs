//! The memory of one thread's keyword matching, kept from document to document.

use std::sync::Arc;

use crate::baselines::kale::KaleRunner;
use crate::baselines::kemb::runner::KembRunner;
use crate::dispatch::worker_pool::{NumberedReader, Work};
use crate::keywords::answer_engine::State;
use crate::keywords::segment::KeywordSegment;
use crate::keywords::token_dispatcher::{PendingText, RouteBuffers};
use crate::keywords::word_presence::WordPresence;
use crate::reader::ReaderOptions;
use crate::subscription_store::class_set::Classes;

/// The memory of one thread's keyword matching.
pub struct KeywordWorker {
    /// Reads the documents that are not read for others too.
    pub(super) reader: NumberedReader,
    pub(super) hearing: Hearing,
}

/// What hearing a document needs.
#[derive(Default)]
pub(super) struct Hearing {
    pub heard: PendingText,
    /// In the order of the snapshot's views.
    pub segments: Vec<(Arc<KeywordSegment>, SegmentMemory)>,
}

/// What belongs to one segment.
pub(super) struct SegmentMemory {
    pub seat: RouteBuffers,
    pub matching: WordPresence,
    pub state: State,
    pub kale: KaleRunner,
    pub kemb: KembRunner,
    /// The classes that match the last document.
    pub matched: Classes,
    /// Class and element of each answer in the last document, a class's together.
    pub answers: Vec<(u32, u32)>,
}

impl SegmentMemory {
    pub fn new(segment: &KeywordSegment) -> SegmentMemory {
        SegmentMemory {
            seat: RouteBuffers::default(),
            matching: WordPresence::new(segment.vocabulary.count()),
            state: State::default(),
            kale: KaleRunner::default(),
            kemb: KembRunner::default(),
            matched: Classes::new(segment.roster.class_count()),
            answers: Vec::new(),
        }
    }
}

impl Work for KeywordWorker {
    type Options = ReaderOptions;

    fn new(options: &ReaderOptions) -> KeywordWorker {
        KeywordWorker {
            reader: NumberedReader::new(options.clone()),
            hearing: Hearing::default(),
        }
    }
}
