//! Computes a least general pattern that contains two queries, for aggregation.
//!
//! Both queries are converted to patterns, and each node of one is paired with each node of the other. A
//! pair yields a node with the common names, the values both allow, and below it the pairs of their
//! children and descendants. Redundant pairs are dropped. The result has no union, `or`, `not` or
//! position, and is verified to contain both queries. At a limit, parts are omitted, which only makes the
//! result more general.

use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;

use foldhash::fast::FixedState;
use hashbrown::Equivalent;

use super::chain_search::with_axis;
use super::compiled_query::CompiledQuery;
use super::containment::contains;
use super::domain::Domain;
use super::goal_automaton::Goals;
use super::limits::MAX_GENERALISED_NODES;
use super::name_tests::{includes, is_exact, join, ANY};
use super::pattern_paths::to_path;
use super::prover::{AddressMap, ByAddress, GaveUp, Prover};
use super::tree_pattern::{Facts, Label, Node};
use super::value_facts::implies;
use super::value_generalisation::common;
use crate::xpath::ast::{Axis, Kind, Path, Query, Step};

/// Pairs of nodes for which the table of [`Pairs::fitting`] has room from the beginning.
const FITTING_CAPACITY: usize = 56;

/// A specific path without `or`, `not` or position that contains both queries; `/*` at worst.
pub fn generalise(p: &CompiledQuery, q: &CompiledQuery) -> Query {
    let patterns = [p, q].into_iter().flat_map(CompiledQuery::patterns);
    let documents: Vec<Arc<Node>> = patterns
        .flatten()
        .map(|pattern| rooted(&pattern.document))
        .collect();
    let is_valid = |candidate: &CompiledQuery| contains(candidate, p) && contains(candidate, q);
    for with_predicates in [true, false] {
        let documents = if with_predicates {
            documents.clone()
        } else {
            documents.iter().map(spine_only).collect()
        };
        if let Ok(Some(candidate)) = general(documents) {
            let candidate = CompiledQuery::new(candidate, p.domain().clone());
            if is_valid(&candidate) {
                return candidate.into_query();
            }
        }
    }
    anything()
}

/// `/*`, which contains every query.
fn anything() -> Query {
    let step = Step {
        axis: Axis::Child,
        kind: Kind::Element,
        test: ANY,
        predicates: Vec::new(),
    };
    Query {
        branches: vec![Path { steps: vec![step] }],
    }
}

/// The query of the patterns' generalisation; `None` without patterns.
fn general(documents: Vec<Arc<Node>>) -> Result<Option<Query>, GaveUp> {
    let domain = Domain::default();
    let mut pairs = Pairs::new(&domain);
    let mut documents = documents.into_iter();
    let Some(mut document) = documents.next() else {
        return Ok(None);
    };
    for other in documents {
        document = pairs.documents(&document, &other)?;
    }
    let document = trimmed(&document, &mut Prover::new(&domain))?;
    Ok(document.facts.children.first().map(|child| Query {
        branches: vec![to_path(child)],
    }))
}

/// The pattern with an explicit element above attributes and text below `//`, as in `//@a`.
fn rooted(document: &Arc<Node>) -> Arc<Node> {
    let child = &document.facts.children[0];
    if child.label.kind == Kind::Element {
        return document.clone();
    }
    let some = Node {
        label: Label {
            axis: Axis::Descendant,
            document: false,
            ..Label::DOCUMENT
        },
        facts: Facts::of_child(with_axis(child, Axis::Child)),
    };
    with_children(document, vec![Arc::new(some)])
}

/// The node with these children as its only facts.
fn with_children(node: &Node, children: Vec<Arc<Node>>) -> Arc<Node> {
    Arc::new(Node {
        label: node.label.clone(),
        facts: Facts {
            children,
            ..Facts::default()
        },
    })
}

fn spine_only(document: &Arc<Node>) -> Arc<Node> {
    let mut nodes = vec![document];
    nodes.extend(document.spine_nodes());
    let below = nodes.into_iter().rev().fold(None, |below, node| {
        Some(with_children(node, Vec::from_iter(below)))
    });
    below.expect("the document node is on the spine")
}

