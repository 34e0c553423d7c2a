//! Computes a least general pattern that contains two queries, for aggregation.
//!
//! Both queries are converted to patterns, and each node of one is paired with each node of the other. A
//! pair yields a node with the common names, the values both allow, and below it the pairs of their
//! children and descendants. Redundant pairs are dropped. The result has no union, `or`, `not` or
//! position, and is verified to contain both queries. At a limit, parts are omitted, which only makes the
//! result more general.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

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
                return candidate.query().clone();
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
        if child.label.spine {
            continue;
        }
        let mut others = children.clone();
        others.retain(|other| !Arc::ptr_eq(other, child));
        let goals = Goals::of_existence(&[to_path(child)]);
        if prover.meets(&with_children(node, others.clone()), &goals)? {
            children = others;
        }
    }
    let mut facts = node.facts.clone();
    facts.children = children
        .iter()
        .map(|child| trimmed(child, prover))
        .collect::<Result<_, _>>()?;
    Ok(Arc::new(Node {
        label: node.label.clone(),
        facts,
    }))
}

type Pair = (ByAddress, ByAddress);

/// Pairs of nodes with their generalisations.
struct Pairs<'d> {
    prover: Prover<'d>,
    /// The generalisation of a pair, apart from their axes.
    near: AddressMap<Pair, Arc<Node>>,
    /// The same as a descendant.
    far: AddressMap<Pair, Arc<Node>>,
    /// Whether the first node satisfies the second.
    fitting: AddressMap<Pair, bool>,
}

/// A [`Pair`] by reference, to look it up without counting references.
struct PairRef<'a>(&'a Arc<Node>, &'a Arc<Node>);

impl Hash for PairRef<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // As the pair hashes its two addresses.
        Arc::as_ptr(self.0).hash(state);
        Arc::as_ptr(self.1).hash(state);
    }
}

impl Equivalent<Pair> for PairRef<'_> {
    fn equivalent(&self, pair: &Pair) -> bool {
        Arc::ptr_eq(self.0, &pair.0 .0) && Arc::ptr_eq(self.1, &pair.1 .0)
    }
}

fn pair_of(one: &Arc<Node>, two: &Arc<Node>) -> Pair {
    (ByAddress(one.clone()), ByAddress(two.clone()))
}

impl<'d> Pairs<'d> {
    fn new(domain: &'d Domain) -> Self {
        Pairs {
            prover: Prover::new(domain),
            near: AddressMap::default(),
            far: AddressMap::default(),
            fitting: AddressMap::default(),
        }
    }

