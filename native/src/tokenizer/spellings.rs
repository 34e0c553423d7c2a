//! Unifies the spellings of a word that [`TokenizerOptions`] names: apostrophes, diacritics and the dots
//! of abbreviations.

use std::sync::LazyLock;

use unicode_normalization::char::is_combining_mark;
use unicode_normalization::UnicodeNormalization;

use crate::tokenizer::case_folding::{case_fold_into, case_folded_latin, LATIN_COUNT};
use crate::tokenizer::tokenizer_options::TokenizerOptions;

/// Quotation marks that are used as apostrophes inside words.
const APOSTROPHES: [char; 3] = ['\u{2018}', '\u{2019}', '\u{ff07}'];

/// A letter of its own, which is written with a mark: `й`.
const SHORT_I: [char; 2] = ['\u{438}', '\u{306}'];

/// Brings a word that is case-folded and in NFC into the common form of its spellings, which is in NFC
/// and no longer.
pub fn unify(folded: &mut String, options: TokenizerOptions) {
    if options.unify_apostrophes && folded.contains(APOSTROPHES) {
        *folded = folded.replace(APOSTROPHES, "'");
    }
    if options.fold_diacritics && folded.chars().any(may_have_diacritic) {
        *folded = without_diacritics(folded);
    }
    if options.unify_abbreviations {
        remove_abbreviation_dots(folded);
    }
}

/// Removes the marks of U+0300 to U+036F from Latin, Greek and Cyrillic letters, but not the breve of `й`,
/// and replaces the letters of [`plain_letter`].
///
/// The ranges are code points, not properties, and canonical decompositions never change, so the result
/// does not depend on the version of Unicode.
fn without_diacritics(folded: &str) -> String {
    let mut plain = String::with_capacity(folded.len());
    let mut is_marked_letter = false;
    let mut previous = '\0';
    for character in folded.nfd() {
        if !is_mark(character) {
            is_marked_letter = is_base_letter(character);
            match plain_letter(character) {
                Some(letters) => plain.push_str(letters),
                None => plain.push(character),
            }
        } else if !is_marked_letter || [previous, character] == SHORT_I {
            plain.push(character);
        }
        previous = character;
    }
    plain.nfc().collect()
}

fn is_mark(character: char) -> bool {
    matches!(character, '\u{300}'..='\u{36f}')
}

/// Whether a character that is no mark is a letter of the Latin, Greek or Cyrillic blocks.
fn is_base_letter(character: char) -> bool {
    character <= '\u{52f}' && character.is_alphabetic()
}

/// Whether a case-folded word with such a character may have a form without diacritics. Other characters
/// do not decompose to a letter of [`is_base_letter`].
fn may_have_diacritic(character: char) -> bool {
    matches!(character, '\u{c0}'..='\u{52f}' | '\u{1e00}'..='\u{1fff}')
}

/// Latin letters that Unicode does not decompose, and how they are written where keyboards lack them.
fn plain_letter(character: char) -> Option<&'static str> {
    Some(match character {
        'ø' => "o",
        'ł' => "l",
        'đ' | 'ð' => "d",
        'ħ' => "h",
        'ŧ' => "t",
        'ı' => "i",
        'æ' => "ae",
        'œ' => "oe",
        'þ' => "th",
        _ => return None,
    })
}

/// Whether a word may be an abbreviation with dots: a cheap test of its first bytes.
#[inline]
pub fn may_be_abbreviation(word: &[u8]) -> bool {
    word.len() > 2 && (word[1] == b'.' || word[2] == b'.')
}

/// Removes the dots of an abbreviation: a word of single letters with a dot between every two. Marks are no
/// letters, though Unicode calls some alphabetic: without the dot they would change the letter before.
fn remove_abbreviation_dots(folded: &mut String) {
    let is_letter = |piece: &str| {
        let mut characters = piece.chars();
        characters
            .next()
            .is_some_and(|character| character.is_alphabetic() && !is_combining_mark(character))
            && characters.next().is_none()
    };
    if folded.contains('.') && folded.split('.').all(is_letter) {
        folded.retain(|character| character != '.');
        if !folded.is_ascii() {
            // Letters of Hangul compose when they become neighbours.
            *folded = folded.nfc().collect();
        }
    }
}

