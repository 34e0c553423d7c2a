//! Evaluates queries on a rewritten document, which may consist of several trees.

use crate::events::{Context, Handler, Span, StartElement, Stop};
use crate::select::{QuerySteps, Selection, SelectionOptions, SelectionResult};

/// Evaluates queries on each tree of a forest separately.
pub struct ForestSelection<'a> {
    steps: &'a QuerySteps<'a>,
    options: SelectionOptions,
    /// The evaluation of the current tree.
    tree: Option<Selection<'a>>,
    depth: u64,
    result: SelectionResult,
}

impl<'a> ForestSelection<'a> {
    /// Evaluates the queries of `steps`; the results come in the same order.
    pub fn new(steps: &'a QuerySteps<'a>, options: SelectionOptions) -> Self {
        Self {
            steps,
            options,
            tree: None,
            depth: 0,
            result: SelectionResult::empty(steps),
        }
    }

    /// The results on all trees together.
    pub fn finish(self) -> SelectionResult {
        self.result
    }

    /// The results so far of a document that was stopped.
    pub fn interrupt(mut self) -> SelectionResult {
        if let Some(tree) = self.tree.take() {
            self.result.add(tree.interrupt());
        }
        self.result
    }

    fn tree(&mut self) -> &mut Selection<'a> {
        self.tree.as_mut().expect("events occur only inside trees")
    }
}

impl Handler for ForestSelection<'_> {
    const SPANS: bool = true;

    fn start_element(
        &mut self,
        context: &dyn Context,
        element: &StartElement<'_>,
    ) -> Result<(), Stop> {
        if self.depth == 0 {
            self.tree = Some(Selection::new(self.steps, self.options));
        }
        self.depth += 1;
        self.tree().start_element(context, element)
    }

    fn end_element(&mut self, span: Span, end_tag: Span) -> Result<(), Stop> {
        self.tree().end_element(span, end_tag)?;
        self.depth -= 1;
        if self.depth == 0 {
            let tree = self.tree.take().expect("a tree has just ended");
            let result = tree.finish_with_steps();
            let steps_max = self.options.steps_max;
            self.options.steps_max = steps_max.saturating_sub(result.total_steps());
            self.result.add(result);
        }
        Ok(())
    }

    fn text(&mut self, text: &str, span: Span) -> Result<(), Stop> {
        self.tree().text(text, span)
    }

    fn text_break(&mut self) -> Result<(), Stop> {
        self.tree().text_break()
    }
}