    /// The document node of the generalised pattern; a path continues to one child only.
    fn documents(&mut self, one: &Arc<Node>, two: &Arc<Node>) -> Result<Arc<Node>, GaveUp> {
        let children = self.children(one, two)?;
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
    fn pair(&mut self, one: &Arc<Node>, two: &Arc<Node>) -> Result<Arc<Node>, GaveUp> {
        if let Some(made) = self.near.get(&PairRef(one, two)) {
            return Ok(made.clone());
        }
        self.prover.spend()?;
        let values = one.facts.values.len() + two.facts.values.len();
        self.prover.charge(values * values * values)?;
        let children = self.children(one, two)?;
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
        self.near.insert(pair_of(one, two), made.clone());
        Ok(made)
    }

    /// Below a pair: pairs of children as children, all others as descendants, without redundant ones.
    fn children(&mut self, one: &Arc<Node>, two: &Arc<Node>) -> Result<Vec<Arc<Node>>, GaveUp> {
        let below = two.descendants();
        let mut kept: Vec<Arc<Node>> = Vec::new();
        for child in one.descendants() {
            for other in &below {
                if child.label.kind == other.label.kind {
                    let candidate = self.reached(one, two, child, other)?;
                    self.keep(&mut kept, candidate)?;
                }
            }
        }
        Ok(kept)
    }

    fn reached(
        &mut self,
        one: &Node,
        two: &Node,
        child: &Arc<Node>,
        other: &Arc<Node>,
    ) -> Result<Arc<Node>, GaveUp> {
        let is_child = |parent: &Node, child: &Arc<Node>| {
            let mut children = parent.facts.children.iter();
            child.label.axis == Axis::Child && children.any(|each| Arc::ptr_eq(each, child))
        };
        self.prover.charge(1)?;
        if is_child(one, child) && is_child(two, other) {
            return self.nested_pair(child, other);
        }
        if let Some(far) = self.far.get(&PairRef(child, other)) {
            return Ok(far.clone());
        }
        let near = self.nested_pair(child, other)?;
        let far = with_axis(&near, Axis::Descendant);
        self.far.insert(pair_of(child, other), far.clone());
        Ok(far)
    }

    fn nested_pair(&mut self, one: &Arc<Node>, two: &Arc<Node>) -> Result<Arc<Node>, GaveUp> {
        self.prover.descend()?;
        let made = self.pair(one, two);
        self.prover.ascend();
        made
    }

    /// Adds a candidate unless another one makes it redundant.
    fn keep(&mut self, kept: &mut Vec<Arc<Node>>, candidate: Arc<Node>) -> Result<(), GaveUp> {
        for other in kept.iter() {
            if self.replaces(other, &candidate)? {
                return Ok(());
            }
        }
        let mut left = Vec::with_capacity(kept.len() + 1);
        for other in kept.drain(..) {
            if !self.replaces(&candidate, &other)? {
                left.push(other);
            }
        }
        left.push(candidate);
        *kept = left;
        Ok(())
    }

    /// Whether one child makes another redundant; a selected one is never redundant.
    fn replaces(&mut self, strong: &Arc<Node>, weak: &Arc<Node>) -> Result<bool, GaveUp> {
        Ok((strong.label.spine || !weak.label.spine) && self.implies(strong, weak)?)
    }

    /// Whether the strong child implies the weak one.
    fn implies(&mut self, strong: &Arc<Node>, weak: &Arc<Node>) -> Result<bool, GaveUp> {
        self.prover.charge(1)?;
        if weak.label.axis == Axis::Child {
            return Ok(strong.label.axis == Axis::Child && self.fits(strong, weak)?);
        }
        if self.fits(strong, weak)? {
            return Ok(true);
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
        if let Some(&known) = self.fitting.get(&PairRef(strong, weak)) {
            return Ok(known);
        }
        self.prover.spend()?;
        self.prover.descend()?;
        let mut values = weak.facts.values.iter();
        let fits = values.all(|fact| implies(&strong.facts.values, fact.view()))
            && self.all_implied(strong, weak)?;
        self.prover.ascend();
        self.fitting.insert(pair_of(strong, weak), fits);
        Ok(fits)
    }

    /// Whether each child of the weak node is implied by one of the strong node.
    fn all_implied(&mut self, strong: &Node, weak: &Node) -> Result<bool, GaveUp> {
        for child in &weak.facts.children {
            let mut is_implied = false;
            for below in &strong.facts.children {
                is_implied = is_implied || self.implies(below, child)?;
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
    let below = node.descendants();
    let names = below.iter().filter(|each| is_exact(&each.label.test));
    names.count() + usize::from(is_exact(&node.label.test))
}

/// The most specific children within the size limit.
fn within_limit(mut children: Vec<Arc<Node>>) -> Vec<Arc<Node>> {
    children.sort_by_cached_key(|child| (!child.label.spine, std::cmp::Reverse(name_count(child))));
    let mut left = MAX_GENERALISED_NODES;
    children.retain(|child| {
        let size = 1 + child.descendants().len();
        let fits = size <= left;
        left -= if fits { size } else { 0 };
        fits
    });
    children
}

/// Keeps one child on the spine: the most specific one.
fn one_spine(mut children: Vec<Arc<Node>>) -> Vec<Arc<Node>> {
    let is_spine = |child: &&Arc<Node>| child.label.spine;
    let spine: Vec<Arc<Node>> = children.iter().filter(is_spine).cloned().collect();
    let best = first_max(&spine, |child| (name_count(child), spine_length(child)));
    if let (Some(best), true) = (best, spine.len() > 1) {
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
