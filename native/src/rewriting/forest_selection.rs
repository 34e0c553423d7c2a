//! A rewritten document may be several trees, and each is matched by itself.

use crate::events::{Context, Handler, Span, StartElement, Stop};
use crate::select::{QueryResult, Selection, SelectionOptions, Selector};

/// Evaluates queries on each tree of a forest.
pub struct ForestSelection<'a, 's> {
    selectors: &'s [&'a Selector],
    options: SelectionOptions,
    tree: Option<Selection<'a>>,
    depth: u64,
    outcomes: Vec<QueryResult>,
}

impl<'a, 's> ForestSelection<'a, 's> {
    /// For these queries; outcomes come in the same order.
    pub fn new(selectors: &'s [&'a Selector], options: SelectionOptions) -> Self {
        Self {
            selectors,
            options,
            tree: None,
            depth: 0,
            outcomes: vec![QueryResult::default(); selectors.len()],
        }
    }

    /// What the queries select in all trees together.
    pub fn finish(self) -> Vec<QueryResult> {
        self.outcomes
    }

    fn tree(&mut self) -> &mut Selection<'a> {
        self.tree.as_mut().expect("nothing stands between trees")
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
            let tree = self.tree.take().expect("it has just ended");
            for (all, own) in self.outcomes.iter_mut().zip(tree.finish()) {
                all.matched |= own.matched;
                all.count += own.count;
                all.nodes.extend(own.nodes);
            }
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
