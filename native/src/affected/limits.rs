//! Limits of the search for affected subscriptions.

/// Bytes of cached automaton states of one index; at the limit, the cache is cleared.
pub const AUTOMATON_CACHE_BYTES_MAX: usize = 64 << 20;
