//! Eight bytes of text at a time, as a number whose lowest byte is the first.

const TOPS: u64 = repeat(0x80);

#[inline]
const fn repeat(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

/// Sets the top bit of each byte within bounds, where all top bits are clear; the other bits mean nothing.
#[inline]
const fn between(bytes: u64, first: u8, last: u8) -> u64 {
    (bytes + repeat(0x80 - first)) & !(bytes + repeat(0x7f - last))
}

/// Up to 64 bytes of text, a bit for each, the first one lowest.
pub struct Block {
    /// How many bytes there are.
    pub len: usize,
    /// Letters and digits of ASCII, and the small accented letters of Latin-1.
    pub words: u64,
    /// What else must not be passed over between words: underscores, and all else beyond ASCII.
    pub others: u64,
    /// What may hold two letters or digits together.
    pub links: u64,
}

impl Block {
    /// How many bytes there are at most.
    pub const BYTES: usize = 64;

    /// What only a closer look can tell: others, and links between two that may be held together.
    #[inline]
    pub fn closer(&self) -> u64 {
        self.others | self.words << 1 & self.links & (self.words | self.others) >> 1
    }

    /// So many bytes, zeros behind them, by a processor that looks at 32 at once.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    #[inline]
    pub fn of_wide(len: usize, bytes: &[u8; Block::BYTES]) -> Block {
        Block::new(len, Bits::of_wide(bytes))
    }

    /// The same on any processor.
    pub fn of_any(len: usize, bytes: &[u8; Block::BYTES]) -> Block {
        Block::new(len, Bits::of_any(bytes))
    }

    #[inline(always)]
    fn new(len: usize, bits: Bits) -> Block {
        let letters = bits.leads & bits.lasts >> 1;
        let words = bits.plain | letters | letters << 1;
        Block {
            len,
            words,
            others: bits.others & !words,
            links: bits.links,
        }
    }
}

/// The lowest so many bits.
#[inline]
pub fn first_bits(count: usize) -> u64 {
    match count {
        0..64 => (1 << count) - 1,
        _ => u64::MAX,
    }
}

/// The first sixteen bytes of a word in a text as two numbers, zeros where the word is shorter.
#[inline(always)]
pub fn sixteen_at(text: &[u8], start: usize, len: usize) -> [u64; 2] {
    // The text goes on behind most words, so that all sixteen are read without asking how long it is.
    let [first, second] = match text[start..].first_chunk::<16>() {
        Some(sixteen) => {
            let sixteen = u128::from_le_bytes(*sixteen);
            [sixteen as u64, (sixteen >> 64) as u64]
        }
        None => [0, 8].map(|at| eight_at(text, (start + at).min(text.len()))),
    };
    let masks = SIXTEEN[len.min(16)];
    [first & masks[0], second & masks[1]]
}

/// All bits of the first bytes of sixteen, by their number.
static SIXTEEN: [[u64; 2]; 17] = {
    let mut masks = [[0; 2]; 17];
    let mut count = 1;
    while count <= 16 {
        masks[count] = masks[count - 1];
        masks[count][(count - 1) / 8] |= 0xff << ((count - 1) % 8 * 8);
        count += 1;
    }
    masks
};

/// All bits of the first so many bytes.
#[inline]
fn first_bytes(count: usize) -> u64 {
    first_bits(count.min(8) * 8)
}

/// Eight bytes from a place on that is not past the end, zeros after the last.
#[inline]
pub fn eight_at(bytes: &[u8], at: usize) -> u64 {
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

/// What bytes are, a bit for each.
#[derive(Debug, Default, PartialEq, Eq)]
struct Bits {
    /// Letters and digits of ASCII.
    plain: u64,
    /// Underscores, and all beyond ASCII.
    others: u64,
    /// First bytes of characters from U+00C0 to U+00FF.
    leads: u64,
    /// Second bytes of the small letters among them.
    lasts: u64,
    /// `:`, `;`, `,`, `.` and `'`.
    links: u64,
}

impl Bits {
    /// Of the bytes of a block, 32 at a time.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    #[inline]
    fn of_wide(block: &[u8; Block::BYTES]) -> Bits {
        use std::arch::x86_64::{
            __m256i, _mm256_and_si256, _mm256_andnot_si256, _mm256_cmpeq_epi8, _mm256_cmpgt_epi8,
            _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_or_si256, _mm256_set1_epi8,
        };
        let all = |byte: u8| _mm256_set1_epi8(byte as i8);
        let gather = |bytes: __m256i| u64::from(_mm256_movemask_epi8(bytes) as u32);
        // Bytes beyond ASCII are negative here, and so below all of ASCII.
        let between = |bytes: __m256i, first: u8, last: u8| {
            let from = _mm256_cmpgt_epi8(bytes, all(first.wrapping_sub(1)));
            _mm256_and_si256(from, _mm256_cmpgt_epi8(all(last.wrapping_add(1)), bytes))
        };
        let look = |half: &[u8; 32]| {
            // SAFETY: 32 bytes are read, wherever they stand.
            let bytes = unsafe { _mm256_loadu_si256(half.as_ptr().cast()) };
            let letters = between(_mm256_or_si256(bytes, all(0x20)), b'a', b'z');
            let underscores = _mm256_cmpeq_epi8(bytes, all(b'_'));
            let division = _mm256_cmpeq_epi8(bytes, all(0xb7));
            // Two that differ in one bit at a time.
            let colons = _mm256_cmpeq_epi8(_mm256_or_si256(bytes, all(1)), all(b';'));
            let stops = _mm256_cmpeq_epi8(_mm256_or_si256(bytes, all(2)), all(b'.'));
            let apostrophes = _mm256_cmpeq_epi8(bytes, all(b'\''));
            Bits {
                plain: gather(_mm256_or_si256(letters, between(bytes, b'0', b'9'))),
                others: gather(_mm256_or_si256(underscores, bytes)),
                leads: gather(_mm256_cmpeq_epi8(bytes, all(0xc3))),
                lasts: gather(_mm256_andnot_si256(division, between(bytes, 0xa0, 0xbf))),
                links: gather(_mm256_or_si256(apostrophes, _mm256_or_si256(colons, stops))),
            }
        };
        let (halves, _) = block.as_chunks::<32>();
        let (low, high) = (look(&halves[0]), look(&halves[1]));
        Bits {
            plain: low.plain | high.plain << 32,
            others: low.others | high.others << 32,
            leads: low.leads | high.leads << 32,
            lasts: low.lasts | high.lasts << 32,
            links: low.links | high.links << 32,
        }
    }

    /// Adds those of some of the bytes, the first of which stands at a place.
    #[inline(always)]
    fn add(&mut self, place: usize, some: &Bits) {
        self.plain |= some.plain << place;
        self.others |= some.others << place;
        self.leads |= some.leads << place;
        self.lasts |= some.lasts << place;
        self.links |= some.links << place;
    }

    /// Of the bytes of a block, on any processor.
    fn of_any(block: &[u8; Block::BYTES]) -> Bits {
        let mut bits = Bits::default();
        let (eights, _) = block.as_chunks();
        for (lane, eight) in eights.iter().enumerate() {
            bits.add(lane * 8, &Bits::of_eight(u64::from_le_bytes(*eight)));
        }
        bits
    }

    fn of_eight(eight: u64) -> Bits {
        // The top bits, side by side.
        let gather = |bytes: u64| ((bytes & TOPS) >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        let low = eight & !TOPS;
        let letters = between(low | repeat(0x20), b'a', b'z');
        let lasts = between(low, 0x20, 0x3f) & !between(low, 0x37, 0x37);
        let colons = between(low, b':', b';');
        let stops = between(low | repeat(2), b'.', b'.');
        let links = colons | stops | between(low, b'\'', b'\'');
        Bits {
            plain: gather((letters | between(low, b'0', b'9')) & !eight),
            others: gather(between(low, b'_', b'_') | eight),
            leads: gather(between(low, 0x43, 0x43) & eight),
            lasts: gather(lasts & eight),
            links: gather(links & !eight),
        }
    }
}

/// Letters, digits and underscores of ASCII, from a place on.
pub struct PlainRun {
    /// How many there are.
    pub len: usize,
    /// Whether one of them is no underscore.
    pub is_word: bool,
}

/// Those from a place on.
#[inline]
pub fn plain_run(bytes: &[u8], start: usize) -> PlainRun {
    let mut run = PlainRun {
        len: 0,
        is_word: false,
    };
    loop {
        let eight = eight_at(bytes, start + run.len);
        let low = eight & !TOPS;
        // The top bit of each byte that is one of them.
        let letters = between(low | repeat(0x20), b'a', b'z');
        let word = (letters | between(low, b'0', b'9')) & !eight & TOPS;
        let plain = word | (between(low, b'_', b'_') & !eight & TOPS);
        let len = ((!plain & TOPS).trailing_zeros() / 8) as usize;
        run.len += len;
        run.is_word |= word & first_bytes(len) != 0;
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
        fn any_processor_tells_the_same(bytes in prop::collection::vec(any::<u8>(), Block::BYTES)) {
            let block = bytes.first_chunk().expect("as many bytes");
            if crate::tokenizer::cpu_features::is_wide() {
                // SAFETY: the processor has what it takes.
                prop_assert_eq!(unsafe { Bits::of_wide(block) }, Bits::of_any(block));
            }
        }

        #[test]
        fn sixteen_bytes_of_a_word_are_read(text in "[a-zé]{0,40}", start in 0..20_usize, len in 0..20_usize) {
            let bytes = text.as_bytes();
            let start = start.min(bytes.len());
            let len = len.min(bytes.len() - start);
            let mut expected = [0; 16];
            for (to, from) in expected.iter_mut().zip(&bytes[start..start + len]) {
                *to = *from;
            }
            let [first, second] = sixteen_at(bytes, start, len);
            prop_assert_eq!([first.to_le_bytes(), second.to_le_bytes()].concat(), expected);
        }

        #[test]
        fn a_block_tells_words_from_others(text in "[aZ09_ .,:;'!éÿß÷×Ā\u{a0}“日]{0,40}", at in 0..20_usize) {
            let bytes = text.as_bytes();
            let at = (0..=at.min(bytes.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
            let mut rest = [0; Block::BYTES];
            let len = (bytes.len() - at).min(Block::BYTES);
            rest[..len].copy_from_slice(&bytes[at..at + len]);
            let block = Block::of_any(len, &rest);
            for (place, character) in text[at..].char_indices() {
                let is_word = matches!(character, 'a'..='z' | 'A'..='Z' | '0'..='9' | 'é' | 'ÿ');
                let is_other = !is_word && (character == '_' || !character.is_ascii());
                // A letter that the block ends inside of is not known.
                for bit in (place..place + character.len_utf8()).filter(|_| place + character.len_utf8() <= block.len) {
                    prop_assert_eq!(block.words >> bit & 1 == 1, is_word);
                    prop_assert_eq!(block.others >> bit & 1 == 1, is_other);
                    prop_assert_eq!(block.links >> bit & 1 == 1, ".,:;'".contains(character));
                }
            }
        }

        #[test]
        fn eight_bytes_are_read_wherever_they_stand(bytes in prop::collection::vec(any::<u8>(), 0..20)) {
            for at in 0..=bytes.len() {
                let mut expected = [0; 8];
                for (to, from) in expected.iter_mut().zip(&bytes[at..]) {
                    *to = *from;
                }
                prop_assert_eq!(eight_at(&bytes, at), u64::from_le_bytes(expected));
            }
        }

        #[test]
        fn a_plain_run_is_of_letters_digits_and_underscores(bytes in "[aZ09_ /:@\\[`{é]{0,20}") {
            let bytes = bytes.as_bytes();
            for start in 0..=bytes.len() {
                let plain = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_';
                let expected: Vec<u8> = bytes[start..].iter().take_while(plain).copied().collect();
                let run = plain_run(bytes, start);
                prop_assert_eq!(run.len, expected.len());
                prop_assert_eq!(run.is_word, expected.iter().any(|&byte| byte != b'_'));
            }
        }
    }
}
