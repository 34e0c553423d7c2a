//! The default engine: a lazy DFA over label paths, with conditions found by value.

use std::sync::Arc;

use crate::dispatch::outcome::Counters;
use crate::events::{Context, Handler, Span, StartElement, Stop};
use crate::matching::bit_set::BitSet;
use crate::matching::class_parts::ClassParts;
use crate::matching::class_restriction::ClassRestriction;
use crate::matching::engine::PathEngine;
use crate::matching::match_bitmap::MatchBitmap;
use crate::matching::segment_run::{RunLimits, SegmentRun, WorkBudget};
use crate::matching::work_meter::Attribution;
use crate::path_index::segment::Segment;
use crate::path_index::subscription_index::PathSnapshot;
use crate::subscription_store::class_set::OrderedClassSet;

/// The default engine. It needs no preparation: its automaton grows with the documents.
pub struct AutomatonEngine;

impl PathEngine for AutomatonEngine {
    type State = SegmentRun;
    type Handler<'a> = AutomatonHandler<'a>;
    type Matches = MatchBitmap;

    fn new(_: &PathSnapshot) -> AutomatonEngine {
        AutomatonEngine
    }

    fn new_state(&self, _: usize, segment: &Segment, limits: RunLimits) -> SegmentRun {
        SegmentRun::new(segment, limits, None)
    }

    fn new_restricted_state(
        &self,
        _: usize,
        segment: &Segment,
        limits: RunLimits,
        parts: &ClassParts,
        is_set_aside: &dyn Fn(u32) -> bool,
    ) -> SegmentRun {
        let mut set_aside = BitSet::new(segment.class_count());
        let classes = 0..segment.class_count() as u32;
        for class in classes.filter(|&class| is_set_aside(class)) {
            set_aside.insert(class);
        }
        let restriction = ClassRestriction::new(segment, parts, set_aside);
        SegmentRun::new(segment, limits, Some(restriction))
    }

    fn steps_left(states: &mut [(Arc<Segment>, SegmentRun)]) -> i64 {
        // The runs share one budget; the last one has what all of them left.
        states
            .last_mut()
            .map_or(0, |(_, run)| run.work().remaining())
    }

    fn dropped_classes(states: &mut [(Arc<Segment>, SegmentRun)]) -> Vec<Vec<u32>> {
        let runs = states.iter_mut();
        runs.map(|(segment, run)| run.dropped_classes(segment))
            .collect()
    }

    fn take_attributions(states: &mut [(Arc<Segment>, SegmentRun)]) -> Vec<Attribution> {
        let runs = states.iter_mut();
        runs.map(|(_, run)| run.take_attribution()).collect()
    }

    fn begin<'a>(
        &'a self,
        states: &'a mut [(Arc<Segment>, SegmentRun)],
        names_table: u64,
        memoize_repeated: bool,
        budget: WorkBudget,
    ) -> AutomatonHandler<'a> {
        for (segment, run) in &mut *states {
            run.begin(segment, names_table, budget);
        }
        AutomatonHandler {
            runs: states,
            memoize_repeated,
        }
    }

    fn results(run: &SegmentRun) -> (&MatchBitmap, &OrderedClassSet) {
        run.results()
    }

    fn count(run: &SegmentRun, counters: &mut Counters) {
        let cache = run.cache_counters();
        counters.paths_made += cache.paths_made;
        counters.states_made += cache.states_made;
        counters.caches_dropped += cache.evictions;
        // Either all segments replay a copy or none does.
        counters.copies_known = run.replayed_subtrees();
        counters.cache_bytes += run.cache_bytes() as u64;
    }
}

/// Feeds the events of a document to the runs of all segments.
pub struct AutomatonHandler<'a> {
    runs: &'a mut [(Arc<Segment>, SegmentRun)],
    memoize_repeated: bool,
}

impl AutomatonHandler<'_> {
    /// Calls `act` for each run. Most indexes have one segment, and a loop would cost as much as an
    /// end tag.
    #[inline(always)]
    fn each(
        &mut self,
        mut act: impl FnMut(&Segment, &mut SegmentRun) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        match &mut *self.runs {
            [(segment, run)] => act(segment, run),
            runs => each_of_many(runs, act),
        }
    }
}

#[inline(never)]
fn each_of_many(
    runs: &mut [(Arc<Segment>, SegmentRun)],
    mut act: impl FnMut(&Segment, &mut SegmentRun) -> Result<(), Stop>,
) -> Result<(), Stop> {
    // The runs share one budget: each continues with what the one before it left.
    let Some((_, last)) = runs.last_mut() else {
        return Ok(());
    };
    let mut remaining = last.work().remaining();
    for (segment, run) in runs {
        run.work().set_remaining(remaining);
        act(segment, run)?;
        remaining = run.work().remaining();
    }
    Ok(())
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
        let can_replay = self.runs.iter().all(|(_, run)| run.can_replay(number));
        for (segment, run) in self.runs.iter_mut() {
            if can_replay {
                run.replay(segment, number)?;
            } else {
                run.begin_repeated(segment, number);
            }
        }
        Ok(can_replay)
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
