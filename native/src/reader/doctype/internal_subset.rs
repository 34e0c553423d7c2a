//! The grammar of the document type declaration and its internal subset.
//!
//! An external subset is never read: what it might declare is missing where it is needed, and only
//! there. A reference to an external parameter entity is refused like any to an external entity.

use std::sync::Arc;

use crate::reader::char_classes::referred_char;
use crate::reader::entities::{character, Definition};
use crate::reader::parse_error::{refuse, ParseError, ParseResult};
use crate::reader::processing_instruction::check_target;
use crate::reader::text_cursor::TextCursor;
use crate::reader::{error_codes, ReaderOptions};

use super::{attribute_list, element_declaration, Doctype};

/// What the parsing of one declaration needs to know.
pub(super) struct SubsetParser<'d> {
    pub doctype: &'d mut Doctype,
    pub options: &'d ReaderOptions,
    /// How far into the document the declaration begins.
    pub read: u64,
}

/// Passes a document type declaration, `<!DOCTYPE` being passed already.
pub(in crate::reader) fn parse(
    cursor: &mut TextCursor<'_>,
    doctype: &mut Doctype,
    options: &ReaderOptions,
    read: u64,
) -> ParseResult<()> {
    cursor.expect_space(error_codes::DOCTYPE)?;
    cursor.qualified_name()?;
    let spaced = cursor.skip_space();
    if spaced && external_id(cursor, false)? {
        doctype.is_incomplete = true;
        cursor.skip_space();
    }
    let mut subset = SubsetParser {
        doctype,
        options,
        read,
    };
    if cursor.take("[")? {
        subset.declarations(cursor, false)?;
        cursor.expect("]", error_codes::DOCTYPE)?;
        cursor.skip_space();
    }
    cursor.expect(">", error_codes::DOCTYPE)
}

impl SubsetParser<'_> {
    /// Passes declarations up to `]`, or, inside a parameter entity, up to its end.
    fn declarations(&mut self, cursor: &mut TextCursor<'_>, in_entity: bool) -> ParseResult<()> {
        loop {
            cursor.skip_space();
            if in_entity && cursor.at == cursor.text.len() {
                return Ok(());
            }
            if !in_entity && cursor.peek()? == b']' {
                return Ok(());
            }
            let start = cursor.at;
            if cursor.take("%")? {
                self.parameter_reference(cursor)
                    .map_err(|fail| fail.placed(start))?;
            } else if cursor.take("<!--")? {
                comment(cursor)?;
            } else if cursor.take("<?")? {
                instruction(cursor)?;
            } else if cursor.take("<!ENTITY")? {
                self.entity(cursor, in_entity)?;
            } else if cursor.take("<!ATTLIST")? {
                attribute_list::declaration(self, cursor, !in_entity)?;
            } else if cursor.take("<!ELEMENT")? {
                element_declaration::declaration(cursor, self.options.limits.depth)?;
            } else if cursor.take("<!NOTATION")? {
                notation(cursor)?;
            } else {
                return refuse(
                    error_codes::DOCTYPE,
                    start,
                    "this is no declaration that an internal subset may have",
                );
            }
        }
    }

    /// Passes `name;` and reads what the parameter entity holds, if it is inside the document.
    fn parameter_reference(&mut self, cursor: &mut TextCursor<'_>) -> ParseResult<()> {
        let name = cursor.plain_name()?;
        cursor.expect(";", error_codes::REFERENCE)?;
        let limits = &self.options.limits;
        let expansion = &mut self.doctype.expansion;
        let opened = self
            .doctype
            .parameter
            .open(name, expansion, self.read, limits)?;
        let Some((id, text)) = opened else {
            let message = format!("nothing declares the parameter entity {name}");
            return refuse(error_codes::ENTITY_UNDECLARED, 0, message);
        };
        let mut inside = TextCursor {
            text: &text,
            at: 0,
            complete: true,
            what: "a parameter entity",
            name_bytes_max: cursor.name_bytes_max,
        };
        self.declarations(&mut inside, true)?;
        self.doctype
            .parameter
            .close(id, &mut self.doctype.expansion);
        Ok(())
    }

    /// Passes an entity's declaration.
    fn entity(&mut self, cursor: &mut TextCursor<'_>, in_entity: bool) -> ParseResult<()> {
        cursor.expect_space(error_codes::DOCTYPE)?;
        let is_parameter = cursor.take("%")?;
        if is_parameter {
            cursor.expect_space(error_codes::DOCTYPE)?;
        }
        let name = cursor.plain_name()?;
        cursor.expect_space(error_codes::DOCTYPE)?;
        let definition = if matches!(cursor.peek()?, b'"' | b'\'') {
            let start = cursor.at + 1;
            let value = cursor.quoted(error_codes::DOCTYPE)?;
            let text = replacement(value, !in_entity).map_err(|fail| fail.shifted(start))?;
            Definition::Internal(text)
        } else if external_id(cursor, false)? {
            let spaced = cursor.skip_space();
            if !is_parameter && spaced && cursor.take("NDATA")? {
                cursor.expect_space(error_codes::DOCTYPE)?;
                cursor.plain_name()?;
                Definition::Unparsed
            } else {
                Definition::External
            }
        } else {
            return refuse(
                error_codes::DOCTYPE,
                cursor.at,
                "an entity's value or identifier is missing",
            );
        };
        cursor.skip_space();
        cursor.expect(">", error_codes::DOCTYPE)?;
        let entities = if is_parameter {
            &mut self.doctype.parameter
        } else {
            &mut self.doctype.general
        };
        entities.declare(name, definition);
        Ok(())
    }
}

