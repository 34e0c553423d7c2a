//! Keyword subscriptions for Python. Whatever takes time runs with the interpreter released.

use pyo3::prelude::*;

use crate::keywords::listen::Mode;
use crate::keywords::query::parse;
use crate::keywords::words::words_of;

/// Folded words, ascending, and `all` or `any`; or code, message and offset in characters.
type ParsedTuple = (
    Option<(Vec<String>, &'static str)>,
    Option<(&'static str, String, usize)>,
);

fn mode_text(mode: Mode) -> &'static str {
    match mode {
        Mode::All => "all",
        Mode::Any => "any",
    }
}

/// The words of a text, folded, in their order.
#[pyfunction]
pub fn words(text: &str) -> Vec<String> {
    words_of(text)
}

/// The query that a text says: its words and `all` or `any`; or code, message and offset in
/// characters of what is wrong.
#[pyfunction]
pub fn parse_keywords(text: &str) -> ParsedTuple {
    match parse(text) {
        Ok(query) => (Some((query.words, mode_text(query.mode))), None),
        Err(refusal) => (
            None,
            Some((refusal.code, refusal.message, refusal.offset_characters)),
        ),
    }
}
