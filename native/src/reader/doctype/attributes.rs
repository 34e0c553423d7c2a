//! Attribute-list declarations: types and defaults.

use crate::reader::codes;
use crate::reader::cursor::Cursor;
use crate::reader::fail::{refuse, Step};
use crate::reader::values::{collapse, Normaliser};

use super::subset::Subset;
use super::AttributeRule;

/// The types that are one word. A word comes before those it begins with.
const WORDS: [&str; 8] = [
    "IDREFS", "IDREF", "ID", "ENTITIES", "ENTITY", "NMTOKENS", "NMTOKEN", "CDATA",
];

/// Passes an attribute-list declaration, `<!ATTLIST` being passed already.
pub(super) fn declaration(
    subset: &mut Subset<'_>,
    cursor: &mut Cursor<'_>,
    fold_line_ends: bool,
) -> Step<()> {
    cursor.expect_space(codes::DOCTYPE)?;
    let element = cursor.qualified_name()?;
    loop {
        let spaced = cursor.skip_space();
        if cursor.take(">")? {
            return Ok(());
        }
        if !spaced {
            return refuse(
                codes::DOCTYPE,
                cursor.at,
                "white space is missing before an attribute",
            );
        }
        let name = cursor.qualified_name()?;
        cursor.expect_space(codes::DOCTYPE)?;
        let tokens = attribute_type(cursor)?;
        cursor.expect_space(codes::DOCTYPE)?;
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
fn attribute_type(cursor: &mut Cursor<'_>) -> Step<bool> {
    for word in WORDS {
        if cursor.take(word)? {
            return Ok(word != "CDATA");
        }
    }
    let notation = cursor.take("NOTATION")?;
    if notation {
        cursor.expect_space(codes::DOCTYPE)?;
    }
    cursor.expect("(", codes::DOCTYPE)?;
    loop {
        cursor.skip_space();
        if notation {
            cursor.plain_name()?;
        } else {
            cursor.name_token()?;
        }
        cursor.skip_space();
        if !cursor.take("|")? {
            cursor.expect(")", codes::DOCTYPE)?;
            return Ok(true);
        }
    }
}

/// Passes an attribute's default, and gives its value.
fn default_value(
    subset: &mut Subset<'_>,
    cursor: &mut Cursor<'_>,
    fold_line_ends: bool,
) -> Step<Option<String>> {
    if cursor.take("#REQUIRED")? || cursor.take("#IMPLIED")? {
        return Ok(None);
    }
    if cursor.take("#FIXED")? {
        cursor.expect_space(codes::DOCTYPE)?;
    }
    let start = cursor.at + 1;
    let raw = cursor.quoted(codes::DOCTYPE)?;
    let mut value = String::new();
    Normaliser {
        doctype: subset.doctype,
        options: subset.options,
        read: subset.read,
    }
    .append(raw, fold_line_ends, &mut value)
    .map_err(|fail| fail.shifted(start))?;
    Ok(Some(value))
}
