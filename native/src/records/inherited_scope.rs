//! The namespaces that a record inherits, of which it gets those that it uses.

use std::sync::Arc;

use hashbrown::HashMap;

use crate::events::Context;
use crate::reader::is_name_char;

/// The namespaces declared around a record; records and elements without declarations share it.
#[derive(Clone, Debug, Default)]
pub(super) struct InheritedScope(Option<Arc<Declarations>>);

/// The declarations of one element, within those around it.
#[derive(Debug)]
struct Declarations {
    outer: InheritedScope,
    /// URIs by prefix; empty if the default namespace is undeclared.
    uris: HashMap<Box<str>, Box<str>>,
}

impl InheritedScope {
    /// This scope with the declarations of the current element. The cost does not depend on the size of
    /// this scope.
    pub(super) fn with_declarations(&self, context: &dyn Context) -> Self {
        let mut uris = HashMap::new();
        context.namespace_declarations(&mut |prefix, uri| {
            uris.insert(prefix.into(), uri.into());
        });
        if uris.is_empty() {
            return self.clone();
        }
        Self(Some(Arc::new(Declarations {
            outer: self.clone(),
            uris,
        })))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The URI of a prefix, if it is bound.
    pub(super) fn uri(&self, prefix: &str) -> Option<&str> {
        let mut scope = self;
        while let Some(declarations) = &scope.0 {
            if let Some(uri) = declarations.uris.get(prefix) {
                return Some(&**uri).filter(|uri| !uri.is_empty());
            }
            scope = &declarations.outer;
        }
        None
    }
}

/// Calls `visit` for each prefix that `text` may use: each name before a colon, since names in values
/// and text count too, and each prefix that it declares. A prefix may be visited several times.
pub(super) fn visit_prefixes<'t>(text: &'t str, visit: &mut dyn FnMut(&'t str)) {
    let is_part = |c: char| c != ':' && is_name_char(c);
    let mut searched = 0;
    for colon in memchr::memchr_iter(b':', text.as_bytes()) {
        let before = &text[searched..colon];
        let name = &before[before.trim_end_matches(is_part).len()..];
        searched = colon + 1;
        if !name.is_empty() {
            visit(name);
        }
        if name == "xmlns" {
            let after = &text[searched..];
            visit(&after[..after.find(|c| !is_part(c)).unwrap_or(after.len())]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::visit_prefixes;

    #[test]
    fn prefixes_are_found_in_names_values_and_text() {
        let text = "<p:a xmlns:q='http://x' é.1:b='xs:int'>one,two:three :: //r:s</p:a>";
        let mut found = Vec::new();
        visit_prefixes(text, &mut |prefix| found.push(prefix));
        let expected = ["p", "xmlns", "q", "http", "é.1", "xs", "two", "r", "p"];
        assert_eq!(found, expected);
    }
}
