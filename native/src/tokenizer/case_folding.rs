//! Maps spellings that differ only in case or in the encoding of accents to one form: full case folding,
//! then NFC.

use caseless::Caseless;
use unicode_normalization::{is_nfc, UnicodeNormalization};

/// Upper bound on the ratio of a word's length to that of its case-folded form: folding and composing
/// turn at most seven bytes into two.
pub const SHRINKING_MAX: usize = 4;

/// Writes the case-folded form of `word` to `folded`, replacing its content.
pub fn case_fold_into(word: &str, folded: &mut String) {
    folded.clear();
    folded.extend(word.chars().default_case_fold());
    if !is_nfc(folded) {
        *folded = folded.nfc().collect();
    }
}

/// Whether a byte starts a character in U+00C0 to U+017F, nearly all of them Latin letters.
pub const fn is_latin_lead(byte: u8) -> bool {
    matches!(byte, 0xc3..=0xc5)
}

/// Whether the two bytes are a Latin letter whose case-folded form has two bytes, too.
#[inline]
pub fn is_latin(lead: u8, last: u8) -> bool {
    case_folded_latin(lead, last).1[0] != 0
}

/// Whether a letter accepted by [`is_latin`] is its own folded form: a lowercase Latin-1 letter.
#[inline]
pub fn is_small_latin(lead: u8, last: u8) -> bool {
    lead == 0xc3 && last >= 0xa0
}

/// The number of a character from U+00C0 on, and its case-folded form in UTF-8: zeros for characters that
/// [`is_latin`] refuses.
#[inline]
pub fn case_folded_latin(lead: u8, last: u8) -> (usize, [u8; 2]) {
    let number = (lead - 0xc3) as usize * 64 + (last & 0x3f) as usize;
    (number, LATIN[number])
}

/// Number of characters from U+00C0 to U+017F.
pub const LATIN_COUNT: usize = 192;

static LATIN: [[u8; 2]; LATIN_COUNT] = latin_folded();

const fn latin_folded() -> [[u8; 2]; LATIN_COUNT] {
    let mut folded = [[0; 2]; LATIN_COUNT];
    let mut at = 0;
    while at < folded.len() {
        let character = 0xc0 + at as u32;
        let small = match character {
            0xc0..=0xde => character + 0x20,
            0x178 => 0xff,
            0x100..=0x137 | 0x14a..=0x177 => character | 1,
            0x139..=0x148 | 0x179..=0x17e => character + (character & 1),
            _ => character,
        };
        folded[at] = match character {
            // Multiplication and division signs, and characters that fold to one byte or three.
            0xd7 | 0xf7 | 0x130 | 0x149 | 0x17f => [0, 0],
            0xdf => [b's', b's'],
            // Lowercase letters without an adjacent uppercase letter.
            0x131 | 0x138 => [0xc4, 0x80 | (character & 0x3f) as u8],
            _ => [0xc0 | (small >> 6) as u8, 0x80 | (small & 0x3f) as u8],
        };
        at += 1;
    }
    folded
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fold(word: &str) -> String {
        let mut folded = String::new();
        case_fold_into(word, &mut folded);
        folded
    }

    #[test]
    fn words_fold_as_unicode_specifies() {
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
    fn shrinking_max_bounds_every_character() {
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
    fn latin_table_agrees_with_full_folding() {
        for character in '\u{c0}'..='\u{17f}' {
            let text = character.to_string();
            let [lead, last] = text.as_bytes() else {
                panic!("two bytes");
            };
            assert!(is_latin_lead(*lead));
            let is_other = matches!(character, '×' | '÷' | 'İ' | 'ŉ' | 'ſ');
            assert_eq!(is_latin(*lead, *last), !is_other, "{character}");
            if !is_other {
                let (number, folded) = case_folded_latin(*lead, *last);
                assert_eq!(number, character as usize - 0xc0);
                assert_eq!(folded, fold(&text).as_bytes(), "{character}");
                if is_small_latin(*lead, *last) {
                    assert_eq!(fold(&text), text);
                }
            }
        }
    }

    proptest! {
        #[test]
        fn folding_is_idempotent(word in "\\PC{1,12}") {
            let folded = fold(&word);
            prop_assert_eq!(fold(&folded), folded.clone());
        }

        #[test]
        fn ascii_folds_to_lowercase(word in "[ -~]{1,12}") {
            prop_assert_eq!(fold(&word), word.to_ascii_lowercase());
        }
    }
}
