//! The one hardened XML reader.
