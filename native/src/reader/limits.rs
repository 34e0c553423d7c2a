//! The limits of the reader.

/// Declares the limits once: fields, defaults, and access by name.
macro_rules! limits {
    ($($(#[$doc:meta])* $name:ident: $type:ty = $default:expr;)*) => {
        /// Limits on documents. A document that exceeds one is refused with the code `limit.` and the
        /// limit's name, with hyphens for underscores. [`Limits::window_bytes`] refuses nothing, and
        /// [`Limits::work`] sets queries aside instead.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Limits {
            $($(#[$doc])* pub $name: $type,)*
        }

        impl Default for Limits {
            fn default() -> Self {
                Self { $($name: $default,)* }
            }
        }

        impl Limits {
            /// The limits as names and values.
            pub fn named(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($name), self.$name as u64)),*]
            }

            /// Sets the limit `name`; whether it exists and `value` is in its range.
            pub fn set(&mut self, name: &str, value: u64) -> bool {
                match name {
                    $(stringify!($name) => {
                        <$type>::try_from(value).map(|value| self.$name = value).is_ok()
                    })*
                    _ => false,
                }
            }
        }
    };
}

limits! {
    /// Size of the original document in bytes.
    document_bytes: u64 = 1 << 30;
    /// Elements open at once.
    depth: usize = 1_000;
    /// Attributes of one element, including defaults and namespace declarations.
    attributes: usize = 1_000;
    /// Size of a name in UTF-8, including its prefix.
    name_bytes: usize = 1_000;
    /// Size of an attribute value in UTF-8, with references expanded.
    value_bytes: usize = 1 << 20;
    /// Size of a start or end tag in UTF-8; tags are buffered completely.
    tag_bytes: usize = 4 << 20;
    /// Size of the XML declaration in UTF-8; it is buffered completely.
    xml_declaration_bytes: usize = 1 << 10;
    /// Size of the document type declaration in UTF-8; it is buffered completely.
    doctype_bytes: usize = 1 << 20;
    /// Declarations in the document type declaration; each attribute counts.
    declarations: usize = 20_000;
    /// Total size of the expansions of entities, and of attribute defaults as if written in the tags.
    entity_bytes: u64 = 8 << 20;
    /// Entities open within one another.
    entity_depth: usize = 16;
    /// Ratio of the expansions to the document read so far, not counting the first
    /// [`Limits::AMPLIFICATION_FREE_BYTES`] of expansions.
    entity_amplification: u64 = 100;
    /// Memory for the distinct names, prefixes and namespaces that a document adds, and for those
    /// reused across documents.
    names_bytes: usize = 16 << 20;
    /// Namespace prefixes in scope at once.
    namespaces: usize = 1_000;
    /// Bytes read from a stream at a time.
    window_bytes: usize = 64 << 10;
    /// Steps of matching for each byte of a document. Past it, the most expensive queries are set
    /// aside for the document.
    work: u64 = 1_000;
}

impl Limits {
    /// Size of expansions that [`Limits::entity_amplification`] ignores.
    pub const AMPLIFICATION_FREE_BYTES: u64 = 64 * 1024;
}
