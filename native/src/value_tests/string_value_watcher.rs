//! Tests a string-value that arrives in chunks.

use super::transform::TransformedWatcher;
use super::{compare_numbers, NumberReader, ValueTest, STEPS_PER_STATE};
use crate::xpath::date::DateReader;
use crate::xpath::regex::PatternMatcher;

/// Roughly the most steps that a chunk takes before the steps are compared with what is left of the work
/// budget.
const STEPS_BETWEEN_CHECKS: usize = 1 << 17;

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
    /// The number of characters so far.
    Length(u64),
    /// The states of a pattern after the value so far.
    Pattern(Box<PatternMatcher>),
    /// The date so far.
    Date(Box<DateReader>),
    /// The test of the transformed value.
    Transformed(Box<TransformedWatcher>),
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
            ValueTest::EndsWith(needle) if needle.bytes().is_empty() => Self::Decided(true),
            ValueTest::EndsWith(_) => Self::Searching(0),
            ValueTest::Matches(_) => Self::Pattern(Box::default()),
            ValueTest::Length(..) => Self::Length(0),
            ValueTest::Date(..) => Self::Date(Box::default()),
            ValueTest::Transformed(transformed) => {
                Self::Transformed(Box::new(TransformedWatcher::new(&transformed.1)))
            }
        }
    }

    /// Adds the next chunk, as long as this takes few more than `steps_max` steps; `test` is the test that
    /// the watcher was created for. Returns the steps it took. If they exceed the maximum, the watcher is
    /// of no use any more.
    pub fn feed_within(&mut self, test: &ValueTest, text: &str, steps_max: usize) -> usize {
        let bytes_at_once = STEPS_BETWEEN_CHECKS / test.steps_per_byte();
        let (mut steps, mut rest) = (0, text);
        while !rest.is_empty() && steps <= steps_max && !matches!(self, Self::Decided(_)) {
            // At least one character.
            let mut end = bytes_at_once.clamp(1, rest.len());
            while !rest.is_char_boundary(end) {
                end += 1;
            }
            let (piece, after) = rest.split_at(end);
            steps += self.feed(test, piece);
            rest = after;
        }
        steps
    }

    /// Adds the next chunk. Returns the steps it took.
    pub fn feed(&mut self, test: &ValueTest, text: &str) -> usize {
        match (&mut *self, test) {
            (Self::Decided(_), _) => 0,
            (Self::Pattern(matcher), ValueTest::Matches(pattern)) => {
                let has_matched = matcher.feed(pattern, text);
                let steps = text.len() + matcher.take_visits() * STEPS_PER_STATE;
                if has_matched {
                    *self = Self::Decided(true);
                }
                steps
            }
            (Self::Transformed(watcher), ValueTest::Transformed(transformed)) => {
                let (transform, test) = &**transformed;
                let steps = watcher.feed(transform, test, text);
                if let Some(holds) = watcher.decided() {
                    *self = Self::Decided(holds);
                }
                steps
            }
            _ => {
                self.feed_simple(test, text);
                text.len()
            }
        }
    }

    /// Adds the next chunk to a test that is not decided and takes about a step for each byte.
    fn feed_simple(&mut self, test: &ValueTest, text: &str) {
        let chunk = text.as_bytes();
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
            (Self::Searching(matched), ValueTest::EndsWith(needle)) => {
                // Only the last bytes of a long chunk can be part of the end.
                let skipped = chunk.len().saturating_sub(needle.bytes().len());
                let before = if skipped == 0 { *matched } else { 0 };
                *matched = chunk[skipped..]
                    .iter()
                    .fold(before, |matched, &byte| needle.step(matched, byte));
            }
            (Self::Number(reader), _) => reader.feed(text),
            (Self::Length(length), ValueTest::Length(op, n)) => {
                *length += text.chars().count() as u64;
                if *length as f64 > *n {
                    // A longer value compares in the same way.
                    *self = Self::Decided(compare_numbers(*length as f64, *op, *n));
                }
            }
            (Self::Date(reader), _) => reader.feed(text),
            _ => {}
        }
    }

    /// Whether the test holds for the chunks so far, taken as the complete value. Adds the steps it takes
    /// to `steps`.
    pub fn finish(&self, test: &ValueTest, steps: &mut usize) -> bool {
        match (self, test) {
            (Self::Decided(holds), _) => *holds,
            (Self::Matched(matched), ValueTest::Text(text, equal)) => {
                (*matched == text.len()) == *equal
            }
            (Self::Number(reader), ValueTest::Number(op, n)) => {
                compare_numbers(reader.finish(), *op, *n)
            }
            (Self::Searching(matched), ValueTest::EndsWith(needle)) => {
                *matched == needle.bytes().len()
            }
            (Self::Length(length), ValueTest::Length(op, n)) => {
                compare_numbers(*length as f64, *op, *n)
            }
            (Self::Pattern(matcher), ValueTest::Matches(pattern)) => {
                let mut visits = 0;
                let holds = matcher.finish(pattern, &mut visits);
                *steps += visits * STEPS_PER_STATE;
                holds
            }
            (Self::Date(reader), ValueTest::Date(date_type, op, n)) => reader
                .finish(*date_type)
                .is_some_and(|instant| op.compare(instant, *n)),
            (Self::Transformed(watcher), ValueTest::Transformed(transformed)) => {
                watcher.finish(&transformed.1, steps)
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::compare;
    use super::*;
    use crate::xpath::ast::{Literal, Op, StringCondition, StringFunction};
    use proptest::prelude::*;

    fn watched(test: &ValueTest, chunks: &[String]) -> bool {
        let mut watcher = StringValueWatcher::new(test);
        for chunk in chunks.iter().filter(|chunk| !chunk.is_empty()) {
            watcher.feed(test, chunk);
        }
        watcher.finish(test, &mut 0)
    }

    fn chunks() -> impl Strategy<Value = Vec<String>> {
        // Few letters, one of them two bytes long, so that matches, near misses and overlaps are common.
        prop::collection::vec("[abé1]{0,5}", 0..5)
    }

    #[test]
    fn a_final_sigma_depends_on_what_follows() {
        let lower = |text: &str| {
            let condition = StringCondition::Compare(Op::Eq, Literal::Text(text.into()));
            ValueTest::of_string(&[StringFunction::LowerCase], &condition)
        };
        for (chunks, expected) in [
            (&["ΑΣ"][..], "ας"),
            (&["ΑΣ", "Α"], "ασα"),
            (&["ΑΣ", "'", ".", "Α"], "ασ'.α"),
            (&["ΑΣ", "'", "."], "ας'."),
            (&["ΑΣ", "' ", "Α"], "ας' α"),
            (&["Α", "'", "ΣΣ"], "α'σς"),
            (&["Σ", " ", "ΣΑΣ"], "σ σας"),
            (&["1Σ", "1ʰΣ"], "1σ1ʰσ"),
            (&["Α\u{301}Σ", "\u{301}", "日"], "α\u{301}ς\u{301}日"),
        ] {
            let chunks: Vec<String> = chunks.iter().map(|&chunk| chunk.into()).collect();
            assert_eq!(chunks.concat().to_lowercase(), expected);
            assert!(watched(&lower(expected), &chunks), "{chunks:?}");
        }
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

    fn functions() -> impl Strategy<Value = Vec<StringFunction>> {
        let function = prop_oneof![
            Just(StringFunction::NormalizeSpace),
            Just(StringFunction::LowerCase),
            Just(StringFunction::UpperCase),
            Just(StringFunction::Translate("aΣ b".into(), "é'x".into())),
        ];
        prop::collection::vec(function, 0..4)
    }

    proptest! {
        #[test]
        fn transformed_chunks_and_complete_values_agree(
            chunks in prop::collection::vec("[aBéΣ' .ß\t1\u{301}]{0,4}", 0..6),
            functions in functions(),
            text in "[aéσς' .s]{0,3}",
            n in 0_u8..8,
            op in 0_usize..6,
        ) {
            let op = [Op::Eq, Op::Ne, Op::Lt, Op::Le, Op::Gt, Op::Ge][op];
            let complete = chunks.concat();
            let result = functions.iter().fold(complete.clone(), |value, function| {
                crate::xpath::string_functions::apply(function, &value)
            });
            let text: Box<str> = text.into();
            for (condition, expected) in [
                (StringCondition::Compare(Op::Eq, Literal::Text(result.as_str().into())), true),
                (StringCondition::Compare(op, Literal::Text(text.clone())), compare(&result, op, &Literal::Text(text.clone()))),
                (StringCondition::Contains(text.clone()), result.contains(&*text)),
                (StringCondition::StartsWith(text.clone()), result.starts_with(&*text)),
                (StringCondition::EndsWith(text.clone()), result.ends_with(&*text)),
                (StringCondition::Length(op, f64::from(n)), op.compare(result.chars().count() as f64, f64::from(n))),
            ] {
                let test = ValueTest::of_string(&functions, &condition);
                prop_assert_eq!(test.holds(&complete), expected, "{:?} of {:?}", condition, result);
                prop_assert_eq!(watched(&test, &chunks), expected, "{:?} of {:?} in chunks", condition, result);
            }
        }

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
