//! XPath 1.0's values: what a string-value is worth, and how it compares with a literal.
//!
//! A string-value may arrive whole (an attribute) or in pieces (the text of an element). Both ways
//! give the same answers: [`ValueTest::holds`] for the first, a [`Watch`] for the second. A watch
//! never holds more than the test needs, however long the value is.

mod number;
mod string_value_watcher;

pub use number::{number, NumberReader};
pub use string_value_watcher::Watch;

use crate::xpath::ast::{Literal, Op};

/// A question about one string-value.
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

    /// Whether it holds for a value that is all there.
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
pub fn compare(value: &str, op: Op, literal: &Literal) -> bool {
    match (op, literal) {
        (Op::Eq, Literal::Text(text)) => value == &**text,
        (Op::Ne, Literal::Text(text)) => value != &**text,
        (_, Literal::Text(text)) => compare_numbers(number(value), op, number(text)),
        (_, Literal::Number(n)) => compare_numbers(number(value), op, *n),
    }
}

/// `left op right` as IEEE 754 has it: with NaN only `!=` is true.
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

/// A text to look for, prepared for values that are whole and for values that come in pieces.
#[derive(Clone, Debug)]
pub struct Needle {
    finder: memchr::memmem::Finder<'static>,
    /// Knuth, Morris and Pratt's table: for each prefix of the text, how long the longest proper
    /// prefix is that is also its suffix.
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

    /// How much of the text is matched after `byte`, when `matched` bytes of it were before.
    fn step(&self, mut matched: usize, byte: u8) -> usize {
        let bytes = self.bytes();
        while matched > 0 && bytes[matched] != byte {
            matched = self.borders[matched - 1] as usize;
        }
        matched + usize::from(bytes[matched] == byte)
    }
}
