//! A matcher of keyword subscriptions: a snapshot of an index, and workers that hold the engines' memory.

use std::sync::Arc;

use crate::baselines::kemb::counters::KembCounters;
use crate::baselines::kemb::counters::SharedKembCounters;
use crate::baselines::kemb::Kemb;
use crate::baselines::results::ResultKind;
use crate::dispatch::document_source::{MatchError, Source};
use crate::dispatch::worker_pool::{arrange, NumberedReader, Pool};
use crate::events::Handler;
use crate::keywords::answer_engine::{Answering, Options};
use crate::keywords::answers::Answer;
use crate::keywords::engines::{hear, parts, KeywordEngine, Reading, Ready};
use crate::keywords::segment::KeywordSegment;
use crate::keywords::segment_builder::KeywordBuilder;
use crate::keywords::store::KeywordSnapshot;
use crate::keywords::token_dispatcher::TokenRoute;
use crate::keywords::worker::{Hearing, KeywordWorker, SegmentMemory};
use crate::matching::matcher::{counters_of, Matched};
use crate::reader::Summary;
use crate::subscription_store::class_set::ClassSet;
use crate::subscription_store::numbering::Numbered;
use crate::subscription_store::store::Build;

/// A document that is read for keywords alone.
struct Alone<'a, 's> {
    reader: &'a mut NumberedReader,
    source: &'a mut Source<'s>,
}

impl Reading for Alone<'_, '_> {
    type Read = Summary;

    fn names_table(&self) -> u64 {
        self.reader.names_table()
    }

    fn read<H: Handler>(&mut self, handler: &mut H) -> Result<Summary, MatchError> {
        Ok(self.source.read(&mut self.reader.reader, handler)?)
    }
}

/// Subscriptions with equal queries, and the elements that answer them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// The subscriptions.
    pub handles: Vec<u32>,
    /// The numbers of the elements in document order, the root's being 0.
    pub elements: Vec<u32>,
}

/// A snapshot of an index of keyword subscriptions, ready to match.
pub struct KeywordMatcher {
    numbered: Numbered<KeywordSegment>,
    engine: Ready,
    counters: SharedKembCounters,
    pool: Arc<Pool<KeywordWorker>>,
}

impl KeywordMatcher {
    /// A matcher of `snapshot`. What the engine needs to know of all queries is made now.
    pub fn new(
        snapshot: KeywordSnapshot,
        engine: KeywordEngine,
        pool: Arc<Pool<KeywordWorker>>,
    ) -> KeywordMatcher {
        KeywordMatcher {
            engine: Ready::new(engine, &snapshot),
            counters: SharedKembCounters::default(),
            numbered: Numbered::new(snapshot),
            pool,
        }
    }

    /// What the paper's engine did for all documents so far.
    pub fn counters(&self) -> KembCounters {
        self.counters.get()
    }

    /// The paper's engine of each segment, if that is the engine.
    pub fn kembs(&self) -> &[Kemb] {
        match &self.engine {
            Ready::Kemb(kembs) => kembs,
            _ => &[],
        }
    }

    /// The subscriptions.
    pub fn numbered(&self) -> &Numbered<KeywordSegment> {
        &self.numbered
    }

    /// The subscriptions that match a document.
    pub fn matches(&self, source: &mut Source<'_>) -> Result<Matched, MatchError> {
        let (handles, summary) = self.alone(source, |hearing, reading| {
            let summary = self.run(ResultKind::Matches, hearing, reading)?;
            Ok((self.handles(hearing), summary))
        })?;
        Ok(Matched {
            handles,
            counters: counters_of(&summary),
        })
    }

    /// The subscriptions that match a document that is read for others too, and what they say.
    pub fn matches_beside<R: Reading>(
        &self,
        reading: &mut R,
    ) -> Result<(Vec<u32>, R::Read), MatchError> {
        let mut worker = self.pool.take();
        let read = self.run(ResultKind::Matches, &mut worker.hearing, reading);
        let handles = self.handles(&worker.hearing);
        self.pool.put(worker);
        Ok((handles, read?))
    }

