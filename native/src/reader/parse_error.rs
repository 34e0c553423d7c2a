//! Why a step could not be taken.

use crate::events::Stop;

use super::error_codes;

/// A step's result.
pub(super) type ParseResult<T> = Result<T, ParseError>;

/// Why a step could not be taken.
#[derive(Debug)]
pub(super) enum ParseError {
    /// The window ends inside a token: come again with more.
    More,
    /// The document is refused.
    Refused(Box<Fault>),
}

/// A refusal whose place is still an offset into the window.
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

    /// What a handler's wish to stop means at `at`.
    #[cold]
    pub(super) fn stop(stop: Stop, at: usize) -> Self {
        Self::new(stop.code, at, stop.message)
    }

    /// The same, placed at `at`: what went wrong inside an entity is shown where it is used.
    pub(super) fn placed(self, at: usize) -> Self {
        match self {
            Self::More => Self::More,
            Self::Refused(fault) => Self::new(fault.code, at, fault.message),
        }
    }

    /// The same, `by` further on: for what was found in a part of the window.
    pub(super) fn shifted(self, by: usize) -> Self {
        match self {
            Self::More => Self::More,
            Self::Refused(fault) => Self::new(fault.code, fault.at + by, fault.message),
        }
    }

    /// The end of the text inside `what`: more is to come, or never will.
    #[cold]
    pub(super) fn ended(complete: bool, at: usize, what: &str) -> Self {
        if complete {
            Self::new(
                error_codes::UNCLOSED,
                at,
                format!("the text ends inside {what}"),
            )
        } else {
            Self::More
        }
    }
}

/// Refuses.
pub(super) fn refuse<T>(
    code: &'static str,
    at: usize,
    message: impl Into<String>,
) -> ParseResult<T> {
    Err(ParseError::new(code, at, message))
}

/// `text` for a message: short, and in quotes.
pub(super) fn shown(text: &str) -> String {
    const SHOWN_CHARS: usize = 40;
    let mut short: String = text.chars().take(SHOWN_CHARS).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    format!("{short:?}")
}
