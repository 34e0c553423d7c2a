//! The grammar of the document type declaration and its internal subset.
//!
//! An external subset is never read; a document is refused only if it uses an entity that is not declared
//! internally. References to external parameter entities are refused like those to any external entity.

use std::sync::Arc;

use crate::reader::char_classes::referenced_char;
use crate::reader::entities::{character, Definition};
use crate::reader::parse_error::{refuse, ParseError, ParseResult};
use crate::reader::processing_instruction::check_target;
use crate::reader::text_cursor::TextCursor;
use crate::reader::{error_codes, ReaderOptions};

use super::{attribute_list, element_declaration, Doctype};

/// Parses the declarations of the internal subset.
pub(super) struct SubsetParser<'d> {
    pub doctype: &'d mut Doctype,
    pub options: &'d ReaderOptions,
    /// Offset of the document type declaration in the document.
    pub document_offset: u64,
}

/// Parses a document type declaration after `<!DOCTYPE`.
pub(in crate::reader) fn parse(
    cursor: &mut TextCursor<'_>,
    doctype: &mut Doctype,
    options: &ReaderOptions,
    document_offset: u64,
) -> ParseResult<()> {
    cursor.expect_space(error_codes::DOCTYPE)?;
    cursor.qualified_name()?;
    let has_space = cursor.skip_space();
    if has_space && external_id(cursor, false)? {
        doctype.has_external_subset = true;
        cursor.skip_space();
    }
    let mut subset = SubsetParser {
        doctype,
        options,
        document_offset,
    };
    if cursor.take("[")? {
        subset.declarations(cursor, false)?;
        cursor.expect("]", error_codes::DOCTYPE)?;
        cursor.skip_space();
    }
    cursor.expect(">", error_codes::DOCTYPE)
}

impl SubsetParser<'_> {
    /// Parses declarations up to `]`, or up to the end of a parameter entity.
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
                    .map_err(|error| error.at(start))?;
            } else if cursor.take("<!--")? {
                comment(cursor)?;
            } else if cursor.take("<?")? {
                instruction(cursor)?;
            } else if cursor.take("<!ENTITY")? {
                self.count_declaration(start)?;
                self.entity(cursor, in_entity)?;
            } else if cursor.take("<!ATTLIST")? {
                attribute_list::declaration(self, cursor, !in_entity)?;
            } else if cursor.take("<!ELEMENT")? {
                self.count_declaration(start)?;
                element_declaration::declaration(cursor, self.options.limits.depth)?;
            } else if cursor.take("<!NOTATION")? {
                self.count_declaration(start)?;
                notation(cursor)?;
            } else {
                return refuse(
                    error_codes::DOCTYPE,
                    start,
                    "this is not a declaration allowed in the internal subset",
                );
            }
        }
    }

    /// Counts a declaration at offset `at` of the text.
    pub(super) fn count_declaration(&mut self, at: usize) -> ParseResult<()> {
        self.doctype
            .count_declaration(at, self.options.limits.declarations)
    }

    /// Parses `name;` and the declarations in the parameter entity.
    fn parameter_reference(&mut self, cursor: &mut TextCursor<'_>) -> ParseResult<()> {
        let name = cursor.ncname()?;
        cursor.expect(";", error_codes::REFERENCE)?;
        let limits = &self.options.limits;
        let expansion = &mut self.doctype.expansion;
        let opened = self
            .doctype
            .parameter
            .open(name, expansion, self.document_offset, limits)?;
        let Some((id, text)) = opened else {
            let message = format!("the parameter entity {name} is not declared");
            return refuse(error_codes::ENTITY_UNDECLARED, 0, message);
        };
        let mut entity_cursor = TextCursor {
            text: &text,
            at: 0,
            complete: true,
            what: "a parameter entity",
            name_bytes_max: cursor.name_bytes_max,
        };
        self.doctype.parameter_depth += 1;
        self.declarations(&mut entity_cursor, true)?;
        self.doctype.parameter_depth -= 1;
        self.doctype
            .parameter
            .close(id, &mut self.doctype.expansion);
        Ok(())
    }

    /// Parses an entity declaration.
    fn entity(&mut self, cursor: &mut TextCursor<'_>, in_entity: bool) -> ParseResult<()> {
        cursor.expect_space(error_codes::DOCTYPE)?;
        let is_parameter = cursor.take("%")?;
        if is_parameter {
            cursor.expect_space(error_codes::DOCTYPE)?;
        }
        let name = cursor.ncname()?;
        cursor.expect_space(error_codes::DOCTYPE)?;
        let definition = if matches!(cursor.peek()?, b'"' | b'\'') {
            let start = cursor.at + 1;
            let value = cursor.quoted_literal(error_codes::DOCTYPE)?;
            let text = replacement_text(value, !in_entity).map_err(|error| error.shifted(start))?;
            Definition::Internal(text)
        } else if external_id(cursor, false)? {
            let has_space = cursor.skip_space();
            if !is_parameter && has_space && cursor.take("NDATA")? {
                cursor.expect_space(error_codes::DOCTYPE)?;
                cursor.ncname()?;
                Definition::Unparsed
            } else {
                Definition::External
            }
        } else {
            return refuse(
                error_codes::DOCTYPE,
                cursor.at,
                "the value or the identifier of an entity is missing",
            );
        };
        cursor.skip_space();
        cursor.expect(">", error_codes::DOCTYPE)?;
        let entities = if is_parameter {
            &mut self.doctype.parameter
        } else {
            &mut self.doctype.general
        };
        entities.declare(name, definition, in_entity);
        Ok(())
    }
}

