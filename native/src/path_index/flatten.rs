//! Lays the trie flat: edges by node and kind, sorted.

use hashbrown::HashMap;

use crate::path_index::segment::{Comparison, Condition, Node, Origin, StepEdge, DIRECT, VERIFY};
use crate::subscription_store::flat_layout::Texts;

pub(super) type Table<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// An edge of the trie while it is built. Literals of numbers are numbered as they come; they are
/// renumbered in ascending order at the end.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Edge {
    Child(u32),
    Descendant(u32),
    Condition {
        step: u32,
        slot: u32,
        comparison: u32,
        literal: u32,
    },
}

/// Edges by node and kind.
pub(super) struct FlatEdges {
    pub nodes: Vec<Node>,
    pub children: Vec<StepEdge>,
    pub descendants: Vec<StepEdge>,
    pub conditions: Vec<Condition>,
    pub accepts: Vec<u32>,
    pub wants: Vec<u32>,
}

impl FlatEdges {
    pub fn new(node_count: usize, edges: &Table<(u32, Edge), u32>, ranks: &[u32]) -> FlatEdges {
        let rank = |comparison: u32, literal: u32| {
            if Comparison::NUMERIC >> comparison & 1 == 1 {
                ranks[literal as usize]
            } else {
                literal
            }
        };
        let (mut children, mut descendants) = (Vec::new(), Vec::new());
        let mut conditions = Vec::new();
        for (&(from, edge), &node) in edges {
            match edge {
                Edge::Child(test) => children.push((from, StepEdge { test, node })),
                Edge::Descendant(test) => descendants.push((from, StepEdge { test, node })),
                Edge::Condition {
                    step,
                    slot,
                    comparison,
                    literal,
                } => {
                    let literal = rank(comparison, literal);
                    conditions.push((
                        from,
                        Condition {
                            step,
                            slot,
                            comparison,
                            literal,
                            node,
                        },
                    ));
                }
            }
        }
        let mut nodes = vec![Node::default(); node_count + 1];
        FlatEdges {
            children: lay(children, &mut nodes, |node| &mut node.child),
            descendants: lay(descendants, &mut nodes, |node| &mut node.descendant),
            conditions: lay(conditions, &mut nodes, |node| &mut node.condition),
            accepts: Vec::new(),
            wants: Vec::new(),
            nodes,
        }
    }

    pub fn accept(&mut self, accepts: Vec<(u32, u32)>) {
        self.accepts = lay(accepts, &mut self.nodes, |node| &mut node.accept);
    }

    pub fn want(&mut self, wants: Vec<(u32, u32)>) {
        self.wants = lay(wants, &mut self.nodes, |node| &mut node.want);
    }

    /// Lets conditions lead straight to a class where nothing else stands behind them.
    pub fn shorten(&mut self) {
        for condition in &mut self.conditions {
            let (this, next) = (
                self.nodes[condition.node as usize],
                self.nodes[condition.node as usize + 1],
            );
            let accepts = &self.accepts[this.accept as usize..next.accept as usize];
            if let ([class], true) = (accepts, this.condition == next.condition) {
                if class & VERIFY == 0 {
                    condition.node = class | DIRECT;
                }
            }
        }
    }

    pub fn count_steps(&mut self, origins: &[Origin]) {
        // A node's number is greater than its parent's.
        for (number, origin) in origins.iter().enumerate().skip(1) {
            let above = self.nodes[origin.parent as usize].steps;
            self.nodes[number].steps = match origin.edge {
                edge if edge & Origin::CONDITION != 0 => above,
                edge if edge & Origin::DESCENDANT != 0 => (above + 1) | Node::LOOSE,
                _ => above + 1,
            };
        }
    }
}

/// Sorts `items` by node and value, and notes in each node where its own begin.
fn lay<T: Ord + Copy>(
    mut items: Vec<(u32, T)>,
    nodes: &mut [Node],
    start: impl Fn(&mut Node) -> &mut u32,
) -> Vec<T> {
    items.sort_unstable();
    let mut at = 0;
    for (number, node) in nodes.iter_mut().enumerate() {
        *start(node) = u32::try_from(at).expect("fewer than 2^32 edges a segment");
        while at < items.len() && items[at].0 as usize == number {
            at += 1;
        }
    }
    items.into_iter().map(|(_, item)| item).collect()
}

/// Numbers of texts, ordered by the texts.
pub(super) fn by_text(texts: &Texts, numbers: Table<u32, ()>) -> Vec<u32> {
    let mut numbers: Vec<u32> = numbers.into_keys().collect();
    numbers.sort_unstable_by_key(|&number| texts.get(number));
    numbers
}
