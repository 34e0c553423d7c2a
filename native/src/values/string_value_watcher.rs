//! A test of a string-value that comes in pieces.

use super::{compare_numbers, NumberReader, ValueTest};

/// Where a [`ValueTest`] stands while its value arrives.
#[derive(Clone, Debug)]
pub enum Watch {
    /// Decided, whatever follows.
    Decided(bool),
    /// How many bytes of the text were met so far, all equal.
    Matched(usize),
    /// How many bytes of the needle end the value so far.
    Searching(usize),
    /// The number so far.
    Number(Box<NumberReader>),
}

impl Watch {
    /// Before the first piece.
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

    /// The next piece; `test` is the one that the watch was made for.
    pub fn feed(&mut self, test: &ValueTest, piece: &str) {
        let piece = piece.as_bytes();
        match (&mut *self, test) {
            (Self::Matched(matched), ValueTest::Text(text, equal)) => {
                let rest = &text.as_bytes()[*matched..];
                if rest.starts_with(piece) {
                    *matched += piece.len();
                } else {
                    *self = Self::Decided(!equal);
                }
            }
            (Self::Matched(matched), ValueTest::StartsWith(text)) => {
                let rest = &text.as_bytes()[*matched..];
                if piece.starts_with(rest) {
                    *self = Self::Decided(true);
                } else if rest.starts_with(piece) {
                    *matched += piece.len();
                } else {
                    *self = Self::Decided(false);
                }
            }
            (Self::Searching(matched), ValueTest::Contains(needle)) => {
                let length = needle.bytes().len();
                // A match that began in an earlier piece ends within the first bytes of this one;
                // a match inside this piece is found by the faster search; what remains open can
                // only have begun within the last bytes.
                let head = piece.len().min(length - 1);
                let mut spanning = *matched;
                for &byte in &piece[..head] {
                    spanning = needle.step(spanning, byte);
                    if spanning == length {
                        *self = Self::Decided(true);
                        return;
                    }
                }
                if head == piece.len() {
                    *matched = spanning;
                    return;
                }
                if needle.finder.find(piece).is_some() {
                    *self = Self::Decided(true);
                    return;
                }
                let tail = &piece[piece.len() - (length - 1)..];
                *matched = tail
                    .iter()
                    .fold(0, |matched, &byte| needle.step(matched, byte));
            }
            (Self::Number(reader), _) => {
                reader.feed(std::str::from_utf8(piece).expect("it was a str"))
            }
            _ => {}
        }
    }

    /// Whether the test holds for the pieces so far, taken as the whole value.
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

    fn watched(test: &ValueTest, pieces: &[String]) -> bool {
        let mut watch = Watch::new(test);
        for piece in pieces.iter().filter(|piece| !piece.is_empty()) {
            watch.feed(test, piece);
        }
        watch.finish(test)
    }

    fn pieces() -> impl Strategy<Value = Vec<String>> {
        // Few letters, one of them of two bytes, so that matches, near matches and overlaps are many.
        prop::collection::vec("[abé1]{0,5}", 0..5)
    }

    #[test]
    fn not_a_number_is_unequal_to_every_number_and_in_no_order_with_it() {
        for literal in [Literal::Number(1.0), Literal::Number(f64::NAN)] {
            assert!(compare("x", Op::Ne, &literal));
            for op in [Op::Eq, Op::Lt, Op::Le, Op::Gt, Op::Ge] {
                assert!(!compare("x", op, &literal));
            }
        }
    }

    #[test]
    fn order_with_a_text_is_order_of_numbers() {
        assert!(compare("9", Op::Lt, &Literal::Text("10".into())));
        assert!(!compare("a", Op::Lt, &Literal::Text("b".into())));
        assert!(compare("1.0", Op::Eq, &Literal::Number(1.0)));
        assert!(!compare("1.0", Op::Eq, &Literal::Text("1".into())));
    }

    #[test]
    fn a_needle_across_three_pieces_is_found() {
        let test = ValueTest::contains("abcabd");
        assert!(watched(&test, &["xabcab".into(), "c".into(), "abd".into()]));
        assert!(!watched(
            &test,
            &["xabcab".into(), "c".into(), "abe".into()]
        ));
    }

    proptest! {
        #[test]
        fn pieces_and_whole_agree(pieces in pieces(), text in "[abé1]{0,6}", op in 0_usize..6) {
            let op = [Op::Eq, Op::Ne, Op::Lt, Op::Le, Op::Gt, Op::Ge][op];
            let whole = pieces.concat();
            let literal = Literal::Text(text.as_str().into());
            let comparison = ValueTest::compare(op, &literal);
            prop_assert_eq!(comparison.holds(&whole), compare(&whole, op, &literal));
            prop_assert_eq!(watched(&comparison, &pieces), compare(&whole, op, &literal));
            let number = ValueTest::compare(op, &Literal::Number(11.0));
            prop_assert_eq!(watched(&number, &pieces), number.holds(&whole));
            let contains = ValueTest::contains(&text);
            prop_assert_eq!(contains.holds(&whole), whole.contains(&text));
            prop_assert_eq!(watched(&contains, &pieces), whole.contains(&text));
            let starts = ValueTest::starts_with(&text);
            prop_assert_eq!(starts.holds(&whole), whole.starts_with(&text));
            prop_assert_eq!(watched(&starts, &pieces), whole.starts_with(&text));
        }
    }
}
