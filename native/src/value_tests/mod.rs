//! Comparisons of string-values as XPath 1.0 defines them.
//!
//! A string-value is available at once (an attribute) or arrives in chunks (the text of an element).
//! [`ValueTest::holds`] handles the first case and a [`StringValueWatcher`] the second, with equal
//! results. A watcher stores no more than its test needs, however long the value is.

mod string_value_watcher;
mod transform;

use crate::xpath::ast::{DateType, Literal, Op, StringCondition, StringFunction};
use crate::xpath::date::milliseconds;
use crate::xpath::number::{number, NumberReader};
use crate::xpath::regex::Pattern;
pub use string_value_watcher::StringValueWatcher;
use transform::Transform;

/// Steps to visit a state of a pattern.
const STEPS_PER_STATE: usize = 4;

/// Steps to transform a chunk, besides those for its bytes.
const STEPS_PER_TRANSFORM: usize = 64;

/// Steps to transform a byte.
const STEPS_PER_TRANSFORMED_BYTE: usize = 8;

/// A test of one string-value.
#[derive(Clone, Debug)]
pub enum ValueTest {
    /// Equal to the text (`true`), or not equal to it (`false`).
    Text(Box<str>, bool),
    /// `number(value) op n`
    Number(Op, f64),
    /// The value contains the text.
    Contains(Box<Needle>),
    /// The value starts with the text.
    StartsWith(Box<str>),
    /// The value ends with the text.
    EndsWith(Box<Needle>),
    /// The pattern matches a part of the value.
    Matches(Pattern),
    /// Compares the number of characters.
    Length(Op, f64),
    /// Compares the point in time, in milliseconds; never true for a value that is none.
    Date(DateType, Op, f64),
    /// The test of the transformed value.
    Transformed(Box<(Transform, ValueTest)>),
}

impl ValueTest {
    /// `value op literal`, as XPath 1.0 compares a node with a literal.
    pub fn compare(op: Op, literal: &Literal) -> Self {
        match (op, literal) {
            (Op::Eq, Literal::Text(text)) => Self::Text(text.clone(), true),
            (Op::Ne, Literal::Text(text)) => Self::Text(text.clone(), false),
            (_, Literal::Text(text)) => Self::Number(op, number(text)),
            (_, Literal::Number(n)) => Self::Number(op, *n),
        }
    }

    /// `contains(value, text)`
    pub fn contains(text: &str) -> Self {
        Self::Contains(Box::new(Needle::new(text)))
    }

    /// `starts-with(value, text)`
    pub fn starts_with(text: &str) -> Self {
        Self::StartsWith(text.into())
    }

    /// The test of a value after `functions`.
    pub fn of_string(functions: &[StringFunction], condition: &StringCondition) -> Self {
        let test = match condition {
            StringCondition::Compare(op, literal) => Self::compare(*op, literal),
            StringCondition::Contains(text) => Self::contains(text),
            StringCondition::StartsWith(text) => Self::starts_with(text),
            StringCondition::EndsWith(text) => Self::EndsWith(Box::new(Needle::new(text))),
            StringCondition::Matches(pattern, flags) => Self::Matches(
                Pattern::compile(pattern, flags).expect("patterns of queries are valid"),
            ),
            StringCondition::Length(op, n) => Self::Length(*op, *n),
            StringCondition::Date(date_type, op, text) => {
                let instant = milliseconds(*date_type, text).expect("dates of queries are valid");
                Self::Date(*date_type, *op, instant)
            }
        };
        functions.iter().rev().fold(test, |test, function| {
            Self::Transformed(Box::new((Transform::new(function), test)))
        })
    }

    /// Roughly the most steps that testing a byte of a value takes.
    fn steps_per_byte(&self) -> usize {
        match self {
            Self::Matches(pattern) => STEPS_PER_STATE * pattern.state_count(),
            // In lower case, the value is tested twice where a capital sigma may end a word.
            Self::Transformed(transformed) => {
                STEPS_PER_TRANSFORMED_BYTE + 2 * transformed.1.steps_per_byte()
            }
            _ => 1,
        }
    }

