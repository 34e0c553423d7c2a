//! The memory of one thread's keyword matching, kept from document to document.

use std::sync::Arc;

use super::ear::{Heard, SeatMemory};
use super::kale::engine::KaleRun;
use super::kemb::run::Run;
use super::matching::Matching;
use super::run::State;
use super::segment::KeywordSegment;
use crate::matching::classes::Classes;
use crate::matching::pool::{NumberedReader, Work};
use crate::reader::ReaderOptions;

/// The memory of one thread's keyword matching.
pub struct KeywordWorker {
    /// Reads the documents that are not read for others too.
    pub(super) reader: NumberedReader,
    pub(super) hearing: Hearing,
}

/// What hearing a document needs.
#[derive(Default)]
pub(super) struct Hearing {
    pub heard: Heard,
    /// In the order of the snapshot's views.
    pub segments: Vec<(Arc<KeywordSegment>, SegmentMemory)>,
}

/// What belongs to one segment.
pub(super) struct SegmentMemory {
    pub seat: SeatMemory,
    pub matching: Matching,
    pub state: State,
    pub kale: KaleRun,
    pub kemb: Run,
    /// The classes that match the last document.
    pub matched: Classes,
    /// Class and element of each answer in the last document, a class's together.
    pub answers: Vec<(u32, u32)>,
}

impl SegmentMemory {
    pub fn new(segment: &KeywordSegment) -> SegmentMemory {
        SegmentMemory {
            seat: SeatMemory::default(),
            matching: Matching::new(segment.vocabulary.count()),
            state: State::default(),
            kale: KaleRun::default(),
            kemb: Run::default(),
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
