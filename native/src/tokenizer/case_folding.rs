//! Maps spellings that differ only in case, apostrophes or the dots of abbreviations to one form: full case
//! folding, then NFC, then [`remove_abbreviation_dots`].

use caseless::Caseless;
use unicode_normalization::{is_nfc, UnicodeNormalization};

/// Upper bound on the ratio of a word's length to that of its folded form: folding and composing
/// turn at most seven bytes into two, and one dot for each such letter is removed.
pub const SHRINKING_MAX: usize = 4;

/// Writes the folded form of `word` to `folded`, replacing its content.
pub fn fold_into(word: &str, folded: &mut String) {
    folded.clear();
    folded.extend(word.chars().map(plain_apostrophe).default_case_fold());
    if !is_nfc(folded) {
        *folded = folded.nfc().collect();
    }
    remove_abbreviation_dots(folded);
}

/// Maps quotation marks that are used as apostrophes inside words to the apostrophe of ASCII.
fn plain_apostrophe(character: char) -> char {
    match character {
        '\u{2018}' | '\u{2019}' | '\u{ff07}' => '\'',
        _ => character,
    }
}

/// Whether a word may be an abbreviation with dots: a cheap test of its first bytes.
#[inline]
pub fn may_be_abbreviation(word: &[u8]) -> bool {
    word.len() > 2 && (word[1] == b'.' || word[2] == b'.')
}

/// Removes the dots of an abbreviation: a word of single letters with a dot between every two. Returns
/// whether the word is one.
pub fn remove_abbreviation_dots(folded: &mut String) -> bool {
    let is_letter = |piece: &str| {
        let mut characters = piece.chars();
        characters.next().is_some_and(char::is_alphabetic) && characters.next().is_none()
    };
    let is_abbreviation = folded.contains('.') && folded.split('.').all(is_letter);
    if is_abbreviation {
        folded.retain(|character| character != '.');
    }
    is_abbreviation
}

/// Whether a byte starts a character in U+00C0 to U+017F, nearly all of them Latin letters.
pub const fn is_latin_lead(byte: u8) -> bool {
    matches!(byte, 0xc3..=0xc5)
}

/// Whether the two bytes are a Latin letter that [`fold_latin`] supports.
#[inline]
pub fn is_latin(lead: u8, last: u8) -> bool {
    latin(lead, last)[0] != 0
}

/// Whether a letter accepted by [`is_latin`] is its own folded form: a lowercase Latin-1 letter.
#[inline]
pub fn is_small_latin(lead: u8, last: u8) -> bool {
    lead == 0xc3 && last >= 0xa0
}

#[inline]
fn latin(lead: u8, last: u8) -> [u8; 2] {
    LATIN[(lead - 0xc3) as usize * 64 + (last & 0x3f) as usize]
}

/// Folded form in UTF-8 of each character from U+00C0 on; the second byte is 0 if the form has one
/// byte. Zeros for characters that are no letters or fold to more than two bytes.
static LATIN: [[u8; 2]; 192] = latin_folded();

const fn latin_folded() -> [[u8; 2]; 192] {
    let mut folded = [[0; 2]; 192];
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
            // Multiplication and division signs, and characters that fold to three bytes.
            0xd7 | 0xf7 | 0x130 | 0x149 => [0, 0],
            0xdf => [b's', b's'],
            0x17f => [b's', 0],
            // Lowercase letters without an adjacent uppercase letter.
            0x131 | 0x138 => [0xc4, 0x80 | (character & 0x3f) as u8],
            _ => [0xc0 | (small >> 6) as u8, 0x80 | (small & 0x3f) as u8],
        };
        at += 1;
    }
    folded
}

/// Writes the folded form of a word to `folded`, replacing its content. The word consists of ASCII
/// and letters accepted by [`is_latin`].
pub fn fold_latin(word: &[u8], folded: &mut String) {
    let mut bytes = std::mem::take(folded).into_bytes();
    bytes.clear();
    let mut at = 0;
    while at < word.len() {
        if word[at].is_ascii() {
            bytes.push(word[at].to_ascii_lowercase());
            at += 1;
        } else {
            let [first, second] = latin(word[at], word[at + 1]);
            bytes.push(first);
            if second != 0 {
                bytes.push(second);
            }
            at += 2;
        }
    }
    *folded = String::from_utf8(bytes).expect("the table holds UTF-8");
    remove_abbreviation_dots(folded);
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
            ("Don\u{2019}t", "don't"),
            ("don\u{2018}t", "don't"),
            ("don\u{ff07}t", "don't"),
            ("U.S.A", "usa"),
            ("\u{c9}.\u{e9}", "\u{e9}\u{e9}"),
            ("\u{41d}.\u{42d}", "\u{43d}\u{44d}"),
            ("a.bc", "a.bc"),
            ("1.2", "1.2"),
            ("\u{df}.a", "ss.a"),
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
            let is_other = matches!(character, '×' | '÷' | 'İ' | 'ŉ');
            assert_eq!(is_latin(*lead, *last), !is_other, "{character}");
            if !is_other {
                let mut folded = String::from("before");
                fold_latin(format!("A{text}z").as_bytes(), &mut folded);
                assert_eq!(folded, format!("a{}z", fold(&text)), "{character}");
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
