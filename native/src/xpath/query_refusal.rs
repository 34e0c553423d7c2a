//! Refusals of queries.

use std::fmt;

/// Why a query was refused, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryRefusal {
    /// Stable code, listed in Python's error table.
    pub code: &'static str,
    /// What is wrong, in a few words.
    pub message: String,
    /// Offset in bytes of UTF-8.
    pub offset_bytes: usize,
    /// Offset in characters.
    pub offset_characters: usize,
}

impl fmt::Display for QueryRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} at character {}: {}",
            self.code, self.offset_characters, self.message
        )
    }
}

impl std::error::Error for QueryRefusal {}

/// The result of a parser function. The error is boxed to keep results small.
pub(super) type Parsed<T> = Result<T, Box<Refused>>;

/// A refusal whose offset in characters has not been computed yet.
#[derive(Debug)]
pub(super) struct Refused {
    pub code: &'static str,
    pub message: String,
    pub at: usize,
}

impl Refused {
    pub(super) fn into_refusal(self, text: &str) -> QueryRefusal {
        QueryRefusal {
            code: self.code,
            message: self.message,
            offset_bytes: self.at,
            offset_characters: text[..self.at].chars().count(),
        }
    }
}

/// Refuses the query with `code` at offset `at`.
#[cold]
pub(super) fn refuse<T>(code: &'static str, message: impl Into<String>, at: usize) -> Parsed<T> {
    Err(Box::new(Refused {
        code,
        message: message.into(),
        at,
    }))
}