/// The form without diacritics of each letter of [`case_folded_latin`]; the second byte is 0 if the form
/// has one byte.
static PLAIN_LATIN: LazyLock<[[u8; 2]; LATIN_COUNT]> = LazyLock::new(|| {
    std::array::from_fn(|at| {
        let character = char::from_u32(0xc0 + at as u32).expect("a letter");
        let (mut folded, mut bytes) = (String::new(), [0; 2]);
        case_fold_into(character.encode_utf8(&mut [0; 4]), &mut folded);
        unify(&mut folded, TokenizerOptions::default());
        if folded.len() <= bytes.len() {
            bytes[..folded.len()].copy_from_slice(folded.as_bytes());
        }
        bytes
    })
});

/// The forms without diacritics of U+00E0 to U+00FF, the lowercase letters of Latin-1; the second byte is 0
/// if the form has one byte.
static PLAIN_SMALL_LATIN: [[u8; 2]; 32] = {
    let letters = b"a a a a a a aec e e e e i i i i d n o o o o o . o u u u u y thy ";
    let mut forms = [[0; 2]; 32];
    let mut at = 0;
    while at < forms.len() {
        let second = letters[at * 2 + 1];
        forms[at] = [letters[at * 2], if second == b' ' { 0 } else { second }];
        at += 1;
    }
    forms
};

/// The form without diacritics of a lowercase letter of Latin-1, given its last byte; the second byte is 0
/// if the form has one byte.
#[inline]
pub fn plain_small_latin(last: u8) -> [u8; 2] {
    PLAIN_SMALL_LATIN[usize::from(last & 0x1f)]
}

