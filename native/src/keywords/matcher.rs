//! A matcher of keyword subscriptions: a snapshot of an index, and workers that hold the engines' memory.

use std::sync::Arc;

use super::ear::{Ear, Seat};
use super::segment::KeywordSegment;
use super::store::KeywordSnapshot;
use super::worker::{Hearing, KeywordWorker, SegmentMemory};
use crate::events::Handler;
use crate::index::numbering::Numbered;
use crate::matching::classes::ClassSet;
use crate::matching::matcher::{counters_of, Counters, Matched};
use crate::matching::pool::{arrange, NumberedReader, Pool};
use crate::matching::source::{MatchError, Source};

/// Which engine answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeywordEngine {
    /// Penstock's own.
    Postings,
}

/// A way to read a document to whoever hears words in it.
pub trait Reading {
    /// What is known when it is read.
    type Read;
    /// Numbers the table of names that the reader will use.
    fn names_table(&self) -> u64;
    /// Reads it to its end.
    fn read<H: Handler>(&mut self, handler: &mut H) -> Result<Self::Read, MatchError>;
}

/// A document that is read for keywords alone.
struct Alone<'a, 's> {
    reader: &'a mut NumberedReader,
    source: &'a mut Source<'s>,
}

impl Reading for Alone<'_, '_> {
    type Read = Counters;

    fn names_table(&self) -> u64 {
        self.reader.names_table()
    }

    fn read<H: Handler>(&mut self, handler: &mut H) -> Result<Counters, MatchError> {
        let summary = self.source.read(&mut self.reader.reader, handler)?;
        Ok(counters_of(&summary))
    }
}

/// A snapshot of an index of keyword subscriptions, ready to match.
pub struct KeywordMatcher {
    numbered: Numbered<KeywordSegment>,
    engine: KeywordEngine,
    pool: Arc<Pool<KeywordWorker>>,
}

impl KeywordMatcher {
    /// A matcher of `snapshot`.
    pub fn new(
        snapshot: KeywordSnapshot,
        engine: KeywordEngine,
        pool: Arc<Pool<KeywordWorker>>,
    ) -> KeywordMatcher {
        KeywordMatcher {
            numbered: Numbered::new(snapshot),
            engine,
            pool,
        }
    }

    /// The subscriptions.
    pub fn numbered(&self) -> &Numbered<KeywordSegment> {
        &self.numbered
    }

    /// The subscriptions that match a document.
    pub fn matches(&self, source: &mut Source<'_>) -> Result<Matched, MatchError> {
        let mut worker = self.pool.take();
        let mut reading = Alone {
            reader: &mut worker.reader,
            source,
        };
        let matched = self.match_by(&mut worker.hearing, &mut reading);
        self.pool.put(worker);
        let (handles, counters) = matched?;
        Ok(Matched { handles, counters })
    }

    /// The subscriptions that match a document that is read for others too, and what they say.
    pub fn matches_beside<R: Reading>(
        &self,
        reading: &mut R,
    ) -> Result<(Vec<u32>, R::Read), MatchError> {
        let mut worker = self.pool.take();
        let matched = self.match_by(&mut worker.hearing, reading);
        self.pool.put(worker);
        matched
    }

    fn match_by<R: Reading>(
        &self,
        hearing: &mut Hearing,
        reading: &mut R,
    ) -> Result<(Vec<u32>, R::Read), MatchError> {
        self.arrange(hearing);
        match self.engine {
            KeywordEngine::Postings => self.match_postings(hearing, reading),
        }
    }

    fn arrange(&self, hearing: &mut Hearing) {
        arrange(
            &mut hearing.segments,
            &self.numbered.snapshot,
            |_, segment| SegmentMemory::new(segment),
        );
    }

    fn match_postings<R: Reading>(
        &self,
        hearing: &mut Hearing,
        reading: &mut R,
    ) -> Result<(Vec<u32>, R::Read), MatchError> {
        let mut seats: Vec<Seat<'_, _>> = Vec::with_capacity(hearing.segments.len());
        for (segment, memory) in &mut hearing.segments {
            memory.matching.clear();
            seats.push(Seat {
                vocabulary: &segment.vocabulary,
                names: &mut memory.names,
                listener: &mut memory.matching,
            });
        }
        let mut ear = Ear::new(&mut hearing.pieces, &mut seats, reading.names_table());
        let read = reading.read(&mut ear)?;
        for (segment, memory) in &mut hearing.segments {
            let matched = &mut memory.matched;
            memory.matching.finish(&segment.all, &segment.any, matched);
        }
        Ok((self.take_handles(hearing), read))
    }

    /// The handles of the classes that matched, which are then forgotten.
    fn take_handles(&self, hearing: &mut Hearing) -> Vec<u32> {
        let mut handles = Vec::new();
        for (at, (_, memory)) in hearing.segments.iter_mut().enumerate() {
            let matched = &mut memory.matched;
            match self.numbered.plain_base(at) {
                Some(base) => matched.for_each(|class| handles.push(base + class)),
                None => {
                    matched.for_each(|class| self.numbered.add_handles(at, class, &mut handles));
                }
            }
            matched.clear();
        }
        handles
    }
}
