//! Words of texts, against the crate that knows all of UAX #29.

use super::*;
use proptest::prelude::*;

fn by_the_crate(text: &str) -> Vec<String> {
    let fold = |word| {
        let mut folded = String::new();
        fold_into(word, &mut folded);
        folded
    };
    text.unicode_words().map(fold).collect()
}

/// The same run by run, without what is too long.
fn by_the_crate_between_spaces(text: &str) -> Vec<String> {
    text.split(char::is_whitespace)
        .flat_map(by_the_crate)
        .filter(|word| word.len() <= WORD_BYTES_MAX)
        .collect()
}

#[test]
fn words_hold_a_letter_or_digit_and_lose_their_case() {
    for (text, words) in [
        ("Storm warning, COAST!", vec!["storm", "warning", "coast"]),
        ("news-item", vec!["news", "item"]),
        ("body.content", vec!["body.content"]),
        ("event_code", vec!["event_code"]),
        (
            "can't 3.14 1,000 a:b e.g.",
            vec!["can't", "3.14", "1,000", "a:b", "e.g"],
        ),
        ("__ -- ... '", vec![]),
        ("\u{201c}Été\u{201d} naïve-ish", vec!["été", "naïve", "ish"]),
        ("日本 kana カタカナ", vec!["日", "本", "kana", "カタカナ"]),
        ("", vec![]),
    ] {
        assert_eq!(words_of(text), words, "{text}");
    }
}

#[test]
fn a_word_too_long_is_passed_over() {
    let fits = "a".repeat(WORD_BYTES_MAX);
    let long = "a".repeat(WORD_BYTES_MAX + 1);
    assert_eq!(words_of(&format!("{fits} {long} b")), [fits.as_str(), "b"]);
    let fits = "é".repeat(WORD_BYTES_MAX / 2);
    let long = "É".repeat(WORD_BYTES_MAX / 2 + 1);
    assert_eq!(words_of(&format!("{fits} {long} b")), [fits.as_str(), "b"]);
    let decomposed = "e\u{301}".repeat(WORD_BYTES_MAX / 2);
    assert_eq!(words_of(&decomposed), [fits]);
}

#[test]
fn a_mark_where_bytes_are_looked_at_together_extends_the_character_before_it() {
    for filled in 0..200 {
        let text = format!("{}\u{345}\u{345}a", ".".repeat(filled));
        assert_eq!(words_of(&text), by_the_crate(&text), "{filled}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn ascii_is_cut_as_the_crate_cuts_it(text in "[a-cA1-2_:.,;'\"! \t\n\\-]{0,16}") {
        prop_assert_eq!(words_of(&text), by_the_crate(&text));
    }

    #[test]
    fn any_ascii_is_cut_as_the_crate_cuts_it(text in "[\x00-\x7f]{0,24}") {
        prop_assert_eq!(words_of(&text), by_the_crate(&text));
    }

    #[test]
    fn runs_of_other_text_are_cut_as_the_crate_cuts_them(text in "[a1 .'_!éÀßŉİ×אア日👩\u{301}-]{0,16}") {
        prop_assert_eq!(words_of(&text), by_the_crate(&text));
    }

    #[test]
    fn long_text_is_cut_as_the_crate_cuts_it(
        parts in prop::collection::vec(
            ("[ .a!_é]", 0..130_usize, "[a1 .:,'_!éÀß×\u{301}\u{345}\u{200d}א日👩-]{0,5}"),
            1..4,
        )
    ) {
        let filled = parts
            .iter()
            .map(|(filler, count, text)| filler.repeat(*count) + text);
        let text: String = filled.collect();
        prop_assert_eq!(words_of(&text), by_the_crate_between_spaces(&text));
    }
}
