//! Match lists: which patterns of an announced set matched a document, and of which it is unknown.
//!
//! A pattern is named by its rank: its position in the set, in the order of the patterns' digests. A
//! list is two sets of ranks, the matched ones and the unknown ones. Each set is a form (one byte), a
//! size (a varint) and the ranks: as the differences of consecutive ranks, or as a bitmap, whichever
//! is smaller.

/// Ranks as differences.
const GAPS: u8 = 0;
/// Ranks as a bitmap.
const BITMAP: u8 = 1;

/// A list that is not valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// The patterns of a set that a document matched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MatchList {
    /// Ranks of the patterns that match; ascending, distinct.
    pub matched: Vec<u32>,
    /// Ranks of the patterns of which it is unknown whether they match; ascending, distinct.
    pub unknown: Vec<u32>,
}

impl MatchList {
    /// The binary form.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(4 + 2 * self.matched.len());
        encode_ranks(&self.matched, &mut bytes);
        encode_ranks(&self.unknown, &mut bytes);
        bytes
    }

    /// Parses a list for a set of `set_size` patterns.
    pub fn decode(bytes: &[u8], set_size: u32) -> Result<MatchList, Malformed> {
        let mut rest = bytes;
        let matched = decode_ranks(&mut rest, set_size)?;
        let unknown = decode_ranks(&mut rest, set_size)?;
        let is_disjoint = unknown
            .iter()
            .all(|rank| matched.binary_search(rank).is_err());
        if rest.is_empty() && is_disjoint {
            Ok(MatchList { matched, unknown })
        } else {
            Err(Malformed)
        }
    }
}

fn encode_ranks(ranks: &[u32], bytes: &mut Vec<u8>) {
    let gaps = || {
        let mut next = 0;
        ranks.iter().map(move |&rank| {
            let gap = rank - next;
            next = rank + 1;
            gap
        })
    };
    let gap_bytes: usize = gaps().map(varint_bytes).sum();
    let bitmap_bytes = ranks.last().map_or(0, |&last| last as usize / 8 + 1);
    if gap_bytes <= bitmap_bytes {
        bytes.push(GAPS);
        push_varint(ranks.len() as u32, bytes);
        gaps().for_each(|gap| push_varint(gap, bytes));
    } else {
        bytes.push(BITMAP);
        push_varint(bitmap_bytes as u32, bytes);
        let start = bytes.len();
        bytes.resize(start + bitmap_bytes, 0);
        for &rank in ranks {
            bytes[start + rank as usize / 8] |= 1 << (rank % 8);
        }
    }
}

fn decode_ranks(rest: &mut &[u8], set_size: u32) -> Result<Vec<u32>, Malformed> {
    let form = take(rest, 1)?[0];
    let size = take_varint(rest)?;
    let mut ranks = Vec::new();
    match form {
        GAPS => {
            // Each gap takes at least one byte, so a short list cannot demand much memory.
            if size as usize > rest.len() {
                return Err(Malformed);
            }
            ranks.reserve(size as usize);
            let mut next = 0u32;
            for _ in 0..size {
                let rank = next.checked_add(take_varint(rest)?).ok_or(Malformed)?;
                ranks.push(rank);
                next = rank.checked_add(1).ok_or(Malformed)?;
            }
        }
        BITMAP => {
            for (at, &byte) in take(rest, size as usize)?.iter().enumerate() {
                let mut bits = byte;
                while bits != 0 {
                    ranks.push(at as u32 * 8 + bits.trailing_zeros());
                    bits &= bits - 1;
                }
            }
        }
        _ => return Err(Malformed),
    }
    match ranks.last() {
        Some(&last) if last >= set_size => Err(Malformed),
        _ => Ok(ranks),
    }
}

fn take<'a>(rest: &mut &'a [u8], count: usize) -> Result<&'a [u8], Malformed> {
    let (taken, after) = rest.split_at_checked(count).ok_or(Malformed)?;
    *rest = after;
    Ok(taken)
}

fn varint_bytes(value: u32) -> usize {
    (32 - (value | 1).leading_zeros() as usize).div_ceil(7)
}

fn push_varint(mut value: u32, bytes: &mut Vec<u8>) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn take_varint(rest: &mut &[u8]) -> Result<u32, Malformed> {
    let mut value = 0u64;
    for shift in [0, 7, 14, 21, 28] {
        let byte = take(rest, 1)?[0];
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return u32::try_from(value).map_err(|_| Malformed);
        }
    }
    Err(Malformed)
}

#[cfg(test)]
mod tests {
    use proptest::collection::{btree_set, vec};
    use proptest::prelude::*;

    use super::*;

    fn list(matched: &[u32], unknown: &[u32]) -> MatchList {
        MatchList {
            matched: matched.to_vec(),
            unknown: unknown.to_vec(),
        }
    }

    #[test]
    fn dense_lists_are_bitmaps() {
        let dense: Vec<u32> = (0..10_000).collect();
        assert!(list(&dense, &[]).encode().len() < 1_300);
        assert_eq!(list(&[1, 70_000], &[]).encode().len(), 8);
    }

    #[test]
    fn malformed_lists_are_refused() {
        let good = list(&[3, 9], &[4]).encode();
        assert_eq!(MatchList::decode(&good, 10), Ok(list(&[3, 9], &[4])));
        assert_eq!(MatchList::decode(&good, 9), Err(Malformed));
        for end in 0..good.len() {
            assert_eq!(MatchList::decode(&good[..end], 10), Err(Malformed));
        }
        let contradiction = list(&[3, 9], &[9]).encode();
        assert_eq!(MatchList::decode(&contradiction, 10), Err(Malformed));
        let huge = [GAPS, 0xff, 0xff, 0xff, 0xff, 0x0f];
        assert_eq!(MatchList::decode(&huge, u32::MAX), Err(Malformed));
    }

    proptest! {
        #[test]
        fn decoding_inverts_encoding(
            matched in btree_set(0u32..500, 0..200),
            unknown in btree_set(0u32..5_000, 0..20),
        ) {
            let unknown: Vec<u32> = unknown.difference(&matched).copied().collect();
            let list = MatchList { matched: matched.into_iter().collect(), unknown };
            prop_assert_eq!(MatchList::decode(&list.encode(), 5_000), Ok(list));
        }

        #[test]
        fn arbitrary_bytes_are_parsed_or_refused(bytes in vec(any::<u8>(), 0..64)) {
            if let Ok(list) = MatchList::decode(&bytes, 300) {
                prop_assert!(list.matched.is_sorted() && list.unknown.is_sorted());
                prop_assert!(list.matched.iter().chain(&list.unknown).all(|&rank| rank < 300));
            }
        }
    }
}
