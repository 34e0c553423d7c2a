//! FindRMCR (Section 4.4 of the KEMB paper): the rules whose coverage an element contains.
//!
//! The search starts at the source vertexes of the element's accepting states. From a source that
//! is contained, everything below is contained too, and above it the search goes on while rules
//! are; from one that is not, it goes down until it meets such as are. An element has many
//! accepting states whose searches meet: each rule is tried once an element, and gone through once
//! in each direction.

use crate::baselines::kemb::coverage::Coverage;
use crate::baselines::kemb::rules::RuleId;
use crate::keywords::token_sink::WordId;

/// What one element's searches found out about a rule.
#[derive(Clone, Copy, Debug, Default)]
struct Finding {
    /// Of which element; what another's searches found counts for nothing.
    element: u64,
    tried: Option<bool>,
    went_up: bool,
    went_down: bool,
}

/// The relevant rules of one element after another.
#[derive(Debug, Default)]
pub struct Relevant {
    element: u64,
    findings: Vec<Finding>,
    rules: Vec<RuleId>,
    to_visit: Vec<RuleId>,
}

impl Relevant {
    /// Begins an element.
    pub fn begin(&mut self, graph: &Coverage) {
        self.element += 1;
        self.findings
            .resize(graph.rules().id_end(), Finding::default());
        self.rules.clear();
    }

    /// The rules found for this element, each once.
    pub fn rules(&self) -> &[RuleId] {
        &self.rules
    }

    /// Whether a rule was found for this element.
    #[inline]
    pub fn has(&self, rule: RuleId) -> bool {
        let finding = &self.findings[rule as usize];
        finding.element == self.element && finding.tried == Some(true)
    }

    /// Finds the rules that can be reached from the source vertexes of an accepting state.
    /// `contains` tells whether the element contains all words of a coverage.
    pub fn find(
        &mut self,
        graph: &Coverage,
        sources: &[RuleId],
        contains: impl Fn(&[WordId]) -> bool,
    ) {
        for &source in sources {
            self.try_rule(graph, source, &contains);
            self.find_descendants(graph, source, &contains);
            if self.has(source) {
                self.find_ancestors(graph, source, &contains);
            }
        }
    }

    fn find_ancestors(
        &mut self,
        graph: &Coverage,
        source: RuleId,
        contains: &impl Fn(&[WordId]) -> bool,
    ) {
        self.to_visit.push(source);
        while let Some(rule) = self.to_visit.pop() {
            if std::mem::replace(&mut self.finding(rule).went_up, true) {
                continue;
            }
            for &above in graph.above(rule) {
                if self.try_rule(graph, above, contains) {
                    self.to_visit.push(above);
                }
            }
        }
    }

    fn find_descendants(
        &mut self,
        graph: &Coverage,
        source: RuleId,
        contains: &impl Fn(&[WordId]) -> bool,
    ) {
        self.to_visit.push(source);
        while let Some(rule) = self.to_visit.pop() {
            if std::mem::replace(&mut self.finding(rule).went_down, true) {
                continue;
            }
            // Everything below a rule that is contained is contained: trying it would be waste.
            let known = self.has(rule);
            for &below in graph.below(rule) {
                if known {
                    self.note(below);
                } else {
                    self.try_rule(graph, below, contains);
                }
                self.to_visit.push(below);
            }
        }
    }

    fn try_rule(
        &mut self,
        graph: &Coverage,
        rule: RuleId,
        contains: &impl Fn(&[WordId]) -> bool,
    ) -> bool {
        if let Some(tried) = self.finding(rule).tried {
            return tried;
        }
        let contained = contains(&graph.rules().rule(rule).coverage);
        if contained {
            self.note(rule);
        } else {
            self.finding(rule).tried = Some(false);
        }
        contained
    }

    fn note(&mut self, rule: RuleId) {
        if self.finding(rule).tried.replace(true).is_none() {
            self.rules.push(rule);
        }
    }

    fn finding(&mut self, rule: RuleId) -> &mut Finding {
        let finding = &mut self.findings[rule as usize];
        if finding.element != self.element {
            *finding = Finding {
                element: self.element,
                ..Finding::default()
            };
        }
        finding
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::baselines::kemb::rules::tests::steps;
    use crate::baselines::kemb::word_sets::is_subset;

    proptest! {
        #[test]
        fn the_searches_of_all_accepting_states_find_every_rule_that_is_contained(
            queries in steps(),
            elements in prop::collection::vec(prop::collection::btree_set(0_u32..9, 1..9), 1..4)
        ) {
            let graph = Coverage::build(queries.iter().map(Vec::as_slice));
            let mut relevant = Relevant::default();
            for words in elements {
                let words: Vec<WordId> = words.into_iter().collect();
                relevant.begin(&graph);
                for query in queries.iter().filter(|query| is_subset(query, &words)) {
                    let contains = |coverage: &[WordId]| is_subset(coverage, &words);
                    relevant.find(&graph, &graph.sources(query), contains);
                }
                let defined: BTreeSet<RuleId> = graph.rules().within(&words).into_iter().collect();
                prop_assert_eq!(relevant.rules().len(), defined.len());
                prop_assert!(defined.iter().all(|&rule| relevant.has(rule)));
            }
        }
    }
}
