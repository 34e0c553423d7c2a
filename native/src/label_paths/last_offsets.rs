//! The encoding of last offsets: where the last node ends that each pattern can select.
//!
//! Many patterns end with the same label path, so that ranks are grouped by offset: the number of groups;
//! for each, in the order of offsets, the difference from the offset before, the number of ranks, the
//! first rank, and the differences between the others.

use super::varint;

/// Encodes pairs of rank and offset.
pub fn encode(pairs: &mut [(u32, u64)]) -> Vec<u8> {
    pairs.sort_unstable_by_key(|&(rank, offset)| (offset, rank));
    let groups: Vec<&[(u32, u64)]> = pairs.chunk_by(|one, two| one.1 == two.1).collect();
    let mut encoded = Vec::with_capacity(2 * pairs.len() + 4);
    varint::write(groups.len() as u64, &mut encoded);
    let mut offset_before = 0;
    for group in groups {
        let offset = group[0].1;
        varint::write(offset - offset_before, &mut encoded);
        offset_before = offset;
        varint::write(group.len() as u64, &mut encoded);
        let mut rank_before = 0;
        for &(rank, _) in group {
            varint::write(u64::from(rank - rank_before), &mut encoded);
            rank_before = rank;
        }
    }
    encoded
}

/// Decodes pairs of rank and offset, at most `ranks_max`; ranks are below it. `None` if the encoding is
/// malformed.
pub fn decode(encoded: &[u8], ranks_max: u32) -> Option<Vec<(u32, u64)>> {
    let mut rest = encoded;
    let mut pairs = Vec::new();
    let mut offset = 0_u64;
    for group in 0..varint::read(&mut rest)? {
        let gap = varint::read(&mut rest)?;
        if group > 0 && gap == 0 {
            return None;
        }
        offset = offset.checked_add(gap)?;
        let count = varint::read(&mut rest)?;
        if count == 0 || count > u64::from(ranks_max) {
            return None;
        }
        let mut rank = 0_u64;
        for at in 0..count {
            let gap = varint::read(&mut rest)?;
            if at > 0 && gap == 0 {
                return None;
            }
            rank = rank.checked_add(gap)?;
            if rank >= u64::from(ranks_max) {
                return None;
            }
            pairs.push((rank as u32, offset));
        }
        if pairs.len() > ranks_max as usize {
            return None;
        }
    }
    rest.is_empty().then_some(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_survive_in_about_a_byte_each() {
        let mut pairs = [(3, 100), (0, 200), (7, 100), (4, 100), (9, 0)];
        let encoded = encode(&mut pairs);
        assert_eq!(encoded.len(), 12);
        assert_eq!(decode(&encoded, 10).as_deref(), Some(&pairs[..]));
        assert_eq!(decode(&encoded, 9), None);
        for end in 0..encoded.len() {
            assert_eq!(decode(&encoded[..end], 10), None);
        }
        assert_eq!(decode(&encode(&mut []), 0), Some(Vec::new()));
    }
}
