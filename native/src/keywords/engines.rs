//! The engines, each driven over all segments in one reading.

use crate::baselines::kale::Kale;
use crate::baselines::kemb::counters::SharedKembCounters;
use crate::baselines::kemb::Kemb;
use crate::baselines::results::{BaselineResults, ResultKind};
use crate::dispatch::document_source::MatchError;
use crate::events::Handler;
use crate::keywords::answer_engine::{Answering, Options, Parts};
use crate::keywords::conjunctive_answers::Which;
use crate::keywords::segment::KeywordSegment;
use crate::keywords::store::KeywordSnapshot;
use crate::keywords::token_dispatcher::{PendingText, TokenDispatcher, TokenRoute};
use crate::keywords::token_sink::TokenSink;
use crate::keywords::worker::{Hearing, SegmentMemory};
use crate::subscription_store::class_set::Classes;

/// Which engine answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeywordEngine {
    /// Penstock's own.
    Postings,
    /// The baseline: the smallest elements that contain all words. It answers no OR query.
    Slca,
    /// The paper's stack for each query.
    Kale,
    /// The paper's automaton for all queries.
    Kemb {
        /// Whether outdated elements are discarded.
        discard: bool,
    },
}

/// An engine with what it makes of the segments beforehand, one for each.
pub(super) enum Ready {
    Postings,
    Slca,
    Kale(Vec<Kale>),
    Kemb(Vec<Kemb>),
}

