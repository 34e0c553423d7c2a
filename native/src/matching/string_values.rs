//! String-values as they arrive, kept only as far as some literal could need them.

use crate::matching::alphabet::NONE;
use crate::path_index::segment::{Comparison, Segment, SlotRecord};
use crate::path_index::substring_search::Search;
use crate::xpath::number::{number, NumberReader};

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
    /// A value of a slot, as it was measured.
    #[inline]
    pub fn new(slot: u32, (literal, number): (u32, f64)) -> Value {
        Value {
            slot,
            literal,
            number,
        }
    }

    /// Whether the value can decide something, when `asked` is what is asked of its slot.
    #[inline]
    pub fn matters(&self, asked: u32) -> bool {
        const EQUAL: u32 = Comparison::EqText.bit();
        match asked & Comparison::ALL {
            0 => false,
            EQUAL => self.literal != NONE,
            _ => true,
        }
    }
}

/// A string-value being gathered.
#[derive(Default)]
pub struct Gathering {
    // The beginning, no longer than the longest literal.
    text: String,
    // Only for a value longer than any literal: it can then only count as a number.
    long: Option<NumberReader>,
    // Only where some condition looks for literals in it.
    search: Option<Search>,
}

impl Gathering {
    fn feed(&mut self, segment: &Segment, piece: &str, bytes_max: usize) {
        if let Some(search) = &mut self.search {
            segment.parts.feed(search, piece);
        }
        match &mut self.long {
            Some(reader) => reader.feed(piece),
            None if self.text.len() + piece.len() <= bytes_max => self.text.push_str(piece),
            None => {
                let mut reader = NumberReader::default();
                reader.feed(&self.text);
                reader.feed(piece);
                self.long = Some(reader);
                let mut cut = bytes_max - self.text.len();
                while !piece.is_char_boundary(cut) {
                    cut -= 1;
                }
                self.text.push_str(&piece[..cut]);
            }
        }
    }

    /// The literal that the value equals, and what it is worth as a number, as far as that is asked.
    #[inline]
    pub fn measure(&self, segment: &Segment, asked: u32) -> (u32, f64) {
        match &self.long {
            Some(reader) if asked & Comparison::NUMERIC != 0 => (NONE, reader.finish()),
            Some(_) => (NONE, f64::NAN),
            None => measure(segment, &self.text, asked),
        }
    }

    /// Adds the literals that are in the value in that view.
    pub fn find(&mut self, segment: &Segment, view: usize, found: &mut Vec<u32>) {
        match (view, &mut self.search) {
            (SlotRecord::PARTS, Some(search)) => found.extend_from_slice(search.found()),
            (SlotRecord::STARTS, _) => segment.starts.find(&segment.literals, &self.text, found),
            _ => unreachable!("a value is searched where some condition looks for literals in it"),
        }
    }
}

/// Adds the literals that are in `text` in that view.
pub fn find(segment: &Segment, text: &str, view: usize, found: &mut Vec<u32>) {
    if view == SlotRecord::STARTS {
        segment.starts.find(&segment.literals, text, found);
    } else {
        let mut search = Search::default();
        segment.parts.feed(&mut search, text);
        found.extend_from_slice(search.found());
    }
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

    /// Begins another value, inside those being gathered; `searched` says whether some condition looks
    /// for literals in it.
    #[inline]
    pub fn begin(&mut self, searched: bool) {
        if self.open == self.gatherings.len() {
            self.gatherings.push(Gathering::default());
        }
        let gathering = &mut self.gatherings[self.open];
        gathering.text.clear();
        gathering.long = None;
        gathering.search = searched.then(Search::default);
        self.open += 1;
    }

    /// Adds a piece of text to every value being gathered.
    #[inline]
    pub fn feed(&mut self, segment: &Segment, piece: &str) {
        for gathering in &mut self.gatherings[..self.open] {
            gathering.feed(segment, piece, self.literal_bytes_max);
        }
    }

    /// Ends the innermost value.
    #[inline]
    pub fn end(&mut self) {
        self.open -= 1;
    }

    /// The value that was ended last, since when none was begun.
    #[inline]
    pub fn ended(&mut self) -> &mut Gathering {
        &mut self.gatherings[self.open]
    }
}

/// The literal that a text equals, and what it is worth as a number, as far as that is asked.
#[inline]
pub fn measure(segment: &Segment, text: &str, asked: u32) -> (u32, f64) {
    measure_bytes(segment, text.as_bytes(), || text, asked)
}

/// The same for a text of which only the bytes are at hand; as a number it is rarely asked for.
#[inline]
pub fn measure_bytes<'a>(
    segment: &Segment,
    bytes: &[u8],
    text: impl FnOnce() -> &'a str,
    asked: u32,
) -> (u32, f64) {
    let literal = || segment.literal_table.find(&segment.literals, bytes);
    let textual = asked & Comparison::TEXTUAL != 0;
    let numeric = asked & Comparison::NUMERIC != 0;
    (
        textual.then(literal).flatten().unwrap_or(NONE),
        if numeric { number(text()) } else { f64::NAN },
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
