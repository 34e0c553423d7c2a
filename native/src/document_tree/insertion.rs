//! Inserting new subtrees and copies.

use super::journal::Change;
use super::node_id::NodeId;
use super::tree::{
    DocumentTree, ElementData, Node, NodeKind, Place, QualifiedName, Slot, XMLNS_URI, XML_URI,
};
use super::tree_error::{TreeError, TreeResult};

/// A node of an inserted subtree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewNode {
    /// Its identity.
    pub id: NodeId,
    /// 0 for the top, one more than its parent for others. Nodes are in document order.
    pub depth: usize,
    /// Not [`NodeKind::Document`].
    pub kind: NodeKind,
    /// The name of an element, the target of an instruction.
    pub name: QualifiedName,
    /// The value of a text, comment or instruction.
    pub value: String,
    /// The attributes of an element.
    pub attributes: Vec<(QualifiedName, String)>,
    /// The namespace declarations of an element: prefix and URI.
    pub declarations: Vec<(String, String)>,
}

impl NewNode {
    pub(super) fn check(&self, tree: &DocumentTree) -> TreeResult<()> {
        match self.kind {
            NodeKind::Document => return Err(TreeError::Content("a document has one node")),
            NodeKind::Element => self.check_element(tree)?,
            NodeKind::Instruction => {
                self.name.check()?;
                let is_target = self.name.prefix.is_empty() && self.name.uri.is_empty();
                if !is_target || self.name.local.eq_ignore_ascii_case("xml") {
                    return Err(TreeError::Content(
                        "a target is reserved or has a namespace",
                    ));
                }
            }
            NodeKind::Text | NodeKind::Comment => {}
        }
        tree.check_content(self.kind, &self.value)
    }

    fn check_element(&self, tree: &DocumentTree) -> TreeResult<()> {
        self.name.check()?;
        for (at, (name, value)) in self.attributes.iter().enumerate() {
            name.check_attribute()?;
            tree.check_content(NodeKind::Text, value)?;
            let before = self.attributes[..at].iter().map(|(other, _)| other);
            for other in before.clone() {
                if other.uri == name.uri && other.local == name.local {
                    return Err(TreeError::Content("an element has an attribute twice"));
                }
            }
            let clashes = |other: &QualifiedName| {
                !name.prefix.is_empty() && other.prefix == name.prefix && other.uri != name.uri
            };
            if before.chain([&self.name]).any(clashes) {
                return Err(TreeError::Content(
                    "a prefix stands for another namespace in the same element",
                ));
            }
        }
        check_declarations(&self.declarations)
    }
}

/// Checks the namespace declarations of an element.
pub(super) fn check_declarations(declarations: &[(String, String)]) -> TreeResult<()> {
    for (at, (prefix, uri)) in declarations.iter().enumerate() {
        let name = QualifiedName {
            prefix: prefix.clone(),
            uri: uri.clone(),
            local: "a".to_owned(),
        };
        if name.check().is_err() || uri == XML_URI || uri == XMLNS_URI {
            return Err(TreeError::Content("a namespace declaration is invalid"));
        }
        if declarations[..at].iter().any(|(other, _)| other == prefix) {
            return Err(TreeError::Content("a prefix is declared twice"));
        }
    }
    Ok(())
}

impl DocumentTree {
    /// Inserts a new subtree, whose nodes are in document order.
    pub fn insert(&mut self, nodes: &[NewNode], place: &Place) -> TreeResult<()> {
        let (parent, previous) = self.resolve(place)?;
        self.check_new(nodes)?;
        let height = nodes.iter().filter(|node| node.kind == NodeKind::Element);
        let height = height.map(|node| node.depth + 1).max().unwrap_or(0);
        self.check_depth(parent, height)?;
        let mut open: Vec<Slot> = Vec::new();
        for new in nodes {
            let slot = self.add_new(new)?;
            open.truncate(new.depth);
            match open.last() {
                Some(&above) => {
                    let last = self.node(above).last_child;
                    self.link_after(slot, above, last);
                }
                None => self.link_after(slot, parent, previous),
            }
            open.push(slot);
        }
        let slot = open[0];
        self.record(Change::Presence {
            slot,
            is_absent: true,
        });
        Ok(())
    }

