//! Downgrade: moves children of an element into other children, once the element has ended.

use super::mapping::NodeOperators;
use super::rewrite_budget::RewriteBudget;
use super::tree_buffer::{NodeId, TreeBuffer};
use crate::events::Stop;

/// Applies the Downgrades of an element to its buffered children `nodes`. A Downgrade without a target
/// among them moves nothing.
pub(super) fn apply_downgrades(
    operators: &NodeOperators,
    trees: &mut TreeBuffer,
    budget: &mut RewriteBudget,
    nodes: &mut Vec<NodeId>,
) -> Result<(), Stop> {
    let schema_nodes = nodes.iter().map(|&node| trees.node(node).schema_node);
    let mut applicable: Vec<u32> = schema_nodes
        .filter_map(|schema_node| operators.downgraded_by.get(schema_node))
        .collect();
    applicable.sort_unstable();
    applicable.dedup();
    for number in applicable {
        let target = operators.downgrade_targets[number as usize];
        let is_target = |trees: &TreeBuffer, node: NodeId| trees.node(node).schema_node == target;
        let targets = nodes.iter().filter(|&&node| is_target(trees, node)).count();
        if targets == 0 {
            continue;
        }
        let mut moved = Vec::new();
        nodes.retain(|&node| {
            let schema_node = trees.node(node).schema_node;
            let is_moved = operators.downgraded_by.get(schema_node) == Some(number);
            if is_moved {
                moved.push(node);
            }
            !is_moved
        });
        for node in nodes.iter_mut() {
            if is_target(trees, *node) {
                let mut children = trees.children(*node).to_vec();
                children.extend(&moved);
                *node = trees.with_children(*node, &children);
            }
        }
        if targets > 1 {
            moved.iter().for_each(|&node| trees.set_repeated(node));
        }
        let weights = moved.iter().map(|&node| trees.node(node).weight);
        let weight = weights.fold(0, u32::saturating_add);
        budget.charge_copies(targets - 1, weight)?;
    }
    Ok(())
}
