//! The numbers of trie nodes.
//!
//! All arrays of a segment are ordered by node, and a segment is far larger than the processor's caches
//! and its table of pages. A new state of the automaton visits the nodes that one label path reaches:
//! those of any level whose last step has a certain name test, or `*`. Numbered as queries were
//! inserted, each of them would be a page of its own. Structural nodes are therefore numbered by level,
//! then by their last step, then by parent; the nodes after conditions, of which most are replaced by
//! classes, follow.

use crate::path_index::segment::{ParentLink, ROOT};

/// The new number of each node. Parents have lower numbers than their children, before and after.
pub(super) fn order_nodes(links: &[ParentLink]) -> Vec<u32> {
    let mut numbers = vec![ROOT; links.len()];
    let mut steps = vec![0u32; links.len()];
    let mut levels: Vec<Vec<u32>> = Vec::new();
    for (node, link) in links.iter().enumerate().skip(1) {
        if link.edge & ParentLink::CONDITION == 0 {
            let level = steps[link.parent as usize] as usize;
            steps[node] = level as u32 + 1;
            if level == levels.len() {
                levels.push(Vec::new());
            }
            levels[level].push(node as u32);
        }
    }
    let mut next = ROOT + 1;
    let mut assign = |numbers: &mut [u32], node: u32| {
        numbers[node as usize] = next;
        next += 1;
    };
    let mut order: Vec<(u32, u32, u32)> = Vec::new();
    for level in levels {
        order.clear();
        order.extend(level.into_iter().map(|node| {
            let ParentLink { parent, edge } = links[node as usize];
            // The name test first, then the axis.
            (edge.rotate_left(1), numbers[parent as usize], node)
        }));
        order.sort_unstable();
        for &(_, _, node) in &order {
            assign(&mut numbers, node);
        }
    }
    for (node, link) in links.iter().enumerate().skip(1) {
        if link.edge & ParentLink::CONDITION != 0 {
            assign(&mut numbers, node as u32);
        }
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_ordered_by_level_and_last_step_and_parents_precede_their_children() {
        let link = |parent, edge| ParentLink { parent, edge };
        let descendant = ParentLink::DESCENDANT;
        let links = [
            link(ROOT, ParentLink::CONDITION),
            link(ROOT, 7),                      // 1: /g
            link(1, 5),                         // 2: /g/e
            link(2, ParentLink::CONDITION | 1), // 3: a condition of /g/e
            link(ROOT, 5 | descendant),         // 4: //e
            link(4, 5),                         // 5: //e/e
            link(ROOT, 5),                      // 6: /e
            link(ROOT, ParentLink::CONDITION),  // 7: compound conditions
            link(6, 5),                         // 8: /e/e
            link(7, ParentLink::CONDITION),     // 9: after 7
            link(3, ParentLink::CONDITION),     // 10: after 3
            link(8, 0),                         // 11: /e/e/*
        ];
        let numbers = order_nodes(&links);
        let mut order: Vec<u32> = (0..links.len() as u32).collect();
        order.sort_by_key(|&node| numbers[node as usize]);
        assert_eq!(order, [0, 6, 4, 1, 8, 5, 2, 11, 3, 7, 9, 10]);
        for (node, link) in links.iter().enumerate().skip(1) {
            assert!(numbers[link.parent as usize] < numbers[node]);
        }
    }
}
