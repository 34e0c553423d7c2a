//! Validates the structure of a segment that was read from a file.
//!
//! The matcher follows offsets and searches sorted lists without checks of its own. Everything it relies
//! on is checked here, in time linear in the size of the segment: the trie is a tree, its lists are
//! sorted, and every number refers to something that exists. Canonical queries are parsed when they are
//! used ([`Segment::query_of`]), because parsing all of them would take longer than building the segment.

use crate::path_index::segment::{
    Comparison, Condition, OperandRecord, ParentLink, Segment, TrieNode, ANY, DIRECT_CLASS,
    OPERANDS_MAX, ROOT, VERIFY,
};
use crate::path_index::substring_search::SUBSTRING_BYTES_MAX;
use crate::subscription_store::file_format::is_partition;
use crate::subscription_store::flat_layout::StringArray;

/// Checks a segment; the error says which part is invalid.
pub(super) fn validate(segment: &Segment) -> Result<(), &'static str> {
    let require = |is_valid: bool, problem| is_valid.then_some(()).ok_or(problem);
    require(are_sizes_valid(segment), "its parts do not fit together")?;
    require(are_literals_valid(segment), "its literals are invalid")?;
    let roots = roots_of_trees(segment).ok_or("its trie is invalid")?;
    let leaves = leaves_of_operands(segment, &roots).ok_or("its operands are invalid")?;
    require(
        are_accepts_valid(segment, &roots),
        "its classes are invalid",
    )?;
    let edges = EdgeValidation {
        segment,
        roots: &roots,
        leaves: &leaves,
        substrings: membership(segment, &segment.substring_literals),
        prefixes: membership(segment, &segment.prefix_literals),
    };
    require(edges.are_valid(), "the edges of its trie are invalid")
}

fn are_sizes_valid(segment: &Segment) -> bool {
    let nodes = &segment.nodes;
    let is_partition_by = |field: fn(&TrieNode) -> u32, len: usize| {
        len <= u32::MAX as usize && is_partition(nodes.iter().map(field), len as u32)
    };
    let class_count = segment.class_count();
    segment.parent_links.len() + 1 == nodes.len()
        && !segment.parent_links.is_empty()
        && segment.parent_links.len() < DIRECT_CLASS as usize
        && class_count < VERIFY as usize
        && segment.queries.count() == class_count
        && segment.operands.len() < OPERANDS_MAX
        && segment.tests.count() > ANY as usize
        && segment.tests.count() < ParentLink::CONDITION as usize
        && segment.find_test(None, None) == Some(ANY)
        && is_partition_by(|node| node.child, segment.child_edges.len())
        && is_partition_by(|node| node.descendant, segment.descendant_edges.len())
        && is_partition_by(|node| node.condition, segment.conditions.len())
        && is_partition_by(|node| node.accept, segment.accepts.len())
        && is_partition_by(|node| node.required, segment.required.len())
}

fn are_literals_valid(segment: &Segment) -> bool {
    let literals = &segment.literals;
    let substring_bytes = |&literal: &u32| literals.bytes_of(literal).len();
    segment.numbers.is_sorted_by(|a, b| a.total_cmp(b).is_lt())
        && are_sorted_by_text(literals, &segment.substring_literals)
        && are_sorted_by_text(literals, &segment.prefix_literals)
        && segment
            .substring_literals
            .iter()
            .map(substring_bytes)
            .sum::<usize>()
            <= SUBSTRING_BYTES_MAX
}

fn are_sorted_by_text(texts: &StringArray, numbers: &[u32]) -> bool {
    numbers
        .iter()
        .all(|&number| (number as usize) < texts.count())
        && numbers.is_sorted_by(|&a, &b| texts.bytes_of(a) < texts.bytes_of(b))
}

/// By literal: whether it is one of `numbers`.
fn membership(segment: &Segment, numbers: &[u32]) -> Vec<bool> {
    let mut members = vec![false; segment.literals.count()];
    for &number in numbers {
        members[number as usize] = true;
    }
    members
}

