//! Every limit of the reader, by name.

/// What the reader takes at most. At a limit a document is refused with the code `limit.` and the
/// limit's name; [`Limits::window_bytes`] alone refuses nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a document, as published.
    pub document_bytes: u64,
    /// Elements open at once.
    pub depth: usize,
    /// Attributes of one element: given, defaulted and namespace declarations.
    pub attributes: usize,
    /// Bytes of a name in UTF-8, prefix included.
    pub name_bytes: usize,
    /// Bytes of an attribute's value in UTF-8, references expanded.
    pub value_bytes: usize,
    /// Bytes of a start or end tag in UTF-8; a tag is held in memory whole.
    pub tag_bytes: usize,
    /// Bytes of the document type declaration in UTF-8; it is held in memory whole.
    pub doctype_bytes: usize,
    /// Bytes that a document's entities and attribute defaults expand to in all.
    pub entity_bytes: u64,
    /// Entities open within one another.
    pub entity_depth: usize,
    /// How many times longer than the document read so far its expansions may be, once they are
    /// past [`Limits::AMPLIFICATION_FREE_BYTES`].
    pub entity_amplification: u64,
    /// Memory for the distinct names, prefixes and namespaces that one document brings, and for
    /// those kept from one document to the next.
    pub names_bytes: usize,
    /// Bytes taken from a stream at a time.
    pub window_bytes: usize,
}

impl Limits {
    /// Expansions this small are not held against a short document.
    pub const AMPLIFICATION_FREE_BYTES: u64 = 64 * 1024;
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            document_bytes: 1 << 30,
            depth: 1_000,
            attributes: 1_000,
            name_bytes: 1_000,
            value_bytes: 1 << 20,
            tag_bytes: 4 << 20,
            doctype_bytes: 1 << 20,
            entity_bytes: 8 << 20,
            entity_depth: 16,
            entity_amplification: 100,
            names_bytes: 16 << 20,
            window_bytes: 64 << 10,
        }
    }
}
