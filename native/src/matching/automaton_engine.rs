//! The default engine: a lazy DFA over label paths, with conditions found by value.

use std::sync::Arc;

use crate::dispatch::outcome::Counters;
use crate::events::{Context, Handler, Span, StartElement, Stop};
use crate::matching::engine::PathEngine;
use crate::matching::match_bitmap::Told;
use crate::matching::segment_run::{Run, RunLimits};
use crate::path_index::segment::Segment;
use crate::path_index::subscription_index::PathSnapshot;
use crate::subscription_store::class_set::Classes;

/// The default engine. It needs no preparation: its automaton grows with the documents.
pub struct AutomatonEngine;

impl PathEngine for AutomatonEngine {
    type State = Run;
    type Handler<'a> = AutomatonHandler<'a>;
    type Matches = Told;

    fn new(_: &PathSnapshot) -> AutomatonEngine {
        AutomatonEngine
    }

    fn new_state(&self, _: usize, segment: &Segment, limits: RunLimits) -> Run {
        Run::new(segment, limits)
    }

    fn begin<'a>(
        &'a self,
        states: &'a mut [(Arc<Segment>, Run)],
        names_table: u64,
        memoize_repeated: bool,
    ) -> AutomatonHandler<'a> {
        for (segment, run) in &mut *states {
            run.begin(segment, names_table);
        }
        AutomatonHandler {
            runs: states,
            memoize_repeated,
        }
    }

    fn results(run: &Run) -> (&Told, &Classes) {
        run.results()
    }

    fn count(run: &Run, counters: &mut Counters) {
        let own = run.counters();
        counters.paths_made += own.paths_made;
        counters.states_made += own.states_made;
        counters.caches_dropped += own.caches_dropped;
        // Either all segments replay a copy or none does.
        counters.copies_known = own.copies_known;
        counters.cache_bytes += run.cache_bytes() as u64;
    }
}

/// Feeds the events of a document to the runs of all segments.
pub struct AutomatonHandler<'a> {
    runs: &'a mut [(Arc<Segment>, Run)],
    memoize_repeated: bool,
}

impl AutomatonHandler<'_> {
    /// Calls `act` for each run. Most indexes have one segment, and a loop would cost as much as an end tag.
    #[inline(always)]
    fn each(
        &mut self,
        mut act: impl FnMut(&Segment, &mut Run) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        match &mut *self.runs {
            [(segment, run)] => act(segment, run),
            runs => each_of_many(runs, act),
        }
    }
}

#[inline(never)]
fn each_of_many(
    runs: &mut [(Arc<Segment>, Run)],
    mut act: impl FnMut(&Segment, &mut Run) -> Result<(), Stop>,
) -> Result<(), Stop> {
    runs.iter_mut()
        .try_for_each(|(segment, run)| act(segment, run))
}

impl Handler for AutomatonHandler<'_> {
    const SPANS: bool = false;

    #[inline]
    fn start_element(
        &mut self,
        context: &dyn Context,
        element: &StartElement<'_>,
    ) -> Result<(), Stop> {
        self.each(|segment, run| run.start(segment, context, element))
    }

    #[inline]
    fn end_element(&mut self, _span: Span, _end_tag: Span) -> Result<(), Stop> {
        self.each(|segment, run| run.end(segment))
    }

    #[inline]
    fn text(&mut self, text: &str, _span: Span) -> Result<(), Stop> {
        self.each(|segment, run| {
            run.text(segment, text);
            Ok(())
        })
    }

    fn text_break(&mut self) -> Result<(), Stop> {
        self.each(|segment, run| {
            run.text_break(segment);
            Ok(())
        })
    }

    fn begin_repeated(&mut self, number: u32) -> Result<bool, Stop> {
        if !self.memoize_repeated {
            return Ok(false);
        }
        let is_known = self.runs.iter().all(|(_, run)| run.knows_repeated(number));
        for (segment, run) in self.runs.iter_mut() {
            if is_known {
                run.repeat(segment, number)?;
            } else {
                run.begin_repeated(segment, number);
            }
        }
        Ok(is_known)
    }

    fn end_repeated(&mut self, number: u32) {
        for (_, run) in self.runs.iter_mut() {
            run.end_repeated(number);
        }
    }

    fn forget_repeated(&mut self) {
        for (_, run) in self.runs.iter_mut() {
            run.forget_repeated();
        }
    }
}
