//! The document type declaration, as far as a non-validating reader uses it.

mod attribute_list;
mod element_declaration;
mod internal_subset;

use hashbrown::HashMap;

use super::entities::{character, Entities, Expansion, ReferenceMeaning};
use super::parse_error::{refuse, ParseResult};
use super::{error_codes, ReaderOptions};

pub(super) use internal_subset::parse;

/// An attribute that an element has by default.
#[derive(Debug)]
pub(super) struct DefaultAttribute {
    pub name: Box<str>,
    /// The normalised value.
    pub value: Box<str>,
}

impl DefaultAttribute {
    /// The size of the default as if it were written in a tag.
    pub(super) fn written_bytes(&self) -> usize {
        /// A space, an equals sign and two quotes.
        const MARKUP_BYTES: usize = 4;
        self.name.len() + self.value.len() + MARKUP_BYTES
    }
}

/// The attribute declarations of an element.
#[derive(Debug, Default)]
pub(super) struct AttributeRules {
    /// For each declared attribute, whether its type is not `CDATA`: values are trimmed and runs of
    /// spaces collapsed.
    is_tokenized: HashMap<Box<str>, bool>,
    defaults: Vec<DefaultAttribute>,
}

impl AttributeRules {
    /// Whether values of `attribute` are trimmed and runs of spaces collapsed.
    #[inline]
    pub(super) fn is_tokenized(&self, attribute: &str) -> bool {
        self.is_tokenized.get(attribute) == Some(&true)
    }

    /// The attributes with default values, in the order of their declarations.
    #[inline]
    pub(super) fn defaults(&self) -> &[DefaultAttribute] {
        &self.defaults
    }
}

/// The declarations of a document, and the size of their expansions so far.
#[derive(Debug, Default)]
pub(super) struct Doctype {
    pub general: Entities,
    pub parameter: Entities,
    pub expansion: Expansion,
    attributes: HashMap<Box<str>, AttributeRules>,
    /// The number of declarations; each attribute counts.
    declarations: usize,
    /// The number of open parameter entities.
    parameter_depth: usize,
    /// Whether the document declares itself standalone. An entity that is declared in a parameter entity
    /// is then undeclared outside of parameter entities.
    pub is_standalone: bool,
    /// Whether there is an external subset, which is not read and may contain further declarations.
    has_external_subset: bool,
}

impl Doctype {
    /// Removes all declarations.
    pub(super) fn clear(&mut self) {
        self.general.clear();
        self.parameter.clear();
        self.expansion = Expansion::default();
        self.attributes.clear();
        self.declarations = 0;
        self.parameter_depth = 0;
        self.has_external_subset = false;
    }

    /// Starts another document with the same declarations.
    pub(super) fn reuse(&mut self) {
        self.general.close_all();
        self.expansion = Expansion::default();
    }

    /// The declarations of attributes of `element`, if there are any.
    #[inline]
    pub(super) fn rules(&self, element: &str) -> Option<&AttributeRules> {
        if self.attributes.is_empty() {
            return None;
        }
        self.attributes.get(element)
    }

    /// Declares an attribute; the first declaration takes precedence.
    fn declare_attribute(
        &mut self,
        element: &str,
        attribute: &str,
        is_tokenized: bool,
        default: Option<String>,
    ) {
        let rules = self.attributes.entry(element.into()).or_default();
        if rules.is_tokenized.contains_key(attribute) {
            return;
        }
        rules.is_tokenized.insert(attribute.into(), is_tokenized);
        rules.defaults.extend(default.map(|value| DefaultAttribute {
            name: attribute.into(),
            value: value.into_boxed_str(),
        }));
    }

    /// Counts a declaration at offset `at`.
    fn count_declaration(&mut self, at: usize, max: usize) -> ParseResult<()> {
        self.declarations += 1;
        if self.declarations > max {
            let message = format!("the document type has more than {max} declarations");
            return refuse(error_codes::LIMIT_DECLARATIONS, at, message);
        }
        Ok(())
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
        if self.is_standalone && self.parameter_depth == 0 && self.general.is_in_parameter(body) {
            let message = format!("the entity {body} is declared in a parameter entity, and the document is standalone");
            return refuse(error_codes::ENTITY_UNDECLARED, 0, message);
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
