//! String-values that arrive in pieces, buffered only as far as a literal could need them.

use crate::matching::operand_value::resolve;
use crate::matching::NONE;
use crate::path_index::segment::{Comparison, OperandRecord, Segment};
use crate::path_index::substring_search::SubstringScan;
use crate::xpath::ast::{DateType, StringFunction};
use crate::xpath::date::DateReader;
use crate::xpath::number::NumberReader;
use crate::xpath::string_functions::{apply, fold_case, SpaceNormalizer};

/// Steps to append a piece to a value, besides those for its bytes.
const STEPS_PER_PIECE: usize = 8;

/// Steps to normalize a byte, if it is white space.
const STEPS_PER_NORMALIZED_BYTE: usize = 4;

/// Steps to find the literal that equals a value.
const STEPS_PER_EQUAL: usize = 16;

/// Steps to fold a byte.
const STEPS_PER_FOLDED_BYTE: usize = 8;

/// A string-value that is being collected.
#[derive(Default)]
pub(super) struct StringValueBuffer {
    /// The beginning, no longer than the longest literal.
    text: String,
    /// Set for a value longer than any literal, which can only be compared as a number.
    long_number: Option<NumberReader>,
    /// Set if some condition searches the value for literals.
    scan: Option<SubstringScan>,
    /// Set if some condition searches the folded value for literals.
    caseless_scan: Option<SubstringScan>,
    /// Set if some condition compares the value after `normalize-space()`.
    normal: Option<NormalValue>,
    /// Set if some condition compares the number of characters.
    length: Option<u64>,
    /// Set if some condition compares the value as a date.
    date: Option<DateReader>,
}

/// A string-value after `normalize-space()`.
#[derive(Default)]
struct NormalValue {
    spaces: SpaceNormalizer,
    text: String,
    /// Whether it is longer than any literal; the text is then incomplete.
    is_long: bool,
}

impl StringValueBuffer {
    /// Appends a piece; `folded` is the piece after folding, once a value needs it. Returns the steps it
    /// took.
    fn feed(
        &mut self,
        segment: &Segment,
        (piece, folded): (&str, &mut Option<String>),
        bytes_max: usize,
    ) -> usize {
        let mut steps = STEPS_PER_PIECE + piece.len();
        if let Some(scan) = &mut self.scan {
            steps += segment.substrings.feed(scan, piece);
        }
        if let Some(scan) = &mut self.caseless_scan {
            let folded = folded.get_or_insert_with(|| {
                steps += piece.len() * STEPS_PER_FOLDED_BYTE;
                fold_case(piece)
            });
            steps += segment.substrings.feed(scan, folded);
        }
        if let Some(normal) = self.normal.as_mut().filter(|normal| !normal.is_long) {
            normal.is_long = !normal.spaces.feed(piece, &mut normal.text, bytes_max);
            steps += piece.len() * STEPS_PER_NORMALIZED_BYTE;
        }
        if let Some(length) = &mut self.length {
            *length += piece.chars().count() as u64;
            steps += piece.len();
        }
        if let Some(reader) = &mut self.date {
            reader.feed(piece);
            steps += piece.len();
        }
        match &mut self.long_number {
            Some(reader) => reader.feed(piece),
            None if self.text.len() + piece.len() <= bytes_max => self.text.push_str(piece),
            None => {
                let mut reader = NumberReader::default();
                reader.feed(&self.text);
                reader.feed(piece);
                self.long_number = Some(reader);
                let mut end = bytes_max - self.text.len();
                while !piece.is_char_boundary(end) {
                    end -= 1;
                }
                self.text.push_str(&piece[..end]);
            }
        }
        steps
    }

    /// The literal that the value equals and its value as a number, as far as `uses` need them.
    #[inline]
    pub fn resolve(&self, segment: &Segment, uses: u32) -> (u32, f64) {
        match &self.long_number {
            Some(reader) if uses & Comparison::NUMERIC != 0 => (NONE, reader.finish()),
            Some(_) => (NONE, f64::NAN),
            None => resolve(segment, &self.text, uses),
        }
    }

    /// The number of the value in a numeric view other than that of the text itself.
    pub fn number_in_view(&self, view: usize) -> f64 {
        let date = |date_type| {
            let reader = self.date.as_ref();
            reader.and_then(|reader| reader.finish(date_type))
        };
        match view {
            OperandRecord::LENGTH => self.length.map_or(f64::NAN, |length| length as f64),
            OperandRecord::DATE => date(DateType::Date).unwrap_or(f64::NAN),
            OperandRecord::DATE_TIME => date(DateType::DateTime).unwrap_or(f64::NAN),
            _ => unreachable!("the view is not numeric"),
        }
    }

