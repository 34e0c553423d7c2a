//! Entities and limits on their expansion.

use std::sync::Arc;

use hashbrown::HashMap;

use super::char_classes::{is_name, referenced_char};
use super::parse_error::{quote, refuse, ParseResult};
use super::{error_codes, Limits};

/// The declared definition of an entity.
#[derive(Clone, Debug)]
pub(super) enum Definition {
    /// Its replacement text, in which character references are expanded and others are not.
    Internal(Arc<str>),
    External,
    Unparsed,
}

#[derive(Debug)]
struct Entity {
    definition: Definition,
    /// Whether it is declared in a parameter entity.
    is_in_parameter: bool,
    open: bool,
}

/// What a reference in content or in an attribute value stands for.
#[derive(Debug)]
pub(super) enum ReferenceMeaning {
    /// A character, by number or by a predefined name.
    Character(char),
    /// A replacement text to be parsed in place of the reference, and then closed by
    /// [`Entities::close`].
    Markup(usize, Arc<str>),
    /// Plain text supplied by the caller.
    Plain(Arc<str>),
}

/// The general entities of a document, or its parameter entities.
#[derive(Debug, Default)]
pub(super) struct Entities {
    by_name: HashMap<Box<str>, usize>,
    entities: Vec<Entity>,
    /// The open entities, outermost first.
    open: Vec<usize>,
}

/// The size of the expansions in a document, and their current depth.
#[derive(Debug, Default)]
pub(super) struct Expansion {
    bytes: u64,
    depth: usize,
}

impl Expansion {
    /// Adds `bytes` expanded at offset `document_offset` of the document.
    pub(super) fn charge(
        &mut self,
        bytes: usize,
        document_offset: u64,
        limits: &Limits,
    ) -> ParseResult<()> {
        self.bytes += bytes as u64;
        if self.bytes > limits.entity_bytes {
            let message = format!(
                "the entities expand to more than {} bytes",
                limits.entity_bytes
            );
            return refuse(error_codes::LIMIT_ENTITY_BYTES, 0, message);
        }
        let counted = self.bytes.saturating_sub(Limits::AMPLIFICATION_FREE_BYTES);
        if counted > document_offset.saturating_mul(limits.entity_amplification) {
            let times = limits.entity_amplification;
            let message = format!(
                "the entities expand to more than {times} times the size of the document so far"
            );
            return refuse(error_codes::LIMIT_ENTITY_AMPLIFICATION, 0, message);
        }
        Ok(())
    }
}

impl Entities {
    pub(super) fn clear(&mut self) {
        self.by_name.clear();
        self.entities.clear();
        self.open.clear();
    }

    /// Closes the entities that a refusal has left open.
    pub(super) fn close_all(&mut self) {
        for id in self.open.drain(..) {
            self.entities[id].open = false;
        }
    }

    /// Declares an entity; the first declaration of a name takes precedence.
    pub(super) fn declare(&mut self, name: &str, definition: Definition, is_in_parameter: bool) {
        if !self.by_name.contains_key(name) {
            self.by_name.insert(name.into(), self.entities.len());
            self.entities.push(Entity {
                definition,
                is_in_parameter,
                open: false,
            });
        }
    }

    /// Whether the entity `name` is declared in a parameter entity.
    pub(super) fn is_in_parameter(&self, name: &str) -> bool {
        let id = self.by_name.get(name);
        id.is_some_and(|&id| self.entities[id].is_in_parameter)
    }

    /// Opens an entity; returns its number, for [`Entities::close`], and its text. `None` if it is not
    /// declared.
    pub(super) fn open(
        &mut self,
        name: &str,
        expansion: &mut Expansion,
        document_offset: u64,
        limits: &Limits,
    ) -> ParseResult<Option<(usize, Arc<str>)>> {
        let Some(&id) = self.by_name.get(name) else {
            return Ok(None);
        };
        let entity = &mut self.entities[id];
        let text = match &entity.definition {
            Definition::Internal(text) => text.clone(),
            Definition::External => {
                let message =
                    format!("the entity {name} is external, and external entities are never read");
                return refuse(error_codes::ENTITY_EXTERNAL, 0, message);
            }
            Definition::Unparsed => {
                let message = format!("the entity {name} is unparsed and cannot be referenced");
                return refuse(error_codes::ENTITY_UNPARSED, 0, message);
            }
        };
        if entity.open {
            let message = format!("the entity {name} contains itself");
            return refuse(error_codes::ENTITY_RECURSIVE, 0, message);
        }
        if expansion.depth == limits.entity_depth {
            let message = format!("entities are nested deeper than {}", limits.entity_depth);
            return refuse(error_codes::LIMIT_ENTITY_DEPTH, 0, message);
        }
        expansion.charge(text.len(), document_offset, limits)?;
        entity.open = true;
        self.open.push(id);
        expansion.depth += 1;
        Ok(Some((id, text)))
    }

    pub(super) fn close(&mut self, id: usize, expansion: &mut Expansion) {
        self.entities[id].open = false;
        self.open.pop();
        expansion.depth -= 1;
    }
}

/// Checks the body of a reference, between `&` and `;`; returns the character if it stands for one.
pub(super) fn character(body: &str) -> ParseResult<Option<char>> {
    let named = match body {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        _ if body.starts_with('#') => match referenced_char(body) {
            Some(character) => character,
            None if body[1..]
                .trim_start_matches('x')
                .bytes()
                .all(|b| b.is_ascii_hexdigit()) =>
            {
                return refuse(
                    error_codes::CHARACTER,
                    0,
                    format!("&{body}; is not a character allowed in XML"),
                );
            }
            None => {
                return refuse(
                    error_codes::REFERENCE,
                    0,
                    format!("&{body}; is not a reference"),
                )
            }
        },
        _ if is_name(body) => {
            if body.contains(':') {
                let message = format!("the entity name {body} must not contain a colon");
                return refuse(error_codes::NAMESPACE_COLON, 0, message);
            }
            return Ok(None);
        }
        _ => {
            return refuse(
                error_codes::REFERENCE,
                0,
                format!("{} is not a reference", quote(&format!("&{body};"))),
            )
        }
    };
    Ok(Some(named))
}
