//! The coverage graph (Section 4.4 of the KEMB paper): coverage rules ordered by containment.
//!
//! A rule *contains* another if the other's coverage is a proper subset of its own. An arc leads
//! from a rule to those it contains directly, with no third rule in between. The graph is updated
//! as queries are added and removed: a new rule replaces the arcs between the rules above and below
//! it; a removed rule leaves an arc between those wherever no other rule lies in between.

use crate::baselines::kemb::coverage_rules::{RuleChange, RuleId, RuleSet};
use crate::baselines::kemb::word_sets::is_subset;
use crate::keywords::token_sink::WordId;

/// Coverage rules and the arcs between them.
#[derive(Debug, Default)]
pub struct CoverageGraph {
    rules: RuleSet,
    vertexes: Vec<Vertex>,
}

#[derive(Debug, Default)]
struct Vertex {
    present: bool,
    /// Rules that directly contain this one.
    above: Vec<RuleId>,
    /// Rules that this one directly contains.
    below: Vec<RuleId>,
}

impl CoverageGraph {
    /// Builds the graph of these queries, each with ascending words.
    pub fn build<'a>(queries: impl IntoIterator<Item = &'a [WordId]>) -> Self {
        let mut graph = CoverageGraph {
            rules: RuleSet::generate(queries),
            vertexes: Vec::new(),
        };
        graph
            .vertexes
            .resize_with(graph.rules.id_end(), Vertex::default);
        // Largest first, as in the paper, so that containing rules exist before contained ones.
        let mut ids: Vec<RuleId> = graph.rules.ids().collect();
        ids.sort_by_key(|&id| std::cmp::Reverse(graph.coverage(id).len()));
        for id in ids {
            graph.vertexes[id as usize].present = true;
            for above in graph.directly_above(id) {
                graph.add_arc(above, id);
            }
        }
        graph
    }

    /// The rules.
    pub fn rules(&self) -> &RuleSet {
        &self.rules
    }

    /// Rules that directly contain this one.
    #[inline]
    pub fn above(&self, rule: RuleId) -> &[RuleId] {
        &self.vertexes[rule as usize].above
    }

    /// Rules that this one directly contains.
    #[inline]
    pub fn below(&self, rule: RuleId) -> &[RuleId] {
        &self.vertexes[rule as usize].below
    }

    /// Rules that directly cover a query: the smallest whose coverage includes all of its words.
    pub fn sources(&self, words: &[WordId]) -> Vec<RuleId> {
        self.smallest(self.rules.covering(words))
    }

    /// Adds a query with ascending words.
    pub fn insert(&mut self, words: &[WordId]) -> RuleChange {
        let change = self.rules.insert(words);
        self.apply(&change);
        change
    }

    /// Removes an existing query.
    pub fn remove(&mut self, words: &[WordId]) -> RuleChange {
        let change = self.rules.remove(words);
        self.apply(&change);
        change
    }

    fn apply(&mut self, change: &RuleChange) {
        self.vertexes
            .resize_with(self.rules.id_end(), Vertex::default);
        for &id in &change.removed {
            self.remove_vertex(id);
        }
        for &id in &change.added {
            self.insert_vertex(id);
        }
    }

    fn insert_vertex(&mut self, id: RuleId) {
        self.vertexes[id as usize].present = true;
        let above = self.directly_above(id);
        let below = self.directly_below(id);
        for &above in &above {
            for &below in &below {
                self.remove_arc(above, below);
            }
            self.add_arc(above, id);
        }
        for below in below {
            self.add_arc(id, below);
        }
    }

    fn remove_vertex(&mut self, id: RuleId) {
        let Vertex { above, below, .. } = std::mem::take(&mut self.vertexes[id as usize]);
        for &below in &below {
            let others = &mut self.vertexes[below as usize].above;
            others.retain(|&other| other != id);
        }
        for &above in &above {
            let others = &mut self.vertexes[above as usize].below;
            others.retain(|&other| other != id);
            for &below in &below {
                let between =
                    |&other: &RuleId| is_subset(self.coverage(below), self.coverage(other));
                if !self.below(above).iter().any(between) {
                    self.add_arc(above, below);
                }
            }
        }
    }

    fn directly_above(&self, id: RuleId) -> Vec<RuleId> {
        let mut containing = self.rules.covering(self.coverage(id));
        containing.retain(|&other| other != id && self.vertexes[other as usize].present);
        self.smallest(containing)
    }

    fn directly_below(&self, id: RuleId) -> Vec<RuleId> {
        let mut contained = self.rules.within(self.coverage(id));
        contained.retain(|&other| other != id && self.vertexes[other as usize].present);
        self.largest(contained)
    }

    /// The minimal rules of a set that is closed under "lies between two of them": a non-minimal
    /// rule then directly contains another rule of the set.
    fn smallest(&self, rules: Vec<RuleId>) -> Vec<RuleId> {
        let not_below = |&id: &RuleId| !contain_any(&rules, self.below(id));
        rules.iter().copied().filter(not_below).collect()
    }

    /// The maximal rules of such a set.
    fn largest(&self, rules: Vec<RuleId>) -> Vec<RuleId> {
        let not_above = |&id: &RuleId| !contain_any(&rules, self.above(id));
        rules.iter().copied().filter(not_above).collect()
    }

    fn add_arc(&mut self, above: RuleId, below: RuleId) {
        self.vertexes[above as usize].below.push(below);
        self.vertexes[below as usize].above.push(above);
    }

    fn remove_arc(&mut self, above: RuleId, below: RuleId) {
        let arcs = &mut self.vertexes[above as usize].below;
        if let Some(place) = arcs.iter().position(|&other| other == below) {
            arcs.swap_remove(place);
            let arcs = &mut self.vertexes[below as usize].above;
            arcs.retain(|&other| other != above);
        }
    }

    fn coverage(&self, id: RuleId) -> &[WordId] {
        &self.rules.rule(id).coverage
    }
}

