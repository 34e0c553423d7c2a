//! Tree patterns: the facts that hold in a document in which a query selects a node.
//!
//! A path becomes tree patterns, one per alternative of its `or`s; `and`, `or` and `not` are eliminated,
//! except that negated facts keep their original form. Nodes that must be identical (two occurrences of
//! one attribute) are merged. A pattern may be weaker than the query, never stronger: facts dropped
//! because of size only make the relations more conservative.

use std::sync::Arc;

use super::conditions::{restricted, Existence, FirstNode, NestedCondition};
use super::domain::Domain;
use super::limits::MAX_CLAUSES;
use super::name_tests::ANY;
use super::position_facts::{CountingRef, PositionCondition, PositionFact};
use super::value_facts::{ValueFact, ValuePredicate};
use crate::value_tests::ValueTest;
use crate::xpath::ast::{Axis, Expr, Kind, NameTest, Path, Step};

/// The facts of one node.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    pub values: Vec<ValueFact>,
    pub children: Vec<Arc<Node>>,
    /// Conditions on nested paths that do not hold.
    pub absent: Vec<NestedCondition>,
    /// Conditions on the first nodes of nested paths that hold.
    pub firsts: Vec<Arc<FirstNode>>,
    pub positions: Vec<PositionFact>,
    pub opaque: Vec<OpaqueFact>,
}

/// A condition that the relations do not look into, and whether it holds.
#[derive(Clone, Debug, PartialEq)]
pub struct OpaqueFact {
    pub expr: Arc<Expr>,
    pub holds: bool,
}

/// What a node of a pattern is, apart from its facts.
#[derive(Clone, Debug)]
pub struct Label {
    pub axis: Axis,
    pub kind: Kind,
    pub test: NameTest,
    /// Whether it is the selected node or one of its ancestors.
    pub spine: bool,
    /// Whether it is the document node.
    pub document: bool,
}

/// A node of a pattern; compared by address, since results are cached by node.
#[derive(Debug)]
pub struct Node {
    pub label: Label,
    pub facts: Facts,
}

impl Label {
    /// The document node.
    pub const DOCUMENT: Label = Label {
        axis: Axis::Child,
        kind: Kind::Element,
        test: ANY,
        spine: true,
        document: true,
    };

    fn of(step: &Step, spine: bool) -> Self {
        Label {
            axis: step.axis,
            kind: step.kind,
            test: step.test.clone(),
            spine,
            document: false,
        }
    }
}

impl Facts {
    pub fn of_child(child: Arc<Node>) -> Self {
        Facts {
            children: vec![child],
            ..Facts::default()
        }
    }

    pub fn extend(&mut self, other: &Facts) {
        self.values.extend_from_slice(&other.values);
        self.children.extend_from_slice(&other.children);
        self.absent.extend_from_slice(&other.absent);
        self.firsts.extend_from_slice(&other.firsts);
        self.positions.extend_from_slice(&other.positions);
        self.opaque.extend_from_slice(&other.opaque);
    }

    /// Number of facts, which bounds the work of most operations on them.
    pub fn len(&self) -> usize {
        self.values.len()
            + self.children.len()
            + self.absent.len()
            + self.firsts.len()
            + self.positions.len()
            + self.opaque.len()
    }
}

impl Node {
    /// Whether the node has no facts besides its name and its spine child.
    pub fn is_bare(&self) -> bool {
        self.facts.len() == self.facts.children.len()
            && self.facts.children.iter().all(|child| child.label.spine)
    }

    /// The child on the spine.
    pub fn spine_child(&self) -> Option<&Arc<Node>> {
        self.facts.children.iter().find(|child| child.label.spine)
    }

    /// The spine nodes below this one.
    pub fn spine_nodes(&self) -> Vec<&Arc<Node>> {
        std::iter::successors(self.spine_child(), |node| node.spine_child()).collect()
    }

    /// The nodes below this one, in preorder.
    pub fn descendants(&self) -> Vec<&Arc<Node>> {
        let mut found = Vec::new();
        let mut waiting: Vec<&Arc<Node>> = self.facts.children.iter().rev().collect();
        while let Some(node) = waiting.pop() {
            found.push(node);
            waiting.extend(node.facts.children.iter().rev());
        }
        found
    }
}

/// The paths from a node to the leaves of the pattern below it.
pub struct Chains<'a> {
    chain: Vec<Arc<Node>>,
    /// Depth and node.
    waiting: Vec<(usize, &'a Arc<Node>)>,
    is_first: bool,
}

impl<'a> Chains<'a> {
    pub fn of(node: &'a Node) -> Self {
        let waiting = node.facts.children.iter().rev();
        Chains {
            chain: Vec::new(),
            waiting: waiting.map(|child| (0, child)).collect(),
            is_first: true,
        }
    }

    /// The next path; the only one of a node without children is empty.
    pub fn next(&mut self) -> Option<&[Arc<Node>]> {
        let is_first = std::mem::take(&mut self.is_first);
        if self.waiting.is_empty() {
            return is_first.then_some(&[]);
        }
        while let Some((depth, node)) = self.waiting.pop() {
            self.chain.truncate(depth);
            self.chain.push(node.clone());
            if node.facts.children.is_empty() {
                break;
            }
            let children = node.facts.children.iter().rev();
            self.waiting
                .extend(children.map(|child| (depth + 1, child)));
        }
        Some(&self.chain)
    }
}

