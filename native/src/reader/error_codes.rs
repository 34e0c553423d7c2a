//! The codes with which the reader refuses documents.

/// Declares the codes together with a list of all of them.
macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $code:literal;)*) => {
        $($(#[$doc])* pub const $name: &str = $code;)*
        /// All codes.
        pub const ALL: &[&str] = &[$($code),*];
    };
}

codes! {
    /// A character that XML does not allow, literally or as a reference.
    CHARACTER = "xml.character";
    /// An invalid name.
    NAME = "xml.name";
    /// Markup that is not a tag, comment, CDATA section or processing instruction.
    TAG = "xml.tag";
    /// Invalid attribute syntax.
    ATTRIBUTE = "xml.attribute";
    /// An attribute that occurs twice.
    ATTRIBUTE_TWICE = "xml.attribute-twice";
    /// An end tag that does not match the open element.
    END_TAG = "xml.end-tag";
    /// The document, or an entity, ends inside markup or with an element open.
    UNCLOSED = "xml.unclosed";
    /// No root element, a second one, or text outside it.
    ROOT = "xml.root";
    /// `]]>` in text.
    TEXT = "xml.text";
    /// `--` in a comment.
    COMMENT = "xml.comment";
    /// A processing instruction with invalid syntax or a reserved target.
    INSTRUCTION = "xml.instruction";
    /// An XML declaration with invalid syntax or in the wrong place.
    DECLARATION = "xml.declaration";
    /// Invalid reference syntax.
    REFERENCE = "xml.reference";
    /// Invalid syntax in the document type declaration.
    DOCTYPE = "xml.doctype";
    /// An unknown encoding, or one that cannot be decoded exactly.
    ENCODING_UNKNOWN = "encoding.unknown";
    /// Bytes that are invalid in the document's encoding.
    ENCODING_BYTES = "encoding.bytes";
    /// A declared encoding that differs from the actual one.
    ENCODING_MISMATCH = "encoding.mismatch";
    /// A reference to an undeclared entity.
    ENTITY_UNDECLARED = "entity.undeclared";
    /// A reference to an external entity.
    ENTITY_EXTERNAL = "entity.external";
    /// A reference to an unparsed entity.
    ENTITY_UNPARSED = "entity.unparsed";
    /// An entity that contains itself.
    ENTITY_RECURSIVE = "entity.recursive";
    /// An entity that contains only the start or only the end of an element.
    ENTITY_UNBALANCED = "entity.unbalanced";
    /// A document type declaration, if the caller does not allow them.
    DOCTYPE_REFUSED = "entity.doctype-refused";
    /// An undeclared prefix.
    NAMESPACE_PREFIX = "namespace.prefix";
    /// Misuse of `xml`, `xmlns` or their namespaces.
    NAMESPACE_RESERVED = "namespace.reserved";
    /// A colon that is not allowed in a name, or not at that position.
    NAMESPACE_COLON = "namespace.colon";
    /// A prefix declared with an empty namespace.
    NAMESPACE_EMPTY = "namespace.empty";
    /// Two attributes with the same expanded name.
    NAMESPACE_ATTRIBUTE_TWICE = "namespace.attribute-twice";
    /// [`super::Limits::document_bytes`].
    LIMIT_DOCUMENT_BYTES = "limit.document-bytes";
    /// [`super::Limits::depth`].
    LIMIT_DEPTH = "limit.depth";
    /// [`super::Limits::attributes`].
    LIMIT_ATTRIBUTES = "limit.attributes";
    /// [`super::Limits::name_bytes`].
    LIMIT_NAME_BYTES = "limit.name-bytes";
    /// [`super::Limits::value_bytes`].
    LIMIT_VALUE_BYTES = "limit.value-bytes";
    /// [`super::Limits::tag_bytes`].
    LIMIT_TAG_BYTES = "limit.tag-bytes";
    /// [`super::Limits::xml_declaration_bytes`].
    LIMIT_XML_DECLARATION_BYTES = "limit.xml-declaration-bytes";
    /// [`super::Limits::doctype_bytes`].
    LIMIT_DOCTYPE_BYTES = "limit.doctype-bytes";
    /// [`super::Limits::declarations`].
    LIMIT_DECLARATIONS = "limit.declarations";
    /// [`super::Limits::entity_bytes`].
    LIMIT_ENTITY_BYTES = "limit.entity-bytes";
    /// [`super::Limits::entity_depth`].
    LIMIT_ENTITY_DEPTH = "limit.entity-depth";
    /// [`super::Limits::entity_amplification`].
    LIMIT_ENTITY_AMPLIFICATION = "limit.entity-amplification";
    /// [`super::Limits::names_bytes`].
    LIMIT_NAMES_BYTES = "limit.names-bytes";
    /// [`super::Limits::namespaces`].
    LIMIT_NAMESPACES = "limit.namespaces";
}