impl Ready {
    /// Makes an engine ready.
    pub fn new(engine: KeywordEngine, snapshot: &KeywordSnapshot) -> Ready {
        let queries = snapshot.views.iter().map(|view| &view.segment.queries);
        match engine {
            KeywordEngine::Postings => Ready::Postings,
            KeywordEngine::Slca => Ready::Slca,
            KeywordEngine::Kale => Ready::Kale(queries.map(|each| Kale::new(each)).collect()),
            KeywordEngine::Kemb { discard } => {
                Ready::Kemb(queries.map(|each| Kemb::new(each, discard)).collect())
            }
        }
    }
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

/// Reads a document to listeners, one a segment.
pub(super) fn hear<S: TokenSink, R: Reading>(
    heard: &mut PendingText,
    seats: &mut [TokenRoute<'_, S>],
    reading: &mut R,
) -> Result<R::Read, MatchError> {
    let names_table = reading.names_table();
    reading.read(&mut TokenDispatcher::new(heard, seats, names_table))
}

impl Hearing {
    /// Lets an engine hear a document. What it finds is in the segments' memory, as wanted: the classes
    /// that match, or the answers.
    pub(super) fn run<R: Reading>(
        &mut self,
        engine: &Ready,
        want: ResultKind,
        reading: &mut R,
        counters: &SharedKembCounters,
    ) -> Result<R::Read, MatchError> {
        for (_, memory) in &mut self.segments {
            memory.matched.clear();
            memory.answers.clear();
        }
        match (engine, want) {
            (Ready::Postings, ResultKind::Matches) => self.match_words(reading),
            (Ready::Postings, ResultKind::Answers) => self.answer(Which::Compact, reading),
            (Ready::Slca, _) => {
                let read = self.answer(Which::Smallest, reading)?;
                for (_, memory) in &mut self.segments {
                    let classes = memory.answers.iter().map(|answer| answer.0);
                    classes.for_each(|class| memory.matched.insert(class));
                }
                Ok(read)
            }
            (Ready::Kale(kales), _) => self.run_kale(kales, want, reading),
            (Ready::Kemb(kembs), _) => self.run_kemb(kembs, want, reading, counters),
        }
    }

    /// Finds the classes that match by the words of the document alone.
    fn match_words<R: Reading>(&mut self, reading: &mut R) -> Result<R::Read, MatchError> {
        let mut seats = Vec::with_capacity(self.segments.len());
        for (segment, memory) in &mut self.segments {
            memory.matching.clear();
            seats.push(TokenRoute {
                vocabulary: &segment.vocabulary,
                buffers: &mut memory.seat,
                sink: &mut memory.matching,
            });
        }
        let read = hear(&mut self.heard, &mut seats, reading)?;
        for (segment, memory) in &mut self.segments {
            let SegmentMemory {
                matching, matched, ..
            } = memory;
            matching.finish(
                &segment.queries,
                segment.conjunction_index(),
                &segment.disjunctions,
                matched,
            );
            segment.observe(matching.observed());
        }
        Ok(read)
    }

    /// Finds the elements that answer.
    fn answer<R: Reading>(&mut self, which: Which, reading: &mut R) -> Result<R::Read, MatchError> {
        let options = Options {
            which,
            ..Options::default()
        };
        let mut seats = Vec::with_capacity(self.segments.len());
        let mut found = Vec::with_capacity(self.segments.len());
        for (segment, memory) in &mut self.segments {
            seats.push(TokenRoute {
                vocabulary: &segment.vocabulary,
                buffers: &mut memory.seat,
                sink: Answering::<false>::new(parts(segment), options, &mut memory.state),
            });
            found.push(&mut memory.answers);
        }
        let read = hear(&mut self.heard, &mut seats, reading)?;
        for (seat, answers) in seats.into_iter().zip(found) {
            answers.extend_from_slice(seat.sink.finish());
        }
        for (segment, memory) in &self.segments {
            segment.observe(&memory.state.search.observed);
        }
        Ok(read)
    }

    fn run_kale<R: Reading>(
        &mut self,
        kales: &[Kale],
        want: ResultKind,
        reading: &mut R,
    ) -> Result<R::Read, MatchError> {
        let mut seats = Vec::with_capacity(self.segments.len());
        for ((segment, memory), kale) in self.segments.iter_mut().zip(kales) {
            seats.push(TokenRoute {
                vocabulary: &segment.vocabulary,
                buffers: &mut memory.seat,
                sink: memory.kale.start_document(kale, want),
            });
        }
        let read = hear(&mut self.heard, &mut seats, reading)?;
        seats.into_iter().for_each(|seat| seat.sink.finish());
        for (_, memory) in &mut self.segments {
            take_results(
                memory.kale.results(),
                &mut memory.matched,
                &mut memory.answers,
            );
        }
        Ok(read)
    }

    fn run_kemb<R: Reading>(
        &mut self,
        kembs: &[Kemb],
        want: ResultKind,
        reading: &mut R,
        counters: &SharedKembCounters,
    ) -> Result<R::Read, MatchError> {
        let mut seats = Vec::with_capacity(self.segments.len());
        for ((segment, memory), kemb) in self.segments.iter_mut().zip(kembs) {
            seats.push(TokenRoute {
                vocabulary: &segment.vocabulary,
                buffers: &mut memory.seat,
                sink: memory.kemb.start_document(kemb, want),
            });
        }
        let read = hear(&mut self.heard, &mut seats, reading)?;
        seats.into_iter().for_each(|seat| seat.sink.finish());
        for (_, memory) in &mut self.segments {
            counters.add(memory.kemb.counters());
            take_results(
                memory.kemb.results(),
                &mut memory.matched,
                &mut memory.answers,
            );
        }
        Ok(read)
    }
}

/// Takes over what an engine of the paper's found.
fn take_results(results: &BaselineResults, matched: &mut Classes, answers: &mut Vec<(u32, u32)>) {
    results
        .matches()
        .iter()
        .for_each(|&class| matched.insert(class));
    let found = results.answers().iter();
    answers.extend(found.map(|answer| (answer.query, answer.element)));
}

/// A segment's queries as the default engine reads them.
pub(super) fn parts(segment: &KeywordSegment) -> Parts<'_> {
    Parts {
        queries: &segment.queries,
        all: segment.conjunction_index(),
        any: &segment.disjunctions,
    }
}
