//! The grammar of the document type declaration and its internal subset.
//!
//! An external subset is never read: what it might declare is missing where it is needed, and only
//! there. A reference to an external parameter entity is refused like any to an external entity.

use std::sync::Arc;

use crate::reader::chars::referred_char;
use crate::reader::cursor::Cursor;
use crate::reader::entities::{character, Definition};
use crate::reader::fail::{refuse, Fail, Step};
use crate::reader::instruction::check_target;
use crate::reader::{codes, ReaderOptions};

use super::{attributes, elements, Doctype};

/// What the parsing of one declaration needs to know.
pub(super) struct Subset<'d> {
    pub doctype: &'d mut Doctype,
    pub options: &'d ReaderOptions,
    /// How far into the document the declaration begins.
    pub read: u64,
}

/// Passes a document type declaration, `<!DOCTYPE` being passed already.
pub(in crate::reader) fn parse(
    cursor: &mut Cursor<'_>,
    doctype: &mut Doctype,
    options: &ReaderOptions,
    read: u64,
) -> Step<()> {
    cursor.expect_space(codes::DOCTYPE)?;
    cursor.qualified_name()?;
    let spaced = cursor.skip_space();
    if spaced && external_id(cursor, false)? {
        doctype.is_incomplete = true;
        cursor.skip_space();
    }
    let mut subset = Subset {
        doctype,
        options,
        read,
    };
    if cursor.take("[")? {
        subset.declarations(cursor, false)?;
        cursor.expect("]", codes::DOCTYPE)?;
        cursor.skip_space();
    }
    cursor.expect(">", codes::DOCTYPE)
}

impl Subset<'_> {
    /// Passes declarations up to `]`, or, inside a parameter entity, up to its end.
    fn declarations(&mut self, cursor: &mut Cursor<'_>, in_entity: bool) -> Step<()> {
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
                attributes::declaration(self, cursor, !in_entity)?;
            } else if cursor.take("<!ELEMENT")? {
                elements::declaration(cursor, self.options.limits.depth)?;
            } else if cursor.take("<!NOTATION")? {
                notation(cursor)?;
            } else {
                return refuse(
                    codes::DOCTYPE,
                    start,
                    "this is no declaration that an internal subset may have",
                );
            }
        }
    }

    /// Passes `name;` and reads what the parameter entity holds, if it is inside the document.
    fn parameter_reference(&mut self, cursor: &mut Cursor<'_>) -> Step<()> {
        let name = cursor.plain_name()?;
        cursor.expect(";", codes::REFERENCE)?;
        let limits = &self.options.limits;
        let expansion = &mut self.doctype.expansion;
        let opened = self
            .doctype
            .parameter
            .open(name, expansion, self.read, limits)?;
        let Some((id, text)) = opened else {
            let message = format!("nothing declares the parameter entity {name}");
            return refuse(codes::ENTITY_UNDECLARED, 0, message);
        };
        let mut inside = Cursor {
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
    fn entity(&mut self, cursor: &mut Cursor<'_>, in_entity: bool) -> Step<()> {
        cursor.expect_space(codes::DOCTYPE)?;
        let is_parameter = cursor.take("%")?;
        if is_parameter {
            cursor.expect_space(codes::DOCTYPE)?;
        }
        let name = cursor.plain_name()?;
        cursor.expect_space(codes::DOCTYPE)?;
        let definition = if matches!(cursor.peek()?, b'"' | b'\'') {
            let start = cursor.at + 1;
            let value = cursor.quoted(codes::DOCTYPE)?;
            let text = replacement(value, !in_entity).map_err(|fail| fail.shifted(start))?;
            Definition::Internal(text)
        } else if external_id(cursor, false)? {
            let spaced = cursor.skip_space();
            if !is_parameter && spaced && cursor.take("NDATA")? {
                cursor.expect_space(codes::DOCTYPE)?;
                cursor.plain_name()?;
                Definition::Unparsed
            } else {
                Definition::External
            }
        } else {
            return refuse(
                codes::DOCTYPE,
                cursor.at,
                "an entity's value or identifier is missing",
            );
        };
        cursor.skip_space();
        cursor.expect(">", codes::DOCTYPE)?;
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
fn replacement(value: &str, fold_line_ends: bool) -> Step<Arc<str>> {
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
                return refuse(codes::DOCTYPE, special, message);
            }
            _ => {
                let Some(len) = value[at..].find(';') else {
                    return refuse(codes::REFERENCE, special, "a reference has no end");
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
fn external_id(cursor: &mut Cursor<'_>, may_be_public_alone: bool) -> Step<bool> {
    if cursor.take("SYSTEM")? {
        cursor.expect_space(codes::DOCTYPE)?;
        cursor.quoted(codes::DOCTYPE)?;
        return Ok(true);
    }
    if !cursor.take("PUBLIC")? {
        return Ok(false);
    }
    cursor.expect_space(codes::DOCTYPE)?;
    let start = cursor.at + 1;
    let public = cursor.quoted(codes::DOCTYPE)?;
    if let Some(bad) = public.bytes().position(|byte| !is_public_id_byte(byte)) {
        return refuse(
            codes::DOCTYPE,
            start + bad,
            "a character that a public identifier may not have",
        );
    }
    let spaced = cursor.skip_space();
    if matches!(cursor.peek()?, b'"' | b'\'') {
        if !spaced {
            return refuse(
                codes::DOCTYPE,
                cursor.at,
                "white space is missing between the identifiers",
            );
        }
        cursor.quoted(codes::DOCTYPE)?;
    } else if !may_be_public_alone {
        return refuse(codes::DOCTYPE, cursor.at, "a system identifier is missing");
    }
    Ok(true)
}

fn is_public_id_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b" \r\n-'()+,./:=?;!*#@$_%".contains(&byte)
}

fn notation(cursor: &mut Cursor<'_>) -> Step<()> {
    cursor.expect_space(codes::DOCTYPE)?;
    cursor.plain_name()?;
    cursor.expect_space(codes::DOCTYPE)?;
    if !external_id(cursor, true)? {
        return refuse(
            codes::DOCTYPE,
            cursor.at,
            "a notation's identifier is missing",
        );
    }
    cursor.skip_space();
    cursor.expect(">", codes::DOCTYPE)
}

/// Passes a comment, `<!--` being passed already.
pub(in crate::reader) fn comment(cursor: &mut Cursor<'_>) -> Step<()> {
    match cursor.rest().find("--") {
        Some(len) => cursor.at += len + 2,
        None => return Err(Fail::ended(cursor.complete, cursor.text.len(), "a comment")),
    }
    cursor.expect(">", codes::COMMENT)
}

/// Passes a processing instruction, `<?` being passed already.
fn instruction(cursor: &mut Cursor<'_>) -> Step<()> {
    match cursor.rest().find("?>") {
        Some(len) => {
            let start = cursor.at;
            check_target(&cursor.rest()[..len], cursor.name_bytes_max)
                .map_err(|fail| fail.shifted(start))?;
            cursor.at += len + 2;
            Ok(())
        }
        None => Err(Fail::ended(
            cursor.complete,
            cursor.text.len(),
            "a processing instruction",
        )),
    }
}
