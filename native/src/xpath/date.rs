//! Lexical forms of `xs:date` and `xs:dateTime` as points in time.
//!
//! Years have four digits, from 0001 to 9999. Fractions of a second are truncated to milliseconds, and a
//! form without a time zone is in UTC; XPath 2.0 leaves both to the implementation. Points in time are
//! integers that a double represents exactly. `dates.py` is the same in Python.

use super::ast::DateType;
use super::limits::MAX_DATE_CHARACTERS;

const MILLISECONDS_PER_DAY: i64 = 86_400_000;
const MILLISECONDS_PER_MINUTE: i64 = 60_000;

/// The white space of XML.
const WHITE_SPACE: [char; 4] = ['\u{20}', '\u{9}', '\u{D}', '\u{A}'];

/// Milliseconds from 0001-01-01T00:00:00Z to the point in time; the first one of a date. `None` if the
/// text is not a valid lexical form.
pub fn milliseconds(date_type: DateType, text: &str) -> Option<f64> {
    let text = text.trim_matches(WHITE_SPACE);
    if text.len() > MAX_DATE_CHARACTERS || !text.is_ascii() {
        return None;
    }
    let mut rest = text.as_bytes();
    let day = day_number(&mut rest)?;
    let time = match date_type {
        DateType::Date => 0,
        DateType::DateTime => {
            take(&mut rest, b'T')?;
            time_of_day(&mut rest)?
        }
    };
    let offset_minutes = time_zone(rest)?;
    let instant = day * MILLISECONDS_PER_DAY + time - offset_minutes * MILLISECONDS_PER_MINUTE;
    Some(instant as f64)
}

