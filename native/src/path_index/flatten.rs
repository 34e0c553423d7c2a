//! Flattens the trie: sorted arrays of edges by kind and node.

use hashbrown::HashMap;

use crate::path_index::segment::{
    Comparison, Condition, ParentLink, StepEdge, TrieNode, DIRECT_CLASS, VERIFY,
};
use crate::subscription_store::flat_layout::StringArray;

pub(super) type HashTable<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// An edge of the trie under construction. Numbers have provisional indexes, which are replaced by
/// their ranks at the end.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Edge {
    Child(u32),
    Descendant(u32),
    Condition {
        step: u32,
        operand: u32,
        comparison: u32,
        literal: u32,
    },
}

/// The final numbers of what the builder has numbered.
pub(super) struct Numbering {
    /// By node.
    pub nodes: Vec<u32>,
    /// By provisional index of a number: its rank.
    pub ranks: Vec<u32>,
    /// By operand: whether its values are nodes of compound conditions, as are then the literals that
    /// they equal.
    pub compounds: Vec<bool>,
}

impl Numbering {
    fn literal(&self, operand: u32, comparison: u32, literal: u32) -> u32 {
        if Comparison::NUMERIC >> comparison & 1 == 1 {
            self.ranks[literal as usize]
        } else if comparison == Comparison::EqText as u32 && self.compounds[operand as usize] {
            self.nodes[literal as usize]
        } else {
            literal
        }
    }
}

/// Sorted edges, by kind and node.
pub(super) struct FlatEdges {
    pub nodes: Vec<TrieNode>,
    pub children: Vec<StepEdge>,
    pub descendants: Vec<StepEdge>,
    pub conditions: Vec<Condition>,
    pub accepts: Vec<u32>,
    pub required: Vec<u32>,
}

impl FlatEdges {
    pub fn new(edges: &HashTable<(u32, Edge), u32>, numbering: &Numbering) -> FlatEdges {
        let number = |node: u32| numbering.nodes[node as usize];
        let (mut children, mut descendants) = (Vec::new(), Vec::new());
        let mut conditions = Vec::new();
        for (&(from, edge), &node) in edges {
            let (from, node) = (number(from), number(node));
            match edge {
                Edge::Child(test) => children.push((from, StepEdge { test, node })),
                Edge::Descendant(test) => descendants.push((from, StepEdge { test, node })),
                Edge::Condition {
                    step,
                    operand,
                    comparison,
                    literal,
                } => {
                    let literal = numbering.literal(operand, comparison, literal);
                    conditions.push((
                        from,
                        Condition {
                            step,
                            operand,
                            comparison,
                            literal,
                            node,
                        },
                    ));
                }
            }
        }
        let mut nodes = vec![TrieNode::default(); numbering.nodes.len() + 1];
        FlatEdges {
            children: group_by_node(children, &mut nodes, |node| &mut node.child),
            descendants: group_by_node(descendants, &mut nodes, |node| &mut node.descendant),
            conditions: group_by_node(conditions, &mut nodes, |node| &mut node.condition),
            accepts: Vec::new(),
            required: Vec::new(),
            nodes,
        }
    }

    pub fn set_accepts(&mut self, accepts: Vec<(u32, u32)>) {
        self.accepts = group_by_node(accepts, &mut self.nodes, |node| &mut node.accept);
    }

    pub fn set_required(&mut self, required: Vec<(u32, u32)>) {
        self.required = group_by_node(required, &mut self.nodes, |node| &mut node.required);
    }

    /// Points conditions directly to a class where nothing else follows them.
    pub fn shortcut_to_classes(&mut self) {
        for condition in &mut self.conditions {
            let (this, next) = (
                self.nodes[condition.node as usize],
                self.nodes[condition.node as usize + 1],
            );
            let accepts = &self.accepts[this.accept as usize..next.accept as usize];
            if let ([class], true) = (accepts, this.condition == next.condition) {
                if class & VERIFY == 0 {
                    condition.node = class | DIRECT_CLASS;
                }
            }
        }
    }

    pub fn count_steps(&mut self, parent_links: &[ParentLink]) {
        // Parents have lower numbers than their children.
        for (number, link) in parent_links.iter().enumerate().skip(1) {
            let above = self.nodes[link.parent as usize].steps;
            self.nodes[number].steps = match link.edge {
                edge if edge & ParentLink::CONDITION != 0 => above,
                edge if edge & ParentLink::DESCENDANT != 0 => (above + 1) | TrieNode::AMBIGUOUS,
                _ => above + 1,
            };
        }
    }
}

/// Sorts `items` by node and value, and stores in each node where its items begin.
fn group_by_node<T: Ord + Copy>(
    mut items: Vec<(u32, T)>,
    nodes: &mut [TrieNode],
    field: impl Fn(&mut TrieNode) -> &mut u32,
) -> Vec<T> {
    items.sort_unstable();
    let mut at = 0;
    for (number, node) in nodes.iter_mut().enumerate() {
        *field(node) = u32::try_from(at).expect("a segment has fewer than 2^32 edges");
        while at < items.len() && items[at].0 as usize == number {
            at += 1;
        }
    }
    items.into_iter().map(|(_, item)| item).collect()
}

/// Indexes of strings, sorted by string.
pub(super) fn sort_by_text(texts: &StringArray, numbers: HashTable<u32, ()>) -> Vec<u32> {
    let mut numbers: Vec<u32> = numbers.into_keys().collect();
    numbers.sort_unstable_by_key(|&number| texts.get(number));
    numbers
}
