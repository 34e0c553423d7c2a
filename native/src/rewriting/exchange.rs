//! Exchange: on buffered trees, each child of one kind gets the parent without such children as its
//! last child, and takes its place.
//!
//! The children share that parent: copies are only counted.

use super::mapping::{Mapping, SchemaNodeId, UNKNOWN};
use super::rewrite_budget::RewriteBudget;
use super::tree_buffer::{NodeId, TreeBuffer};
use crate::events::Stop;

/// Up to this many Exchanges, all are tried without looking for their nodes first.
const TRIED_MAX: usize = 4;

/// Applies the Exchanges of a mapping to buffered trees.
pub(super) struct Exchanger<'a> {
    pub mapping: &'a Mapping,
    pub trees: &'a mut TreeBuffer,
    pub budget: &'a mut RewriteBudget,
}

impl Exchanger<'_> {
    /// Applies the Exchanges one after the other to sibling trees.
    pub fn apply(&mut self, nodes: &mut Vec<NodeId>) -> Result<(), Stop> {
        let exchanges = &self.mapping.exchanges;
        if exchanges.len() <= TRIED_MAX {
            return exchanges
                .iter()
                .try_for_each(|&(parent, child)| self.exchange(nodes, parent, child).map(drop));
        }
        for found in self.parents_in(nodes) {
            let first = exchanges.partition_point(|&(parent, _)| parent < found);
            let own = exchanges[first..].iter();
            for &(parent, child) in own.take_while(|&&(parent, _)| parent == found) {
                self.exchange(nodes, parent, child)?;
            }
        }
        Ok(())
    }

    /// The schema nodes with Exchanges that occur in the trees, in the order of application. A mapping
    /// can have many more. Exchanges move nodes but never change their schema nodes.
    fn parents_in(&self, nodes: &[NodeId]) -> Vec<SchemaNodeId> {
        let mut found = Vec::new();
        let mut pending = nodes.to_vec();
        while let Some(node) = pending.pop() {
            let schema_node = self.trees.node(node).schema_node;
            // Text and unknown elements have no schema node, and unknown elements contain no others.
            if let Some(known) = self.mapping.nodes.get(schema_node as usize) {
                found.extend(known.has_exchange.then_some(schema_node));
                pending.extend(self.trees.children(node));
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Applies one Exchange to sibling trees; whether anything changed.
    fn exchange(
        &mut self,
        nodes: &mut Vec<NodeId>,
        parent: SchemaNodeId,
        child: SchemaNodeId,
    ) -> Result<bool, Stop> {
        let mut is_changed = false;
        let mut at = 0;
        while at < nodes.len() {
            let node = nodes[at];
            let schema_node = self.trees.node(node).schema_node;
            if schema_node == parent {
                let exchanged = self.exchange_node(node, child)?;
                is_changed |= exchanged != [node];
                let count = exchanged.len();
                nodes.splice(at..=at, exchanged);
                at += count;
                continue;
            }
            // The recursion is no deeper than the schema, which is where known elements can nest.
            if self.trees.node(node).is_element() && schema_node != UNKNOWN {
                let mut children = self.trees.children(node).to_vec();
                if self.exchange(&mut children, parent, child)? {
                    nodes[at] = self.trees.with_children(node, &children);
                    is_changed = true;
                }
            }
            at += 1;
        }
        Ok(is_changed)
    }

    /// The nodes that replace `node` after it was exchanged with its children of one kind.
    fn exchange_node(&mut self, node: NodeId, child: SchemaNodeId) -> Result<Vec<NodeId>, Stop> {
        let trees = &mut *self.trees;
        let children = trees.children(node).iter();
        let (inner, rest): (Vec<NodeId>, Vec<NodeId>) =
            children.partition(|&&each| trees.node(each).schema_node == child);
        if inner.is_empty() {
            return Ok(vec![node]);
        }
        let rest = trees.with_children(node, &rest);
        if inner.len() > 1 {
            trees.set_repeated(rest);
        }
        let weight = trees.node(rest).weight;
        let mut exchanged = Vec::with_capacity(inner.len());
        for &each in &inner {
            let mut children = trees.children(each).to_vec();
            children.push(rest);
            exchanged.push(trees.with_children(each, &children));
        }
        self.budget.charge_copies(inner.len() - 1, weight)?;
        Ok(exchanged)
    }
}
