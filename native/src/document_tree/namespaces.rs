//! The namespaces in scope while a tree is written in document order.

use super::tree::{DocumentTree, Slot, XML_URI};

/// Prefixes and URIs in scope, innermost last; the default namespace has prefix `""`.
#[derive(Default)]
pub(super) struct NamespaceStack {
    bindings: Vec<(Box<str>, Box<str>)>,
    /// The number of bindings before each open element.
    marks: Vec<usize>,
}

impl NamespaceStack {
    /// The URI of a prefix; empty if there is none.
    pub fn uri(&self, prefix: &str) -> &str {
        if prefix == "xml" {
            return XML_URI;
        }
        let mut bindings = self.bindings.iter().rev();
        bindings
            .find(|(bound, _)| **bound == *prefix)
            .map_or("", |(_, uri)| uri)
    }

    /// Opens an element; what it declares must follow.
    pub fn open(&mut self) {
        self.marks.push(self.bindings.len());
    }

    pub fn bind(&mut self, prefix: &str, uri: &str) {
        self.bindings.push((prefix.into(), uri.into()));
    }

    pub fn close(&mut self) {
        self.bindings
            .truncate(self.marks.pop().expect("an open element"));
    }
}

impl DocumentTree {
    /// The namespace declarations that an element needs where `scope` holds: its own, and those of names
    /// whose prefix stands for something else there, as happens to nodes that were moved. Sorted by prefix.
    pub(super) fn needed_declarations(
        &self,
        slot: Slot,
        attributes: &[super::tree::QNameId],
        scope: &NamespaceStack,
    ) -> Vec<(String, String)> {
        let node = self.node(slot);
        let mut declared: Vec<(String, String)> = Vec::new();
        let mut declare = |prefix: &str, uri: &str, is_needed: bool| {
            let own = declared.iter_mut().find(|(bound, _)| bound == prefix);
            match own {
                Some((_, bound)) if is_needed => uri.clone_into(bound),
                Some(_) => {}
                None if scope.uri(prefix) != uri => declared.push((prefix.into(), uri.into())),
                None => {}
            }
        };
        for (prefix, uri) in node.declarations() {
            declare(prefix, uri, false);
        }
        for name in attributes {
            let (prefix, id) = &self.qnames[name.0 as usize];
            if !prefix.is_empty() && &**prefix != "xml" {
                declare(prefix, self.names.get(*id).0, true);
            }
        }
        let (prefix, id) = &self.qnames[node.name.0 as usize];
        if &**prefix != "xml" {
            declare(prefix, self.names.get(*id).0, true);
        }
        declared.sort_unstable();
        declared
    }
}
