//! The XML declaration.

use super::char_classes::is_space;
use super::error_codes;
use super::parse_error::{quote, refuse, ParseError, ParseResult};
use super::text_cursor::TextCursor;

/// What an XML declaration declares.
#[derive(Debug, Default)]
pub(super) struct XmlDeclaration<'t> {
    pub encoding: Option<&'t str>,
    /// Whether it has `standalone="yes"`.
    pub is_standalone: bool,
}

/// Parses the XML declaration, if there is one.
pub(super) fn parse<'t>(cursor: &mut TextCursor<'t>) -> ParseResult<XmlDeclaration<'t>> {
    const OPENING: &str = "<?xml";
    let rest = cursor.rest();
    if rest.len() <= OPENING.len() && OPENING.starts_with(rest) && !cursor.complete {
        return Err(ParseError::NeedMore);
    }
    // `<?xml-stylesheet` and the like are processing instructions.
    if !rest.starts_with(OPENING)
        || !rest
            .as_bytes()
            .get(OPENING.len())
            .is_some_and(|&b| is_space(b))
    {
        return Ok(XmlDeclaration::default());
    }
    cursor.at += OPENING.len();
    let Some(version) = pseudo_attribute(cursor, "version")? else {
        cursor.skip_space();
        return refuse(
            error_codes::DECLARATION,
            cursor.at,
            "the XML declaration has no version",
        );
    };
    let minor = version.strip_prefix("1.").unwrap_or("");
    if minor.is_empty() || !minor.bytes().all(|b| b.is_ascii_digit()) {
        let message = format!("{} is not a version of XML 1", quote(version));
        return refuse(error_codes::DECLARATION, cursor.at, message);
    }
    let encoding = pseudo_attribute(cursor, "encoding")?;
    if encoding.is_some_and(|label| !is_encoding_name(label)) {
        return refuse(
            error_codes::DECLARATION,
            cursor.at,
            "the encoding name is not well-formed",
        );
    }
    let standalone = pseudo_attribute(cursor, "standalone")?;
    if let Some(other) = standalone.filter(|s| !["yes", "no"].contains(s)) {
        let message = format!("standalone is {}, neither yes nor no", quote(other));
        return refuse(error_codes::DECLARATION, cursor.at, message);
    }
    cursor.skip_space();
    cursor.expect("?>", error_codes::DECLARATION)?;
    Ok(XmlDeclaration {
        encoding,
        is_standalone: standalone == Some("yes"),
    })
}

/// Consumes ` name="value"` if it is next; returns the value.
fn pseudo_attribute<'t>(cursor: &mut TextCursor<'t>, name: &str) -> ParseResult<Option<&'t str>> {
    let before = cursor.at;
    let has_space = cursor.skip_space();
    if !cursor.take(name)? {
        cursor.at = before;
        return Ok(None);
    }
    if !has_space {
        let message = format!("white space is missing before {name}");
        return refuse(error_codes::DECLARATION, cursor.at, message);
    }
    cursor.skip_space();
    cursor.expect("=", error_codes::DECLARATION)?;
    cursor.skip_space();
    cursor.quoted_literal(error_codes::DECLARATION).map(Some)
}

/// Production `EncName`.
fn is_encoding_name(label: &str) -> bool {
    label.starts_with(|c: char| c.is_ascii_alphabetic())
        && label
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
}
