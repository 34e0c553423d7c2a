//! Attribute-list declarations: types and defaults.

use crate::reader::attribute_value::{collapse, ValueNormaliser};
use crate::reader::error_codes;
use crate::reader::parse_error::{refuse, ParseResult};
use crate::reader::text_cursor::TextCursor;

use super::internal_subset::SubsetParser;
use super::AttributeRule;

/// The types that are one word. A word comes before those it begins with.
const WORDS: [&str; 8] = [
    "IDREFS", "IDREF", "ID", "ENTITIES", "ENTITY", "NMTOKENS", "NMTOKEN", "CDATA",
];

/// Passes an attribute-list declaration, `<!ATTLIST` being passed already.
pub(super) fn declaration(
    subset: &mut SubsetParser<'_>,
    cursor: &mut TextCursor<'_>,
    fold_line_ends: bool,
) -> ParseResult<()> {
    cursor.expect_space(error_codes::DOCTYPE)?;
    let element = cursor.qualified_name()?;
    loop {
        let spaced = cursor.skip_space();
        if cursor.take(">")? {
            return Ok(());
        }
        if !spaced {
            return refuse(
                error_codes::DOCTYPE,
                cursor.at,
                "white space is missing before an attribute",
            );
        }
        let name = cursor.qualified_name()?;
        cursor.expect_space(error_codes::DOCTYPE)?;
        let tokens = attribute_type(cursor)?;
        cursor.expect_space(error_codes::DOCTYPE)?;
        let default = default_value(subset, cursor, fold_line_ends)?;
        let default = default.map(|mut value| {
            if tokens {
                collapse(&mut value, 0);
            }
            value.into_boxed_str()
        });
        let rule = AttributeRule {
            name: name.into(),
            tokens,
            default,
        };
        subset.doctype.declare_attribute(element, rule);
    }
}

/// Passes an attribute's type; whether it is another than `CDATA`.
fn attribute_type(cursor: &mut TextCursor<'_>) -> ParseResult<bool> {
    for word in WORDS {
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
            cursor.plain_name()?;
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

/// Passes an attribute's default, and gives its value.
fn default_value(
    subset: &mut SubsetParser<'_>,
    cursor: &mut TextCursor<'_>,
    fold_line_ends: bool,
) -> ParseResult<Option<String>> {
    if cursor.take("#REQUIRED")? || cursor.take("#IMPLIED")? {
        return Ok(None);
    }
    if cursor.take("#FIXED")? {
        cursor.expect_space(error_codes::DOCTYPE)?;
    }
    let start = cursor.at + 1;
    let raw = cursor.quoted(error_codes::DOCTYPE)?;
    let mut value = String::new();
    ValueNormaliser {
        doctype: subset.doctype,
        options: subset.options,
        read: subset.read,
    }
    .append(raw, fold_line_ends, &mut value)
    .map_err(|fail| fail.shifted(start))?;
    Ok(Some(value))
}
