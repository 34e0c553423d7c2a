//! The engines as handlers of the reader's events, all segments in one reading.

use std::sync::Arc;

use crate::baselines::yfilter::{NfaRun, SharedNfa};
use crate::events::{Context, Handler, Span, StartElement, Stop};
use crate::matching::segment_run::Run;
use crate::path_index::segment::Segment;

/// The default engine.
pub(super) struct SharedEngine<'a> {
    pub runs: &'a mut [(Arc<Segment>, Run)],
    /// Whether subtrees that a mapping repeats are taken once.
    pub takes_once: bool,
}

impl SharedEngine<'_> {
    /// Does something with each run. Most indexes have one segment, and a loop would be as much work as
    /// an end tag.
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

impl Handler for SharedEngine<'_> {
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
        if !self.takes_once {
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

/// The baseline.
pub(super) struct YFilterEngine<'a> {
    pub nfas: &'a [SharedNfa],
    pub runs: &'a mut [(Arc<Segment>, NfaRun)],
}

impl Handler for YFilterEngine<'_> {
    const SPANS: bool = false;

    fn start_element(
        &mut self,
        context: &dyn Context,
        element: &StartElement<'_>,
    ) -> Result<(), Stop> {
        for (nfa, (_, run)) in self.nfas.iter().zip(self.runs.iter_mut()) {
            run.start(nfa, context.names(), element.name);
        }
        Ok(())
    }

    fn end_element(&mut self, _span: Span, _end_tag: Span) -> Result<(), Stop> {
        for (_, run) in self.runs.iter_mut() {
            run.end();
        }
        Ok(())
    }

    fn text(&mut self, _text: &str, _span: Span) -> Result<(), Stop> {
        Ok(())
    }

    fn text_break(&mut self) -> Result<(), Stop> {
        Ok(())
    }
}
