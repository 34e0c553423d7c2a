//! One form for all spellings of a word that differ in case alone: full case folding, then NFC.

use caseless::Caseless;
use unicode_normalization::{is_nfc, UnicodeNormalization};

/// A word is at most this many times as long as its folded form: folding and composing turn at most
/// seven bytes into two.
pub const SHRINKING_MAX: usize = 4;

/// Puts the folded form of `word` in `folded`, in place of what is there.
pub fn fold_into(word: &str, folded: &mut String) {
    folded.clear();
    folded.extend(word.chars().default_case_fold());
    if !is_nfc(folded) {
        *folded = folded.nfc().collect();
    }
}

/// Eight bytes of ASCII, the capital letters among them made small.
#[inline]
pub fn fold_ascii(bytes: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    // A byte's top bit is set in the first sum from `A` on, in the second past `Z`.
    let from_a = bytes + ONES * (0x80 - b'A' as u64);
    let past_z = bytes + ONES * (0x80 - (b'Z' + 1) as u64);
    bytes | ((from_a & !past_z & (ONES * 0x80)) >> 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fold(word: &str) -> String {
        let mut folded = String::new();
        fold_into(word, &mut folded);
        folded
    }

    #[test]
    fn words_fold_as_unicode_says() {
        for (word, folded) in [
            ("Storm", "storm"),
            ("STRASSE", "strasse"),
            ("Straße", "strasse"),
            ("ΣΊΣΥΦΟΣ", "σίσυφοσ"),
            ("Σίσυφος", "σίσυφοσ"),
            ("e\u{301}te\u{301}", "été"),
            ("ÉTÉ", "été"),
            ("\u{212a}elvin", "kelvin"),
            ("ﬁn", "fin"),
        ] {
            assert_eq!(fold(word), folded, "{word}");
        }
    }

    #[test]
    fn no_character_shrinks_more_than_is_said() {
        for character in '\u{1}'..=char::MAX {
            let decomposed: String = character.to_string().nfd().collect();
            for form in [character.to_string(), decomposed] {
                assert!(
                    form.len() <= fold(&form).len() * SHRINKING_MAX,
                    "{character:?}"
                );
            }
        }
    }

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
        fn what_is_folded_stays(word in "\\PC{1,12}") {
            let folded = fold(&word);
            prop_assert_eq!(fold(&folded), folded.clone());
        }

        #[test]
        fn ascii_folds_to_small_letters(word in "[ -~]{1,12}") {
            prop_assert_eq!(fold(&word), word.to_ascii_lowercase());
        }
    }
}