/// The replacement text of an entity's value as written.
fn replacement(value: &str, fold_line_ends: bool) -> ParseResult<Arc<str>> {
    let mut text = String::with_capacity(value.len());
    let mut at = 0;
    while let Some(found) = value[at..].find(['&', '%', '\r']) {
        let special = at + found;
        text.push_str(&value[at..special]);
        at = special + 1;
        match value.as_bytes()[special] {
            b'\r' if fold_line_ends => {
                text.push('\n');
                at += usize::from(value[at..].starts_with('\n'));
            }
            b'\r' => text.push('\r'),
            b'%' => {
                let message = "a parameter entity may not be referred to inside a declaration of an internal subset";
                return refuse(error_codes::DOCTYPE, special, message);
            }
            _ => {
                let Some(len) = value[at..].find(';') else {
                    return refuse(error_codes::REFERENCE, special, "a reference has no end");
                };
                let body = &value[at..at + len];
                character(body).map_err(|fail| fail.shifted(special))?;
                match referred_char(body) {
                    Some(character) => text.push(character),
                    // General entities are expanded where the entity is used.
                    None => text.push_str(&value[special..=at + len]),
                }
                at += len + 1;
            }
        }
    }
    text.push_str(&value[at..]);
    Ok(text.into())
}

/// Passes an external identifier, if one is next. A notation's may be public alone.
fn external_id(cursor: &mut TextCursor<'_>, may_be_public_alone: bool) -> ParseResult<bool> {
    if cursor.take("SYSTEM")? {
        cursor.expect_space(error_codes::DOCTYPE)?;
        cursor.quoted(error_codes::DOCTYPE)?;
        return Ok(true);
    }
    if !cursor.take("PUBLIC")? {
        return Ok(false);
    }
    cursor.expect_space(error_codes::DOCTYPE)?;
    let start = cursor.at + 1;
    let public = cursor.quoted(error_codes::DOCTYPE)?;
    if let Some(bad) = public.bytes().position(|byte| !is_public_id_byte(byte)) {
        return refuse(
            error_codes::DOCTYPE,
            start + bad,
            "a character that a public identifier may not have",
        );
    }
    let spaced = cursor.skip_space();
    if matches!(cursor.peek()?, b'"' | b'\'') {
        if !spaced {
            return refuse(
                error_codes::DOCTYPE,
                cursor.at,
                "white space is missing between the identifiers",
            );
        }
        cursor.quoted(error_codes::DOCTYPE)?;
    } else if !may_be_public_alone {
        return refuse(
            error_codes::DOCTYPE,
            cursor.at,
            "a system identifier is missing",
        );
    }
    Ok(true)
}

fn is_public_id_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b" \r\n-'()+,./:=?;!*#@$_%".contains(&byte)
}

fn notation(cursor: &mut TextCursor<'_>) -> ParseResult<()> {
    cursor.expect_space(error_codes::DOCTYPE)?;
    cursor.plain_name()?;
    cursor.expect_space(error_codes::DOCTYPE)?;
    if !external_id(cursor, true)? {
        return refuse(
            error_codes::DOCTYPE,
            cursor.at,
            "a notation's identifier is missing",
        );
    }
    cursor.skip_space();
    cursor.expect(">", error_codes::DOCTYPE)
}

/// Passes a comment, `<!--` being passed already.
pub(in crate::reader) fn comment(cursor: &mut TextCursor<'_>) -> ParseResult<()> {
    match cursor.rest().find("--") {
        Some(len) => cursor.at += len + 2,
        None => {
            return Err(ParseError::ended(
                cursor.complete,
                cursor.text.len(),
                "a comment",
            ))
        }
    }
    cursor.expect(">", error_codes::COMMENT)
}

/// Passes a processing instruction, `<?` being passed already.
fn instruction(cursor: &mut TextCursor<'_>) -> ParseResult<()> {
    match cursor.rest().find("?>") {
        Some(len) => {
            let start = cursor.at;
            check_target(&cursor.rest()[..len], cursor.name_bytes_max)
                .map_err(|fail| fail.shifted(start))?;
            cursor.at += len + 2;
            Ok(())
        }
        None => Err(ParseError::ended(
            cursor.complete,
            cursor.text.len(),
            "a processing instruction",
        )),
    }
}
