//! Every limit of the reader, by name.

/// Declares the limits once: fields, defaults, and access by name for those who are configured.
macro_rules! limits {
    ($($(#[$doc:meta])* $name:ident: $type:ty = $default:expr;)*) => {
        /// What the reader takes at most. Past a limit a document is refused with the code `limit.`
        /// and the limit's name, hyphens for underscores; [`Limits::window_bytes`] alone refuses
        /// nothing.
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
            /// Names and values.
            pub fn named(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($name), self.$name as u64)),*]
            }

            /// Sets the limit called `name`; whether there is such a limit and it can be so high.
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
    /// Bytes of a document, as published.
    document_bytes: u64 = 1 << 30;
    /// Elements open at once.
    depth: usize = 1_000;
    /// Attributes of one element: given, defaulted and namespace declarations.
    attributes: usize = 1_000;
    /// Bytes of a name in UTF-8, prefix included.
    name_bytes: usize = 1_000;
    /// Bytes of an attribute's value in UTF-8, references expanded.
    value_bytes: usize = 1 << 20;
    /// Bytes of a start or end tag in UTF-8; a tag is held in memory whole.
    tag_bytes: usize = 4 << 20;
    /// Bytes of the document type declaration in UTF-8; it is held in memory whole.
    doctype_bytes: usize = 1 << 20;
    /// Bytes that a document's entities and attribute defaults expand to in all.
    entity_bytes: u64 = 8 << 20;
    /// Entities open within one another.
    entity_depth: usize = 16;
    /// How many times longer than the document read so far its expansions may be, once they are
    /// past [`Limits::AMPLIFICATION_FREE_BYTES`].
    entity_amplification: u64 = 100;
    /// Memory for the distinct names, prefixes and namespaces that one document brings, and for
    /// those kept from one document to the next.
    names_bytes: usize = 16 << 20;
    /// Bytes taken from a stream at a time.
    window_bytes: usize = 64 << 10;
}

impl Limits {
    /// Expansions this small are not held against a short document.
    pub const AMPLIFICATION_FREE_BYTES: u64 = 64 * 1024;
}