    /// Whether it holds for a complete value, and the steps it took. If they exceed `steps_max`, the test
    /// ended early and the result means nothing.
    pub fn holds_within(&self, value: &str, steps_max: usize) -> (bool, usize) {
        if !matches!(self, Self::Matches(_) | Self::Transformed(_)) {
            return (self.holds(value), value.len());
        }
        let mut watcher = StringValueWatcher::new(self);
        let mut steps = watcher.feed_within(self, value, steps_max);
        let holds = steps <= steps_max && watcher.finish(self, &mut steps);
        (holds, steps)
    }

    /// Whether it holds for a complete value.
    pub fn holds(&self, value: &str) -> bool {
        match self {
            Self::EndsWith(needle) => value.as_bytes().ends_with(needle.bytes()),
            Self::Matches(pattern) => pattern.is_match(value),
            Self::Length(op, n) => compare_numbers(value.chars().count() as f64, *op, *n),
            Self::Date(date_type, op, n) => {
                milliseconds(*date_type, value).is_some_and(|instant| op.compare(instant, *n))
            }
            Self::Transformed(transformed) => {
                let (transform, test) = &**transformed;
                test.holds(&transform.apply(value))
            }
            Self::Text(text, equal) => (value == &**text) == *equal,
            Self::Number(op, n) => compare_numbers(number(value), *op, *n),
            Self::Contains(needle) => needle.finder.find(value.as_bytes()).is_some(),
            Self::StartsWith(text) => value.starts_with(&**text),
        }
    }
}

/// Whether `value op literal` holds, as XPath 1.0 compares a node with a literal.
#[cfg(test)]
pub fn compare(value: &str, op: Op, literal: &Literal) -> bool {
    match (op, literal) {
        (Op::Eq, Literal::Text(text)) => value == &**text,
        (Op::Ne, Literal::Text(text)) => value != &**text,
        (_, Literal::Text(text)) => compare_numbers(number(value), op, number(text)),
        (_, Literal::Number(n)) => compare_numbers(number(value), op, *n),
    }
}

/// `left op right` as in IEEE 754: with NaN, only `!=` is true.
pub fn compare_numbers(left: f64, op: Op, right: f64) -> bool {
    op.compare(left, right)
}

/// A text to search for, prepared for complete values and for values that arrive in chunks.
#[derive(Clone, Debug)]
pub struct Needle {
    finder: memchr::memmem::Finder<'static>,
    /// The Knuth-Morris-Pratt failure table: for each prefix of the text, the length of its longest
    /// proper prefix that is also a suffix.
    borders: Box<[u32]>,
}

impl Needle {
    fn new(text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut borders = vec![0_u32; bytes.len()];
        let mut border = 0_usize;
        for at in 1..bytes.len() {
            while border > 0 && bytes[at] != bytes[border] {
                border = borders[border - 1] as usize;
            }
            border += usize::from(bytes[at] == bytes[border]);
            borders[at] = u32::try_from(border).expect("a query is shorter than 4 GB");
        }
        Self {
            finder: memchr::memmem::Finder::new(bytes).into_owned(),
            borders: borders.into_boxed_slice(),
        }
    }

    fn bytes(&self) -> &[u8] {
        self.finder.needle()
    }

    /// How many bytes of the text match after `byte`, if `matched` bytes matched before it.
    fn step(&self, mut matched: usize, byte: u8) -> usize {
        let bytes = self.bytes();
        if matched == bytes.len() {
            matched = self.borders.last().map_or(0, |&border| border as usize);
        }
        while matched > 0 && bytes[matched] != byte {
            matched = self.borders[matched - 1] as usize;
        }
        matched + usize::from(bytes[matched] == byte)
    }
}
