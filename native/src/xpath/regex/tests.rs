//! Patterns and what they match.

use proptest::prelude::*;

use super::{required_text, Pattern, PatternMatcher};
use crate::xpath::limits::MAX_PATTERN_STATES;
use crate::xpath::string_functions::fold_case;

fn pattern(text: &str, flags: &str) -> Pattern {
    Pattern::compile(text, flags).unwrap_or_else(|refusal| panic!("{text}: {refusal:?}"))
}

fn check(text: &str, flags: &str, matching: &[&str], others: &[&str]) {
    let pattern = pattern(text, flags);
    for each in matching {
        assert!(pattern.is_match(each), "{text} ({flags}) matches {each:?}");
    }
    for each in others {
        assert!(!pattern.is_match(each), "{text} ({flags}) rejects {each:?}");
    }
}

#[test]
fn patterns_match_anywhere_unless_they_are_anchored() {
    check("b", "", &["b", "abc"], &["", "a"]);
    check("^b", "", &["b", "bc"], &["ab", "a\nb"]);
    check("b$", "", &["b", "ab"], &["bc", "b\n"]);
    check("^$", "", &[""], &["a", "\n"]);
    check("", "", &["", "a"], &[]);
    check("^(a|b)*c$", "", &["c", "abbac"], &["abba", "xc"]);
    check("a|^b|c$", "", &["xa", "b", "xc"], &["xb", "cx"]);
    check("()", "", &["", "x"], &[]);
    check("(?:ab)+?$", "", &["ab", "xabab"], &["aba"]);
}

#[test]
fn quantifiers() {
    check("^a{2}$", "", &["aa"], &["a", "aaa"]);
    check("^a{2,}$", "", &["aa", "aaaa"], &["a"]);
    check("^a{1,3}?$", "", &["a", "aaa"], &["", "aaaa"]);
    check("^a{0}b$", "", &["b"], &["ab"]);
    check("^(a*)*$", "", &["", "aaa"], &["b"]);
    check("^(a?){3}$", "", &["", "aaa"], &["aaaa"]);
    check("^(^a|b*)*$", "", &["ab", "bb", ""], &["ba"]);
}

#[test]
fn character_classes() {
    check("^[a-c]+$", "", &["abc"], &["abcd", "-"]);
    check("^[-a]+$", "", &["-a"], &["b"]);
    check("^[a-]+$", "", &["-a"], &["b"]);
    check("^[^a]$", "", &["b", "\n", "é"], &["a"]);
    check("^[a^]$", "", &["a", "^"], &["b"]);
    check("^[a-z-[aeiou]]+$", "", &["xyz"], &["xaz", "A"]);
    check("^[^a-z-[5]]$", "", &["4", "A"], &["5", "b"]);
    check(r"^[\d\-]+$", "", &["1-2", "٣"], &["a"]);
    check(r"^[\]\[]$", "", &["[", "]"], &["a"]);
    check(r"^\i\c*$", "", &["a-1", "_", "é:b"], &["1a", "-"]);
    check(r"^\w+$", "", &["añ1$"], &["a b", "a-b", "_"]);
    check(r"^\s\S$", "", &[" a", "\nb"], &["\u{a0}a"]);
    check(r"^\p{Lu}\P{Lu}$", "", &["Aa", "É1"], &["aa", "AA"]);
    check(r"^\p{L}$", "", &["a", "日"], &["1"]);
    check(r"^\$\.\\$", "", &["$.\\"], &["a"]);
    check("^.$", "", &["a", "é", "\u{1f600}"], &["\n", "\r", "ab"]);
}

#[test]
fn flags() {
    check("^.$", "s", &["\n"], &[""]);
    check("STRASSE", "i", &["strasse"], &["straße"]);
    check("^[a-c]$", "i", &["B"], &["D"]);
    check("^[^a]$", "i", &["b"], &["A", "a"]);
    check("^k$", "i", &["K", "\u{212a}"], &[]);
    check("σ", "i", &["Σ", "ς"], &[]);
    check(r"^\p{Lu}$", "i", &["A"], &["a"]);
    check("^a$", "m", &["a", "b\na", "a\nb", "a\n"], &["ba"]);
    check("^$", "m", &["", "a\n\nb"], &["a\n", "a"]);
    check("a b\t[ ]", "x", &["ab "], &["ab"]);
    check("a {2}", "x", &["aa"], &["a {2}"]);
    check("A b", "xi", &["aB"], &[]);
}

