//! The regular expressions of XPath 2.0's `matches()`, evaluated in time linear in the text.
//!
//! The parser accepts the syntax of XML Schema with the additions of XPath 2.0 (`^`, `$`, reluctant
//! quantifiers) and `(?:...)`. Back-references and Unicode blocks are refused. A pattern becomes a
//! nondeterministic automaton over characters of at most [`MAX_PATTERN_STATES`] states, which
//! [`PatternMatcher`] simulates: each character costs at most one visit per state, whatever the pattern.
//! `pattern.py` is the same in Python.
//!
//! [`MAX_PATTERN_STATES`]: super::limits::MAX_PATTERN_STATES

mod automaton;
mod character_class;
mod compiler;
mod required_text;
mod syntax;

pub use automaton::{Pattern, PatternMatcher};
pub use required_text::required_text;
pub(super) use syntax::PatternRefusal;

use super::limits::MAX_PATTERN_STATES;

impl Pattern {
    /// Compiles a pattern with flags.
    ///
    /// # Errors
    /// Why the pattern or a flag is refused, and where.
    pub fn compile(pattern: &str, flags: &str) -> Result<Pattern, PatternRefusal> {
        let flags = syntax::Flags::parse(flags)?;
        let tree = syntax::parse(pattern, flags)?;
        compiler::compile(&tree, flags).ok_or_else(|| PatternRefusal {
            code: "query.limit",
            message: format!("a pattern of more than {MAX_PATTERN_STATES} states"),
            in_flags: false,
            offset: 0,
        })
    }
}

#[cfg(test)]
mod tests;