/// The pattern without children implied by others.
fn trimmed(node: &Arc<Node>, prover: &mut Prover<'_>) -> Result<Arc<Node>, GaveUp> {
    let mut children = node.facts.children.clone();
    for child in &node.facts.children {
        let mut beside = children.iter().filter(|other| !Arc::ptr_eq(other, child));
        if child.label.spine || !beside.any(|other| has_node_like(other, &child.label)) {
            continue;
        }
        let mut others = children.clone();
        others.retain(|other| !Arc::ptr_eq(other, child));
        let goals = Goals::of_existence(&[to_path(child)]);
        if prover.meets(&with_children(node, others.clone()), &goals)? {
            children = others;
        }
    }
    for child in &mut children {
        *child = trimmed(child, prover)?;
    }
    let before = &node.facts.children;
    let is_same = |(child, old): (&Arc<Node>, &Arc<Node>)| Arc::ptr_eq(child, old);
    if children.len() == before.len() && children.iter().zip(before).all(is_same) {
        return Ok(node.clone());
    }
    Ok(Arc::new(Node {
        label: node.label.clone(),
        facts: Facts {
            children,
            ..node.facts.clone()
        },
    }))
}

/// Whether a node at or below this one has a kind and a name that the label accepts. Only then can the
/// pattern imply a path that begins with such a node.
fn has_node_like(node: &Node, label: &Label) -> bool {
    let children = &node.facts.children;
    (node.label.kind == label.kind && includes(&label.test, &node.label.test))
        || children.iter().any(|child| has_node_like(child, label))
}

/// The nodes of a pattern below its document node, in preorder.
struct Preorder<'n> {
    nodes: Vec<PreorderNode<'n>>,
}

struct PreorderNode<'n> {
    node: &'n Arc<Node>,
    /// The position of the parent; `None` below the document node.
    parent: Option<usize>,
    /// The position after the last node below this one.
    end: usize,
}

impl<'n> Preorder<'n> {
    fn of(document: &'n Node) -> Self {
        let mut nodes: Vec<PreorderNode<'n>> = Vec::with_capacity(16);
        // Nodes that were not visited, with their parents, and in between the ends of subtrees.
        let mut waiting: Vec<(Option<usize>, Option<&'n Arc<Node>>)> = Vec::with_capacity(16);
        let children = document.facts.children.iter().rev();
        waiting.extend(children.map(|child| (None, Some(child))));
        while let Some((place, next)) = waiting.pop() {
            let Some(node) = next else {
                let end = nodes.len();
                nodes[place.expect("an end has a node")].end = end;
                continue;
            };
            let own = nodes.len();
            nodes.push(PreorderNode {
                node,
                parent: place,
                end: own + 1,
            });
            waiting.push((Some(own), None));
            let children = node.facts.children.iter().rev();
            waiting.extend(children.map(|child| (Some(own), Some(child))));
        }
        Preorder { nodes }
    }

    /// The positions below a node, or below the document node.
    fn below(&self, parent: Option<usize>) -> Range<usize> {
        match parent {
            None => 0..self.nodes.len(),
            Some(parent) => parent + 1..self.nodes[parent].end,
        }
    }

    fn is_child(&self, parent: Option<usize>, child: usize) -> bool {
        let child = &self.nodes[child];
        child.parent == parent && child.node.label.axis == Axis::Child
    }
}

/// A possible child of a generalised node.
struct Candidate {
    /// The generalisation of a pair, as a child.
    near: Arc<Node>,
    axis: Axis,
    pair: usize,
}

/// Generalises pairs of nodes of two patterns.
struct Pairs<'d> {
    prover: Prover<'d>,
    /// Whether the first node satisfies the second, apart from their axes.
    fitting: AddressMap<(ByAddress, ByAddress), bool>,
}

/// A pair of nodes by reference, to look it up without counting references.
struct PairRef<'a>(&'a Arc<Node>, &'a Arc<Node>);

impl Hash for PairRef<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // As the pair hashes its two addresses.
        Arc::as_ptr(self.0).hash(state);
        Arc::as_ptr(self.1).hash(state);
    }
}

impl Equivalent<(ByAddress, ByAddress)> for PairRef<'_> {
    fn equivalent(&self, pair: &(ByAddress, ByAddress)) -> bool {
        Arc::ptr_eq(self.0, &pair.0 .0) && Arc::ptr_eq(self.1, &pair.1 .0)
    }
}

/// The pairs of two patterns, each generalised once.
struct PairTable<'n> {
    one: Preorder<'n>,
    two: Preorder<'n>,
    /// The generalisation of each pair, apart from their axes.
    near: Vec<Option<Arc<Node>>>,
    /// The same as a descendant.
    far: Vec<Option<Arc<Node>>>,
}

impl<'n> PairTable<'n> {
    fn new(one: &'n Node, two: &'n Node) -> Self {
        let (one, two) = (Preorder::of(one), Preorder::of(two));
        let count = one.nodes.len() * two.nodes.len();
        PairTable {
            one,
            two,
            near: vec![None; count],
            far: vec![None; count],
        }
    }

