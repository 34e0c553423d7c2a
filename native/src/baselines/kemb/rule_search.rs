//! FindRMCR (Section 4.4 of the KEMB paper): finds the relevant rules, whose coverage an element
//! contains.
//!
//! The search starts at the source vertexes of the element's accepting states. If a source is
//! contained, so is everything below it, and the search continues upwards through contained rules;
//! otherwise it continues downwards until it reaches contained rules. The searches of an element's
//! accepting states overlap: each rule is tested once per element and expanded once in each
//! direction.

use crate::baselines::kemb::coverage_graph::CoverageGraph;
use crate::baselines::kemb::coverage_rules::RuleId;
use crate::keywords::token_sink::WordId;

/// Search state of a rule.
#[derive(Clone, Copy, Debug, Default)]
struct RuleVisit {
    /// The element it refers to; the rest is invalid for other elements.
    element: u64,
    contained: Option<bool>,
    expanded_up: bool,
    expanded_down: bool,
}

/// Finds the relevant rules of one element after another.
#[derive(Debug, Default)]
pub struct RuleSearch {
    element: u64,
    visits: Vec<RuleVisit>,
    rules: Vec<RuleId>,
    to_visit: Vec<RuleId>,
}

impl RuleSearch {
    /// Starts an element.
    pub fn start_element(&mut self, graph: &CoverageGraph) {
        self.element += 1;
        self.visits
            .resize(graph.rules().id_end(), RuleVisit::default());
        self.rules.clear();
    }

    /// The rules found for this element, distinct.
    pub fn rules(&self) -> &[RuleId] {
        &self.rules
    }

    /// Whether a rule was found for this element.
    #[inline]
    pub fn has(&self, rule: RuleId) -> bool {
        let visit = &self.visits[rule as usize];
        visit.element == self.element && visit.contained == Some(true)
    }

    /// Finds the rules reachable from the source vertexes of an accepting state. `contains` returns
    /// whether the element contains all words of a coverage.
    pub fn find(
        &mut self,
        graph: &CoverageGraph,
        sources: &[RuleId],
        contains: impl Fn(&[WordId]) -> bool,
    ) {
        for &source in sources {
            self.test_rule(graph, source, &contains);
            self.find_descendants(graph, source, &contains);
            if self.has(source) {
                self.find_ancestors(graph, source, &contains);
            }
        }
    }

    fn find_ancestors(
        &mut self,
        graph: &CoverageGraph,
        source: RuleId,
        contains: &impl Fn(&[WordId]) -> bool,
    ) {
        self.to_visit.push(source);
        while let Some(rule) = self.to_visit.pop() {
            if std::mem::replace(&mut self.visit(rule).expanded_up, true) {
                continue;
            }
            for &above in graph.above(rule) {
                if self.test_rule(graph, above, contains) {
                    self.to_visit.push(above);
                }
            }
        }
    }

    fn find_descendants(
        &mut self,
        graph: &CoverageGraph,
        source: RuleId,
        contains: &impl Fn(&[WordId]) -> bool,
    ) {
        self.to_visit.push(source);
        while let Some(rule) = self.to_visit.pop() {
            if std::mem::replace(&mut self.visit(rule).expanded_down, true) {
                continue;
            }
            // Everything below a contained rule is contained and needs no test.
            let known = self.has(rule);
            for &below in graph.below(rule) {
                if known {
                    self.add_rule(below);
                } else {
                    self.test_rule(graph, below, contains);
                }
                self.to_visit.push(below);
            }
        }
    }

    fn test_rule(
        &mut self,
        graph: &CoverageGraph,
        rule: RuleId,
        contains: &impl Fn(&[WordId]) -> bool,
    ) -> bool {
        if let Some(contained) = self.visit(rule).contained {
            return contained;
        }
        let is_contained = contains(&graph.rules().rule(rule).coverage);
        if is_contained {
            self.add_rule(rule);
        } else {
            self.visit(rule).contained = Some(false);
        }
        is_contained
    }

    fn add_rule(&mut self, rule: RuleId) {
        if self.visit(rule).contained.replace(true).is_none() {
            self.rules.push(rule);
        }
    }

    fn visit(&mut self, rule: RuleId) -> &mut RuleVisit {
        let visit = &mut self.visits[rule as usize];
        if visit.element != self.element {
            *visit = RuleVisit {
                element: self.element,
                ..RuleVisit::default()
            };
        }
        visit
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::baselines::kemb::coverage_rules::tests::steps;
    use crate::baselines::kemb::word_sets::is_subset;

    proptest! {
        #[test]
        fn searches_from_all_accepting_states_find_every_contained_rule(
            queries in steps(),
            elements in prop::collection::vec(prop::collection::btree_set(0_u32..9, 1..9), 1..4)
        ) {
            let graph = CoverageGraph::build(queries.iter().map(Vec::as_slice));
            let mut rule_search = RuleSearch::default();
            for words in elements {
                let words: Vec<WordId> = words.into_iter().collect();
                rule_search.start_element(&graph);
                for query in queries.iter().filter(|query| is_subset(query, &words)) {
                    let contains = |coverage: &[WordId]| is_subset(coverage, &words);
                    rule_search.find(&graph, &graph.sources(query), contains);
                }
                let defined: BTreeSet<RuleId> = graph.rules().within(&words).into_iter().collect();
                prop_assert_eq!(rule_search.rules().len(), defined.len());
                prop_assert!(defined.iter().all(|&rule| rule_search.has(rule)));
            }
        }
    }
}
