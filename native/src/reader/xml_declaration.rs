//! The XML declaration.

use super::char_classes::is_space;
use super::error_codes;
use super::parse_error::{refuse, shown, ParseError, ParseResult};
use super::text_cursor::TextCursor;

/// Passes the XML declaration, if there is one, and gives the encoding it declares, if it does.
/// What it says of standing alone only matters to those who read external declarations.
pub(super) fn parse<'t>(cursor: &mut TextCursor<'t>) -> ParseResult<Option<&'t str>> {
    const OPENING: &str = "<?xml";
    let rest = cursor.rest();
    if rest.len() <= OPENING.len() && OPENING.starts_with(rest) && !cursor.complete {
        return Err(ParseError::More);
    }
    // `<?xml-stylesheet` and its like are instructions.
    if !rest.starts_with(OPENING)
        || !rest
            .as_bytes()
            .get(OPENING.len())
            .is_some_and(|&b| is_space(b))
    {
        return Ok(None);
    }
    cursor.at += OPENING.len();
    let Some(version) = setting(cursor, "version")? else {
        cursor.skip_space();
        return refuse(
            error_codes::DECLARATION,
            cursor.at,
            "the XML declaration has no version",
        );
    };
    let minor = version.strip_prefix("1.").unwrap_or("");
    if minor.is_empty() || !minor.bytes().all(|b| b.is_ascii_digit()) {
        let message = format!("{} is no version of XML 1", shown(version));
        return refuse(error_codes::DECLARATION, cursor.at, message);
    }
    let encoding = setting(cursor, "encoding")?;
    if encoding.is_some_and(|label| !is_label(label)) {
        return refuse(
            error_codes::DECLARATION,
            cursor.at,
            "the encoding's name is not well-formed",
        );
    }
    if let Some(other) = setting(cursor, "standalone")?.filter(|s| !["yes", "no"].contains(s)) {
        let message = format!("standalone is {}, neither yes nor no", shown(other));
        return refuse(error_codes::DECLARATION, cursor.at, message);
    }
    cursor.skip_space();
    cursor.expect("?>", error_codes::DECLARATION)?;
    Ok(encoding)
}

/// Passes ` name="value"`, if it is next, and gives the value.
fn setting<'t>(cursor: &mut TextCursor<'t>, name: &str) -> ParseResult<Option<&'t str>> {
    let before = cursor.at;
    let spaced = cursor.skip_space();
    if !cursor.take(name)? {
        cursor.at = before;
        return Ok(None);
    }
    if !spaced {
        let message = format!("white space is missing before {name}");
        return refuse(error_codes::DECLARATION, cursor.at, message);
    }
    cursor.skip_space();
    cursor.expect("=", error_codes::DECLARATION)?;
    cursor.skip_space();
    cursor.quoted(error_codes::DECLARATION).map(Some)
}

/// Production `EncName`.
fn is_label(label: &str) -> bool {
    label.starts_with(|c: char| c.is_ascii_alphabetic())
        && label
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
}
