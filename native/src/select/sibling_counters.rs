//! Positions of nodes among their siblings.

/// For each step with a positional predicate, how many children of each open parent have reached each
/// of its predicates.
#[derive(Default)]
pub(super) struct SiblingCounters {
    steps: Vec<Vec<ParentCounters>>,
}

/// The counters of one step below one open parent. The parents of a step are sorted by depth.
struct ParentCounters {
    /// The parent, identified by document-order number and depth. If either changes, counting
    /// restarts.
    parent: u64,
    depth: u32,
    /// By predicate.
    counts: Vec<u64>,
}

impl SiblingCounters {
    /// Counters for `steps` steps.
    pub fn new(steps: usize) -> Self {
        Self {
            steps: std::iter::repeat_with(Vec::new).take(steps).collect(),
        }
    }

    /// Counts one more node that reached `predicate` of a step with `predicates` predicates, below
    /// the parent with the document-order number `parent` in frame `depth`. Returns its position,
    /// from 1.
    pub fn count(
        &mut self,
        step: usize,
        predicate: usize,
        predicates: usize,
        parent: u64,
        depth: u32,
    ) -> u64 {
        let parents = &mut self.steps[step];
        let at = parents.partition_point(|counters| counters.depth < depth);
        if parents
            .get(at)
            .is_none_or(|counters| counters.depth != depth)
        {
            parents.insert(
                at,
                ParentCounters {
                    parent,
                    depth,
                    counts: vec![0; predicates],
                },
            );
        }
        let counters = &mut parents[at];
        if counters.parent != parent {
            counters.parent = parent;
            counters.counts.fill(0);
        }
        counters.counts[predicate] += 1;
        counters.counts[predicate]
    }
}
