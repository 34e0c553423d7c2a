//! XPath 1.0's `number()` of a string: optional white space, an optional minus sign, digits with an
//! optional fraction, optional white space. Everything else is NaN. The result is the nearest double.

/// The number of stored significant digits. At most 767 digits decide the rounding, except that it matters
/// whether all further digits are zero.
const SIGNIFICANT_DIGITS_MAX: usize = 800;

/// XPath 1.0's `number(text)`.
pub fn number(text: &str) -> f64 {
    let text = text.trim_matches(['\u{20}', '\u{9}', '\u{D}', '\u{A}']);
    let digits = text.strip_prefix('-').unwrap_or(text);
    let mut seen_point = false;
    let mut seen_digit = false;
    for byte in digits.bytes() {
        match byte {
            b'0'..=b'9' => seen_digit = true,
            b'.' if !seen_point => seen_point = true,
            _ => return f64::NAN,
        }
    }
    if seen_digit {
        // This is valid syntax in Rust, which rounds correctly at any length.
        text.parse().unwrap_or(f64::NAN)
    } else {
        f64::NAN
    }
}

/// Computes [`number`] of a text that arrives in chunks, in bounded memory.
#[derive(Clone, Debug, Default)]
pub struct NumberReader {
    state: State,
    negative: bool,
    seen_digit: bool,
    /// Significant digits without leading zeros, at most [`SIGNIFICANT_DIGITS_MAX`].
    digits: Vec<u8>,
    /// Whether a digit other than 0 was not stored in `digits`.
    sticky: bool,
    /// The value is 0.DIGITS times ten to this power.
    exponent: i64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Before,
    Integer,
    Fraction,
    After,
    NotANumber,
}

impl NumberReader {
    /// Adds the next chunk.
    pub fn feed(&mut self, chunk: &str) {
        if self.state == State::NotANumber {
            return;
        }
        for byte in chunk.bytes() {
            self.state = match (self.state, byte) {
                (State::Before, b' ' | b'\t' | b'\r' | b'\n') => State::Before,
                (State::Before, b'-') => {
                    self.negative = true;
                    State::Integer
                }
                (State::Before | State::Integer, b'0'..=b'9') => {
                    self.digit(byte, true);
                    State::Integer
                }
                (State::Before | State::Integer, b'.') => State::Fraction,
                (State::Fraction, b'0'..=b'9') => {
                    self.digit(byte, false);
                    State::Fraction
                }
                // White space directly after the sign or a lone point is detected by `finish`, because
                // no digit can follow.
                (State::Integer | State::Fraction | State::After, b' ' | b'\t' | b'\r' | b'\n') => {
                    State::After
                }
                _ => {
                    self.digits = Vec::new();
                    self.state = State::NotANumber;
                    return;
                }
            };
        }
    }

    fn digit(&mut self, digit: u8, is_integer: bool) {
        self.seen_digit = true;
        if self.digits.is_empty() && digit == b'0' {
            // A leading zero only matters after the point, where it scales.
            self.exponent -= i64::from(!is_integer);
            return;
        }
        self.exponent += i64::from(is_integer);
        if self.digits.len() < SIGNIFICANT_DIGITS_MAX {
            self.digits.push(digit);
        } else {
            self.sticky |= digit != b'0';
        }
    }

