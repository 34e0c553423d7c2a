//! Limits of a start tag, so that the reader with the same limits accepts the document of every tree.
//!
//! Without them, one client could make a document that no other client can read from its file any more. Patches
//! and snapshots are not checked: what a server has accepted stays readable when limits change.

use foldhash::fast::RandomState;
use hashbrown::HashSet;

use crate::reader::Limits;

use super::insertion::NewNode;
use super::tree::{DocumentTree, QualifiedName, Slot};
use super::tree_error::{TreeError, TreeResult};

/// Limits of the tag of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TagLimits {
    /// Attributes, namespace declarations included.
    pub attributes_max: usize,
    /// Bytes of a name with its prefix.
    pub name_bytes_max: usize,
    /// Bytes of the value of an attribute or of a namespace URI.
    pub value_bytes_max: usize,
    /// Bytes of the tag.
    pub tag_bytes_max: usize,
}

impl TagLimits {
    /// The limits of a reader.
    pub fn of_reader(limits: &Limits) -> Self {
        Self {
            attributes_max: limits.attributes,
            name_bytes_max: limits.name_bytes,
            value_bytes_max: limits.value_bytes,
            tag_bytes_max: limits.tag_bytes,
        }
    }
}

impl Default for TagLimits {
    fn default() -> Self {
        Self::of_reader(&Limits::default())
    }
}

/// The size of a tag, from its parts. Every prefix counts as declared in the tag.
struct TagSize<'t> {
    limits: TagLimits,
    prefixes: HashSet<&'t str, RandomState>,
    attributes: usize,
    bytes: usize,
}

impl<'t> TagSize<'t> {
    fn new(limits: TagLimits) -> Self {
        Self {
            limits,
            prefixes: HashSet::default(),
            attributes: 0,
            bytes: "</>".len(),
        }
    }

    fn element(&mut self, prefix: &'t str, uri: &str, local: &str) -> TreeResult<()> {
        self.name(prefix, uri, local)?;
        if uri.is_empty() {
            return Ok(());
        }
        // Without a prefix, the namespace is the default one.
        self.declaration(prefix, uri)
    }

    fn attribute(
        &mut self,
        prefix: &'t str,
        uri: &str,
        local: &str,
        value: &str,
    ) -> TreeResult<()> {
        self.name(prefix, uri, local)?;
        self.value(value)?;
        self.attributes += 1;
        if prefix.is_empty() {
            return Ok(());
        }
        self.declaration(prefix, uri)
    }

    fn declaration(&mut self, prefix: &'t str, uri: &str) -> TreeResult<()> {
        if self.prefixes.insert(prefix) {
            self.attributes += 1;
            self.bytes += "xmlns:".len() + prefix.len();
            self.value(uri)?;
        }
        Ok(())
    }

    fn name(&mut self, prefix: &str, uri: &str, local: &str) -> TreeResult<()> {
        let bytes = prefix.len() + usize::from(!prefix.is_empty()) + local.len();
        if bytes > self.limits.name_bytes_max {
            return Err(TreeError::Limit("a name is too long"));
        }
        if uri.len() > self.limits.value_bytes_max {
            return Err(TreeError::Limit("a namespace URI is too long"));
        }
        self.bytes += bytes;
        Ok(())
    }

    /// Counts a value as it is written: ` ="…"` with references.
    fn value(&mut self, value: &str) -> TreeResult<()> {
        if value.len() > self.limits.value_bytes_max {
            return Err(TreeError::Limit("the value of an attribute is too long"));
        }
        let escaped = |byte: &u8| matches!(byte, b'&' | b'<' | b'>' | b'"' | b'\t' | b'\n' | b'\r');
        self.bytes += " =\"\"".len() + value.len();
        self.bytes += value.bytes().filter(escaped).count() * "&quot".len();
        Ok(())
    }

    fn check(self) -> TreeResult<()> {
        if self.attributes > self.limits.attributes_max {
            return Err(TreeError::Limit("an element has too many attributes"));
        }
        if self.bytes > self.limits.tag_bytes_max {
            return Err(TreeError::Limit("the tag of an element is too long"));
        }
        Ok(())
    }
}

impl NewNode {
    /// Checks the size of the tag of a new element; other nodes have only a name.
    pub(super) fn check_tag(&self, limits: TagLimits) -> TreeResult<()> {
        let mut size = TagSize::new(limits);
        for (prefix, uri) in &self.declarations {
            size.declaration(prefix, uri)?;
        }
        size.element(&self.name.prefix, &self.name.uri, &self.name.local)?;
        for (name, value) in &self.attributes {
            size.attribute(&name.prefix, &name.uri, &name.local, value)?;
        }
        size.check()
    }
}

impl DocumentTree {
    /// Checks the size of the tag of an element with another name, or with another value of an attribute.
    pub(super) fn check_changed_tag(
        &self,
        slot: Slot,
        new_name: Option<&QualifiedName>,
        new_attribute: Option<(&QualifiedName, &str)>,
    ) -> TreeResult<()> {
        let mut size = TagSize::new(self.limits.tag);
        let node = self.node(slot);
        for (prefix, uri) in node.declarations() {
            size.declaration(prefix, uri)?;
        }
        if let Some(name) = new_name {
            size.element(&name.prefix, &name.uri, &name.local)?;
        } else {
            let (prefix, name) = &self.qnames[node.name.0 as usize];
            let (uri, local) = self.names.get(*name);
            size.element(prefix, uri, local)?;
        }
        for (qname, value) in node.attributes() {
            let (prefix, name) = &self.qnames[qname.0 as usize];
            let (uri, local) = self.names.get(*name);
            let is_replaced =
                |(new, _): (&QualifiedName, &str)| new.uri == uri && new.local == local;
            if !new_attribute.is_some_and(is_replaced) {
                size.attribute(prefix, uri, local, self.heap.get(*value))?;
            }
        }
        if let Some((name, value)) = new_attribute {
            size.attribute(&name.prefix, &name.uri, &name.local, value)?;
        }
        size.check()
    }
}
