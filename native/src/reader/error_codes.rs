//! Every code with which the reader refuses a document.

/// Declares the codes and their list together, so that none can be left out of it.
macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $code:literal;)*) => {
        $($(#[$doc])* pub const $name: &str = $code;)*
        /// All of them.
        pub const ALL: &[&str] = &[$($code),*];
    };
}

codes! {
    /// A character that XML does not allow, written out or as a reference.
    CHARACTER = "xml.character";
    /// A name that is none.
    NAME = "xml.name";
    /// Markup that is neither tag, comment, CDATA section nor processing instruction.
    TAG = "xml.tag";
    /// An attribute's syntax.
    ATTRIBUTE = "xml.attribute";
    /// An attribute given twice.
    ATTRIBUTE_TWICE = "xml.attribute-twice";
    /// An end tag that closes another element than the one open.
    END_TAG = "xml.end-tag";
    /// The document, or an entity, ends inside markup or with an element open.
    UNCLOSED = "xml.unclosed";
    /// No root element, a second one, or text beside it.
    ROOT = "xml.root";
    /// `]]>` in text.
    TEXT = "xml.text";
    /// `--` in a comment.
    COMMENT = "xml.comment";
    /// A processing instruction's syntax or reserved target.
    INSTRUCTION = "xml.instruction";
    /// The XML declaration's syntax or place.
    DECLARATION = "xml.declaration";
    /// A reference's syntax.
    REFERENCE = "xml.reference";
    /// The document type declaration's syntax.
    DOCTYPE = "xml.doctype";
    /// An encoding the reader does not know, or cannot decode exactly.
    ENCODING_UNKNOWN = "encoding.unknown";
    /// Bytes that are not text in the document's encoding.
    ENCODING_BYTES = "encoding.bytes";
    /// The encoding declared is not the one used.
    ENCODING_MISMATCH = "encoding.mismatch";
    /// A reference to an entity that nobody declared.
    ENTITY_UNDECLARED = "entity.undeclared";
    /// A reference to an external entity.
    ENTITY_EXTERNAL = "entity.external";
    /// A reference to an unparsed entity.
    ENTITY_UNPARSED = "entity.unparsed";
    /// An entity that contains itself.
    ENTITY_RECURSIVE = "entity.recursive";
    /// An entity that closes, or leaves open, an element it shares with its surroundings.
    ENTITY_UNBALANCED = "entity.unbalanced";
    /// A document type declaration where the caller refuses them.
    DOCTYPE_REFUSED = "entity.doctype-refused";
    /// A prefix that nothing declares.
    NAMESPACE_PREFIX = "namespace.prefix";
    /// A misuse of `xml`, `xmlns` or their namespaces.
    NAMESPACE_RESERVED = "namespace.reserved";
    /// A name with a colon where none, or not there, may be.
    NAMESPACE_COLON = "namespace.colon";
    /// A prefix declared as no namespace.
    NAMESPACE_EMPTY = "namespace.empty";
    /// Two attributes of one expanded name.
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
    /// [`super::Limits::doctype_bytes`].
    LIMIT_DOCTYPE_BYTES = "limit.doctype-bytes";
    /// [`super::Limits::entity_bytes`].
    LIMIT_ENTITY_BYTES = "limit.entity-bytes";
    /// [`super::Limits::entity_depth`].
    LIMIT_ENTITY_DEPTH = "limit.entity-depth";
    /// [`super::Limits::entity_amplification`].
    LIMIT_ENTITY_AMPLIFICATION = "limit.entity-amplification";
    /// [`super::Limits::names_bytes`].
    LIMIT_NAMES_BYTES = "limit.names-bytes";
}