/// Whether `rules`, which are ascending, include any of `some`.
fn contain_any(rules: &[RuleId], some: &[RuleId]) -> bool {
    some.iter().any(|id| rules.binary_search(id).is_ok())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::baselines::kemb::coverage_rules::tests::steps;

    type Words = Vec<WordId>;
    type Arcs = BTreeSet<(Words, Words)>;

    /// The arcs as pairs of coverages; both directions must agree.
    fn arcs(graph: &CoverageGraph) -> Arcs {
        let name = |id: RuleId| graph.coverage(id).to_vec();
        let pairs = |id: RuleId| {
            graph
                .below(id)
                .iter()
                .map(move |&below| (name(id), name(below)))
        };
        let downward: Arcs = graph.rules.ids().flat_map(pairs).collect();
        let pairs = |id: RuleId| {
            graph
                .above(id)
                .iter()
                .map(move |&above| (name(above), name(id)))
        };
        let upward: Vec<_> = graph.rules.ids().flat_map(pairs).collect();
        assert_eq!(upward.len(), downward.len());
        assert_eq!(downward, upward.into_iter().collect());
        downward
    }

    /// Definition 5.
    fn definition(rules: &RuleSet) -> Arcs {
        let all: Vec<Words> = rules
            .ids()
            .map(|id| rules.rule(id).coverage.to_vec())
            .collect();
        let part = |small: &Words, large: &Words| small != large && is_subset(small, large);
        let mut arcs = BTreeSet::new();
        for above in &all {
            for below in all.iter().filter(|below| part(below, above)) {
                if !all
                    .iter()
                    .any(|other| part(below, other) && part(other, above))
                {
                    arcs.insert((above.clone(), below.clone()));
                }
            }
        }
        arcs
    }

    proptest! {
        #[test]
        fn an_updated_graph_equals_one_built_from_scratch(steps in steps()) {
            let mut graph = CoverageGraph::default();
            let mut present: BTreeSet<Words> = BTreeSet::new();
            for words in steps {
                if present.remove(&words) {
                    graph.remove(&words);
                } else {
                    present.insert(words.clone());
                    graph.insert(&words);
                }
                let scratch = CoverageGraph::build(present.iter().map(Vec::as_slice));
                prop_assert_eq!(arcs(&graph), arcs(&scratch));
                prop_assert_eq!(arcs(&graph), definition(&graph.rules));
            }
        }
    }
}
