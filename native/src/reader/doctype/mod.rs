//! The document type declaration: what a reader that does not validate keeps of it.

mod attribute_list;
mod element_declaration;
mod internal_subset;

use hashbrown::HashMap;

use super::entities::{character, Entities, Expansion, ReferenceMeaning};
use super::parse_error::{refuse, ParseResult};
use super::{error_codes, ReaderOptions};

pub(super) use internal_subset::parse;

/// An attribute's declaration.
#[derive(Debug)]
pub(super) struct AttributeRule {
    pub name: Box<str>,
    /// Not `CDATA`: white space at the ends goes, inside it collapses.
    pub tokens: bool,
    /// The default, normalised.
    pub default: Option<Box<str>>,
}

/// What the declarations of a document say, and what they have cost so far.
#[derive(Debug, Default)]
pub(super) struct Doctype {
    pub general: Entities,
    pub parameter: Entities,
    pub expansion: Expansion,
    attributes: HashMap<Box<str>, Vec<AttributeRule>>,
    /// There is an external subset, which might declare what is not found.
    is_incomplete: bool,
}

impl Doctype {
    /// Begins a document.
    pub(super) fn clear(&mut self) {
        self.general.clear();
        self.parameter.clear();
        self.expansion = Expansion::default();
        self.attributes.clear();
        self.is_incomplete = false;
    }

    /// What is declared for the attributes of `element`.
    #[inline]
    pub(super) fn rules(&self, element: &str) -> &[AttributeRule] {
        if self.attributes.is_empty() {
            return &[];
        }
        self.attributes.get(element).map_or(&[], Vec::as_slice)
    }

    /// Declares an attribute; only the first declaration of it counts.
    fn declare_attribute(&mut self, element: &str, rule: AttributeRule) {
        let rules = self.attributes.entry(element.into()).or_default();
        if rules.iter().all(|known| known.name != rule.name) {
            rules.push(rule);
        }
    }

    /// What the reference `&body;` stands for, `read` bytes into the document.
    pub(super) fn resolve(
        &mut self,
        body: &str,
        read: u64,
        options: &ReaderOptions,
    ) -> ParseResult<ReferenceMeaning> {
        if let Some(character) = character(body)? {
            return Ok(ReferenceMeaning::Character(character));
        }
        let limits = &options.limits;
        if let Some((id, text)) = self.general.open(body, &mut self.expansion, read, limits)? {
            return Ok(ReferenceMeaning::Markup(id, text));
        }
        if let Some(text) = options.entities.get(body) {
            self.expansion.charge(text.len(), read, limits)?;
            return Ok(ReferenceMeaning::Plain(text.clone()));
        }
        let message = if self.is_incomplete {
            format!("the entity {body} may be declared outside the document, where the reader never looks")
        } else {
            format!("nothing declares the entity {body}")
        };
        refuse(error_codes::ENTITY_UNDECLARED, 0, message)
    }

    /// Ends the use of what [`Doctype::resolve`] opened.
    pub(super) fn close(&mut self, id: usize) {
        self.general.close(id, &mut self.expansion);
    }
}