/// The document nodes of a path's patterns; the path matches if one of them does.
pub fn documents(path: &Path, domain: &Domain) -> Vec<Arc<Node>> {
    let alternatives = follow(&path.steps, domain, true);
    alternatives
        .into_iter()
        .map(|facts| assemble(Label::DOCUMENT, facts, domain))
        .collect()
}

/// The node with these facts; children that must be identical are merged.
pub fn assemble(label: Label, mut facts: Facts, domain: &Domain) -> Arc<Node> {
    merge_children(label.document, &mut facts.children, domain);
    remove_duplicates(&mut facts.values);
    remove_duplicates(&mut facts.absent);
    remove_duplicates(&mut facts.firsts);
    remove_duplicates(&mut facts.positions);
    remove_duplicates(&mut facts.opaque);
    Arc::new(Node { label, facts })
}

/// The node with more facts; its own ones are distinct already.
pub fn with_assumption(node: &Node, assumed: &Facts, domain: &Domain) -> Arc<Node> {
    fn add<T: Clone + PartialEq>(known: &mut Vec<T>, more: &[T]) {
        for item in more {
            if !known.contains(item) {
                known.push(item.clone());
            }
        }
    }
    let mut facts = node.facts.clone();
    add(&mut facts.values, &assumed.values);
    add(&mut facts.absent, &assumed.absent);
    add(&mut facts.firsts, &assumed.firsts);
    add(&mut facts.positions, &assumed.positions);
    add(&mut facts.opaque, &assumed.opaque);
    if !assumed.children.is_empty() {
        facts.children.extend_from_slice(&assumed.children);
        merge_children(node.label.document, &mut facts.children, domain);
    }
    Arc::new(Node {
        label: node.label.clone(),
        facts,
    })
}

fn merge_children(of_document: bool, children: &mut Vec<Arc<Node>>, domain: &Domain) {
    let is_single = |child: &Node| {
        let label = &child.label;
        label.axis == Axis::Child && domain.at_most_one(of_document, label.kind, &label.test)
    };
    if children.len() < 2 || !children.iter().any(|child| is_single(child)) {
        return;
    }
    let mut groups: Vec<Vec<Arc<Node>>> = Vec::new();
    for child in children.drain(..) {
        let is_single = is_single(&child);
        let group = groups.iter_mut().find(|group| {
            let (one, two) = (&group[0].label, &child.label);
            is_single && one.axis == two.axis && one.kind == two.kind && one.test == two.test
        });
        match group {
            Some(group) => group.push(child),
            None => groups.push(vec![child]),
        }
    }
    children.extend(groups.into_iter().map(|group| match &group[..] {
        [only] => only.clone(),
        [first, ..] => merge(&group, first.label.test.clone(), domain),
        [] => unreachable!("a group has a first node"),
    }));
}

/// The node with the facts of several.
pub fn merge(nodes: &[Arc<Node>], test: NameTest, domain: &Domain) -> Arc<Node> {
    let mut facts = Facts::default();
    nodes.iter().for_each(|node| facts.extend(&node.facts));
    let label = Label {
        test,
        spine: nodes.iter().any(|node| node.label.spine),
        document: false,
        ..nodes[0].label.clone()
    };
    assemble(label, facts, domain)
}

fn remove_duplicates<T: PartialEq>(items: &mut Vec<T>) {
    let mut kept = 0;
    for index in 0..items.len() {
        if !items[..kept].contains(&items[index]) {
            items.swap(kept, index);
            kept += 1;
        }
    }
    items.truncate(kept);
}

/// The facts that the rest of a path adds to its context node, one child per alternative.
fn follow(steps: &[Step], domain: &Domain, spine: bool) -> Vec<Facts> {
    let mut rest = vec![Facts::default()];
    for step in steps.iter().rev() {
        let predicates = step.predicates.iter().enumerate();
        let mut ways: Vec<Vec<Facts>> = predicates
            .map(|(index, predicate)| {
                facts_of(predicate, CountingRef::of(step, index), domain, true)
            })
            .collect();
        ways.push(rest);
        let node = |facts| assemble(Label::of(step, spine), facts, domain);
        rest = all_of(ways)
            .into_iter()
            .map(|facts| Facts::of_child(node(facts)))
            .collect();
    }
    rest
}