#[test]
fn every_match_contains_the_required_text() {
    for (text, flags, required) in [
        ("storm", "", "storm"),
        ("^storm[0-9]+warning$", "", "warning"),
        ("a|b", "", ""),
        ("(gale)+s?", "", "gale"),
        ("x(yz)w", "", "xyzw"),
        ("ab{0,1}", "", "a"),
        (r"\.\d", "", "."),
        ("[a][bc]", "", "a"),
        ("MOTOR", "i", "motor"),
        // The long s is a case variant of s, but is not folded to it.
        ("Storm", "i", "torm"),
        ("s t o r m", "x", "storm"),
    ] {
        let found = required_text(text, flags);
        assert_eq!(found, (required.to_owned(), flags.contains('i')), "{text}");
    }
}

#[test]
fn refusals_have_an_offset() {
    for (text, message, offset) in [
        ("a)", "unexpected `)` in the pattern", 1),
        ("(a", "the parenthesis is not closed", 0),
        ("é*+", "nothing to repeat before `+`", 3),
        ("a|*", "nothing to repeat before `*`", 2),
        ("a{", "a number must follow `{`", 1),
        ("a{1", "the brace is not closed", 1),
        ("a{2,1}", "the maximum is less than the minimum", 1),
        ("}", "unexpected `}` in the pattern", 0),
        ("]", "unexpected `]` in the pattern", 0),
        ("[", "the bracket is not closed", 0),
        ("x[]", "the brackets are empty", 1),
        ("[^]", "the brackets are empty", 0),
        ("[a[b]", "unexpected `[` in the pattern", 2),
        ("[b-a]", "the range is out of order", 1),
        ("[a-c-e]", "unexpected `-` in the pattern", 4),
        (r"[a-\d]", "a range must end with a character", 3),
        ("[a-[b]c]", "a subtraction must end the brackets", 3),
        (r"(a)\1", "back-references are not supported", 3),
        (r"\b", "the escape `\\b` is not supported", 0),
        ("a\\", "a character must follow `\\`", 1),
        (
            r"\p{IsGreek}",
            "the Unicode block `IsGreek` is not supported",
            0,
        ),
        (r"\p{Xx}", "the category `Xx` does not exist", 0),
        (r"\pL", "a category in braces must follow `\\p`", 0),
        ("(?=a)", "only `(?:` can follow a parenthesis", 0),
    ] {
        let refusal = Pattern::compile(text, "").expect_err(text);
        assert_eq!(
            (&*refusal.message, refusal.offset),
            (message, offset),
            "{text}"
        );
        assert_eq!(refusal.code, "query.pattern");
    }
    let refusal = Pattern::compile("a", "iq").unwrap_err();
    assert!(refusal.in_flags);
    assert_eq!(
        (&*refusal.message, refusal.offset),
        ("the flag `q` is not supported", 1)
    );
}

#[test]
fn repetitions_do_not_multiply_without_limit() {
    for text in [
        "((a{100}){100}){100}",
        "((((){1000}){1000}){1000}){1000}",
        "(((a?){40}){40}){40}",
        "a{2001}",
        &"ab".repeat(MAX_PATTERN_STATES),
        &format!("{}{}", "(".repeat(40), ")".repeat(40)),
        &format!("{}{}", "[a-".repeat(40), "]".repeat(40)),
    ] {
        let refusal = Pattern::compile(text, "").expect_err(text);
        assert_eq!(refusal.code, "query.limit", "{text}");
    }
    pattern(&"a".repeat(MAX_PATTERN_STATES), "");
}

#[test]
fn a_pattern_that_defeats_backtracking_visits_each_state_once_per_character() {
    let text = "a".repeat(5_000);
    assert!(!pattern("^(a+)+b$", "").is_match(&text));
    assert!(!pattern("^(a|a)*(a|a)*(a|a)*c", "").is_match(&text));
    assert!(pattern("(a?){300}a{300}", "").is_match(&text));
}

proptest! {
    #[test]
    fn chunks_and_complete_texts_agree(
        text in "(\\^?\\(?[ab.]\\)?[*+?]?\\|?){1,4}\\$?",
        flags in "[ism]{0,2}",
        chunks in prop::collection::vec("[aAb\n]{0,3}", 0..4),
    ) {
        if let Ok(pattern) = Pattern::compile(&text, &flags) {
            let mut matcher = PatternMatcher::default();
            for chunk in &chunks {
                matcher.feed(&pattern, chunk);
            }
            let complete = chunks.concat();
            prop_assert_eq!(matcher.finish(&pattern, &mut 0), pattern.is_match(&complete));
            let (required, is_caseless) = required_text(&text, &flags);
            let searched = if is_caseless { fold_case(&complete) } else { complete.clone() };
            prop_assert!(searched.contains(&required) || !pattern.is_match(&complete));
        }
    }
}
