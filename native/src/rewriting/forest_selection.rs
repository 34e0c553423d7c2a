//! Evaluates queries on a rewritten document, which may consist of several trees.

use crate::events::{Context, Handler, Span, StartElement, Stop};
use crate::select::{QueryResult, Selection, SelectionOptions, Selector};

/// Evaluates queries on each tree of a forest separately.
pub struct ForestSelection<'a, 's> {
    selectors: &'s [&'a Selector],
    options: SelectionOptions,
    /// The evaluation of the current tree.
    tree: Option<Selection<'a>>,
    depth: u64,
    results: Vec<QueryResult>,
}

impl<'a, 's> ForestSelection<'a, 's> {
    /// Evaluates `selectors`; the results come in the same order.
    pub fn new(selectors: &'s [&'a Selector], options: SelectionOptions) -> Self {
        Self {
            selectors,
            options,
            tree: None,
            depth: 0,
            results: vec![QueryResult::default(); selectors.len()],
        }
    }

    /// The results on all trees together.
    pub fn finish(self) -> Vec<QueryResult> {
        self.results
    }

    /// The results so far of a document that was stopped.
    pub fn interrupt(mut self) -> Vec<QueryResult> {
        if let Some(tree) = self.tree.take() {
            self.add(tree.interrupt());
        }
        self.results
    }

    fn add(&mut self, results: Vec<QueryResult>) {
        for (total, own) in self.results.iter_mut().zip(results) {
            total.matched |= own.matched;
            total.count += own.count;
            total.nodes.extend(own.nodes);
            total.steps += own.steps;
            total.cost += own.cost;
        }
    }

    fn tree(&mut self) -> &mut Selection<'a> {
        self.tree.as_mut().expect("events occur only inside trees")
    }
}

impl Handler for ForestSelection<'_, '_> {
    const SPANS: bool = true;

    fn start_element(
        &mut self,
        context: &dyn Context,
        element: &StartElement<'_>,
    ) -> Result<(), Stop> {
        if self.depth == 0 {
            self.tree = Some(Selection::new(self.selectors, self.options));
        }
        self.depth += 1;
        self.tree().start_element(context, element)
    }

    fn end_element(&mut self, span: Span, end_tag: Span) -> Result<(), Stop> {
        self.tree().end_element(span, end_tag)?;
        self.depth -= 1;
        if self.depth == 0 {
            let tree = self.tree.take().expect("a tree has just ended");
            let results = tree.finish();
            let steps: u64 = results.iter().map(|result| result.steps).sum();
            self.options.steps_max = self.options.steps_max.saturating_sub(steps);
            self.add(results);
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
