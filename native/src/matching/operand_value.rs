//! Values of operands, reduced to what conditions can distinguish.

use crate::matching::NONE;
use crate::path_index::segment::{Comparison, OperandRecord, Segment};
use crate::xpath::ast::DateType;
use crate::xpath::date::milliseconds;
use crate::xpath::number::number;

/// One value of an operand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct OperandValue {
    /// The operand.
    pub operand: u32,
    /// The literal it equals as text, or [`NONE`]; [`NONE`] also if no condition compares it as
    /// text.
    pub literal: u32,
    /// Its value as a number; NaN also if no condition compares it as a number.
    pub number: f64,
}

impl OperandValue {
    /// A resolved value of an operand.
    #[inline]
    pub fn new(operand: u32, (literal, number): (u32, f64)) -> OperandValue {
        OperandValue {
            operand,
            literal,
            number,
        }
    }

    /// A value that equals a literal.
    #[inline]
    pub fn of_literal(operand: u32, literal: u32) -> OperandValue {
        OperandValue::new(operand, (literal, f64::NAN))
    }

    /// Whether the value can satisfy a condition, given the uses of its operand: bits of
    /// [`Comparison`].
    #[inline]
    pub fn is_relevant(&self, uses: u32) -> bool {
        const EQUAL: u32 = Comparison::EqText.bit();
        match uses & Comparison::ALL {
            0 => false,
            EQUAL => self.literal != NONE,
            _ => true,
        }
    }
}

/// The literal that a text equals and its value as a number, as far as `uses` need them.
#[inline]
pub(super) fn resolve(segment: &Segment, text: &str, uses: u32) -> (u32, f64) {
    resolve_bytes(segment, text.as_bytes(), || text, uses)
}

/// [`resolve`] for bytes; `text`, which converts them, is called only if the number is needed.
#[inline]
pub(super) fn resolve_bytes<'a>(
    segment: &Segment,
    bytes: &[u8],
    text: impl FnOnce() -> &'a str,
    uses: u32,
) -> (u32, f64) {
    let literal = || segment.literal_table.find(&segment.literals, bytes);
    let is_textual = uses & Comparison::TEXTUAL != 0;
    let is_numeric = uses & Comparison::NUMERIC != 0;
    (
        is_textual.then(literal).flatten().unwrap_or(NONE),
        if is_numeric { number(text()) } else { f64::NAN },
    )
}

/// The number of a text in a numeric view other than that of the text itself.
pub(super) fn number_in_view(view: usize, text: &str) -> f64 {
    match view {
        OperandRecord::LENGTH => text.chars().count() as f64,
        OperandRecord::DATE => milliseconds(DateType::Date, text).unwrap_or(f64::NAN),
        OperandRecord::DATE_TIME => milliseconds(DateType::DateTime, text).unwrap_or(f64::NAN),
        _ => unreachable!("the view is not numeric"),
    }
}

/// Removes redundant values of one element, whose values begin at `start`. For each operand it
/// keeps every value that some literal can equal, the least, the greatest, and one that equals no
/// literal and is not a number, so that an element with a million children keeps few.
pub(super) fn compact(segment: &Segment, values: &mut Vec<OperandValue>, start: usize) {
    let own = &mut values[start..];
    own.sort_unstable_by(|a, b| {
        (a.operand, a.literal)
            .cmp(&(b.operand, b.literal))
            .then(a.number.total_cmp(&b.number))
    });
    let mut kept = start;
    let mut at = start;
    while at < values.len() {
        let operand = values[at].operand;
        let end = at + values[at..].partition_point(|value| value.operand == operand);
        let numbers = || {
            values[at..end]
                .iter()
                .map(|value| value.number)
                .filter(|number| !number.is_nan())
        };
        let least = numbers().fold(f64::INFINITY, f64::min);
        let greatest = numbers().fold(f64::NEG_INFINITY, f64::max);
        let mut last = None;
        for here in at..end {
            let value = values[here];
            let is_needed = value.literal != NONE
                || value.number.is_nan()
                || value.number == least
                || value.number == greatest
                || segment.find_number(value.number).is_some();
            let bits = (value.literal, value.number.to_bits());
            if is_needed && last != Some(bits) {
                last = Some(bits);
                values[kept] = value;
                kept += 1;
            }
        }
        at = end;
    }
    values.truncate(kept);
}