    /// Appends the literals that occur in the value, in that view. Returns the steps it took.
    pub fn find_literals(&self, segment: &Segment, view: usize, found: &mut Vec<u32>) -> usize {
        match (view, &self.scan, &self.caseless_scan) {
            (OperandRecord::SUBSTRINGS, Some(scan), _)
            | (OperandRecord::CASELESS_SUBSTRINGS, _, Some(scan)) => scan.append_found(found),
            (OperandRecord::PREFIXES, ..) => {
                segment.prefixes.find(&segment.literals, &self.text, found)
            }
            (OperandRecord::NORMALIZED_SPACE, ..) => {
                let normal = self.normal.as_ref().filter(|normal| !normal.is_long);
                normal.map_or(0, |normal| find_equal(segment, &normal.text, found))
            }
            _ => unreachable!("a value is scanned if some condition searches it for literals"),
        }
    }
}

/// Appends the literals that occur in `text`, in that view. Returns the steps it took.
pub(super) fn find_literals(
    segment: &Segment,
    text: &str,
    view: usize,
    found: &mut Vec<u32>,
) -> usize {
    let mut scan = SubstringScan::default();
    let steps = match view {
        OperandRecord::PREFIXES => return segment.prefixes.find(&segment.literals, text, found),
        OperandRecord::NORMALIZED_SPACE => {
            let normal = apply(&StringFunction::NormalizeSpace, text);
            return find_equal(segment, &normal, found) + text.len() * STEPS_PER_NORMALIZED_BYTE;
        }
        OperandRecord::CASELESS_SUBSTRINGS => {
            let folded = fold_case(text);
            segment.substrings.feed(&mut scan, &folded) + text.len() * STEPS_PER_FOLDED_BYTE
        }
        _ => segment.substrings.feed(&mut scan, text),
    };
    steps + scan.append_found(found)
}

/// Appends the literal that equals `text`. Returns the steps it took.
fn find_equal(segment: &Segment, text: &str, found: &mut Vec<u32>) -> usize {
    let literal = segment
        .literal_table
        .find(&segment.literals, text.as_bytes());
    found.extend(literal);
    STEPS_PER_EQUAL
}

/// Nested string-values that are being collected, innermost last. Buffers are reused.
pub(super) struct StringValueStack {
    buffers: Vec<StringValueBuffer>,
    open: usize,
    literal_bytes_max: usize,
}

impl StringValueStack {
    /// A stack for values that are compared with the literals of `segment`.
    pub fn new(segment: &Segment) -> StringValueStack {
        let lengths = segment
            .literals
            .ends
            .windows(2)
            .map(|ends| (ends[1] - ends[0]) as usize);
        StringValueStack {
            buffers: Vec::new(),
            open: 0,
            literal_bytes_max: lengths.max().unwrap_or(0),
        }
    }

    /// Drops all values.
    pub fn clear(&mut self) {
        self.open = 0;
    }

    /// Number of values that are being collected.
    pub fn count(&self) -> usize {
        self.open
    }

    /// Begins a value inside those being collected; `uses` are its uses by view.
    #[inline]
    pub fn begin(&mut self, uses: &[u32; OperandRecord::VIEWS]) {
        if self.open == self.buffers.len() {
            self.buffers.push(StringValueBuffer::default());
        }
        let buffer = &mut self.buffers[self.open];
        buffer.text.clear();
        buffer.long_number = None;
        let is_used = |view: usize| uses[view] != 0;
        buffer.scan = is_used(OperandRecord::SUBSTRINGS).then(SubstringScan::default);
        buffer.caseless_scan =
            is_used(OperandRecord::CASELESS_SUBSTRINGS).then(SubstringScan::default);
        buffer.normal = is_used(OperandRecord::NORMALIZED_SPACE).then(Default::default);
        buffer.length = is_used(OperandRecord::LENGTH).then_some(0);
        let is_date = is_used(OperandRecord::DATE) || is_used(OperandRecord::DATE_TIME);
        buffer.date = is_date.then(DateReader::default);
        self.open += 1;
    }

    /// Appends a piece of text to every value that is being collected. Returns the steps it took; once
    /// they exceed `steps_max`, the other values are not continued.
    #[inline]
    pub fn feed(&mut self, segment: &Segment, piece: &str, steps_max: usize) -> usize {
        let (mut steps, mut folded) = (0, None);
        for buffer in &mut self.buffers[..self.open] {
            steps += buffer.feed(segment, (piece, &mut folded), self.literal_bytes_max);
            if steps > steps_max {
                break;
            }
        }
        steps
    }

    /// Ends the innermost value.
    #[inline]
    pub fn end(&mut self) {
        self.open -= 1;
    }

    /// The value that ended last, if none has begun since.
    #[inline]
    pub fn ended(&mut self) -> &mut StringValueBuffer {
        &mut self.buffers[self.open]
    }
}
