//! Compares the tokenizer with `unicode-segmentation`, which implements all of UAX #29.

use super::*;
use proptest::prelude::*;

/// The words of each run between white space, without overlong words.
fn reference_tokens(text: &str, options: TokenizerOptions) -> Vec<String> {
    let common_form = |word| {
        let mut folded = String::new();
        case_fold_into(word, &mut folded);
        if folded.len() > WORD_BYTES_MAX {
            return None;
        }
        unify(&mut folded, options);
        Some(folded)
    };
    text.split(char::is_whitespace)
        .flat_map(|run| run.unicode_words().filter_map(common_form))
        .collect()
}

/// The tokens with every combination of options, each compared with the reference.
fn assert_reference_tokens(text: &str) -> Result<(), TestCaseError> {
    for options in TokenizerOptions::combinations() {
        prop_assert_eq!(
            tokens_of(text, options),
            reference_tokens(text, options),
            "{:?}",
            options
        );
    }
    Ok(())
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
        ("\u{201c}Été\u{201d} naïve-ish", vec!["ete", "naive", "ish"]),
        ("日本 kana カタカナ", vec!["日", "本", "kana", "カタカナ"]),
        ("", vec![]),
    ] {
        assert_eq!(
            tokens_of(text, TokenizerOptions::default()),
            words,
            "{text}"
        );
    }
}

#[test]
fn tokens_over_the_limit_are_skipped() {
    let ascii = "a".repeat(WORD_BYTES_MAX);
    let latin = "é".repeat(WORD_BYTES_MAX / 2);
    let decomposed = "e\u{301}".repeat(WORD_BYTES_MAX / 2);
    let apostrophe = format!("a\u{2019}{}", "a".repeat(WORD_BYTES_MAX - 4));
    let abbreviation = format!("{}ab", "a.".repeat(WORD_BYTES_MAX / 2 - 1));
    // It has one letter more than fits, before its marks are removed.
    let marked = format!("a{}", "\u{334}".repeat(WORD_BYTES_MAX / 2));
    for options in TokenizerOptions::combinations() {
        for fits in [&ascii, &latin, &decomposed, &apostrophe, &abbreviation] {
            let count = |text: &str| tokens_of(text, options).len();
            assert_eq!(count(&format!("{fits} {fits}a b")), 2, "{fits}");
        }
        assert_eq!(tokens_of(&format!("{marked} b"), options), ["b"]);
    }
    let [composed] = &tokens_of(&decomposed, TokenizerOptions::default())[..] else {
        panic!("one word");
    };
    assert_eq!(composed, &"e".repeat(WORD_BYTES_MAX / 2));
}

#[test]
fn combining_mark_at_a_block_boundary_extends_the_previous_character() {
    for filled in 0..200 {
        let text = format!("{}\u{345}\u{345}a", ".".repeat(filled));
        assert_reference_tokens(&text).expect("the same tokens");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    #[test]
    fn word_like_ascii_matches_unicode_segmentation(text in "[a-cA1-2_:.,;'\"! \t\n\\-]{0,16}") {
        assert_reference_tokens(&text)?;
    }

    #[test]
    fn any_ascii_matches_unicode_segmentation(text in "[\x00-\x7f]{0,24}") {
        assert_reference_tokens(&text)?;
    }

    #[test]
    fn non_ascii_runs_match_unicode_segmentation(text in "[a1 .'_!éÀßŉİſ×æиואア日👩\u{2019}\u{301}\u{306}\u{363}-]{0,16}") {
        assert_reference_tokens(&text)?;
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
        assert_reference_tokens(&text)?;
    }
}
