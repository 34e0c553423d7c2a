//! Decides containment and coverage of queries.

use super::compiled_query::CompiledQuery;
use super::prover::Prover;

/// Whether each document that matches `q` provably matches `p`.
pub fn contains(p: &CompiledQuery, q: &CompiledQuery) -> bool {
    let mut prover = Prover::new(q.domain());
    q.patterns_beyond(p).all(|pattern| {
        let met = if pattern.is_linear {
            prover.meets_on(&pattern.spine, p.matching_goals())
        } else {
            prover.meets(&pattern.document, p.matching_goals())
        };
        met.unwrap_or(false)
    })
}

/// Whether each node selected by `q` is provably at or under one selected by `p`.
pub fn covers(p: &CompiledQuery, q: &CompiledQuery) -> bool {
    let mut prover = Prover::new(q.domain());
    q.patterns_beyond(p).all(|pattern| {
        let met = prover.meets_on(&pattern.spine, p.selection_goals());
        met.unwrap_or(false)
    })
}
