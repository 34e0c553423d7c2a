//! Attribute-list declarations: types and defaults.

use crate::reader::attribute_value::{collapse, ValueNormaliser};
use crate::reader::error_codes;
use crate::reader::parse_error::{refuse, ParseResult};
use crate::reader::text_cursor::TextCursor;

use super::internal_subset::SubsetParser;

/// The types that are keywords. A keyword precedes its own prefixes.
const KEYWORD_TYPES: [&str; 8] = [
    "IDREFS", "IDREF", "ID", "ENTITIES", "ENTITY", "NMTOKENS", "NMTOKEN", "CDATA",
];

/// Parses an attribute-list declaration after `<!ATTLIST`.
pub(super) fn declaration(
    subset: &mut SubsetParser<'_>,
    cursor: &mut TextCursor<'_>,
    normalise_line_ends: bool,
) -> ParseResult<()> {
    cursor.expect_space(error_codes::DOCTYPE)?;
    let element = cursor.qualified_name()?;
    loop {
        let has_space = cursor.skip_space();
        if cursor.take(">")? {
            return Ok(());
        }
        if !has_space {
            return refuse(
                error_codes::DOCTYPE,
                cursor.at,
                "white space is missing before an attribute",
            );
        }
        subset.count_declaration(cursor.at)?;
        let name = cursor.qualified_name()?;
        cursor.expect_space(error_codes::DOCTYPE)?;
        let is_tokenized = attribute_type(cursor)?;
        cursor.expect_space(error_codes::DOCTYPE)?;
        let default = default_value(subset, cursor, normalise_line_ends)?;
        let default = default.map(|mut value| {
            if is_tokenized {
                collapse(&mut value, 0);
            }
            value
        });
        subset
            .doctype
            .declare_attribute(element, name, is_tokenized, default);
    }
}

/// Parses an attribute type; whether it is not `CDATA`.
fn attribute_type(cursor: &mut TextCursor<'_>) -> ParseResult<bool> {
    for word in KEYWORD_TYPES {
        if cursor.take(word)? {
            return Ok(word != "CDATA");
        }
    }
    let notation = cursor.take("NOTATION")?;
    if notation {
        cursor.expect_space(error_codes::DOCTYPE)?;
    }
    cursor.expect("(", error_codes::DOCTYPE)?;
    loop {
        cursor.skip_space();
        if notation {
            cursor.ncname()?;
        } else {
            cursor.name_token()?;
        }
        cursor.skip_space();
        if !cursor.take("|")? {
            cursor.expect(")", error_codes::DOCTYPE)?;
            return Ok(true);
        }
    }
}

/// Parses a default declaration; returns the default value, if there is one.
fn default_value(
    subset: &mut SubsetParser<'_>,
    cursor: &mut TextCursor<'_>,
    normalise_line_ends: bool,
) -> ParseResult<Option<String>> {
    if cursor.take("#REQUIRED")? || cursor.take("#IMPLIED")? {
        return Ok(None);
    }
    if cursor.take("#FIXED")? {
        cursor.expect_space(error_codes::DOCTYPE)?;
    }
    let start = cursor.at + 1;
    let raw = cursor.quoted_literal(error_codes::DOCTYPE)?;
    let mut value = String::new();
    ValueNormaliser {
        doctype: subset.doctype,
        options: subset.options,
        document_offset: subset.document_offset,
    }
    .append(raw, normalise_line_ends, &mut value)
    .map_err(|error| error.shifted(start))?;
    Ok(Some(value))
}
