//! The namespace prefixes of queries.

use super::lexical_rules::is_ncname;
use super::limits::{MAX_NAMESPACES, MAX_NAMESPACE_BYTES};

/// The namespace of the prefix `xml`.
pub const XML_NAMESPACE: &str = "http://www.w3.org/XML/1998/namespace";

const XMLNS_NAMESPACE: &str = "http://www.w3.org/2000/xmlns/";

/// A prefix map and a default namespace for element names without a prefix.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Namespaces {
    // A linear search is faster than a hash table for a few prefixes.
    prefixes: Vec<(Box<str>, Box<str>)>,
    default: Box<str>,
}

impl Namespaces {
    /// Checks the bindings against the rules of XML namespaces; an empty `default` means no namespace.
    ///
    /// # Errors
    /// A message; the code is `query.namespaces`.
    pub fn new<'a>(
        bindings: impl IntoIterator<Item = (&'a str, &'a str)>,
        default: &str,
    ) -> Result<Self, String> {
        let mut prefixes = Vec::new();
        for (prefix, uri) in bindings {
            if let Some(problem) = problem(prefix, uri) {
                return Err(problem);
            }
            if prefixes.len() == MAX_NAMESPACES {
                return Err(format!("more than {MAX_NAMESPACES} prefixes"));
            }
            prefixes.push((prefix.into(), uri.into()));
        }
        if default.len() > MAX_NAMESPACE_BYTES {
            return Err(too_long());
        }
        if default == XMLNS_NAMESPACE {
            return Err("the default namespace must not be that of `xmlns`".into());
        }
        Ok(Self {
            prefixes,
            default: default.into(),
        })
    }

    /// The namespace of a prefix.
    pub fn resolve(&self, prefix: &str) -> Option<&str> {
        if prefix == "xml" {
            return Some(XML_NAMESPACE);
        }
        self.prefixes
            .iter()
            .find(|(bound, _)| **bound == *prefix)
            .map(|(_, uri)| &**uri)
    }

    /// The namespace of element names without a prefix; empty for none.
    pub fn default_namespace(&self) -> &str {
        &self.default
    }
}

fn too_long() -> String {
    format!("a prefix or namespace has more than {MAX_NAMESPACE_BYTES} bytes")
}

fn problem(prefix: &str, uri: &str) -> Option<String> {
    if prefix.len().max(uri.len()) > MAX_NAMESPACE_BYTES {
        Some(too_long())
    } else if !is_ncname(prefix) {
        Some(format!("`{prefix}` is not a valid prefix"))
    } else if prefix == "xmlns" || uri == XMLNS_NAMESPACE {
        Some("`xmlns` and its namespace cannot be bound".into())
    } else if (prefix == "xml") != (uri == XML_NAMESPACE) {
        Some("`xml` and its namespace can only be bound to each other".into())
    } else if uri.is_empty() {
        Some(format!(
            "the prefix `{prefix}` must not be bound to an empty namespace"
        ))
    } else {
        None
    }
}
