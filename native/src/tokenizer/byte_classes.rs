//! Classifies text bytes in blocks of 64 and reads words as little-endian integers.

const HIGH_BITS: u64 = repeat(0x80);

#[inline]
const fn repeat(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

/// Sets the high bit of each byte in `first..=last`. The high bits of the input must be clear; the
/// other bits of the result are undefined.
#[inline]
const fn between(bytes: u64, first: u8, last: u8) -> u64 {
    (bytes + repeat(0x80 - first)) & !(bytes + repeat(0x7f - last))
}

/// Byte classes of up to 64 bytes, one bit per byte, lowest bit first.
pub struct Block {
    /// Number of bytes.
    pub len: usize,
    /// ASCII letters and digits, and lowercase accented Latin-1 letters.
    pub words: u64,
    /// Those accented letters.
    pub accented: u64,
    /// Other bytes that cannot be skipped between words: underscores and remaining non-ASCII bytes.
    pub others: u64,
    /// Punctuation that may join two letters or digits.
    pub links: u64,
}

impl Block {
    /// Block size in bytes.
    pub const BYTES: usize = 64;

    /// Positions that need the scanner: other bytes, and links between two joinable characters.
    #[inline]
    pub fn needs_scan(&self) -> u64 {
        self.others | self.words << 1 & self.links & (self.words | self.others) >> 1
    }

    /// Classifies the first `len` bytes, 32 at a time; the remaining bytes are zero.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    #[inline]
    pub fn classify_avx2(len: usize, bytes: &[u8; Block::BYTES]) -> Block {
        Block::new(len, ByteClasses::avx2(bytes))
    }

    /// Classifies the first `len` bytes on any CPU; the remaining bytes are zero.
    pub fn classify_portable(len: usize, bytes: &[u8; Block::BYTES]) -> Block {
        Block::new(len, ByteClasses::portable(bytes))
    }

    #[inline(always)]
    fn new(len: usize, bits: ByteClasses) -> Block {
        let letters = bits.latin_leads & bits.latin_trails >> 1;
        let accented = letters | letters << 1;
        let words = bits.plain | accented;
        Block {
            len,
            words,
            accented,
            others: bits.others & !words,
            links: bits.links,
        }
    }
}

/// Mask of the lowest `count` bits.
#[inline]
pub fn low_mask(count: usize) -> u64 {
    match count {
        0..64 => (1 << count) - 1,
        _ => u64::MAX,
    }
}

/// Reads the first sixteen bytes of a word as two integers, zero-padded.
#[inline(always)]
pub fn load_16(text: &[u8], start: usize, len: usize) -> [u64; 2] {
    // Most words are followed by more text, so a single unaligned read suffices.
    let [first, second] = match text[start..].first_chunk::<16>() {
        Some(sixteen) => {
            let sixteen = u128::from_le_bytes(*sixteen);
            [sixteen as u64, (sixteen >> 64) as u64]
        }
        None => [0, 8].map(|at| load_8(text, (start + at).min(text.len()))),
    };
    let masks = PREFIX_MASKS[len.min(16)];
    [first & masks[0], second & masks[1]]
}

/// Masks of the first 0 to 16 bytes.
static PREFIX_MASKS: [[u64; 2]; 17] = {
    let mut masks = [[0; 2]; 17];
    let mut count = 1;
    while count <= 16 {
        masks[count] = masks[count - 1];
        masks[count][(count - 1) / 8] |= 0xff << ((count - 1) % 8 * 8);
        count += 1;
    }
    masks
};

/// Mask of the lowest `count` bytes.
#[inline]
fn low_bytes_mask(count: usize) -> u64 {
    low_mask(count.min(8) * 8)
}

/// Reads eight bytes at `at`, zero-padded past the end; `at` must not exceed the length.
#[inline]
pub fn load_8(bytes: &[u8], at: usize) -> u64 {
    if let Some(eight) = bytes.get(at..at + 8) {
        return u64::from_le_bytes(eight.try_into().expect("eight bytes"));
    }
    let rest = bytes.len() - at;
    match bytes.last_chunk::<8>() {
        Some(_) if rest == 0 => 0,
        Some(last) => u64::from_le_bytes(*last) >> (64 - rest * 8),
        None => {
            let few = bytes[at..].iter().rev();
            few.fold(0, |eight, &byte| eight << 8 | u64::from(byte))
        }
    }
}

/// Byte classes, one bit per byte.
#[derive(Debug, Default, PartialEq, Eq)]
struct ByteClasses {
    /// ASCII letters and digits.
    plain: u64,
    /// Underscores and all non-ASCII bytes.
    others: u64,
    /// First bytes of characters in U+00C0 to U+00FF.
    latin_leads: u64,
    /// Second bytes of lowercase letters among them.
    latin_trails: u64,
    /// `:`, `;`, `,`, `.` and `'`.
    links: u64,
}

impl ByteClasses {
    /// Classifies a block, 32 bytes at a time.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    #[inline]
    fn avx2(block: &[u8; Block::BYTES]) -> ByteClasses {
        use std::arch::x86_64::{
            __m256i, _mm256_and_si256, _mm256_andnot_si256, _mm256_cmpeq_epi8, _mm256_cmpgt_epi8,
            _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_or_si256, _mm256_set1_epi8,
        };
        let all = |byte: u8| _mm256_set1_epi8(byte as i8);
        let gather = |bytes: __m256i| u64::from(_mm256_movemask_epi8(bytes) as u32);
        // Non-ASCII bytes are negative as `i8` and so compare less than ASCII.
        let between = |bytes: __m256i, first: u8, last: u8| {
            let from = _mm256_cmpgt_epi8(bytes, all(first.wrapping_sub(1)));
            _mm256_and_si256(from, _mm256_cmpgt_epi8(all(last.wrapping_add(1)), bytes))
        };
        let classify_half = |half: &[u8; 32]| {
            // SAFETY: `half` is 32 bytes long, and the load needs no alignment.
            let bytes = unsafe { _mm256_loadu_si256(half.as_ptr().cast()) };
            let letters = between(_mm256_or_si256(bytes, all(0x20)), b'a', b'z');
            let underscores = _mm256_cmpeq_epi8(bytes, all(b'_'));
            let division = _mm256_cmpeq_epi8(bytes, all(0xb7));
            // Each pair of characters differs in one bit.
            let colons = _mm256_cmpeq_epi8(_mm256_or_si256(bytes, all(1)), all(b';'));
            let stops = _mm256_cmpeq_epi8(_mm256_or_si256(bytes, all(2)), all(b'.'));
            let apostrophes = _mm256_cmpeq_epi8(bytes, all(b'\''));
            ByteClasses {
                plain: gather(_mm256_or_si256(letters, between(bytes, b'0', b'9'))),
                others: gather(_mm256_or_si256(underscores, bytes)),
                latin_leads: gather(_mm256_cmpeq_epi8(bytes, all(0xc3))),
                latin_trails: gather(_mm256_andnot_si256(division, between(bytes, 0xa0, 0xbf))),
                links: gather(_mm256_or_si256(apostrophes, _mm256_or_si256(colons, stops))),
            }
        };
        let (halves, _) = block.as_chunks::<32>();
        let (low, high) = (classify_half(&halves[0]), classify_half(&halves[1]));
        ByteClasses {
            plain: low.plain | high.plain << 32,
            others: low.others | high.others << 32,
            latin_leads: low.latin_leads | high.latin_leads << 32,
            latin_trails: low.latin_trails | high.latin_trails << 32,
            links: low.links | high.links << 32,
        }
    }

    /// Adds the classes of bytes that start at `place`.
    #[inline(always)]
    fn add(&mut self, place: usize, some: &ByteClasses) {
        self.plain |= some.plain << place;
        self.others |= some.others << place;
        self.latin_leads |= some.latin_leads << place;
        self.latin_trails |= some.latin_trails << place;
        self.links |= some.links << place;
    }

    /// Classifies a block on any CPU.
    fn portable(block: &[u8; Block::BYTES]) -> ByteClasses {
        let mut bits = ByteClasses::default();
        let (lanes, _) = block.as_chunks();
        for (lane, eight) in lanes.iter().enumerate() {
            bits.add(lane * 8, &ByteClasses::of_u64(u64::from_le_bytes(*eight)));
        }
        bits
    }

    fn of_u64(eight: u64) -> ByteClasses {
        // Collects the high bits of all bytes.
        let gather =
            |bytes: u64| ((bytes & HIGH_BITS) >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        let low = eight & !HIGH_BITS;
        let letters = between(low | repeat(0x20), b'a', b'z');
        let latin_trails = between(low, 0x20, 0x3f) & !between(low, 0x37, 0x37);
        let colons = between(low, b':', b';');
        let stops = between(low | repeat(2), b'.', b'.');
        let links = colons | stops | between(low, b'\'', b'\'');
        ByteClasses {
            plain: gather((letters | between(low, b'0', b'9')) & !eight),
            others: gather(between(low, b'_', b'_') | eight),
            latin_leads: gather(between(low, 0x43, 0x43) & eight),
            latin_trails: gather(latin_trails & eight),
            links: gather(links & !eight),
        }
    }
}

/// A run of ASCII letters, digits and underscores.
pub struct AsciiWordRun {
    /// Length in bytes.
    pub len: usize,
    /// Whether it contains a letter or digit.
    pub is_word: bool,
}

/// Returns the run at `start`, possibly empty.
#[inline]
pub fn ascii_word_run(bytes: &[u8], start: usize) -> AsciiWordRun {
    let mut run = AsciiWordRun {
        len: 0,
        is_word: false,
    };
    loop {
        let eight = load_8(bytes, start + run.len);
        let low = eight & !HIGH_BITS;
        // The high bit of each byte in the class.
        let letters = between(low | repeat(0x20), b'a', b'z');
        let word = (letters | between(low, b'0', b'9')) & !eight & HIGH_BITS;
        let plain = word | (between(low, b'_', b'_') & !eight & HIGH_BITS);
        let len = ((!plain & HIGH_BITS).trailing_zeros() / 8) as usize;
        run.len += len;
        run.is_word |= word & low_bytes_mask(len) != 0;
        if len < 8 {
            return run;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        #[cfg(target_arch = "x86_64")]
        fn avx2_and_portable_classes_agree(bytes in prop::collection::vec(any::<u8>(), Block::BYTES)) {
            let block = bytes.first_chunk().expect("as many bytes");
            if crate::tokenizer::cpu_features::has_avx2_bmi2() {
                // SAFETY: `has_avx2_bmi2` has verified the required CPU features.
                prop_assert_eq!(unsafe { ByteClasses::avx2(block) }, ByteClasses::portable(block));
            }
        }

        #[test]
        fn load_16_masks_bytes_past_the_word(text in "[a-zé]{0,40}", start in 0..20_usize, len in 0..20_usize) {
            let bytes = text.as_bytes();
            let start = start.min(bytes.len());
            let len = len.min(bytes.len() - start);
            let mut expected = [0; 16];
            for (to, from) in expected.iter_mut().zip(&bytes[start..start + len]) {
                *to = *from;
            }
            let [first, second] = load_16(bytes, start, len);
            prop_assert_eq!([first.to_le_bytes(), second.to_le_bytes()].concat(), expected);
        }

        #[test]
        fn block_classes_match_their_definition(text in "[aZ09_ .,:;'!éÿß÷×Ā\u{a0}“日]{0,40}", at in 0..20_usize) {
            let bytes = text.as_bytes();
            let at = (0..=at.min(bytes.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
            let mut rest = [0; Block::BYTES];
            let len = (bytes.len() - at).min(Block::BYTES);
            rest[..len].copy_from_slice(&bytes[at..at + len]);
            let block = Block::classify_portable(len, &rest);
            for (place, character) in text[at..].char_indices() {
                let is_word = matches!(character, 'a'..='z' | 'A'..='Z' | '0'..='9' | 'é' | 'ÿ');
                let is_accented = is_word && !character.is_ascii();
                let is_other = !is_word && (character == '_' || !character.is_ascii());
                // A letter cut off by the end of the block is unclassified.
                for bit in (place..place + character.len_utf8()).filter(|_| place + character.len_utf8() <= block.len) {
                    prop_assert_eq!(block.words >> bit & 1 == 1, is_word);
                    prop_assert_eq!(block.accented >> bit & 1 == 1, is_accented);
                    prop_assert_eq!(block.others >> bit & 1 == 1, is_other);
                    prop_assert_eq!(block.links >> bit & 1 == 1, ".,:;'".contains(character));
                }
            }
        }

        #[test]
        fn load_8_pads_with_zeros_past_the_end(bytes in prop::collection::vec(any::<u8>(), 0..20)) {
            for at in 0..=bytes.len() {
                let mut expected = [0; 8];
                for (to, from) in expected.iter_mut().zip(&bytes[at..]) {
                    *to = *from;
                }
                prop_assert_eq!(load_8(&bytes, at), u64::from_le_bytes(expected));
            }
        }

        #[test]
        fn ascii_word_run_spans_letters_digits_and_underscores(bytes in "[aZ09_ /:@\\[`{é]{0,20}") {
            let bytes = bytes.as_bytes();
            for start in 0..=bytes.len() {
                let plain = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_';
                let expected: Vec<u8> = bytes[start..].iter().take_while(plain).copied().collect();
                let run = ascii_word_run(bytes, start);
                prop_assert_eq!(run.len, expected.len());
                prop_assert_eq!(run.is_word, expected.iter().any(|&byte| byte != b'_'));
            }
        }
    }
}
