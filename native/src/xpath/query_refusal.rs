//! Why a query was refused.

use std::fmt;

/// Why a query was refused, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryRefusal {
    /// Stable code; Python's error table knows every one of them.
    pub code: &'static str,
    /// What is wrong, in a few words.
    pub message: String,
    /// Offset in the bytes of the query's UTF-8.
    pub offset_bytes: usize,
    /// Offset in its characters.
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

/// A refusal on its way out of the parser: small, so that success stays cheap.
pub(super) type Parsed<T> = Result<T, Box<Refused>>;

/// A refusal before its offset is counted in characters too.
#[derive(Debug)]
pub(super) struct Refused {
    pub code: &'static str,
    pub message: String,
    pub at: usize,
}

impl Refused {
    pub(super) fn in_text(self, text: &str) -> QueryRefusal {
        QueryRefusal {
            code: self.code,
            message: self.message,
            offset_bytes: self.at,
            offset_characters: text[..self.at].chars().count(),
        }
    }
}

/// A refusal with `code` at `at`.
#[cold]
pub(super) fn refuse<T>(code: &'static str, message: impl Into<String>, at: usize) -> Parsed<T> {
    Err(Box::new(Refused {
        code,
        message: message.into(),
        at,
    }))
}
