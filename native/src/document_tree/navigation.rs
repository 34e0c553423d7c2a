//! Reading a tree node by node.

use super::node_id::NodeId;
use super::tree::{DocumentTree, NodeKind, QualifiedName, Slot};
use super::tree_error::TreeResult;

/// What a tree has of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeDescription {
    /// Its kind.
    pub kind: NodeKind,
    /// The name of an element, the target of an instruction.
    pub name: QualifiedName,
    /// The value of a text, comment or instruction.
    pub value: String,
    /// Whether the tree has only the name of the element.
    pub is_bare: bool,
}

impl DocumentTree {
    /// The root element.
    pub fn root_id(&self) -> Option<NodeId> {
        self.root().map(|slot| self.node(slot).id)
    }

    /// Whether a node exists, is not deleted and is not inside a deleted one.
    pub fn is_live(&self, id: NodeId) -> bool {
        self.live(id).is_ok()
    }

    /// Whether there is such a node, deleted or not.
    pub fn exists(&self, id: NodeId) -> bool {
        self.existing(id).is_ok()
    }

    /// A node that is not deleted.
    pub fn describe(&self, id: NodeId) -> TreeResult<NodeDescription> {
        let slot = self.live(id)?;
        let node = self.node(slot);
        Ok(NodeDescription {
            kind: node.kind,
            name: self.qualified(node.name),
            value: self.heap.get(node.value).to_owned(),
            is_bare: self.is_bare_element(slot),
        })
    }

    /// The attributes of an element: names and values.
    pub fn attributes_of(&self, id: NodeId) -> TreeResult<Vec<(QualifiedName, String)>> {
        let slot = self.live(id)?;
        let attributes = self.node(slot).attributes().iter();
        Ok(attributes
            .map(|(name, value)| (self.qualified(*name), self.heap.get(*value).to_owned()))
            .collect())
    }

    /// The namespace declarations of an element: prefixes and URIs.
    pub fn declarations_of(&self, id: NodeId) -> TreeResult<Vec<(String, String)>> {
        let slot = self.live(id)?;
        let declarations = self.node(slot).declarations().iter();
        Ok(declarations
            .map(|(prefix, uri)| (prefix.to_string(), uri.to_string()))
            .collect())
    }

    /// The parent of a node, deleted or not.
    pub fn parent_of(&self, id: NodeId) -> TreeResult<Option<NodeId>> {
        let slot = self.existing(id)?;
        let parent = self.node(slot).parent.some();
        Ok(parent.map(|parent| self.node(parent).id))
    }

    /// The visible children of a node.
    pub fn children_of(&self, id: NodeId) -> TreeResult<Vec<NodeId>> {
        let slot = self.live(id)?;
        let children = self.children(slot);
        let visible = children.filter(|&child| self.node(child).is_visible());
        Ok(visible.map(|child| self.node(child).id).collect())
    }

    /// The first visible nodes of a subtree in document order, its top first.
    pub fn subtree_of(&self, id: NodeId, count_max: usize) -> TreeResult<Vec<NodeId>> {
        let slot = self.live(id)?;
        let nodes = self.visible_subtree(slot).take(count_max);
        Ok(nodes.map(|each| self.node(each).id).collect())
    }

    /// The first nodes of a subtree in document order, deleted ones included.
    pub fn present_subtree_of(&self, id: NodeId, count_max: usize) -> TreeResult<Vec<NodeId>> {
        let slot = self.existing(id)?;
        let nodes = self.present_subtree(slot).take(count_max);
        Ok(nodes.map(|each| self.node(each).id).collect())
    }

    /// The concatenated text of a subtree.
    pub fn string_value(&self, id: NodeId) -> TreeResult<String> {
        let slot = self.live(id)?;
        let mut text = String::new();
        for each in self.visible_subtree(slot) {
            let node = self.node(each);
            if node.kind == NodeKind::Text || each == slot {
                text.push_str(self.heap.get(node.value));
            }
        }
        Ok(text)
    }

    /// The deleted nodes among a node and its ancestors.
    pub fn hidden_by(&self, id: NodeId) -> TreeResult<Vec<NodeId>> {
        let slot = self.existing(id)?;
        let deleted = self.ancestors(slot).filter(|&each| self.is_tombstone(each));
        Ok(deleted.map(|each| self.node(each).id).collect())
    }

    /// Whether a node is another or inside it, deleted or not.
    pub fn is_inside(&self, id: NodeId, outer: NodeId) -> bool {
        let (Ok(slot), Ok(outer)) = (self.existing(id), self.existing(outer)) else {
            return false;
        };
        self.ancestors(slot).any(|each| each == outer)
    }

    /// The expanded names from the root element to a node or its innermost element.
    pub fn label_path(&self, id: NodeId) -> TreeResult<Vec<(String, String)>> {
        let slot = self.existing(id)?;
        let mut path: Vec<(String, String)> = self
            .ancestors(slot)
            .filter(|&each| self.node(each).kind == NodeKind::Element)
            .map(|each| {
                let (uri, local) = self.names.get(self.expanded(self.node(each).name));
                (uri.to_owned(), local.to_owned())
            })
            .collect();
        path.reverse();
        Ok(path)
    }

    /// The visible sibling before a node, and the one after it.
    pub fn neighbours_of(&self, id: NodeId) -> TreeResult<(Option<NodeId>, Option<NodeId>)> {
        let slot = self.live(id)?;
        let visible = |slot: &Slot| self.node(*slot).is_visible();
        let node = self.node(slot);
        let before =
            std::iter::successors(node.previous.some(), |&at| self.node(at).previous.some());
        let after = std::iter::successors(node.next.some(), |&at| self.node(at).next.some());
        let id_of = |slot: Slot| self.node(slot).id;
        Ok((
            before.into_iter().find(visible).map(id_of),
            after.into_iter().find(visible).map(id_of),
        ))
    }
}
