//! Errors of the parser's functions.

use crate::events::Stop;

use super::error_codes;

/// The result of parsing a part of a window.
pub(super) type ParseResult<T> = Result<T, ParseError>;

/// Why a part of a window could not be parsed.
#[derive(Debug)]
pub(super) enum ParseError {
    /// The window ends inside a token; parsing continues with more text.
    NeedMore,
    /// The document is refused.
    Refused(Box<Fault>),
}

/// A refusal whose position is an offset in the window.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    pub code: &'static str,
    pub message: String,
    pub at: usize,
}

impl Fault {
    pub(super) fn new(code: &'static str, at: usize, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            at,
        }
    }
}

impl ParseError {
    #[cold]
    pub(super) fn new(code: &'static str, at: usize, message: impl Into<String>) -> Self {
        Self::Refused(Box::new(Fault::new(code, at, message)))
    }

    /// A handler's request to stop, at offset `at`.
    #[cold]
    pub(super) fn stop(stop: Stop, at: usize) -> Self {
        Self::new(stop.code, at, stop.message)
    }

    /// The same error at offset `at`: an error inside an entity is reported at the reference.
    pub(super) fn at(self, at: usize) -> Self {
        match self {
            Self::NeedMore => Self::NeedMore,
            Self::Refused(fault) => Self::new(fault.code, at, fault.message),
        }
    }

    /// The same error, `by` bytes further on: for errors found in a part of the window.
    pub(super) fn shifted(self, by: usize) -> Self {
        match self {
            Self::NeedMore => Self::NeedMore,
            Self::Refused(fault) => Self::new(fault.code, fault.at + by, fault.message),
        }
    }

    /// The window ends inside `what`: a request for more text, or a refusal if the text is complete.
    #[cold]
    pub(super) fn ended(complete: bool, at: usize, what: &str) -> Self {
        if complete {
            Self::new(
                error_codes::UNCLOSED,
                at,
                format!("the text ends inside {what}"),
            )
        } else {
            Self::NeedMore
        }
    }
}

/// An error that refuses the document.
pub(super) fn refuse<T>(
    code: &'static str,
    at: usize,
    message: impl Into<String>,
) -> ParseResult<T> {
    Err(ParseError::new(code, at, message))
}

/// `text` in quotes for a message, shortened if necessary.
pub(super) fn quote(text: &str) -> String {
    const QUOTED_CHARS_MAX: usize = 40;
    let mut short: String = text.chars().take(QUOTED_CHARS_MAX).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    format!("{short:?}")
}
