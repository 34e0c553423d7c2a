//! Maps offsets in text that was decoded from a single-byte encoding to offsets in the original bytes.

/// Bytes of text that a block describes: as many as a mask has bits.
const BLOCK_BYTES: usize = u64::BITS as usize;

/// Continuation bytes of UTF-8 in a block of text.
#[derive(Clone, Copy, Debug)]
struct Block {
    /// Their number in all blocks before this one.
    before: u64,
    /// A bit for each byte of the block.
    mask: u64,
}

/// The continuation bytes in the text in memory.
///
/// Each character was one byte, so the original offset of a character is its offset less the number of
/// continuation bytes before it. This takes a quarter of the text's memory, whatever the text, where
/// accented letters would fill an [`OffsetTable`](super::OffsetTable) with short runs.
#[derive(Debug, Default)]
pub(in crate::reader) struct ContinuationBytes {
    blocks: Vec<Block>,
    /// Original offset of the text in memory.
    start: u64,
}

impl ContinuationBytes {
    /// Starts a document whose text starts at `original`.
    pub(super) fn begin(&mut self, original: u64) {
        self.blocks.clear();
        self.start = original;
    }

    /// Finds the continuation bytes of `text`, all text in memory.
    pub(super) fn locate(&mut self, text: &[u8]) {
        self.blocks.clear();
        self.blocks.reserve(text.len() / BLOCK_BYTES + 1);
        let mut before = 0;
        let (blocks, rest) = text.as_chunks::<BLOCK_BYTES>();
        for block in blocks {
            let mask = continuation_mask(block);
            self.blocks.push(Block { before, mask });
            before += u64::from(mask.count_ones());
        }
        let mut last = [0; BLOCK_BYTES];
        last[..rest.len()].copy_from_slice(rest);
        let mask = continuation_mask(&last);
        self.blocks.push(Block { before, mask });
    }

    /// Drops the first `bytes` of the text in memory.
    pub(super) fn consume(&mut self, bytes: usize) {
        self.start = self.original(bytes);
        self.blocks.clear();
    }

    /// Original offset of the text in memory.
    pub(super) fn start(&self) -> u64 {
        self.start
    }

    /// The original offset of offset `at` of the text in memory.
    #[inline]
    pub(in crate::reader) fn original(&self, at: usize) -> u64 {
        let Block { before, mask } = self.blocks[at / BLOCK_BYTES];
        let in_block = (mask & !(u64::MAX << (at % BLOCK_BYTES))).count_ones();
        self.start + at as u64 - before - u64::from(in_block)
    }
}

/// A bit for each byte of the block, the first byte's lowest: set for continuation bytes.
#[inline]
fn continuation_mask(block: &[u8; BLOCK_BYTES]) -> u64 {
    let (words, _) = block.as_chunks::<8>();
    let mut mask = 0;
    for (number, &word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(word);
        // Only continuation bytes have bit 7 set and bit 6 clear.
        let lowest_bits = word >> 7 & !(word >> 6) & 0x0101_0101_0101_0101;
        // The product has the lowest bit of byte i, and no carry, in bit 56 + i.
        mask |= (lowest_bits.wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * number);
    }
    mask
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_character_of_a_single_byte_encoding_keeps_its_offset() {
        let text: String = (0..40)
            .flat_map(|turn| {
                "a\u{e9}\u{20ac}"
                    .chars()
                    .chain(['b'; 9])
                    .cycle()
                    .take(7 + turn)
            })
            .collect();
        let bytes = text.as_bytes();
        let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        let mut continuations = ContinuationBytes::default();
        for consumed in [0, 1, 5, 63, 64, 65, 200, starts.len()] {
            continuations.begin(7);
            continuations.locate(bytes);
            let cut = starts.get(consumed).copied().unwrap_or(bytes.len());
            continuations.consume(cut);
            assert_eq!(continuations.start(), 7 + consumed as u64);
            continuations.locate(&bytes[cut..]);
            for (number, &at) in starts.iter().enumerate().skip(consumed) {
                assert_eq!(continuations.original(at - cut), 7 + number as u64);
            }
            let end = continuations.original(bytes.len() - cut);
            assert_eq!(end, 7 + starts.len() as u64);
        }
    }
}