/// The replacement text of an entity with this literal value.
fn replacement_text(value: &str, normalise_line_ends: bool) -> ParseResult<Arc<str>> {
    let mut text = String::with_capacity(value.len());
    let mut at = 0;
    while let Some(found) = value[at..].find(['&', '%', '\r']) {
        let special = at + found;
        text.push_str(&value[at..special]);
        at = special + 1;
        match value.as_bytes()[special] {
            b'\r' if normalise_line_ends => {
                text.push('\n');
                at += usize::from(value[at..].starts_with('\n'));
            }
            b'\r' => text.push('\r'),
            b'%' => {
                let message = "a parameter entity must not be referenced inside a declaration of the internal subset";
                return refuse(error_codes::DOCTYPE, special, message);
            }
            _ => {
                let Some(len) = value[at..].find(';') else {
                    return refuse(
                        error_codes::REFERENCE,
                        special,
                        "a reference is not terminated",
                    );
                };
                let body = &value[at..at + len];
                character(body).map_err(|error| error.shifted(special))?;
                match referenced_char(body) {
                    Some(character) => text.push(character),
                    // General entities are expanded when the entity is used.
                    None => text.push_str(&value[special..=at + len]),
                }
                at += len + 1;
            }
        }
    }
    text.push_str(&value[at..]);
    Ok(text.into())
}

/// Parses an external identifier, if one is next. That of a notation may consist of a public identifier
/// only.
fn external_id(cursor: &mut TextCursor<'_>, allows_public_only: bool) -> ParseResult<bool> {
    if cursor.take("SYSTEM")? {
        cursor.expect_space(error_codes::DOCTYPE)?;
        cursor.quoted_literal(error_codes::DOCTYPE)?;
        return Ok(true);
    }
    if !cursor.take("PUBLIC")? {
        return Ok(false);
    }
    cursor.expect_space(error_codes::DOCTYPE)?;
    let start = cursor.at + 1;
    let public = cursor.quoted_literal(error_codes::DOCTYPE)?;
    if let Some(bad) = public.bytes().position(|byte| !is_public_id_byte(byte)) {
        return refuse(
            error_codes::DOCTYPE,
            start + bad,
            "a character that is not allowed in a public identifier",
        );
    }
    let has_space = cursor.skip_space();
    if matches!(cursor.peek()?, b'"' | b'\'') {
        if !has_space {
            return refuse(
                error_codes::DOCTYPE,
                cursor.at,
                "white space is missing between the identifiers",
            );
        }
        cursor.quoted_literal(error_codes::DOCTYPE)?;
    } else if !allows_public_only {
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
    cursor.ncname()?;
    cursor.expect_space(error_codes::DOCTYPE)?;
    if !external_id(cursor, true)? {
        return refuse(
            error_codes::DOCTYPE,
            cursor.at,
            "the identifier of a notation is missing",
        );
    }
    cursor.skip_space();
    cursor.expect(">", error_codes::DOCTYPE)
}

/// Parses a comment after `<!--`.
fn comment(cursor: &mut TextCursor<'_>) -> ParseResult<()> {
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

/// Parses a processing instruction after `<?`.
fn instruction(cursor: &mut TextCursor<'_>) -> ParseResult<()> {
    match cursor.rest().find("?>") {
        Some(len) => {
            let start = cursor.at;
            check_target(&cursor.rest()[..len], cursor.name_bytes_max)
                .map_err(|error| error.shifted(start))?;
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
