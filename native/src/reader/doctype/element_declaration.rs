//! Element declarations, which are checked and ignored.

use crate::reader::error_codes;
use crate::reader::parse_error::{refuse, ParseResult};
use crate::reader::text_cursor::TextCursor;

/// Parses an element declaration after `<!ELEMENT`.
pub(super) fn declaration(cursor: &mut TextCursor<'_>, depth_max: usize) -> ParseResult<()> {
    cursor.expect_space(error_codes::DOCTYPE)?;
    cursor.qualified_name()?;
    cursor.expect_space(error_codes::DOCTYPE)?;
    if !cursor.take("EMPTY")? && !cursor.take("ANY")? {
        cursor.expect("(", error_codes::DOCTYPE)?;
        cursor.skip_space();
        if cursor.take("#PCDATA")? {
            mixed(cursor)?;
        } else {
            children(cursor, depth_max)?;
        }
    }
    cursor.skip_space();
    cursor.expect(">", error_codes::DOCTYPE)
}

/// Parses mixed content after `(#PCDATA`.
fn mixed(cursor: &mut TextCursor<'_>) -> ParseResult<()> {
    let mut any_name = false;
    loop {
        cursor.skip_space();
        if cursor.take("|")? {
            cursor.skip_space();
            cursor.qualified_name()?;
            any_name = true;
        } else if any_name {
            return cursor.expect(")*", error_codes::DOCTYPE);
        } else {
            cursor.expect(")", error_codes::DOCTYPE)?;
            cursor.take("*")?;
            return Ok(());
        }
    }
}

/// Parses a content model of elements after its first `(`.
fn children(cursor: &mut TextCursor<'_>, depth_max: usize) -> ParseResult<()> {
    /// The separator of a group that has shown none yet.
    const UNKNOWN: u8 = 0;
    let mut separators = vec![UNKNOWN];
    while !separators.is_empty() {
        // A particle: the start of a group, or a name.
        cursor.skip_space();
        if cursor.take("(")? {
            if separators.len() == depth_max {
                let message = format!("a content model is nested deeper than {depth_max}");
                return refuse(error_codes::LIMIT_DEPTH, cursor.at, message);
            }
            separators.push(UNKNOWN);
            continue;
        }
        cursor.qualified_name()?;
        occurrence(cursor)?;
        // After it: ends of groups, or a separator.
        loop {
            cursor.skip_space();
            let next = cursor.peek()?;
            let Some(known) = separators.last_mut() else {
                break;
            };
            if next == b')' {
                cursor.at += 1;
                separators.pop();
                if separators.is_empty() {
                    return occurrence(cursor);
                }
                occurrence(cursor)?;
            } else if matches!(next, b'|' | b',') && (*known == UNKNOWN || *known == next) {
                *known = next;
                cursor.at += 1;
                break;
            } else {
                return refuse(
                    error_codes::DOCTYPE,
                    cursor.at,
                    "a content model is not well-formed here",
                );
            }
        }
    }
    Ok(())
}

fn occurrence(cursor: &mut TextCursor<'_>) -> ParseResult<()> {
    if matches!(cursor.peek()?, b'?' | b'*' | b'+') {
        cursor.at += 1;
    }
    Ok(())
}
