//! The namespaces that a record inherits, of which it gets those that it uses.

use std::sync::Arc;

use hashbrown::HashMap;

use crate::events::Context;

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
