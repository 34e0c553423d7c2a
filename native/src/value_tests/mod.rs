//! Comparisons of string-values as XPath 1.0 defines them.
//!
//! A string-value is available at once (an attribute) or arrives in chunks (the text of an element).
//! [`ValueTest::holds`] handles the first case and a [`StringValueWatcher`] the second, with equal
//! results. A watcher stores no more than its test needs, however long the value is.

mod string_value_watcher;

use crate::xpath::number::{number, NumberReader};
pub use string_value_watcher::StringValueWatcher;

use crate::xpath::ast::{Literal, Op};

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

    /// Whether it holds for a complete value.
    pub fn holds(&self, value: &str) -> bool {
        match self {
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
    match op {
        Op::Eq => left == right,
        Op::Ne => left != right,
        Op::Lt => left < right,
        Op::Le => left <= right,
        Op::Gt => left > right,
        Op::Ge => left >= right,
    }
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
        while matched > 0 && bytes[matched] != byte {
            matched = self.borders[matched - 1] as usize;
        }
        matched + usize::from(bytes[matched] == byte)
    }
}
