//! Tests a string-value that arrives in chunks.

use super::{compare_numbers, NumberReader, ValueTest};

/// The state of a [`ValueTest`] while its value arrives.
#[derive(Clone, Debug)]
pub enum StringValueWatcher {
    /// Decided, whatever follows.
    Decided(bool),
    /// All bytes so far equal the text's, and this is their number.
    Matched(usize),
    /// The length of the longest prefix of the needle that ends the value so far.
    Searching(usize),
    /// The number so far.
    Number(Box<NumberReader>),
}

impl StringValueWatcher {
    /// The state before the first chunk.
    pub fn new(test: &ValueTest) -> Self {
        match test {
            ValueTest::Text(..) => Self::Matched(0),
            ValueTest::Number(..) => Self::Number(Box::default()),
            ValueTest::Contains(needle) if needle.bytes().is_empty() => Self::Decided(true),
            ValueTest::Contains(_) => Self::Searching(0),
            ValueTest::StartsWith(text) if text.is_empty() => Self::Decided(true),
            ValueTest::StartsWith(_) => Self::Matched(0),
        }
    }

    /// Adds the next chunk; `test` is the test that the watcher was created for.
    pub fn feed(&mut self, test: &ValueTest, chunk: &str) {
        let chunk = chunk.as_bytes();
        match (&mut *self, test) {
            (Self::Matched(matched), ValueTest::Text(text, equal)) => {
                let rest = &text.as_bytes()[*matched..];
                if rest.starts_with(chunk) {
                    *matched += chunk.len();
                } else {
                    *self = Self::Decided(!equal);
                }
            }
            (Self::Matched(matched), ValueTest::StartsWith(text)) => {
                let rest = &text.as_bytes()[*matched..];
                if chunk.starts_with(rest) {
                    *self = Self::Decided(true);
                } else if rest.starts_with(chunk) {
                    *matched += chunk.len();
                } else {
                    *self = Self::Decided(false);
                }
            }
            (Self::Searching(matched), ValueTest::Contains(needle)) => {
                let length = needle.bytes().len();
                // A match that began in an earlier chunk ends within the first bytes of this one; a
                // match inside this chunk is found by the faster search; a match that continues in
                // the next chunk begins within the last bytes.
                let head = chunk.len().min(length - 1);
                let mut spanning = *matched;
                for &byte in &chunk[..head] {
                    spanning = needle.step(spanning, byte);
                    if spanning == length {
                        *self = Self::Decided(true);
                        return;
                    }
                }
                if head == chunk.len() {
                    *matched = spanning;
                    return;
                }
                if needle.finder.find(chunk).is_some() {
                    *self = Self::Decided(true);
                    return;
                }
                let tail = &chunk[chunk.len() - (length - 1)..];
                *matched = tail
                    .iter()
                    .fold(0, |matched, &byte| needle.step(matched, byte));
            }
            (Self::Number(reader), _) => {
                reader.feed(std::str::from_utf8(chunk).expect("it was a str"))
            }
            _ => {}
        }
    }

    /// Whether the test holds for the chunks so far, taken as the complete value.
    pub fn finish(&self, test: &ValueTest) -> bool {
        match (self, test) {
            (Self::Decided(holds), _) => *holds,
            (Self::Matched(matched), ValueTest::Text(text, equal)) => {
                (*matched == text.len()) == *equal
            }
            (Self::Number(reader), ValueTest::Number(op, n)) => {
                compare_numbers(reader.finish(), *op, *n)
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::compare;
    use super::*;
    use crate::xpath::ast::{Literal, Op};
    use proptest::prelude::*;

    fn watched(test: &ValueTest, chunks: &[String]) -> bool {
        let mut watcher = StringValueWatcher::new(test);
        for chunk in chunks.iter().filter(|chunk| !chunk.is_empty()) {
            watcher.feed(test, chunk);
        }
        watcher.finish(test)
    }

    fn chunks() -> impl Strategy<Value = Vec<String>> {
        // Few letters, one of them two bytes long, so that matches, near misses and overlaps are common.
        prop::collection::vec("[abé1]{0,5}", 0..5)
    }

    #[test]
    fn nan_is_unequal_to_every_number_and_unordered() {
        for literal in [Literal::Number(1.0), Literal::Number(f64::NAN)] {
            assert!(compare("x", Op::Ne, &literal));
            for op in [Op::Eq, Op::Lt, Op::Le, Op::Gt, Op::Ge] {
                assert!(!compare("x", op, &literal));
            }
        }
    }

    #[test]
    fn ordering_against_a_string_compares_numbers() {
        assert!(compare("9", Op::Lt, &Literal::Text("10".into())));
        assert!(!compare("a", Op::Lt, &Literal::Text("b".into())));
        assert!(compare("1.0", Op::Eq, &Literal::Number(1.0)));
        assert!(!compare("1.0", Op::Eq, &Literal::Text("1".into())));
    }

    #[test]
    fn a_needle_across_three_chunks_is_found() {
        let test = ValueTest::contains("abcabd");
        assert!(watched(&test, &["xabcab".into(), "c".into(), "abd".into()]));
        assert!(!watched(
            &test,
            &["xabcab".into(), "c".into(), "abe".into()]
        ));
    }

    proptest! {
        #[test]
        fn chunks_and_complete_values_agree(chunks in chunks(), text in "[abé1]{0,6}", op in 0_usize..6) {
            let op = [Op::Eq, Op::Ne, Op::Lt, Op::Le, Op::Gt, Op::Ge][op];
            let complete = chunks.concat();
            let literal = Literal::Text(text.as_str().into());
            let comparison = ValueTest::compare(op, &literal);
            prop_assert_eq!(comparison.holds(&complete), compare(&complete, op, &literal));
            prop_assert_eq!(watched(&comparison, &chunks), compare(&complete, op, &literal));
            let number = ValueTest::compare(op, &Literal::Number(11.0));
            prop_assert_eq!(watched(&number, &chunks), number.holds(&complete));
            let contains = ValueTest::contains(&text);
            prop_assert_eq!(contains.holds(&complete), complete.contains(&text));
            prop_assert_eq!(watched(&contains, &chunks), complete.contains(&text));
            let starts = ValueTest::starts_with(&text);
            prop_assert_eq!(starts.holds(&complete), complete.starts_with(&text));
            prop_assert_eq!(watched(&starts, &chunks), complete.starts_with(&text));
        }
    }
}
