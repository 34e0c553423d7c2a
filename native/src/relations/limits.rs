//! Limits on the work of relations. `limits.py` has the values that the reference shares.

/// Proof steps of one relation; beyond it, the relation returns its safe answer.
pub const MAX_PROOF_STEPS: u32 = 20_000;

/// Elementary operations of one relation (comparisons of names, facts and sets of steps); beyond it, the
/// relation returns its safe answer. A proof step of an ordinary pair takes tens of them, one of a pair
/// made to be expensive a hundred thousand.
pub const MAX_PROOF_WORK: u64 = 10_000_000;

/// Nesting depth of a proof, which bounds the stack; the Python reference stops at fewer levels.
pub const MAX_PROOF_DEPTH: u32 = 384;

/// Nested assumptions in the proof of a `not`.
pub const MAX_PROOF_ASSUMPTIONS: u32 = 3;

/// Alternatives of a path's `or`s that relations distinguish; beyond it, they are dropped.
pub const MAX_CLAUSES: usize = 64;

/// Nodes below any node of a generalised pattern; beyond it, the least specific ones are omitted.
pub const MAX_GENERALISED_NODES: usize = 24;
