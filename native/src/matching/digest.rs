//! Digests by which states and tables are interned. Equal digests count as equal content, so they have
//! 128 bits and a seed that is different in each process: no document and no set of queries can be made
//! for a collision.

use std::sync::LazyLock;

use xxhash_rust::xxh3::xxh3_128_with_seed;

use crate::subscription_store::flat_layout::random_seed;

static SEED: LazyLock<u64> = LazyLock::new(random_seed);

/// The digest of a sequence of bytes.
pub(super) fn digest_of(bytes: &[u8]) -> u128 {
    xxh3_128_with_seed(bytes, *SEED)
}

/// The digest of a number; the digest of a set is the sum of those of its members.
#[inline]
pub(super) fn digest_of_number(number: u64) -> u128 {
    let half = |constant: u64| {
        let mut bits = (number ^ *SEED)
            .wrapping_add(constant)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15);
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    };
    u128::from(half(0x243f_6a88_85a3_08d3)) << 64 | u128::from(half(0x1319_8a2e_0370_7344))
}