    /// The number of the complete text.
    pub fn finish(&self) -> f64 {
        if self.state == State::NotANumber || !self.seen_digit {
            return f64::NAN;
        }
        let mut text = String::with_capacity(self.digits.len() + 24);
        text.push_str(if self.negative { "-0." } else { "0." });
        text.extend(self.digits.iter().map(|&digit| char::from(digit)));
        text.push(if self.sticky { '1' } else { '0' });
        text.push('e');
        text.push_str(&self.exponent.to_string());
        text.parse().unwrap_or(f64::NAN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn in_chunks(text: &str, cuts: &[usize]) -> f64 {
        let mut reader = NumberReader::default();
        let mut rest = text;
        for cut in cuts {
            let mut at = cut % (rest.len() + 1);
            while !rest.is_char_boundary(at) {
                at -= 1;
            }
            reader.feed(&rest[..at]);
            rest = &rest[at..];
        }
        reader.feed(rest);
        reader.finish()
    }

    fn same(left: f64, right: f64) -> bool {
        left.to_bits() == right.to_bits() || (left.is_nan() && right.is_nan())
    }

    #[test]
    fn only_numbers_in_the_sense_of_xpath_1_0_are_accepted() {
        for (text, value) in [
            ("0", 0.0),
            ("12", 12.0),
            (" \t\r\n12.5\n", 12.5),
            ("-3", -3.0),
            ("5.", 5.0),
            (".5", 0.5),
            ("-.5", -0.5),
            ("-5.", -5.0),
            ("007", 7.0),
            ("0.0001", 0.0001),
            ("-0", -0.0),
        ] {
            assert!(same(number(text), value), "{text:?}");
            assert!(same(in_chunks(text, &[1]), value), "{text:?} in chunks");
        }
        for text in [
            "",
            " ",
            "-",
            ".",
            "-.",
            "+1",
            "1e3",
            "1E3",
            "- 1",
            "1 2",
            "--1",
            "1.2.3",
            "1-",
            "Infinity",
            "NaN",
            "inf",
            "0x1",
            "\u{a0}1",
            "1\u{2003}",
            "١",
            "1_000",
            ". 5",
            "1 .5",
        ] {
            assert!(number(text).is_nan(), "{text:?}");
            assert!(in_chunks(text, &[1]).is_nan(), "{text:?} in chunks");
        }
    }

    #[test]
    fn a_digit_far_after_a_halfway_point_still_rounds_up() {
        // 2^53 + 1 is halfway between two doubles; the tail decides.
        let half = "9007199254740993";
        let zeros = "0".repeat(5_000);
        for (tail, value) in [
            ("", 9_007_199_254_740_992.0),
            ("1", 9_007_199_254_740_994.0),
        ] {
            let text = format!("{half}.{zeros}{tail}");
            assert_eq!(number(&text), value);
            assert_eq!(in_chunks(&text, &[3, 1_000]), value);
        }
    }

    #[test]
    fn values_out_of_range_are_infinite_or_zero() {
        let large = "9".repeat(400);
        let small = format!("-0.{}1", "0".repeat(400));
        assert_eq!(in_chunks(&large, &[100]), f64::INFINITY);
        assert!(same(in_chunks(&small, &[100]), -0.0));
        assert_eq!(number(&large), f64::INFINITY);
        assert!(same(number(&small), -0.0));
    }

    proptest! {
        #[test]
        fn chunks_and_complete_texts_agree(text in "[ \t\n]{0,2}-?[0-9]{0,30}\\.?[0-9]{0,30}[ \n]{0,2}[a-z+ 0-9-]{0,1}", cuts in prop::collection::vec(0_usize..80, 0..4)) {
            prop_assert!(same(number(&text), in_chunks(&text, &cuts)));
        }

        #[test]
        fn long_numbers_round_as_rust_rounds_them(integer in "[0-9]{1,900}", fraction in "[0-9]{0,900}", cut in 0_usize..900) {
            let text = format!("{integer}.{fraction}");
            let expected: f64 = text.parse().unwrap();
            prop_assert!(same(number(&text), expected));
            prop_assert!(same(in_chunks(&text, &[cut]), expected));
        }

        #[test]
        fn every_double_is_parsed_exactly(bits in any::<u64>()) {
            let value = f64::from_bits(bits);
            prop_assume!(value.is_finite());
            let text = format!("{value}");
            prop_assert!(same(number(&text), value));
            prop_assert!(same(in_chunks(&text, &[5]), value));
        }
    }
}
