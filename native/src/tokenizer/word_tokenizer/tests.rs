//! Compares the tokenizer with `unicode-segmentation`, which implements all of UAX #29.

use super::*;
use proptest::prelude::*;

fn reference_tokens(text: &str) -> Vec<String> {
    let fold = |word| {
        let mut folded = String::new();
        fold_into(word, &mut folded);
        folded
    };
    text.unicode_words().map(fold).collect()
}

/// Like `reference_tokens`, applied to each run between white space, without overlong words.
fn reference_tokens_by_run(text: &str) -> Vec<String> {
    text.split(char::is_whitespace)
        .flat_map(reference_tokens)
        .filter(|word| word.len() <= WORD_BYTES_MAX)
        .collect()
}

#[test]
fn tokens_contain_a_letter_or_digit_and_are_case_folded() {
    for (text, words) in [
        ("Storm warning, COAST!", vec!["storm", "warning", "coast"]),
        ("news-item", vec!["news", "item"]),
        ("body.content", vec!["body.content"]),
        ("event_code", vec!["event_code"]),
        (
            "can't 3.14 1,000 a:b e.g. can\u{2019}t U.S.A. a.bc",
            vec![
                "can't", "3.14", "1,000", "a:b", "eg", "can't", "usa", "a.bc",
            ],
        ),
        ("__ -- ... '", vec![]),
        ("\u{201c}Été\u{201d} naïve-ish", vec!["été", "naïve", "ish"]),
        ("日本 kana カタカナ", vec!["日", "本", "kana", "カタカナ"]),
        ("", vec![]),
    ] {
        assert_eq!(tokens_of(text), words, "{text}");
    }
}

#[test]
fn tokens_over_the_limit_are_skipped() {
    let fits = "a".repeat(WORD_BYTES_MAX);
    let long = "a".repeat(WORD_BYTES_MAX + 1);
    assert_eq!(tokens_of(&format!("{fits} {long} b")), [fits.as_str(), "b"]);
    let fits = "é".repeat(WORD_BYTES_MAX / 2);
    let long = "É".repeat(WORD_BYTES_MAX / 2 + 1);
    assert_eq!(tokens_of(&format!("{fits} {long} b")), [fits.as_str(), "b"]);
    let decomposed = "e\u{301}".repeat(WORD_BYTES_MAX / 2);
    assert_eq!(tokens_of(&decomposed), [fits]);
}

#[test]
fn combining_mark_at_a_block_boundary_extends_the_previous_character() {
    for filled in 0..200 {
        let text = format!("{}\u{345}\u{345}a", ".".repeat(filled));
        assert_eq!(tokens_of(&text), reference_tokens(&text), "{filled}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn word_like_ascii_matches_unicode_segmentation(text in "[a-cA1-2_:.,;'\"! \t\n\\-]{0,16}") {
        prop_assert_eq!(tokens_of(&text), reference_tokens(&text));
    }

    #[test]
    fn any_ascii_matches_unicode_segmentation(text in "[\x00-\x7f]{0,24}") {
        prop_assert_eq!(tokens_of(&text), reference_tokens(&text));
    }

    #[test]
    fn non_ascii_runs_match_unicode_segmentation(text in "[a1 .'_!éÀßŉİ×אア日👩\u{301}-]{0,16}") {
        prop_assert_eq!(tokens_of(&text), reference_tokens(&text));
    }

    #[test]
    fn long_text_matches_unicode_segmentation(
        parts in prop::collection::vec(
            ("[ .a!_é]", 0..130_usize, "[a1 .:,'_!éÀß×\u{301}\u{345}\u{200d}א日👩-]{0,5}"),
            1..4,
        )
    ) {
        let filled = parts
            .iter()
            .map(|(filler, count, text)| filler.repeat(*count) + text);
        let text: String = filled.collect();
        prop_assert_eq!(tokens_of(&text), reference_tokens_by_run(&text));
    }
}
