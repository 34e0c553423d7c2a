//! Writes a tree as Canonical XML 1.0 with comments, inclusive or exclusive.

use super::namespaces::NamespaceStack;
use super::tree::{DocumentTree, NodeKind, QNameId, Slot};

/// Which namespace declarations are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CanonicalForm {
    /// All in scope (Canonical XML 1.0).
    Inclusive,
    /// Those that a name uses (Exclusive XML Canonicalization 1.0).
    Exclusive,
}

impl DocumentTree {
    /// The document as canonical XML, with comments. Empty if there is no root element.
    pub fn canonical_xml(&self, form: CanonicalForm) -> String {
        let mut writer = Writer {
            tree: self,
            form,
            scope: NamespaceStack::default(),
            xml: String::new(),
        };
        let is_visible = |slot: &Slot| self.node(*slot).is_visible();
        let mut is_after_root = false;
        for slot in self.children(Slot::DOCUMENT).filter(is_visible) {
            let is_root = self.node(slot).kind == NodeKind::Element;
            if is_after_root {
                writer.xml.push('\n');
            }
            writer.subtree(slot);
            is_after_root |= is_root;
            if !is_after_root {
                writer.xml.push('\n');
            }
        }
        writer.xml
    }
}

struct Writer<'t> {
    tree: &'t DocumentTree,
    form: CanonicalForm,
    scope: NamespaceStack,
    xml: String,
}

impl Writer<'_> {
    /// Writes a node with its subtree, without recursion: a tree can be deep.
    fn subtree(&mut self, top: Slot) {
        let mut open: Vec<Slot> = Vec::new();
        for slot in self.tree.visible_subtree(top) {
            let parent = self.tree.node(slot).parent;
            while open.last().is_some_and(|last| *last != parent) {
                self.end(open.pop().expect("checked above"));
            }
            if self.node(slot) {
                open.push(slot);
            }
        }
        while let Some(slot) = open.pop() {
            self.end(slot);
        }
    }

    /// Writes a node up to its children; whether it is an element.
    fn node(&mut self, slot: Slot) -> bool {
        let tree = self.tree;
        let node = tree.node(slot);
        let value = tree.heap.get(node.value);
        match node.kind {
            NodeKind::Document => unreachable!("a subtree has no document node"),
            NodeKind::Element => {
                self.start(slot);
                return true;
            }
            NodeKind::Text => escape(value, "&<>\r", &mut self.xml),
            NodeKind::Comment => {
                self.xml.push_str("<!--");
                escape(value, "\r", &mut self.xml);
                self.xml.push_str("-->");
            }
            NodeKind::Instruction => {
                self.xml.push_str("<?");
                self.name(node.name);
                if !value.is_empty() {
                    self.xml.push(' ');
                    escape(value, "\r", &mut self.xml);
                }
                self.xml.push_str("?>");
            }
        }
        false
    }

    fn start(&mut self, slot: Slot) {
        let tree = self.tree;
        let node = tree.node(slot);
        let mut attributes = node.attributes().to_vec();
        attributes.sort_unstable_by_key(|(name, _)| tree.names.get(tree.expanded(*name)));
        let names: Vec<QNameId> = attributes.iter().map(|(name, _)| *name).collect();
        let declarations = match self.form {
            CanonicalForm::Inclusive => tree.needed_declarations(slot, &names, &self.scope),
            CanonicalForm::Exclusive => self.used_declarations(node.name, &names),
        };
        self.scope.open();
        self.xml.push('<');
        self.name(node.name);
        for (prefix, uri) in declarations {
            self.xml.push_str(" xmlns");
            if !prefix.is_empty() {
                self.xml.push(':');
                self.xml.push_str(&prefix);
            }
            self.value(&uri);
            self.scope.bind(&prefix, &uri);
        }
        for (name, value) in attributes {
            self.xml.push(' ');
            self.name(name);
            self.value(tree.heap.get(value));
        }
        self.xml.push('>');
    }

    fn end(&mut self, slot: Slot) {
        self.scope.close();
        self.xml.push_str("</");
        self.name(self.tree.node(slot).name);
        self.xml.push('>');
    }

    /// The declarations that names use and that are not written above, sorted by prefix.
    fn used_declarations(&self, element: QNameId, attributes: &[QNameId]) -> Vec<(String, String)> {
        let mut used: Vec<(String, String)> = Vec::new();
        for (at, name) in std::iter::once(&element).chain(attributes).enumerate() {
            let (prefix, id) = &self.tree.qnames[name.0 as usize];
            let uri = self.tree.names.get(*id).0;
            let is_namespaced = at == 0 || !prefix.is_empty();
            if is_namespaced && &**prefix != "xml" && self.scope.uri(prefix) != uri {
                used.push((prefix.to_string(), uri.to_owned()));
            }
        }
        used.sort_unstable();
        used.dedup();
        used
    }

    fn name(&mut self, name: QNameId) {
        let (prefix, id) = &self.tree.qnames[name.0 as usize];
        if !prefix.is_empty() {
            self.xml.push_str(prefix);
            self.xml.push(':');
        }
        self.xml.push_str(self.tree.names.get(*id).1);
    }

    fn value(&mut self, value: &str) {
        self.xml.push_str("=\"");
        escape(value, "&<\"\t\n\r", &mut self.xml);
        self.xml.push('"');
    }
}

/// Writes a value with references for the characters of `special`.
fn escape(value: &str, special: &str, xml: &mut String) {
    let mut rest = value;
    while let Some(at) = rest.find(|c| special.contains(c)) {
        xml.push_str(&rest[..at]);
        xml.push_str(match rest.as_bytes()[at] {
            b'&' => "&amp;",
            b'<' => "&lt;",
            b'>' => "&gt;",
            b'"' => "&quot;",
            b'\t' => "&#x9;",
            b'\n' => "&#xA;",
            _ => "&#xD;",
        });
        rest = &rest[at + 1..];
    }
    xml.push_str(rest);
}
