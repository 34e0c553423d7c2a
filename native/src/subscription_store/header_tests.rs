//! Tests of header fields that a subscription requires besides its query.
//!
//! They are indexed with the content: for path subscriptions as conditions on attributes of the root
//! element, for keyword subscriptions as words. Both use characters that no document contains, so that
//! documents cannot imitate a header.

use std::fmt::Write;

use crate::xpath::ast::NameTest;

/// The namespace of the attributes that stand for header fields. It contains a character that no
/// document contains, and wildcards do not match it.
pub const HEADER_URI: &str = "\u{1}header";

/// Header fields that one subscription tests; Python refuses more.
pub const HEADER_TESTS_MAX: usize = 16;

/// Begins a test. Field names and values contain no control characters.
const TEST: char = '\u{1}';
/// Separates the field from its value.
const VALUE: char = '\u{2}';
/// Ends the tests before the text of a query.
const END: char = '\u{3}';

/// A field of a header: name and value.
pub type HeaderField = (String, String);

/// Equality tests of header fields, all of which a document must pass; usually none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeaderTests {
    /// Field and value, ascending, distinct.
    tests: Vec<HeaderField>,
}

impl HeaderTests {
    /// The tests of these fields and values, which must not contain control characters.
    pub fn new(mut tests: Vec<HeaderField>) -> HeaderTests {
        debug_assert!(tests
            .iter()
            .all(|(field, value)| !field.contains(char::is_control)
                && !value.contains(char::is_control)));
        tests.sort_unstable();
        tests.dedup();
        HeaderTests { tests }
    }

    /// Whether every document passes.
    pub fn is_empty(&self) -> bool {
        self.tests.is_empty()
    }

    /// Whether each test is one of another subscription.
    pub fn is_subset(&self, other: &HeaderTests) -> bool {
        self.tests
            .iter()
            .all(|test| other.tests.binary_search(test).is_ok())
    }

    /// Fields and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.tests
            .iter()
            .map(|(field, value)| (field.as_str(), value.as_str()))
    }

    /// The fields and values as a header that passes the tests.
    pub fn into_fields(self) -> Vec<HeaderField> {
        self.tests
    }

    /// The text of a query together with the tests, which identifies a query class.
    pub fn prefixed(&self, query: &str) -> String {
        let mut text = String::new();
        for (field, value) in self.iter() {
            text.push_str(&word_of(field, value));
        }
        if !self.is_empty() {
            text.push(END);
        }
        text.push_str(query);
        text
    }

    /// Splits what [`HeaderTests::prefixed`] joined.
    pub fn split(text: &str) -> (HeaderTests, &str) {
        if !text.starts_with(TEST) {
            return (HeaderTests::default(), text);
        }
        let (tests, query) = text.split_once(END).unwrap_or((text, ""));
        (
            HeaderTests {
                tests: tests.split(TEST).filter_map(split_word).collect(),
            },
            query,
        )
    }

    /// Splits the words of a keyword query into its header tests and the others.
    pub fn split_words<'a>(words: impl Iterator<Item = &'a str>) -> (HeaderTests, Vec<&'a str>) {
        let (of_header, own): (Vec<&str>, Vec<&str>) = words.partition(|word| is_header_word(word));
        let tests = of_header
            .into_iter()
            .filter_map(|word| split_word(word.trim_start_matches(TEST)));
        (
            HeaderTests {
                tests: tests.collect(),
            },
            own,
        )
    }
}

fn split_word(word: &str) -> Option<HeaderField> {
    let (field, value) = word.split_once(VALUE)?;
    Some((field.to_owned(), value.to_owned()))
}

/// The word that stands for a header field with a value. No token of a document equals it.
pub fn word_of(field: &str, value: &str) -> String {
    let mut word = String::with_capacity(field.len() + value.len() + 2);
    write!(word, "{TEST}{field}{VALUE}{value}").expect("a string can be written to");
    word
}

/// Whether a word stands for a header field. Such words sort before all others.
pub fn is_header_word(word: &str) -> bool {
    word.starts_with(TEST)
}

/// The name test of the attribute that stands for a header field.
pub fn attribute_test(field: &str) -> NameTest {
    NameTest {
        uri: Some(HEADER_URI.into()),
        local: Some(field.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tests_of(pairs: &[(&str, &str)]) -> HeaderTests {
        let owned = pairs.iter().map(|&(f, v)| (f.to_owned(), v.to_owned()));
        HeaderTests::new(owned.collect())
    }

    #[test]
    fn the_text_of_a_class_can_be_split() {
        for pairs in [
            &[][..],
            &[("publisher", "reuters")],
            &[("lang", "en"), ("a=b", "")],
        ] {
            let tests = tests_of(pairs);
            let text = tests.prefixed("/a[b]");
            assert_eq!(HeaderTests::split(&text), (tests, "/a[b]"));
        }
    }

    #[test]
    fn the_words_of_a_query_can_be_split() {
        let tests = tests_of(&[("lang", "en"), ("x", "")]);
        let words: Vec<String> = tests.iter().map(|(f, v)| word_of(f, v)).collect();
        let all = words.iter().map(String::as_str).chain(["coast", "storm"]);
        assert_eq!(
            HeaderTests::split_words(all),
            (tests, vec!["coast", "storm"])
        );
    }

    #[test]
    fn order_and_repetition_do_not_matter() {
        assert_eq!(
            tests_of(&[("b", "1"), ("a", "2"), ("b", "1")]),
            tests_of(&[("a", "2"), ("b", "1")])
        );
    }
}
