//! Exchange, on kept trees: each child of one kind gets, as its last child, the parent without them.
//!
//! The children share that parent: nothing is copied, only counted.

use super::mapping::{SchemaNodeId, UNKNOWN};
use super::rewriter::Rewriter;
use super::tree_buffer::NodeId;
use crate::events::{Handler, Stop};

/// So many Exchanges of a mapping are all tried, whether or not their nodes are there.
const FEW: usize = 4;

impl<H: Handler> Rewriter<'_, H> {
    /// Applies the mapping's Exchanges, one after the other, to kept trees that stand side by side.
    pub(super) fn exchange(&mut self, nodes: &mut Vec<NodeId>) -> Result<(), Stop> {
        let exchanges = &self.mapping.exchanges;
        if exchanges.len() <= FEW {
            return exchanges.iter().try_for_each(|&(parent, child)| {
                self.exchange_among(nodes, parent, child).map(|_| ())
            });
        }
        for place in self.exchanging(nodes) {
            let first = exchanges.partition_point(|&(parent, _)| parent < place);
            let own = exchanges[first..].iter();
            for &(parent, child) in own.take_while(|&&(parent, _)| parent == place) {
                self.exchange_among(nodes, parent, child)?;
            }
        }
        Ok(())
    }

    /// The places among kept trees that have Exchanges, in the order of these: a mapping can have many
    /// more. Exchanges move nodes about, and none comes to another place of the schema.
    fn exchanging(&self, nodes: &[NodeId]) -> Vec<SchemaNodeId> {
        let trees = &self.memory.trees;
        let mut found = Vec::new();
        let mut waiting = nodes.to_vec();
        while let Some(node) = waiting.pop() {
            let place = trees.node(node).place;
            // Texts have no place there, nor unknown elements, and what is in these is unknown too.
            if let Some(known) = self.mapping.places.get(place as usize) {
                found.extend(known.exchanges.then_some(place));
                waiting.extend(trees.children(node));
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Applies one Exchange to siblings and all in them; whether anything changed.
    fn exchange_among(
        &mut self,
        nodes: &mut Vec<NodeId>,
        parent: SchemaNodeId,
        child: SchemaNodeId,
    ) -> Result<bool, Stop> {
        let mut is_changed = false;
        let mut at = 0;
        while at < nodes.len() {
            let node = nodes[at];
            let place = self.memory.trees.node(node).place;
            if place == parent {
                let turned = self.turned(node, child)?;
                is_changed |= turned != [node];
                let count = turned.len();
                nodes.splice(at..=at, turned);
                at += count;
                continue;
            }
            // Known elements nest no deeper than the schema: these calls within calls are few.
            if self.memory.trees.node(node).is_element() && place != UNKNOWN {
                let mut children = self.memory.trees.children(node).to_vec();
                if self.exchange_among(&mut children, parent, child)? {
                    nodes[at] = self.memory.trees.with_children(node, &children);
                    is_changed = true;
                }
            }
            at += 1;
        }
        Ok(is_changed)
    }

    /// What stands in the node's place once it has changed places with its children of one kind.
    fn turned(&mut self, node: NodeId, child: SchemaNodeId) -> Result<Vec<NodeId>, Stop> {
        let trees = &mut self.memory.trees;
        let children = trees.children(node).iter();
        let (inner, rest): (Vec<NodeId>, Vec<NodeId>) =
            children.partition(|&&each| trees.node(each).place == child);
        if inner.is_empty() {
            return Ok(vec![node]);
        }
        let rest = trees.with_children(node, &rest);
        if inner.len() > 1 {
            trees.set_repeated(rest);
        }
        let weight = trees.node(rest).weight;
        let mut turned = Vec::with_capacity(inner.len());
        for &each in &inner {
            let mut children = trees.children(each).to_vec();
            children.push(rest);
            turned.push(trees.with_children(each, &children));
        }
        self.count_copies(inner.len() - 1, weight)?;
        Ok(turned)
    }
}