    fn pair(&self, child: usize, other: usize) -> usize {
        child * self.two.nodes.len() + other
    }

    /// The node of a candidate; those of a pair are the same node, so that results are cached.
    fn node_of(&mut self, candidate: Candidate) -> Arc<Node> {
        match candidate.axis {
            Axis::Child => candidate.near,
            Axis::Descendant => self.far[candidate.pair]
                .get_or_insert_with(|| with_axis(&candidate.near, Axis::Descendant))
                .clone(),
        }
    }
}

impl<'d> Pairs<'d> {
    fn new(domain: &'d Domain) -> Self {
        Pairs {
            prover: Prover::new(domain),
            fitting: AddressMap::with_capacity_and_hasher(FITTING_CAPACITY, FixedState::default()),
        }
    }

    /// The document node of the generalised pattern; a path continues to one child only.
    fn documents(&mut self, one: &Arc<Node>, two: &Arc<Node>) -> Result<Arc<Node>, GaveUp> {
        let mut table = PairTable::new(one, two);
        let children = self.children(&mut table, None, None)?;
        let best = first_max(&children, |child| (child.label.spine, name_count(child)));
        let best = best.ok_or(GaveUp)?;
        let selected = Node {
            label: Label {
                spine: true,
                ..best.label.clone()
            },
            facts: best.facts.clone(),
        };
        Ok(with_children(one, vec![Arc::new(selected)]))
    }

    /// Generalises two nodes, apart from their axes.
    fn pair(
        &mut self,
        table: &mut PairTable<'_>,
        child: usize,
        other: usize,
    ) -> Result<Arc<Node>, GaveUp> {
        let pair = table.pair(child, other);
        if let Some(made) = &table.near[pair] {
            return Ok(made.clone());
        }
        self.prover.spend()?;
        let (one, two) = (table.one.nodes[child].node, table.two.nodes[other].node);
        let values = one.facts.values.len() + two.facts.values.len();
        self.prover.charge(values * values * values)?;
        let children = self.children(table, Some(child), Some(other))?;
        let made = Arc::new(Node {
            label: Label {
                axis: Axis::Child,
                kind: one.label.kind,
                test: join(&one.label.test, &two.label.test),
                spine: one.label.spine && two.label.spine,
                document: false,
            },
            facts: Facts {
                values: common(&one.facts.values, &two.facts.values),
                children: one_spine(within_limit(children)),
                ..Facts::default()
            },
        });
        table.near[pair] = Some(made.clone());
        Ok(made)
    }

    /// Below a pair: pairs of children as children, all others as descendants, without redundant ones.
    fn children(
        &mut self,
        table: &mut PairTable<'_>,
        one: Option<usize>,
        two: Option<usize>,
    ) -> Result<Vec<Arc<Node>>, GaveUp> {
        let mut kept: Vec<Candidate> = Vec::new();
        for child in table.one.below(one) {
            for other in table.two.below(two) {
                let kinds = [&table.one.nodes[child], &table.two.nodes[other]]
                    .map(|each| each.node.label.kind);
                if kinds[0] == kinds[1] {
                    let are_children =
                        table.one.is_child(one, child) && table.two.is_child(two, other);
                    self.prover.charge(1)?;
                    let near = self.nested_pair(table, child, other)?;
                    let candidate = Candidate {
                        near,
                        axis: if are_children {
                            Axis::Child
                        } else {
                            Axis::Descendant
                        },
                        pair: table.pair(child, other),
                    };
                    self.keep(&mut kept, candidate)?;
                }
            }
        }
        Ok(kept.into_iter().map(|each| table.node_of(each)).collect())
    }

    fn nested_pair(
        &mut self,
        table: &mut PairTable<'_>,
        child: usize,
        other: usize,
    ) -> Result<Arc<Node>, GaveUp> {
        self.prover.descend()?;
        let made = self.pair(table, child, other);
        self.prover.ascend();
        made
    }

    /// Adds a candidate unless another one makes it redundant.
    fn keep(&mut self, kept: &mut Vec<Candidate>, candidate: Candidate) -> Result<(), GaveUp> {
        for other in kept.iter() {
            if self.replaces(other, &candidate)? {
                return Ok(());
            }
        }
        let mut next = 0;
        while next < kept.len() {
            if self.replaces(&candidate, &kept[next])? {
                kept.remove(next);
            } else {
                next += 1;
            }
        }
        kept.push(candidate);
        Ok(())
    }

