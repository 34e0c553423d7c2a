//! String-values as they arrive, kept only as far as some literal could need them.

use super::letters::NONE;
use crate::index::segment::{Comparison, Segment};
use crate::values::{number, NumberReader};

/// One value of a slot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Value {
    /// The slot.
    pub slot: u32,
    /// The literal it equals as text, or [`NONE`]; [`NONE`] also where no condition asks.
    pub literal: u32,
    /// What it is worth as a number; NaN also where no condition asks.
    pub number: f64,
}

impl Value {
    /// Whether the value can decide something, when `asked` is what is asked of its slot.
    #[inline]
    pub fn matters(&self, asked: u32) -> bool {
        self.literal != NONE || asked & Comparison::ALL != Comparison::EqText.bit()
    }
}

/// A string-value being gathered.
#[derive(Default)]
struct Gathering {
    text: String,
    // Only for a value longer than any literal: it can then only count as a number.
    long: Option<NumberReader>,
}

/// The string-values of the open elements that some condition looks at, innermost last.
pub struct Gatherer {
    gatherings: Vec<Gathering>,
    open: usize,
    literal_bytes_max: usize,
}

impl Gatherer {
    /// A gatherer for the literals of `segment`.
    pub fn new(segment: &Segment) -> Gatherer {
        let lengths = segment
            .literals
            .ends
            .windows(2)
            .map(|ends| (ends[1] - ends[0]) as usize);
        Gatherer {
            gatherings: Vec::new(),
            open: 0,
            literal_bytes_max: lengths.max().unwrap_or(0),
        }
    }

    /// Forgets all values.
    pub fn clear(&mut self) {
        self.open = 0;
    }

    /// How many values are being gathered.
    pub fn count(&self) -> usize {
        self.open
    }

    /// Begins another value, inside those being gathered.
    #[inline]
    pub fn begin(&mut self) {
        if self.open == self.gatherings.len() {
            self.gatherings.push(Gathering::default());
        }
        let gathering = &mut self.gatherings[self.open];
        gathering.text.clear();
        gathering.long = None;
        self.open += 1;
    }

    /// Adds a piece of text to every value being gathered.
    #[inline]
    pub fn feed(&mut self, piece: &str) {
        for gathering in &mut self.gatherings[..self.open] {
            match &mut gathering.long {
                Some(reader) => reader.feed(piece),
                None if gathering.text.len() + piece.len() <= self.literal_bytes_max => {
                    gathering.text.push_str(piece)
                }
                None => {
                    let mut reader = NumberReader::default();
                    reader.feed(&gathering.text);
                    reader.feed(piece);
                    gathering.long = Some(reader);
                }
            }
        }
    }

    /// Ends the innermost value: the literal that it equals and what it is worth as a number, as far as
    /// that is asked.
    #[inline]
    pub fn end(&mut self, segment: &Segment, asked: u32) -> (u32, f64) {
        self.open -= 1;
        let gathering = &self.gatherings[self.open];
        match &gathering.long {
            Some(reader) if asked & Comparison::NUMERIC != 0 => (NONE, reader.finish()),
            Some(_) => (NONE, f64::NAN),
            None => measure(segment, &gathering.text, asked),
        }
    }
}

/// The literal that a text equals, and what it is worth as a number, as far as that is asked.
#[inline]
pub fn measure(segment: &Segment, text: &str, asked: u32) -> (u32, f64) {
    let literal = || {
        let table = &segment.literal_table;
        table.find(&segment.literals, text.as_bytes())
    };
    let textual = asked & Comparison::TEXTUAL != 0;
    let numeric = asked & Comparison::NUMERIC != 0;
    (
        textual.then(literal).flatten().unwrap_or(NONE),
        if numeric { number(text) } else { f64::NAN },
    )
}

/// Leaves out of one element's values those that decide nothing that others do not: of each slot it
/// keeps every value that some literal could equal, the least, the greatest, and one that is neither
/// known nor a number. So an element with a million children still keeps few.
pub fn compact(segment: &Segment, values: &mut Vec<Value>, start: usize) {
    let own = &mut values[start..];
    own.sort_unstable_by(|a, b| {
        (a.slot, a.literal)
            .cmp(&(b.slot, b.literal))
            .then(a.number.total_cmp(&b.number))
    });
    let mut kept = start;
    let mut at = start;
    while at < values.len() {
        let slot = values[at].slot;
        let end = at + values[at..].partition_point(|value| value.slot == slot);
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
            let known = value.literal != NONE
                || value.number.is_nan()
                || value.number == least
                || value.number == greatest
                || segment.find_number(value.number).is_some();
            let bits = (value.literal, value.number.to_bits());
            if known && last != Some(bits) {
                last = Some(bits);
                values[kept] = value;
                kept += 1;
            }
        }
        at = end;
    }
    values.truncate(kept);
}