/// `YYYY-MM-DD` as days since 0001-01-01.
fn day_number(rest: &mut &[u8]) -> Option<i64> {
    let year = digits(rest, 4)?;
    take(rest, b'-')?;
    let month = digits(rest, 2)?;
    take(rest, b'-')?;
    let day = digits(rest, 2)?;
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days_of_month = match month {
        2 => 28 + i64::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if year == 0 || !(1..=days_of_month).contains(&day) {
        return None;
    }
    const BEFORE_MONTH: [i64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    let years = year - 1;
    let before_year = years * 365 + years / 4 - years / 100 + years / 400;
    let before_month = BEFORE_MONTH[month as usize - 1] + i64::from(is_leap && month > 2);
    Some(before_year + before_month + day - 1)
}

/// `hh:mm:ss` with an optional fraction, in milliseconds. `24:00:00` is the end of the day.
fn time_of_day(rest: &mut &[u8]) -> Option<i64> {
    let hour = digits(rest, 2)?;
    take(rest, b':')?;
    let minute = digits(rest, 2)?;
    take(rest, b':')?;
    let second = digits(rest, 2)?;
    let mut millisecond = 0;
    let mut has_fraction = false;
    if take(rest, b'.').is_some() {
        let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (fraction, after) = rest.split_at(count);
        if count == 0 {
            return None;
        }
        has_fraction = fraction.iter().any(|&digit| digit != b'0');
        for place in 0..3 {
            let digit = fraction
                .get(place)
                .map_or(0, |digit| i64::from(digit - b'0'));
            millisecond = millisecond * 10 + digit;
        }
        *rest = after;
    }
    let is_end_of_day = hour == 24 && minute == 0 && second == 0 && !has_fraction;
    if (hour > 23 && !is_end_of_day) || minute > 59 || second > 59 {
        return None;
    }
    Some(((hour * 60 + minute) * 60 + second) * 1000 + millisecond)
}

/// Nothing, `Z` or `+hh:mm` as an offset in minutes.
fn time_zone(mut rest: &[u8]) -> Option<i64> {
    let sign = match rest {
        [] | [b'Z'] => return Some(0),
        [b'+', ..] => 1,
        [b'-', ..] => -1,
        _ => return None,
    };
    rest = &rest[1..];
    let hours = digits(&mut rest, 2)?;
    take(&mut rest, b':')?;
    let minutes = digits(&mut rest, 2)?;
    let offset = hours * 60 + minutes;
    (rest.is_empty() && minutes < 60 && offset <= 14 * 60).then_some(sign * offset)
}

fn digits(rest: &mut &[u8], count: usize) -> Option<i64> {
    let (digits, after) = rest.split_at_checked(count)?;
    *rest = after;
    digits.iter().try_fold(0, |value, byte| {
        byte.is_ascii_digit()
            .then(|| value * 10 + i64::from(byte - b'0'))
    })
}

fn take(rest: &mut &[u8], byte: u8) -> Option<()> {
    let after = rest.strip_prefix(&[byte])?;
    *rest = after;
    Some(())
}

/// Collects a lexical form that arrives in chunks, in bounded memory.
#[derive(Clone, Debug, Default)]
pub struct DateReader {
    text: String,
    /// Whether white space followed the text.
    ended: bool,
    invalid: bool,
}

impl DateReader {
    /// Adds the next chunk.
    pub fn feed(&mut self, chunk: &str) {
        let mut rest = if self.text.is_empty() {
            chunk.trim_start_matches(WHITE_SPACE)
        } else {
            chunk
        };
        if rest.is_empty() || self.invalid {
            return;
        }
        if !self.ended {
            let end = rest.find(WHITE_SPACE).unwrap_or(rest.len());
            self.invalid = self.text.len() + end > MAX_DATE_CHARACTERS;
            if self.invalid {
                return;
            }
            self.text.push_str(&rest[..end]);
            rest = &rest[end..];
            self.ended = !rest.is_empty();
        }
        self.invalid = !rest.trim_start_matches(WHITE_SPACE).is_empty();
    }

    /// [`milliseconds`] of the chunks so far.
    pub fn finish(&self, date_type: DateType) -> Option<f64> {
        if self.invalid {
            return None;
        }
        milliseconds(date_type, &self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lexical_forms_of_dates() {
        for (text, days) in [
            ("0001-01-01", 0),
            (" 0001-01-02\n", 1),
            ("0001-12-31", 364),
            ("1970-01-01", 719_162),
            ("2000-02-29", 730_178),
            ("2000-03-01Z", 730_179),
            ("9999-12-31", 3_652_058),
        ] {
            let expected = (days * MILLISECONDS_PER_DAY) as f64;
            assert_eq!(milliseconds(DateType::Date, text), Some(expected), "{text}");
        }
        let noon = milliseconds(DateType::Date, "2018-01-01-12:00").unwrap();
        let midnight = milliseconds(DateType::Date, "2018-01-01").unwrap();
        assert_eq!(noon - midnight, 12.0 * 3_600_000.0);
        for text in [
            "",
            "2018",
            "2018-1-1",
            "2018-02-29",
            "1900-02-29",
            "2018-13-01",
            "2018-00-01",
            "2018-01-00",
            "2018-04-31",
            "0000-01-01",
            "-2018-01-01",
            "12018-01-01",
            "2018-01-01T00:00:00",
            "2018-01-01+15:00",
            "2018-01-01+14:01",
            "2018-01-01+1:00",
            "2018-01-01z",
            "2018-01-01 Z",
            "2018-01-0１",
            "20180101",
        ] {
            assert_eq!(milliseconds(DateType::Date, text), None, "{text}");
        }
    }

    #[test]
    fn lexical_forms_of_points_in_time() {
        let ms = |text: &str| milliseconds(DateType::DateTime, text);
        let start = ms("2018-01-01T00:00:00Z").unwrap();
        for (text, after) in [
            ("2018-01-01T00:00:00", 0.0),
            ("2018-01-01T00:00:00.0019", 1.0),
            ("2018-01-01T00:00:00.25", 250.0),
            ("2018-01-01T12:30:15Z", 45_015_000.0),
            ("2017-12-31T24:00:00", 0.0),
            ("2017-12-31T24:00:00.000", 0.0),
            ("2018-01-01T02:00:00+02:00", 0.0),
            ("2017-12-31T23:30:00-00:30", 0.0),
        ] {
            assert_eq!(ms(text), Some(start + after), "{text}");
        }
        for text in [
            "2018-01-01",
            "2018-01-01T24:00:01",
            "2018-01-01T24:00:00.1",
            "2018-01-01T23:60:00",
            "2018-01-01T23:00:60",
            "2018-01-01T23:00",
            "2018-01-01T23:00:00.",
            "2018-01-01 23:00:00",
        ] {
            assert_eq!(ms(text), None, "{text}");
        }
        let long = format!("2018-01-01T00:00:00.{}", "0".repeat(44));
        assert_eq!(ms(&long), Some(start));
        assert_eq!(ms(&format!("{long}0")), None);
    }

    proptest! {
        #[test]
        fn chunks_and_complete_texts_agree(text in "[ \n]{0,2}(2018-01-0[0-9])?T?(1[0-9]:00:00)?[ é]{0,2}x?", cuts in prop::collection::vec(0_usize..30, 0..4)) {
            let mut reader = DateReader::default();
            let mut rest = &*text;
            for cut in cuts {
                let mut at = cut % (rest.len() + 1);
                while !rest.is_char_boundary(at) {
                    at -= 1;
                }
                reader.feed(&rest[..at]);
                rest = &rest[at..];
            }
            reader.feed(rest);
            for date_type in [DateType::Date, DateType::DateTime] {
                prop_assert_eq!(reader.finish(date_type), milliseconds(date_type, &text));
            }
        }
    }
}
