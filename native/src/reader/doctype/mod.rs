//! The document type declaration, as far as a non-validating reader uses it.

mod attribute_list;
mod element_declaration;
mod internal_subset;

use hashbrown::HashMap;

use super::entities::{character, Entities, Expansion, ReferenceMeaning};
use super::parse_error::{refuse, ParseResult};
use super::{error_codes, ReaderOptions};

pub(super) use internal_subset::parse;

/// The declaration of an attribute.
#[derive(Debug)]
pub(super) struct AttributeRule {
    pub name: Box<str>,
    /// Its type is not `CDATA`: values are trimmed and runs of spaces collapsed.
    pub is_tokenized: bool,
    /// The normalised default value.
    pub default: Option<Box<str>>,
}

/// The declarations of a document, and the size of their expansions so far.
#[derive(Debug, Default)]
pub(super) struct Doctype {
    pub general: Entities,
    pub parameter: Entities,
    pub expansion: Expansion,
    attributes: HashMap<Box<str>, Vec<AttributeRule>>,
    /// Whether there is an external subset, which is not read and may contain further declarations.
    has_external_subset: bool,
}

impl Doctype {
    /// Starts a document.
    pub(super) fn clear(&mut self) {
        self.general.clear();
        self.parameter.clear();
        self.expansion = Expansion::default();
        self.attributes.clear();
        self.has_external_subset = false;
    }

    /// The declarations of attributes of `element`.
    #[inline]
    pub(super) fn rules(&self, element: &str) -> &[AttributeRule] {
        if self.attributes.is_empty() {
            return &[];
        }
        self.attributes.get(element).map_or(&[], Vec::as_slice)
    }

    /// Declares an attribute; the first declaration takes precedence.
    fn declare_attribute(&mut self, element: &str, rule: AttributeRule) {
        let rules = self.attributes.entry(element.into()).or_default();
        if rules.iter().all(|known| known.name != rule.name) {
            rules.push(rule);
        }
    }

    /// What the reference `&body;` at offset `document_offset` of the document stands for.
    pub(super) fn resolve(
        &mut self,
        body: &str,
        document_offset: u64,
        options: &ReaderOptions,
    ) -> ParseResult<ReferenceMeaning> {
        if let Some(character) = character(body)? {
            return Ok(ReferenceMeaning::Character(character));
        }
        let limits = &options.limits;
        if let Some((id, text)) =
            self.general
                .open(body, &mut self.expansion, document_offset, limits)?
        {
            return Ok(ReferenceMeaning::Markup(id, text));
        }
        if let Some(text) = options.entities.get(body) {
            self.expansion.charge(text.len(), document_offset, limits)?;
            return Ok(ReferenceMeaning::Plain(text.clone()));
        }
        let message = if self.has_external_subset {
            format!("the entity {body} is not declared in the document, and external declarations are never read")
        } else {
            format!("the entity {body} is not declared")
        };
        refuse(error_codes::ENTITY_UNDECLARED, 0, message)
    }

    /// Closes an entity that [`Doctype::resolve`] opened.
    pub(super) fn close(&mut self, id: usize) {
        self.general.close(id, &mut self.expansion);
    }
}
