//! Entities, and what a document may make of them.

use std::sync::Arc;

use hashbrown::HashMap;

use super::char_classes::{is_name, referred_char};
use super::parse_error::{refuse, shown, ParseResult};
use super::{error_codes, Limits};

/// What an entity's declaration says.
#[derive(Clone, Debug)]
pub(super) enum Definition {
    /// Its replacement text: character references expanded, others not.
    Internal(Arc<str>),
    External,
    Unparsed,
}

#[derive(Debug)]
struct Entity {
    definition: Definition,
    open: bool,
}

/// What a reference in content or in an attribute's value stands for.
#[derive(Debug)]
pub(super) enum ReferenceMeaning {
    /// A character, by number or by one of the five names every document has.
    Character(char),
    /// A replacement text, to be read as if it stood there; then [`Entities::close`] it.
    Markup(usize, Arc<str>),
    /// Text that a caller supplied, to be taken as it is.
    Plain(Arc<str>),
}

/// The general entities of a document, or its parameter entities.
#[derive(Debug, Default)]
pub(super) struct Entities {
    by_name: HashMap<Box<str>, usize>,
    entities: Vec<Entity>,
}

/// How much a document's entities have expanded to.
#[derive(Debug, Default)]
pub(super) struct Expansion {
    bytes: u64,
    depth: usize,
}

impl Expansion {
    /// Accounts for `bytes` more, `read` bytes into the document.
    pub(super) fn charge(&mut self, bytes: usize, read: u64, limits: &Limits) -> ParseResult<()> {
        self.bytes += bytes as u64;
        if self.bytes > limits.entity_bytes {
            let message = format!(
                "its entities expand to more than {} bytes",
                limits.entity_bytes
            );
            return refuse(error_codes::LIMIT_ENTITY_BYTES, 0, message);
        }
        let past_free = self.bytes.saturating_sub(Limits::AMPLIFICATION_FREE_BYTES);
        if past_free > read.saturating_mul(limits.entity_amplification) {
            let times = limits.entity_amplification;
            let message = format!("its entities expand to more than {times} times the text so far");
            return refuse(error_codes::LIMIT_ENTITY_AMPLIFICATION, 0, message);
        }
        Ok(())
    }
}

impl Entities {
    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.by_name.clear();
        self.entities.clear();
    }

    /// Declares `name`; only the first declaration of a name counts.
    pub(super) fn declare(&mut self, name: &str, definition: Definition) {
        if !self.by_name.contains_key(name) {
            self.by_name.insert(name.into(), self.entities.len());
            self.entities.push(Entity {
                definition,
                open: false,
            });
        }
    }

    /// Opens the declared entity `name`: its number, for [`Entities::close`], and its text.
    /// `None` where nothing declares it.
    pub(super) fn open(
        &mut self,
        name: &str,
        expansion: &mut Expansion,
        read: u64,
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
                let message = format!("the entity {name} is not text and cannot be referred to");
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
        expansion.charge(text.len(), read, limits)?;
        entity.open = true;
        expansion.depth += 1;
        Ok(Some((id, text)))
    }

    pub(super) fn close(&mut self, id: usize, expansion: &mut Expansion) {
        self.entities[id].open = false;
        expansion.depth -= 1;
    }
}

/// Checks what stands between `&` and `;`, and gives the character if it stands for one.
pub(super) fn character(body: &str) -> ParseResult<Option<char>> {
    let named = match body {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        _ if body.starts_with('#') => match referred_char(body) {
            Some(character) => character,
            None if body[1..]
                .trim_start_matches('x')
                .bytes()
                .all(|b| b.is_ascii_hexdigit()) =>
            {
                return refuse(
                    error_codes::CHARACTER,
                    0,
                    format!("&{body}; is no character that XML allows"),
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
                let message = format!("the entity name {body} may not have a colon");
                return refuse(error_codes::NAMESPACE_COLON, 0, message);
            }
            return Ok(None);
        }
        _ => {
            return refuse(
                error_codes::REFERENCE,
                0,
                format!("{} is not a reference", shown(&format!("&{body};"))),
            )
        }
    };
    Ok(Some(named))
}