/// By node: the root of its tree, [`ROOT`] or the root of compound conditions. `None` if the links to
/// parents or the numbers of steps are invalid.
fn roots_of_trees(segment: &Segment) -> Option<Vec<u32>> {
    let (links, nodes) = (&segment.parent_links, &segment.nodes);
    let is_condition = |link: ParentLink| link.edge & ParentLink::CONDITION != 0;
    let mut roots = Vec::with_capacity(links.len());
    for (number, &link) in (0u32..).zip(links.iter()) {
        let is_tree_root = link.parent == ROOT && link.edge == ParentLink::CONDITION;
        if number == ROOT || is_tree_root {
            if !is_tree_root || nodes[number as usize].steps != 0 {
                return None;
            }
            roots.push(number);
            continue;
        }
        let root = *roots.get(link.parent as usize)?;
        let above = nodes[link.parent as usize].steps;
        let steps = if is_condition(link) {
            let step = link.edge & !ParentLink::CONDITION;
            if !is_step_valid(segment, root, link.parent, step) {
                return None;
            }
            above
        } else {
            let test = link.edge & !ParentLink::DESCENDANT;
            let is_structural =
                root == ROOT && (link.parent == ROOT || !is_condition(links[link.parent as usize]));
            if !is_structural || test as usize >= segment.tests.count() {
                return None;
            }
            let is_descendant = link.edge & ParentLink::DESCENDANT != 0;
            (above + 1)
                | if is_descendant {
                    TrieNode::AMBIGUOUS
                } else {
                    0
                }
        };
        if nodes[number as usize].steps != steps {
            return None;
        }
        roots.push(root);
    }
    Some(roots)
}

/// Whether a condition of `node` may belong to `step`: one of the branch's, and none below that of the
/// condition before it.
fn is_step_valid(segment: &Segment, root: u32, node: u32, step: u32) -> bool {
    if root != ROOT {
        return step == 0;
    }
    let link = segment.parent_links[node as usize];
    let is_after_condition = node != ROOT && link.edge & ParentLink::CONDITION != 0;
    step < segment.steps_to(node)
        && (!is_after_condition || step <= link.edge & !ParentLink::CONDITION)
}

/// What the values of an operand are in the end.
#[derive(Clone, Copy)]
enum Leaf {
    /// Strings, compared by this view.
    Text { view: usize },
    /// Nodes in the tree of compound conditions with this root.
    Compound { root: u32 },
}

/// By operand: its leaf. `None` if an operand is invalid.
fn leaves_of_operands(segment: &Segment, roots: &[u32]) -> Option<Vec<Leaf>> {
    let mut leaves: Vec<Leaf> = Vec::with_capacity(segment.operands.len());
    // By root of compound conditions: their operand.
    let mut compounds = vec![None; roots.len()];
    for (number, record) in (0u32..).zip(segment.operands.iter()) {
        let is_valid = (record.test as usize) < segment.tests.count()
            && (record.view as usize) < OperandRecord::VIEWS
            && record.comparisons & !Comparison::ALL == 0;
        if !is_valid {
            return None;
        }
        leaves.push(match record.kind {
            OperandRecord::ATTRIBUTE | OperandRecord::VALUE | OperandRecord::TEXT => Leaf::Text {
                view: record.view as usize,
            },
            // An operand follows the one inside it.
            OperandRecord::CHILD | OperandRecord::DEEP | OperandRecord::FIRST => {
                *leaves.get(record.inner as usize)?
            }
            OperandRecord::COMPOUND => {
                let root = record.inner;
                let is_root = root != ROOT && roots.get(root as usize) == Some(&root);
                if !is_root || compounds[root as usize].replace(number).is_some() {
                    return None;
                }
                Leaf::Compound { root }
            }
            _ => return None,
        });
    }
    // Compound conditions do not depend on their own operand.
    let are_conditions_inner = (0u32..).zip(roots).all(|(node, &root)| {
        let compound = compounds[root as usize];
        let conditions = segment.conditions_of(node).iter();
        root == ROOT
            || conditions
                .into_iter()
                .all(|one| Some(one.operand) < compound)
    });
    are_conditions_inner.then_some(leaves)
}

fn are_accepts_valid(segment: &Segment, roots: &[u32]) -> bool {
    let is_known = |&class: &u32| ((class & !VERIFY) as usize) < segment.class_count();
    segment.accepts.iter().all(is_known)
        && (0u32..).zip(roots).all(|(node, &root)| {
            let accepts = segment.accepts_of(node);
            accepts.is_sorted_by(|a, b| a < b) && (accepts.is_empty() || root == ROOT)
        })
}

/// Checks the edges of the trie against the links to parents.
struct EdgeValidation<'a> {
    segment: &'a Segment,
    /// By node.
    roots: &'a [u32],
    /// By operand.
    leaves: &'a [Leaf],
    /// By literal.
    substrings: Vec<bool>,
    /// By literal.
    prefixes: Vec<bool>,
}