/// The alternatives in which an expression holds (or not) for a node; empty if impossible.
pub fn facts_of(
    expr: &Expr,
    counting: CountingRef<'_>,
    domain: &Domain,
    holds: bool,
) -> Vec<Facts> {
    match expr {
        Expr::Not(item) => facts_of(item, counting, domain, !holds),
        Expr::And(items) | Expr::Or(items) => {
            let ways = items
                .iter()
                .map(|item| facts_of(item, counting, domain, holds));
            if matches!(expr, Expr::And(_)) == holds {
                return all_of(ways.collect());
            }
            let ways: Vec<Facts> = ways.flatten().collect();
            if ways.len() > MAX_CLAUSES {
                return vec![Facts::default()];
            }
            ways
        }
        Expr::Exists(path) => existence_facts(path, domain, holds),
        Expr::Compare(path, op, literal) => {
            let predicate = ValuePredicate::Compare(*op, literal.clone());
            if path.steps.is_empty() {
                return value_facts(predicate, holds);
            }
            existence_facts(&restricted(path, &predicate), domain, holds)
        }
        Expr::Contains(path, text) => {
            first_facts(path, ValuePredicate::Contains(text.clone()), domain, holds)
        }
        Expr::StartsWith(path, text) => first_facts(
            path,
            ValuePredicate::StartsWith(text.clone()),
            domain,
            holds,
        ),
        Expr::String(_) | Expr::Count(..) | Expr::ComparePaths(..) => {
            opaque_facts(expr, domain, holds)
        }
        Expr::Position(..) | Expr::PositionLast(_) | Expr::Last(..) => {
            let fact = PositionFact {
                counting: counting.to_counting(),
                condition: PositionCondition::of(expr).expect("the expression is positional"),
            };
            vec![Facts {
                positions: vec![if holds { fact } else { fact.opposite() }],
                ..Facts::default()
            }]
        }
    }
}

/// Nothing to know about a condition that always holds; no alternative if it must not.
fn constant(holds: bool) -> Vec<Facts> {
    if holds {
        vec![Facts::default()]
    } else {
        Vec::new()
    }
}

fn value_facts(predicate: ValuePredicate, holds: bool) -> Vec<Facts> {
    vec![Facts {
        values: vec![ValueFact { predicate, holds }],
        ..Facts::default()
    }]
}

fn existence_facts(path: &Path, domain: &Domain, holds: bool) -> Vec<Facts> {
    if path.steps.is_empty() {
        return constant(holds);
    }
    if holds {
        return follow(&path.steps, domain, false);
    }
    let existence = Arc::new(Existence::new(path.clone()));
    vec![Facts {
        absent: vec![NestedCondition::Exists(existence)],
        ..Facts::default()
    }]
}

fn first_facts(path: &Path, predicate: ValuePredicate, domain: &Domain, holds: bool) -> Vec<Facts> {
    if path.steps.is_empty() {
        return value_facts(predicate, holds);
    }
    let (ValuePredicate::Contains(text) | ValuePredicate::StartsWith(text)) = &predicate else {
        unreachable!("comparisons are existential")
    };
    if text.is_empty() {
        return constant(holds);
    }
    let some = restricted(path, &predicate);
    let first = Arc::new(FirstNode::new(path, predicate));
    if !holds {
        return vec![Facts {
            absent: vec![NestedCondition::First(first)],
            ..Facts::default()
        }];
    }
    let mut alternatives = follow(&some.steps, domain, false);
    for facts in &mut alternatives {
        facts.firsts.push(first.clone());
    }
    alternatives
}

/// The truth of the condition, and the nodes without which it could not hold.
fn opaque_facts(expr: &Expr, domain: &Domain, holds: bool) -> Vec<Facts> {
    let needed: Vec<&Path> = match expr {
        Expr::String(test) => {
            let of_nothing = ValueTest::of_string(&test.functions, &test.condition).holds("");
            Vec::from_iter((holds != of_nothing).then_some(&test.path))
        }
        Expr::Count(path, op, value) if holds != op.compare(0.0, *value) => vec![path],
        Expr::ComparePaths(left, _, right) if holds => vec![left, right],
        _ => Vec::new(),
    };
    let mut ways: Vec<Vec<Facts>> = needed
        .iter()
        .filter(|path| !path.steps.is_empty())
        .map(|path| follow(&path.steps, domain, false))
        .collect();
    let expr = Arc::new(expr.clone());
    ways.push(vec![Facts {
        opaque: vec![OpaqueFact { expr, holds }],
        ..Facts::default()
    }]);
    all_of(ways)
}

/// All combinations of alternatives; if there are too many, only those of the last are kept. The last is
/// the rest of the path, so the selected node is preserved.
fn all_of(mut ways: Vec<Vec<Facts>>) -> Vec<Facts> {
    if ways.iter().any(Vec::is_empty) {
        return Vec::new();
    }
    let count = ways
        .iter()
        .fold(1_usize, |count, way| count.saturating_mul(way.len()));
    if count > MAX_CLAUSES {
        let last = ways.len() - 1;
        for way in &mut ways[..last] {
            if way.len() > 1 {
                *way = vec![Facts::default()];
            }
        }
    }
    let mut combined = vec![Facts::default()];
    for way in ways {
        if let [only] = &way[..] {
            combined.iter_mut().for_each(|facts| facts.extend(only));
            continue;
        }
        let with = |facts: &Facts, each: &Facts| {
            let mut both = facts.clone();
            both.extend(each);
            both
        };
        combined = combined
            .iter()
            .flat_map(|facts| way.iter().map(move |each| with(facts, each)))
            .collect();
    }
    combined
}
