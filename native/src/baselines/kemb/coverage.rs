//! The coverage graph (Section 4.4 of the KEMB paper): rules, and which contains which.
//!
//! A rule *contains* another whose coverage is a proper part of its own; there is an arc where it
//! does so directly, with no third rule between. The graph follows the rules as queries come and
//! go: a new rule takes the arcs between those above and below it upon itself, one that goes leaves
//! them an arc wherever no other rule lies between them.

use crate::baselines::kemb::rules::{Change, RuleId, Rules};
use crate::baselines::kemb::word_sets::is_subset;
use crate::keywords::token_sink::WordId;

/// Rules with the arcs between them.
#[derive(Debug, Default)]
pub struct Coverage {
    rules: Rules,
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

impl Coverage {
    /// The graph of these queries, each of ascending words.
    pub fn build<'a>(queries: impl IntoIterator<Item = &'a [WordId]>) -> Self {
        let mut graph = Coverage {
            rules: Rules::generate(queries),
            vertexes: Vec::new(),
        };
        graph
            .vertexes
            .resize_with(graph.rules.id_end(), Vertex::default);
        // Largest first, as in the paper: whatever contains a rule is there before it.
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
    pub fn rules(&self) -> &Rules {
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

    /// The rules that directly cover a query: the smallest whose coverage has all its words.
    pub fn sources(&self, words: &[WordId]) -> Vec<RuleId> {
        self.smallest(self.rules.covering(words))
    }

    /// Adds a query, of ascending words.
    pub fn insert(&mut self, words: &[WordId]) -> Change {
        let change = self.rules.insert(words);
        self.follow(&change);
        change
    }

    /// Takes a query out that is there.
    pub fn remove(&mut self, words: &[WordId]) -> Change {
        let change = self.rules.remove(words);
        self.follow(&change);
        change
    }

    fn follow(&mut self, change: &Change) {
        self.vertexes
            .resize_with(self.rules.id_end(), Vertex::default);
        for &id in &change.gone {
            self.remove_vertex(id);
        }
        for &id in &change.new {
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

    /// Those that contain no other of them, where between one and another every rule that lies
    /// there is of them too: then one that contains another directly contains such a one.
    fn smallest(&self, rules: Vec<RuleId>) -> Vec<RuleId> {
        let not_below = |&id: &RuleId| !contain_any(&rules, self.below(id));
        rules.iter().copied().filter(not_below).collect()
    }

    /// Those that no other of them contains, likewise.
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

/// Whether any of `some` is among `rules`, which ascend.
fn contain_any(rules: &[RuleId], some: &[RuleId]) -> bool {
    some.iter().any(|id| rules.binary_search(id).is_ok())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::baselines::kemb::rules::tests::steps;

    type Words = Vec<WordId>;
    type Arcs = BTreeSet<(Words, Words)>;

    /// The arcs as coverages, told alike from either end.
    fn arcs(graph: &Coverage) -> Arcs {
        let name = |id: RuleId| graph.coverage(id).to_vec();
        let pairs = |id: RuleId| {
            graph
                .below(id)
                .iter()
                .map(move |&below| (name(id), name(below)))
        };
        let told: Arcs = graph.rules.ids().flat_map(pairs).collect();
        let pairs = |id: RuleId| {
            graph
                .above(id)
                .iter()
                .map(move |&above| (name(above), name(id)))
        };
        let turned: Vec<_> = graph.rules.ids().flat_map(pairs).collect();
        assert_eq!(turned.len(), told.len());
        assert_eq!(told, turned.into_iter().collect());
        told
    }

    /// Definition 5.
    fn definition(rules: &Rules) -> Arcs {
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
        fn a_changed_graph_is_the_one_built_from_scratch(steps in steps()) {
            let mut graph = Coverage::default();
            let mut present: BTreeSet<Words> = BTreeSet::new();
            for words in steps {
                if present.remove(&words) {
                    graph.remove(&words);
                } else {
                    present.insert(words.clone());
                    graph.insert(&words);
                }
                let scratch = Coverage::build(present.iter().map(Vec::as_slice));
                prop_assert_eq!(arcs(&graph), arcs(&scratch));
                prop_assert_eq!(arcs(&graph), definition(&graph.rules));
            }
        }
    }
}