/// Writes the common form of a word to `folded`, replacing its content. The word consists of ASCII and
/// letters that [`is_latin`](crate::tokenizer::case_folding::is_latin) accepts.
pub fn unify_latin(word: &[u8], options: TokenizerOptions, folded: &mut String) {
    let plain = options.fold_diacritics.then(|| &*PLAIN_LATIN);
    let mut bytes = std::mem::take(folded).into_bytes();
    bytes.clear();
    let mut at = 0;
    while at < word.len() {
        if word[at].is_ascii() {
            bytes.push(word[at].to_ascii_lowercase());
            at += 1;
            continue;
        }
        let (number, case_folded) = case_folded_latin(word[at], word[at + 1]);
        let [first, second] = plain.map_or(case_folded, |plain| plain[number]);
        bytes.push(first);
        if second != 0 {
            bytes.push(second);
        }
        at += 2;
    }
    *folded = String::from_utf8(bytes).expect("the tables hold UTF-8");
    if options.unify_abbreviations {
        remove_abbreviation_dots(folded);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokenizer::case_folding::is_latin;
    use proptest::prelude::*;

    fn common_form(word: &str, options: TokenizerOptions) -> String {
        let mut folded = String::new();
        case_fold_into(word, &mut folded);
        unify(&mut folded, options);
        folded
    }

    fn plain(word: &str) -> String {
        common_form(word, TokenizerOptions::default())
    }

    const NO_UNIFICATION: [bool; TokenizerOptions::COUNT] = [false; TokenizerOptions::COUNT];

    #[test]
    fn latin_greek_and_cyrillic_letters_lose_their_marks() {
        for (word, expected) in [
            ("Zürich", "zurich"),
            ("Zu\u{308}rich", "zurich"),
            ("Ålesund", "alesund"),
            ("Łódź", "lodz"),
            ("Øresund", "oresund"),
            ("Đà Nẵng", "da nang"),
            ("Việt", "viet"),
            ("ươ", "uo"),
            ("İstanbul", "istanbul"),
            ("ISPARTA", "isparta"),
            ("ısparta", "isparta"),
            ("Æsir", "aesir"),
            ("ǽ", "ae"),
            ("œuvre", "oeuvre"),
            ("Þór", "thor"),
            ("Straße", "strasse"),
            ("Ἀθῆναι", "αθηναι"),
            ("ΐ", "ι"),
            ("Ёлка", "елка"),
            ("Київ", "киів"),
            ("мой", "мой"),
            ("МОЙ", "мой"),
            ("мои\u{306}\u{301}", "мой"),
            ("мои\u{301}\u{306}", "мои"),
            ("e\u{302}\u{323}\u{36f}", "e"),
        ] {
            assert_eq!(plain(word), expected, "{word}");
        }
    }

    #[test]
    fn other_scripts_keep_their_marks() {
        for word in [
            "が",
            "か\u{3099}",
            "パリ",
            "서울",
            "\u{1109}\u{1165}",
            "हिन्दी",
            "क\u{93c}",
            "ไทย",
            "มั่น",
            "\u{628}\u{64e}",
            "\u{622}",
            "שָׁלוֹם",
            "\u{710}\u{308}",
            "\u{2c81}\u{300}",
            "日\u{301}",
            "1\u{301}",
            "\u{363}",
            "-\u{363}\u{364}",
            "ŋ",
            "ĳ",
            "ə",
        ] {
            let without = TokenizerOptions {
                fold_diacritics: false,
                ..TokenizerOptions::default()
            };
            assert_eq!(plain(word), common_form(word, without), "{word}");
        }
    }

    #[test]
    fn each_option_unifies_its_own_spellings() {
        let spellings = [
            ("Zürich", "zurich"),
            ("don\u{2019}t", "don't"),
            ("U.S.A", "usa"),
        ];
        for (number, (word, expected)) in spellings.into_iter().enumerate() {
            let mut flags = NO_UNIFICATION;
            flags[[0, 2, 3][number]] = true;
            assert_eq!(
                common_form(word, TokenizerOptions::from_flags(flags)),
                expected
            );
            let others = TokenizerOptions::from_flags(flags.map(|flag| !flag));
            assert_eq!(common_form(word, others), word.to_lowercase());
        }
    }

    #[test]
    fn abbreviations_lose_their_dots_after_folding() {
        for (word, expected) in [
            ("don\u{2018}t", "don't"),
            ("don\u{ff07}t", "don't"),
            ("É.é", "ee"),
            ("e\u{363}.a", "ea"),
            ("\u{41d}.\u{42d}", "\u{43d}\u{44d}"),
            ("a.bc", "a.bc"),
            ("1.2", "1.2"),
            ("ß.a", "ss.a"),
            ("æ.a", "ae.a"),
            ("a.\u{363}", "a.\u{363}"),
            ("\u{9c7}.\u{9be}", "\u{9c7}.\u{9be}"),
            ("\u{1109}.\u{1165}", "\u{c11c}"),
        ] {
            assert_eq!(plain(word), expected, "{word}");
        }
    }

    #[test]
    fn only_letters_of_the_tested_ranges_have_diacritics() {
        for character in '\u{1}'..=char::MAX {
            for word in [character.to_string(), format!("e{character}\u{301}x")] {
                let mut folded = String::new();
                case_fold_into(&word, &mut folded);
                if !folded.chars().any(may_have_diacritic) {
                    assert_eq!(without_diacritics(&folded), folded, "{word:?}");
                }
            }
        }
    }

    #[test]
    fn common_forms_are_not_longer() {
        for character in '\u{1}'..=char::MAX {
            let mut folded = String::new();
            case_fold_into(character.encode_utf8(&mut [0; 4]), &mut folded);
            let length = folded.len();
            unify(&mut folded, TokenizerOptions::default());
            assert!(
                folded.len() <= length && !folded.is_empty(),
                "{character:?}"
            );
        }
    }

    #[test]
    fn small_latin_letters_agree_with_the_definition() {
        for character in ('\u{e0}'..='\u{ff}').filter(|&character| character != '÷') {
            let text = character.to_string();
            let form = plain_small_latin(text.as_bytes()[1]);
            let length = 1 + usize::from(form[1] != 0);
            assert_eq!(&form[..length], plain(&text).as_bytes(), "{text}");
        }
    }

    #[test]
    fn latin_tables_agree_with_the_definition() {
        for character in '\u{c0}'..='\u{17f}' {
            let text = character.to_string();
            let [lead, last] = text.as_bytes() else {
                panic!("two bytes");
            };
            if !is_latin(*lead, *last) {
                continue;
            }
            for options in TokenizerOptions::combinations() {
                for word in [
                    format!("A{text}z"),
                    format!("{text}.a"),
                    format!("a.{text}"),
                ] {
                    let mut folded = String::from("before");
                    unify_latin(word.as_bytes(), options, &mut folded);
                    assert_eq!(folded, common_form(&word, options), "{word}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn the_common_form_is_its_own_common_form(
            word in "\\PC{1,12}|[a-dи.æİ\u{300}-\u{310}\u{345}\u{363}\u{3099}\u{93c}\u{2019}\u{1e00}-\u{1fff}]{1,8}|([a-z\u{300}-\u{36f}\u{9be}-\u{9cc}\u{1109}\u{1165}\u{11ab}]\\.){1,5}\\PC",
        ) {
            for options in TokenizerOptions::combinations() {
                let form = common_form(&word, options);
                prop_assert_eq!(common_form(&form, options), form.clone());
            }
        }
    }
}