    /// The elements that answer each subscription that has an answer.
    pub fn answer_ids(&self, source: &mut Source<'_>) -> Result<Vec<Answered>, MatchError> {
        self.alone(source, |hearing, reading| {
            self.run(ResultKind::Answers, hearing, reading)?;
            Ok(self.answered(hearing))
        })
    }

    /// How many answers a document has to all distinct queries.
    pub fn answer_count(&self, source: &mut Source<'_>) -> Result<usize, MatchError> {
        self.alone(source, |hearing, reading| {
            self.run(ResultKind::Answers, hearing, reading)?;
            let counts = hearing.segments.iter();
            Ok(counts.map(|(_, memory)| memory.answers.len()).sum())
        })
    }

    /// The best answers of each of these subscriptions, at most `limit` of each; always by the default
    /// engine. The words in the answers are numbered as the segment says.
    pub fn answers(
        &self,
        source: &mut Source<'_>,
        handles: &[u32],
        limit: usize,
    ) -> Result<(Vec<Vec<Answer>>, KeywordSegment, Summary), MatchError> {
        let mut builder = KeywordBuilder::default();
        for &handle in handles {
            let (view, own) = self.numbered.place_of(handle);
            builder.copy(&self.numbered.snapshot.views[view].segment, own);
        }
        let wanted = builder.finish();
        let mut memory = SegmentMemory::new(&wanted);
        let options = Options {
            limit,
            ..Options::default()
        };
        let (found, summary) = self.alone(source, |hearing, reading| {
            let mut seats = [TokenRoute {
                vocabulary: &wanted.vocabulary,
                buffers: &mut memory.seat,
                sink: Answering::<true>::new(parts(&wanted), options, &mut memory.state),
            }];
            let summary = hear(&mut hearing.heard, &mut seats, reading)?;
            let [seat] = seats;
            Ok((seat.sink.finish(), summary))
        })?;
        let mut of_class = vec![Vec::new(); wanted.roster.class_count()];
        for (class, answers) in found {
            of_class[class as usize] = answers;
        }
        let classes = wanted.roster.handle_classes.iter();
        let answers = classes.map(|&class| of_class[class as usize].clone());
        Ok((answers.collect(), wanted, summary))
    }

    /// Lets a worker read a document for keywords alone.
    fn alone<T>(
        &self,
        source: &mut Source<'_>,
        act: impl FnOnce(&mut Hearing, &mut Alone<'_, '_>) -> Result<T, MatchError>,
    ) -> Result<T, MatchError> {
        let mut worker = self.pool.take();
        let mut reading = Alone {
            reader: &mut worker.reader,
            source,
        };
        let done = act(&mut worker.hearing, &mut reading);
        self.pool.put(worker);
        done
    }

    fn run<R: Reading>(
        &self,
        want: ResultKind,
        hearing: &mut Hearing,
        reading: &mut R,
    ) -> Result<R::Read, MatchError> {
        arrange(
            &mut hearing.segments,
            &self.numbered.snapshot,
            |_, segment| SegmentMemory::new(segment),
        );
        hearing.run(&self.engine, want, reading, &self.counters)
    }

    /// The handles of the classes that matched.
    fn handles(&self, hearing: &Hearing) -> Vec<u32> {
        let mut handles = Vec::new();
        for (at, (_, memory)) in hearing.segments.iter().enumerate() {
            let telling = self.numbered.telling(at);
            memory
                .matched
                .for_each(|class| telling.add(class, &mut handles));
        }
        handles
    }

    fn answered(&self, hearing: &Hearing) -> Vec<Answered> {
        let mut answered = Vec::new();
        for (at, (_, memory)) in hearing.segments.iter().enumerate() {
            let telling = self.numbered.telling(at);
            for of_class in memory.answers.chunk_by(|a, b| a.0 == b.0) {
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

#[cfg(test)]
mod tests;