impl EdgeValidation<'_> {
    fn are_valid(&self) -> bool {
        let Segment {
            child_edges,
            descendant_edges,
            conditions,
            operands,
            ..
        } = self.segment;
        let test_count = self.segment.tests.count();
        let is_test_known = |test: u32| (test as usize) < test_count;
        let root_count = (0u32..)
            .zip(self.roots)
            .filter(|&(node, &root)| node == root);
        let edge_count = child_edges.len() + descendant_edges.len() + conditions.len();
        // Each node that is not a root has one edge, which leads to it or to the class that replaced it.
        let mut is_reached = vec![false; self.roots.len()];
        edge_count + root_count.count() == self.roots.len()
            && child_edges.iter().all(|edge| is_test_known(edge.test))
            && descendant_edges.iter().all(|edge| is_test_known(edge.test))
            && conditions
                .iter()
                .all(|one| (one.operand as usize) < operands.len())
            && (0..self.roots.len() as u32).all(|node| self.are_edges_valid(node, &mut is_reached))
    }

    fn are_edges_valid(&self, node: u32, is_reached: &mut [bool]) -> bool {
        let segment = self.segment;
        let mut leads_to = |to: u32, edge: u32| {
            let expected = ParentLink { parent: node, edge };
            segment.parent_links.get(to as usize) == Some(&expected)
                && !std::mem::replace(&mut is_reached[to as usize], true)
        };
        let (children, descendants) = (segment.children_of(node), segment.descendants_of(node));
        let (conditions, required) = (segment.conditions_of(node), segment.required_of(node));
        children.is_sorted_by(|a, b| a.test < b.test)
            && descendants.is_sorted_by(|a, b| a.test < b.test)
            && children.iter().all(|edge| leads_to(edge.node, edge.test))
            && descendants
                .iter()
                .all(|edge| leads_to(edge.node, edge.test | ParentLink::DESCENDANT))
            && conditions.is_sorted_by(|a, b| a < b)
            && conditions.iter().all(|one| {
                one.node & DIRECT_CLASS != 0 || leads_to(one.node, one.step | ParentLink::CONDITION)
            })
            && conditions
                .iter()
                .all(|one| self.is_condition_valid(node, one))
            && self.are_values_required(node, conditions)
            && required.is_sorted_by(|a, b| a < b)
            && required
                .last()
                .is_none_or(|&operand| (operand as usize) < segment.operands.len())
    }

    fn is_condition_valid(&self, node: u32, condition: &Condition) -> bool {
        let segment = self.segment;
        let root = self.roots[node as usize];
        let class = condition.node & !DIRECT_CLASS;
        let is_target_valid = condition.node & DIRECT_CLASS == 0
            || root == ROOT && (class as usize) < segment.class_count();
        let comparisons = segment.operands[condition.operand as usize].comparisons;
        is_target_valid
            && is_step_valid(segment, root, node, condition.step)
            && condition.comparison < Comparison::COUNT as u32
            && comparisons >> condition.comparison & 1 == 1
            && self.is_literal_valid(condition)
    }

    fn is_literal_valid(&self, condition: &Condition) -> bool {
        let literal = condition.literal as usize;
        let is_literal = literal < self.segment.literals.count();
        match Comparison::from_number(condition.comparison) {
            Comparison::Exists => literal == 0,
            Comparison::NeText => is_literal,
            Comparison::EqText => match self.leaves[condition.operand as usize] {
                Leaf::Compound { root } => {
                    condition.literal != root && self.roots.get(literal) == Some(&root)
                }
                Leaf::Text { view } => {
                    let is_searched = matches!(
                        view,
                        OperandRecord::SUBSTRINGS | OperandRecord::CASELESS_SUBSTRINGS
                    );
                    is_literal
                        && (!is_searched || self.substrings[literal])
                        && (view != OperandRecord::PREFIXES || self.prefixes[literal])
                }
            },
            _ => literal < self.segment.numbers.len(),
        }
    }

    /// Whether the elements at the step of each condition record the values of its operand.
    fn are_values_required(&self, node: u32, conditions: &[Condition]) -> bool {
        conditions
            .chunk_by(|a, b| (a.step, a.operand) == (b.step, b.operand))
            .all(|same| {
                let recording = self.node_of_step(node, same[0].step);
                let required = self.segment.required_of(recording);
                required.binary_search(&same[0].operand).is_ok()
            })
    }

    /// The structural node of a step of the branch through `node`; the root for compound conditions.
    fn node_of_step(&self, node: u32, step: u32) -> u32 {
        let (segment, root) = (self.segment, self.roots[node as usize]);
        if root != ROOT {
            return root;
        }
        let mut at = node;
        while segment.parent_links[at as usize].edge & ParentLink::CONDITION != 0 {
            at = segment.parent_links[at as usize].parent;
        }
        for _ in step + 1..segment.steps_to(at) {
            at = segment.parent_links[at as usize].parent;
        }
        at
    }
}
