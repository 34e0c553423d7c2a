//! How large a query may be: every limit by name. `limits.py` says the same.

/// Characters in the text of one query.
pub const MAX_QUERY_CHARACTERS: usize = 16_384;

/// Steps in one query, those of nested paths and of every branch included.
pub const MAX_STEPS: usize = 512;

/// Conditions in one query, wherever they stand: `[a and b]` and `[a][b]` have two each.
pub const MAX_PREDICATES: usize = 512;

/// Brackets and parentheses open at once.
pub const MAX_NESTING: usize = 32;

/// The same for canonical text: the normal form of a query may be nested deeper than the query,
/// by one level for each `not()` that turned into an `and` or `or`, or for a union.
pub const MAX_CANONICAL_NESTING: usize = 3 * MAX_NESTING;
