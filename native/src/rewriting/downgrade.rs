//! Downgrade: once an element has been read, its children that waited are moved into each other.

use super::replay::Task;
use super::rewriter::Rewriter;
use crate::events::{Handler, Stop};

impl<H: Handler> Rewriter<'_, H> {
    /// Moves children of the innermost open element that waited; what is left goes where the other
    /// operators say.
    pub(super) fn decide(&mut self) -> Result<(), Stop> {
        let frame = self.top();
        let state = &mut self.memory.states[frame.state as usize];
        (state.waits, state.decided) = (false, true);
        let mut nodes = std::mem::take(&mut state.waiting);
        let operators = self.operators(frame.place);
        let trees = &self.memory.trees;
        let places = nodes.iter().map(|&node| trees.node(node).place);
        let mut meant: Vec<u32> = places
            .filter_map(|place| operators.downgraded_by.get(place))
            .collect();
        meant.sort_unstable();
        meant.dedup();
        for number in meant {
            let target = operators.downgrades[number as usize];
            let trees = &mut self.memory.trees;
            let moves = |place| operators.downgraded_by.get(place) == Some(number);
            let has_target = nodes.iter().any(|&node| trees.node(node).place == target);
            if !has_target {
                continue; // they stay
            }
            let mut moved = Vec::new();
            nodes.retain(|&node| {
                let stays = !moves(trees.node(node).place);
                if !stays {
                    moved.push(node);
                }
                stays
            });
            let mut targets = 0;
            for node in &mut nodes {
                if trees.node(*node).place == target {
                    let mut children = trees.children(*node).to_vec();
                    children.extend(&moved);
                    *node = trees.with_children(*node, &children);
                    targets += 1;
                }
            }
            if targets > 1 {
                moved.iter().for_each(|&node| trees.set_repeated(node));
            }
            let weights = moved.iter().map(|&node| trees.node(node).weight);
            let weight = weights.fold(0, u32::saturating_add);
            self.count_copies(targets - 1, weight)?;
        }
        self.check_held()?;
        let children = nodes.drain(..).rev().map(Task::Child);
        self.memory.tasks.extend(children);
        self.memory.states[frame.state as usize].waiting = nodes;
        Ok(())
    }
}