    /// Checks everything that could fail, so that nothing is changed then.
    fn check_new(&self, nodes: &[NewNode]) -> TreeResult<()> {
        let malformed = TreeError::Content("the nodes are not those of one subtree in order");
        let mut open: Vec<NodeKind> = Vec::new();
        let mut ids = Vec::with_capacity(nodes.len());
        let mut bytes = 0;
        for (at, node) in nodes.iter().enumerate() {
            node.check(self)?;
            node.check_tag(self.limits.tag)?;
            let fits = node.depth <= open.len() && (at == 0) == (node.depth == 0);
            if !fits
                || open[..node.depth]
                    .last()
                    .is_some_and(|kind| *kind != NodeKind::Element)
            {
                return Err(malformed);
            }
            open.truncate(node.depth);
            open.push(node.kind);
            if self.find(node.id).is_some() {
                return Err(TreeError::IdentityTaken(node.id));
            }
            ids.push(node.id);
            bytes += node.value.len() + node.attributes.iter().map(|(_, v)| v.len()).sum::<usize>();
        }
        if nodes.is_empty() {
            return Err(malformed);
        }
        ids.sort_unstable();
        if let Some(pair) = ids.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(TreeError::IdentityTaken(pair[0]));
        }
        self.check_room(nodes.len(), bytes)
    }

    /// Checks that a number of nodes and of bytes of values fits.
    pub(super) fn check_room(&self, nodes: usize, bytes: usize) -> TreeResult<()> {
        if self.len() + nodes > self.limits.nodes_max {
            return Err(TreeError::Limit("the tree has too many nodes"));
        }
        if self.heap.len() + bytes > self.limits.text_bytes_max.min(u32::MAX as usize) {
            return Err(TreeError::Limit("the tree has too much text"));
        }
        Ok(())
    }

    /// Adds a node that has no place yet.
    pub(super) fn add_new(&mut self, new: &NewNode) -> TreeResult<Slot> {
        let mut node = Node::new(new.id, new.kind);
        node.name = self.qname(&new.name.prefix, &new.name.uri, &new.name.local);
        node.value = self.add_text(&new.value)?;
        node.element = self.element_data(new)?;
        self.add(node)
    }

    /// The attributes and declarations of a new node.
    pub(super) fn element_data(&mut self, new: &NewNode) -> TreeResult<Option<Box<ElementData>>> {
        if new.attributes.is_empty() && new.declarations.is_empty() {
            return Ok(None);
        }
        let mut data = ElementData::default();
        for (name, value) in &new.attributes {
            let name = self.qname(&name.prefix, &name.uri, &name.local);
            data.attributes.push((name, self.add_text(value)?));
        }
        let declarations = new.declarations.iter();
        data.declarations = declarations
            .map(|(prefix, uri)| (prefix.as_str().into(), uri.as_str().into()))
            .collect();
        Ok(Some(Box::new(data)))
    }

    /// Copies a subtree; the copies have identities derived from `operation`. Returns that of the top.
    pub fn copy(&mut self, source: NodeId, operation: NodeId, place: &Place) -> TreeResult<NodeId> {
        let top = self.live(source)?;
        if top == Slot::DOCUMENT {
            return Err(TreeError::Root);
        }
        let (parent, previous) = self.resolve(place)?;
        self.check_depth(parent, self.height(top))?;
        let sources: Vec<Slot> = self.visible_subtree(top).collect();
        for &slot in &sources {
            let id = NodeId::derived(operation, self.node(slot).id);
            if self.find(id).is_some() {
                return Err(TreeError::IdentityTaken(id));
            }
        }
        self.check_room(sources.len(), 0)?;
        let mut copies: Vec<(Slot, Slot)> = Vec::new();
        for slot in sources {
            let original = self.node(slot);
            let above = original.parent;
            let mut node = Node::new(NodeId::derived(operation, original.id), original.kind);
            node.name = original.name;
            node.value = original.value;
            node.element.clone_from(&original.element);
            node.set_bare(original.is_bare());
            let copy = self.add(node)?;
            while copies.last().is_some_and(|(from, _)| *from != above) {
                copies.pop();
            }
            match copies.last() {
                Some(&(_, to)) => {
                    let last = self.node(to).last_child;
                    self.link_after(copy, to, last);
                }
                None => self.link_after(copy, parent, previous),
            }
            copies.push((slot, copy));
        }
        let id = NodeId::derived(operation, source);
        let slot = self.find(id).expect("just added");
        self.record(Change::Presence {
            slot,
            is_absent: true,
        });
        Ok(id)
    }
}