    /// Whether one child makes another redundant; a selected one is never redundant.
    fn replaces(&mut self, strong: &Candidate, weak: &Candidate) -> Result<bool, GaveUp> {
        Ok((strong.near.label.spine || !weak.near.label.spine)
            && self.implies(&strong.near, strong.axis, &weak.near, weak.axis)?)
    }

    /// Whether the strong child on an axis implies the weak one on another.
    fn implies(
        &mut self,
        strong: &Arc<Node>,
        strong_axis: Axis,
        weak: &Arc<Node>,
        weak_axis: Axis,
    ) -> Result<bool, GaveUp> {
        self.prover.charge(1)?;
        if weak_axis == Axis::Child {
            return Ok(strong_axis == Axis::Child && self.fits(strong, weak)?);
        }
        if self.fits(strong, weak)? {
            return Ok(true);
        }
        if strong.facts.children.is_empty() {
            return Ok(false);
        }
        for node in strong.descendants() {
            self.prover.charge(1)?;
            if self.fits(node, weak)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether the strong node satisfies the weak one.
    fn fits(&mut self, strong: &Arc<Node>, weak: &Arc<Node>) -> Result<bool, GaveUp> {
        if weak.label.kind != strong.label.kind || !includes(&weak.label.test, &strong.label.test) {
            return Ok(false);
        }
        if weak.facts.values.is_empty() && weak.facts.children.is_empty() {
            return Ok(true);
        }
        if let Some(&known) = self.fitting.get(&PairRef(strong, weak)) {
            return Ok(known);
        }
        self.prover.spend()?;
        self.prover.descend()?;
        let mut values = weak.facts.values.iter();
        let fits = values.all(|fact| implies(&strong.facts.values, fact.view()))
            && self.all_implied(strong, weak)?;
        self.prover.ascend();
        let pair = (ByAddress(strong.clone()), ByAddress(weak.clone()));
        self.fitting.insert(pair, fits);
        Ok(fits)
    }

    /// Whether each child of the weak node is implied by one of the strong node.
    fn all_implied(&mut self, strong: &Node, weak: &Node) -> Result<bool, GaveUp> {
        for child in &weak.facts.children {
            let mut is_implied = false;
            for below in &strong.facts.children {
                is_implied =
                    is_implied || self.implies(below, below.label.axis, child, child.label.axis)?;
            }
            if !is_implied {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The first of the greatest items.
fn first_max<T, K: Ord>(items: &[T], key: impl Fn(&T) -> K) -> Option<&T> {
    // The last of the reversed items.
    items.iter().rev().max_by_key(|item| key(item))
}

/// Number of names in the pattern of a node.
fn name_count(node: &Arc<Node>) -> usize {
    let below = node.facts.children.iter().map(name_count);
    below.sum::<usize>() + usize::from(is_exact(&node.label.test))
}

/// Number of nodes in the pattern of a node.
fn node_count(node: &Arc<Node>) -> usize {
    1 + node.facts.children.iter().map(node_count).sum::<usize>()
}

/// The most specific children within the size limit.
fn within_limit(mut children: Vec<Arc<Node>>) -> Vec<Arc<Node>> {
    if children.len() > 1 {
        children
            .sort_by_cached_key(|child| (!child.label.spine, std::cmp::Reverse(name_count(child))));
    }
    let mut left = MAX_GENERALISED_NODES;
    children.retain(|child| {
        let size = node_count(child);
        let fits = size <= left;
        left -= if fits { size } else { 0 };
        fits
    });
    children
}

/// Keeps one child on the spine: the most specific one.
fn one_spine(mut children: Vec<Arc<Node>>) -> Vec<Arc<Node>> {
    if children.iter().filter(|child| child.label.spine).count() < 2 {
        return children;
    }
    let is_spine = |child: &&Arc<Node>| child.label.spine;
    let spine: Vec<Arc<Node>> = children.iter().filter(is_spine).cloned().collect();
    let best = first_max(&spine, |child| (name_count(child), spine_length(child)));
    if let Some(best) = best {
        for child in &mut children {
            if !Arc::ptr_eq(child, best) {
                *child = beside(child);
            }
        }
    }
    children
}

/// Length of the spine below a node; only one child of a generalised node is on it.
fn spine_length(node: &Node) -> usize {
    node.spine_nodes().len()
}

/// The node as a condition only.
fn beside(node: &Node) -> Arc<Node> {
    let children = node.facts.children.iter();
    let mut facts = node.facts.clone();
    facts.children = children.map(|child| beside(child)).collect();
    Arc::new(Node {
        label: Label {
            spine: false,
            ..node.label.clone()
        },
        facts,
    })
}
