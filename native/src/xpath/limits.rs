//! Limits on the size of queries. `limits.py` has the same values.

/// Characters in a query.
pub const MAX_QUERY_CHARACTERS: usize = 16_384;

/// Prefixes in a namespace map.
pub const MAX_NAMESPACES: usize = 256;

/// Bytes of a prefix, and of a namespace URI, in a namespace map.
pub const MAX_NAMESPACE_BYTES: usize = 4_096;

/// Steps in a query, including nested paths and all branches.
pub const MAX_STEPS: usize = 512;

/// Conditions in a query, at any level: `[a and b]` and `[a][b]` have two each.
pub const MAX_PREDICATES: usize = 512;

/// Nesting depth of brackets and parentheses.
pub const MAX_NESTING: usize = 32;

/// Nesting depth in canonical text. A normal form may be nested more deeply than its query: by one level
/// for each `not()` that became an `and` or `or`, and for a union.
pub const MAX_CANONICAL_NESTING: usize = 3 * MAX_NESTING;

/// States of the automaton of a pattern of `matches()`. Repetitions are written out: `a{3}` has as many
/// states as `aaa`.
pub const MAX_PATTERN_STATES: usize = 1_000;

/// Characters of a date, without the white space around it; a longer one is invalid.
pub const MAX_DATE_CHARACTERS: usize = 64;
