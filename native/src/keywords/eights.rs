//! Eight bytes of text at a time, as a number whose lowest byte is the first.

const TOPS: u64 = repeat(0x80);

#[inline]
const fn repeat(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

/// Sets the top bit of each byte within bounds, where all are ASCII; the other bits mean nothing.
#[inline]
const fn between(bytes: u64, first: u8, last: u8) -> u64 {
    (bytes + repeat(0x80 - first)) & !(bytes + repeat(0x7f - last))
}

/// The capital letters among eight bytes of ASCII made small.
#[inline]
pub fn fold_ascii(bytes: u64) -> u64 {
    bytes | (between(bytes, b'A', b'Z') & TOPS) >> 2
}

/// All bits of the first so many bytes.
#[inline]
pub fn first_bytes(count: usize) -> u64 {
    match count {
        0..8 => (1 << (count * 8)) - 1,
        _ => u64::MAX,
    }
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

    #[test]
    fn eight_bytes_fold_as_each_of_them() {
        for byte in 0..0x80_u8 {
            let bytes = [b'a', byte, b'Z', byte, 0, 0x7f, b'@', b'['];
            let folded = fold_ascii(u64::from_le_bytes(bytes)).to_le_bytes();
            assert_eq!(folded.as_slice(), bytes.to_ascii_lowercase());
        }
    }

    proptest! {
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
