//! Decides which matches hold, from the values of open elements.
//!
//! The condition table lists, by path, depth and operand, the values that conditional matches need
//! from the elements of their path. Attributes are available when an element starts. Content is
//! available when it ends; all paths that were reached since it started and that continue its own
//! then lie inside it, so these are exactly the paths where matches below it can end. A match that
//! needs more, of the same element or further up, is pending until that element ends.

use hashbrown::HashSet;

use crate::events::Stop;
use crate::matching::alignment::PathAlignment;
use crate::matching::attribute_stack::StackedAttribute;
use crate::matching::automaton::{Automaton, LabelPath};
use crate::matching::condition_lookup::{equal_runs, satisfied_by_any};
use crate::matching::condition_table::{EntryId, PathConditions};
use crate::matching::element_stack::ElementStack;
use crate::matching::operand_value::OperandValue;
use crate::matching::path_cache::PathCache;
use crate::matching::pending_matches::PendingMatches;
use crate::matching::subtree_memo::SubtreeMemo;
use crate::matching::work_meter::{Attribution, WorkMeter};
use crate::matching::NONE;
use crate::path_index::segment::{
    Condition, OperandRecord, ParentLink, Segment, DIRECT_CLASS, VERIFY,
};
use crate::subscription_store::class_set::{ClassSet, OrderedClassSet};

/// The accept lists of this many paths are prefetched.
const ACCEPTS_PREFETCHED: usize = 4;

/// Conditions that are looked at to find out whether all classes after a trie node are known to
/// match.
const SETTLED_CHAIN_MAX: usize = 8;

/// Steps to look up an attribute of an open element in the conditions of a path.
const STEPS_PER_ATTRIBUTE: usize = 4;

/// Steps to look up a value of an element in the conditions of a path inside it.
const STEPS_PER_CONTENT: usize = 4;

/// Steps to visit a path inside an element that ends.
const STEPS_PER_PATH: usize = 4;

/// Steps to accept a trie node.
const STEPS_PER_ACCEPT: usize = 8;

/// Steps to add a class of a trie node.
const STEPS_PER_CLASS: usize = 8;

/// Steps to add or to decide a pending match.
const STEPS_PER_PENDING: usize = 64;

/// Steps to align an element of a path with the steps of a query.
const STEPS_PER_ALIGNED_DEPTH: usize = 8;

/// The undecided part of a document's matches. Those that hold are in [`Automaton::matches`].
pub(super) struct MatchDecisions {
    /// Classes that must be verified.
    candidates: OrderedClassSet,
    /// Trie nodes whose classes, and those after them, are all candidates.
    candidates_after: HashSet<u32, foldhash::fast::RandomState>,
    pending: PendingMatches,
    /// Paths that this document reached and whose unconditional classes were not added yet.
    accepting: Vec<u32>,
    evicted: EvictedPaths,
    buffers: DecisionBuffers,
}

/// The conditions of paths that this document reached before the cache was evicted.
#[derive(Default)]
struct EvictedPaths {
    /// The number of the first element after the eviction; 0 if there was none.
    before: u64,
    /// The conditional trie nodes of the evicted paths.
    nodes: HashSet<u32, foldhash::fast::RandomState>,
}

/// Reused to avoid allocations.
#[derive(Default)]
struct DecisionBuffers {
    /// Trie nodes whose condition is satisfied.
    nodes: Vec<u32>,
    /// Trie nodes whose condition may be satisfied, depending on the alignment of a path.
    possible_nodes: Vec<u32>,
    /// Positions in the stack of attributes, and the entries to probe with them.
    probes: Vec<(u32, EntryId)>,
    paths: Vec<u32>,
    alignment: PathAlignment,
}

impl MatchDecisions {
    /// No decisions; at most `pending_max` matches may be pending.
    pub fn new(segment: &Segment, pending_max: usize) -> MatchDecisions {
        MatchDecisions {
            candidates: OrderedClassSet::new(segment.class_count()),
            candidates_after: HashSet::default(),
            pending: PendingMatches::new(pending_max),
            accepting: Vec::new(),
            evicted: EvictedPaths::default(),
            buffers: DecisionBuffers::default(),
        }
    }

    /// Begins a document. The last one may have been refused at any point.
    pub fn begin(&mut self) {
        self.candidates.clear();
        self.candidates_after.clear();
        self.pending.clear();
        self.accepting.clear();
        self.evicted.before = 0;
        self.evicted.nodes.clear();
        self.buffers.nodes.clear();
        self.buffers.possible_nodes.clear();
        self.buffers.probes.clear();
        self.buffers.paths.clear();
    }

    /// If too many matches are pending: the number of those of each trie node, as steps.
    pub fn attribute_pending(&self, attribution: &mut Attribution) {
        for node in self.pending.nodes() {
            attribution.add_to_node(node, 1);
        }
    }

    /// Whether too many matches are pending.
    pub fn has_too_many_pending(&self) -> bool {
        self.pending.is_full()
    }

    /// The classes that must be verified.
    pub fn candidates(&self) -> &OrderedClassSet {
        &self.candidates
    }

    /// Notes a path that this document reached for the first time and that has unconditional
    /// classes.
    #[inline]
    pub fn defer_accepts(&mut self, path: u32) {
        self.accepting.push(path);
    }

    /// Adds the classes that match unconditionally at the paths of this document: all at once, so
    /// that their lists can be prefetched.
    pub fn accept_deferred(&mut self, automaton: &mut Automaton) {
        for at in 0..self.accepting.len() {
            if let Some(&next) = self.accepting.get(at + ACCEPTS_PREFETCHED) {
                automaton.prefetch_accepts(next);
            }
            let path = self.accepting[at];
            automaton.accept(path);
            let LabelPath { actions, state, .. } = automaton.paths[path as usize];
            if actions & LabelPath::HAS_CANDIDATES != 0 {
                let candidates = automaton.states[state as usize].candidates;
                for &class in automaton.list(candidates) {
                    self.candidates.insert(class);
                }
            }
        }
        self.accepting.clear();
    }

    /// Remembers the conditions of the paths that this document reached, before the automaton is
    /// evicted. The next element has the number `next_element`.
    pub fn remember_conditions(
        &mut self,
        automaton: &Automaton,
        document_start: u64,
        next_element: u64,
    ) {
        let paths = automaton.paths.iter();
        for seen in paths.filter(|path| path.last_seen >= document_start) {
            let state = automaton.states[seen.state as usize];
            self.evicted.nodes.extend(automaton.list(state.conditional));
        }
        self.evicted.before = next_element;
    }

    /// Decides which conditions the attributes of the open elements satisfy at a path, at or below
    /// that of the innermost element. Those of elements before element number `before` were decided
    /// when that element was at the path.
    pub fn decide_by_attributes(
        &mut self,
        segment: &Segment,
        cache: &mut PathCache,
        elements: &mut ElementStack,
        memo: &mut SubtreeMemo,
        (path, before): (u32, u64),
    ) -> Result<(), Stop> {
        let PathCache {
            automaton,
            conditions,
            ..
        } = cache;
        if !conditions.prepare(segment, automaton, path, &mut elements.work) {
            return Ok(());
        }
        let of_path = automaton.paths[path as usize].conditions;
        // First find all entries, then probe all of them, so that their cache misses overlap.
        for (at, attribute) in elements.attributes.list().iter().enumerate().rev() {
            let &StackedAttribute {
                depth,
                operand,
                element,
                ..
            } = attribute;
            if element < before {
                break;
            }
            elements.work.spend(STEPS_PER_ATTRIBUTE);
            if let Some(entry) = conditions.find(segment, of_path, depth, operand) {
                self.buffers.probes.push((at as u32, entry));
            }
        }
        if of_path.has_any_depth {
            self.add_possible_by_attributes(segment, cache, elements, (of_path, before));
        }
        while let Some((at, entry)) = self.buffers.probes.pop() {
            let at = at as usize;
            let Some(value) = elements.attributes.value(segment, at) else {
                continue;
            };
            let nodes = &mut self.buffers.nodes;
            let matches = &mut cache.automaton.matches;
            let steps = cache
                .conditions
                .probe(segment, entry, &value, matches, nodes);
            elements.work.spend_on_operand(value.operand, steps);
            if !nodes.is_empty() {
                let depth = elements.attributes.list()[at].depth as usize;
                self.accept_by_attribute(segment, cache, elements, memo, depth)?;
            }
        }
        Ok(())
    }

    /// Adds the classes as candidates that the attributes of the open elements may satisfy at a
    /// path too deep to align.
    #[cold]
    fn add_possible_by_attributes(
        &mut self,
        segment: &Segment,
        cache: &mut PathCache,
        elements: &mut ElementStack,
        (of_path, before): (PathConditions, u64),
    ) {
        for at in (0..elements.attributes.len()).rev() {
            if elements.attributes.list()[at].element < before {
                break;
            }
            if let Some(value) = elements.attributes.value(segment, at) {
                let steps = self.find_possible(segment, cache, of_path, &value);
                elements.work.spend_on_operand(value.operand, steps);
            }
        }
        self.add_possible_candidates(segment, cache, &mut elements.work);
    }

    /// Finds the nodes that `value` may satisfy at a path too deep to align. Returns the steps it
    /// took.
    #[cold]
    fn find_possible(
        &mut self,
        segment: &Segment,
        cache: &mut PathCache,
        of_path: PathConditions,
        value: &OperandValue,
    ) -> usize {
        let conditions = &mut cache.conditions;
        match conditions.find_at_any_depth(segment, of_path, value.operand) {
            Some(entry) => {
                let nodes = &mut self.buffers.possible_nodes;
                conditions.probe(segment, entry, value, &mut cache.automaton.matches, nodes)
            }
            None => 0,
        }
    }

    /// Accepts the nodes that an attribute of the element at `depth` satisfied.
    fn accept_by_attribute(
        &mut self,
        segment: &Segment,
        cache: &mut PathCache,
        elements: &mut ElementStack,
        memo: &mut SubtreeMemo,
        depth: usize,
    ) -> Result<(), Stop> {
        // Elements around a repeated subtree decide again for each copy.
        let outer_depth = memo.pause();
        if depth >= outer_depth {
            memo.resume(outer_depth);
        }
        self.accept_satisfied(segment, cache, elements, memo, depth)?;
        memo.resume(outer_depth);
        Ok(())
    }

    /// Decides which conditions the content of the innermost element satisfies at the paths inside
    /// it.
    pub fn decide_by_content(
        &mut self,
        segment: &Segment,
        cache: &mut PathCache,
        elements: &mut ElementStack,
        memo: &mut SubtreeMemo,
    ) -> Result<(), Stop> {
        let depth = elements.depth() - 1;
        let element = *elements.innermost();
        let mut paths = std::mem::take(&mut self.buffers.paths);
        self.probe_content(segment, cache, elements, (element.path, depth));
        paths.push(cache.automaton.paths[element.path as usize].first_child);
        while let Some(mut path) = paths.pop() {
            while path != NONE {
                let seen = cache.automaton.paths[path as usize];
                elements.work.spend(STEPS_PER_PATH);
                if seen.last_seen > element.number {
                    self.probe_content(segment, cache, elements, (path, depth));
                    paths.push(seen.first_child);
                }
                path = seen.next_sibling;
            }
            elements.work.check()?;
        }
        self.buffers.paths = paths;
        if element.number < self.evicted.before {
            self.find_possible_evicted(segment, elements);
        }
        self.accept_satisfied(segment, cache, elements, memo, depth)?;
        self.add_possible_candidates(segment, cache, &mut elements.work);
        Ok(())
    }

    /// Probes the conditions of a path with the content of the innermost element, at `depth`.
    #[inline]
    fn probe_content(
        &mut self,
        segment: &Segment,
        cache: &mut PathCache,
        elements: &mut ElementStack,
        (path, depth): (u32, usize),
    ) {
        let PathCache {
            automaton,
            conditions,
            ..
        } = &mut *cache;
        if !conditions.prepare(segment, automaton, path, &mut elements.work) {
            return;
        }
        let of_path = automaton.paths[path as usize].conditions;
        let start = elements.open()[depth].first_value;
        let (values, work) = elements.values_and_work(start);
        for value in values {
            work.spend_on_operand(value.operand, STEPS_PER_CONTENT);
            if segment.operands[value.operand as usize].kind == OperandRecord::ATTRIBUTE {
                continue;
            }
            let conditions = &mut cache.conditions;
            let entry = conditions.find(segment, of_path, depth as u32, value.operand);
            if let Some(entry) = entry {
                let matches = &mut cache.automaton.matches;
                let nodes = &mut self.buffers.nodes;
                let steps = conditions.probe(segment, entry, value, matches, nodes);
                work.spend_on_operand(value.operand, steps);
            }
            if of_path.has_any_depth {
                let steps = self.find_possible(segment, cache, of_path, value);
                work.spend_on_operand(value.operand, steps);
            }
            if work.is_spent() {
                break;
            }
        }
    }

    /// Accepts the nodes that the element at `depth` satisfied.
    #[inline]
    fn accept_satisfied(
        &mut self,
        segment: &Segment,
        cache: &mut PathCache,
        elements: &mut ElementStack,
        memo: &mut SubtreeMemo,
        depth: usize,
    ) -> Result<(), Stop> {
        while let Some(node) = self.buffers.nodes.pop() {
            self.accept(segment, &mut cache.automaton, &mut elements.work, node);
            if node & DIRECT_CLASS == 0 && !self.is_settled(segment, &cache.automaton, node) {
                let structural = structural_node(segment, node);
                let aligned = (structural, depth);
                self.defer_rest(segment, &cache.automaton, elements, memo, (node, aligned))?;
            }
        }
        Ok(())
    }

    /// Everything after the possible nodes may match.
    #[inline]
    fn add_possible_candidates(
        &mut self,
        segment: &Segment,
        cache: &PathCache,
        work: &mut WorkMeter,
    ) {
        while let Some(node) = self.buffers.possible_nodes.pop() {
            self.add_candidates_after(segment, &cache.automaton, work, node);
        }
    }

    /// Finds the nodes of evicted paths that the innermost element may satisfy, whatever its
    /// alignment.
    #[cold]
    fn find_possible_evicted(&mut self, segment: &Segment, elements: &mut ElementStack) {
        elements.record_lazy_attributes(segment);
        let (values, work) = elements.values_and_work(elements.innermost().first_value);
        let nodes = &mut self.buffers.possible_nodes;
        for &node in &self.evicted.nodes {
            for same_step in equal_runs(segment.conditions_of(node), |condition| condition.step) {
                let steps = satisfied_by_any(segment, same_step, values, nodes);
                work.spend_on_node(node, steps);
            }
            if work.is_spent() {
                break;
            }
        }
    }

    /// A condition before `node` was satisfied by the element at `depth`, which is aligned with the
    /// trie node `structural`. The conditions of `node` wait for that element and those above it to
    /// end.
    fn defer_rest(
        &mut self,
        segment: &Segment,
        automaton: &Automaton,
        elements: &mut ElementStack,
        memo: &mut SubtreeMemo,
        (node, aligned): (u32, (u32, usize)),
    ) -> Result<(), Stop> {
        if let Some(restriction) = &automaton.restriction {
            if !restriction.has_node(node) {
                return Ok(());
            }
        }
        if !elements.work.allows_node(node) {
            return Ok(());
        }
        let (structural, depth) = aligned;
        let step = segment.steps_to(structural) - 1;
        for same_step in equal_runs(segment.conditions_of(node), |condition| condition.step) {
            if same_step[0].step == step {
                self.defer(elements, memo, (node, structural), depth)?;
            } else {
                let wanted = (node, same_step[0].step);
                self.defer_above(segment, automaton, elements, memo, (wanted, aligned))?;
            }
        }
        Ok(())
    }

    /// Decides the matches that are pending on the innermost element.
    #[cold]
    pub fn decide_pending(
        &mut self,
        segment: &Segment,
        automaton: &mut Automaton,
        elements: &mut ElementStack,
        memo: &mut SubtreeMemo,
    ) -> Result<(), Stop> {
        elements.record_lazy_attributes(segment);
        let depth = elements.depth() - 1;
        let element = *elements.innermost();
        let mut nodes = Vec::new();
        while let Some(pending) = self.pending.take(&element, depth) {
            elements.work.spend_on_node(pending.node, STEPS_PER_PENDING);
            elements.work.check()?;
            if !elements.work.allows_node(pending.node)
                || self.is_settled(segment, automaton, pending.node)
            {
                continue;
            }
            let structural = pending.structural;
            let step = segment.steps_to(structural) - 1;
            let conditions = segment.conditions_of(pending.node);
            let by_step = equal_runs(conditions, |condition| condition.step);
            for conditions in by_step.filter(|conditions| conditions[0].step == step) {
                let (values, work) = elements.values_and_work(element.first_value);
                let steps = satisfied_by_any(segment, conditions, values, &mut nodes);
                work.spend_on_node(pending.node, steps);
            }
            while let Some(node) = nodes.pop() {
                self.accept(segment, automaton, &mut elements.work, node);
                if node & DIRECT_CLASS == 0 && !self.is_settled(segment, automaton, node) {
                    let aligned = (structural, depth);
                    self.defer_rest(segment, automaton, elements, memo, (node, aligned))?;
                }
            }
        }
        Ok(())
    }

    /// Whether every class after a trie node is known to match or must be verified, so that its
    /// conditions need no evaluation. Looks at a few conditions only.
    fn is_settled(&self, segment: &Segment, automaton: &Automaton, mut node: u32) -> bool {
        for _ in 0..SETTLED_CHAIN_MAX {
            let conditions = segment.conditions_of(node);
            let [.., last] = conditions else {
                return true;
            };
            let is_matched = |condition: &Condition| {
                condition.node & DIRECT_CLASS != 0
                    && automaton.matches.contains(condition.node & !DIRECT_CLASS)
            };
            if conditions.len() > 1 || last.node & DIRECT_CLASS != 0 {
                return conditions.len() <= SETTLED_CHAIN_MAX && conditions.iter().all(is_matched);
            }
            node = last.node;
            let is_known = |&class: &u32| match class & VERIFY {
                0 => automaton.matches.contains(class),
                _ => self.candidates.contains(class & !VERIFY),
            };
            if !segment.accepts_of(node).iter().all(is_known) {
                return false;
            }
        }
        false
    }

    #[inline]
    fn accept(
        &mut self,
        segment: &Segment,
        automaton: &mut Automaton,
        work: &mut WorkMeter,
        node: u32,
    ) {
        if node & DIRECT_CLASS != 0 {
            automaton.matches.insert(node & !DIRECT_CLASS);
            return;
        }
        let classes = segment.accepts_of(node);
        work.spend_on_node(node, STEPS_PER_ACCEPT + classes.len() * STEPS_PER_CLASS);
        for &class in classes {
            if class & VERIFY == 0 {
                automaton.matches.insert(class);
            } else {
                self.candidates.insert(class & !VERIFY);
            }
        }
    }

    /// Adds all classes at or after `node` as candidates.
    #[cold]
    fn add_candidates_after(
        &mut self,
        segment: &Segment,
        automaton: &Automaton,
        work: &mut WorkMeter,
        node: u32,
    ) {
        let restriction = automaton.restriction.as_ref();
        let mut first = Some(node);
        // Allocates nothing if `node` was visited before, as it usually was.
        let mut nodes = Vec::new();
        while let Some(node) = first.take().or_else(|| nodes.pop()) {
            if work.is_spent() {
                return;
            }
            if restriction.is_some_and(|restriction| !restriction.has_node(node)) {
                continue;
            }
            if node & DIRECT_CLASS != 0 {
                self.candidates.insert(node & !DIRECT_CLASS);
                continue;
            }
            // Once for each node: all paths that are too deep to align lead here.
            if !self.candidates_after.insert(node) {
                work.spend_on_node(node, STEPS_PER_ACCEPT);
                continue;
            }
            let classes = segment.accepts_of(node);
            let next = segment.conditions_of(node);
            let steps = STEPS_PER_ACCEPT + (classes.len() + next.len()) * STEPS_PER_CLASS;
            work.spend_on_node(node, steps);
            for &class in classes {
                self.candidates.insert(class & !VERIFY);
            }
            nodes.extend(next.iter().map(|condition| condition.node));
        }
    }

    /// Lets `node` wait for the elements that can be aligned with step `step`, if the element at
    /// `depth` is aligned with the trie node `structural`.
    fn defer_above(
        &mut self,
        segment: &Segment,
        automaton: &Automaton,
        elements: &mut ElementStack,
        memo: &mut SubtreeMemo,
        ((node, step), (structural, depth)): ((u32, u32), (u32, usize)),
    ) -> Result<(), Stop> {
        let paths = elements.open()[..=depth].iter().map(|element| element.path);
        let symbols = paths.map(|path| automaton.paths[path as usize].symbol);
        let is_aligned = self.buffers.alignment.set_symbols(automaton, symbols);
        let steps = (depth + segment.steps_to(structural) as usize) * STEPS_PER_ALIGNED_DEPTH;
        elements.work.spend_on_node(node, steps);
        if !is_aligned {
            self.add_candidates_after(segment, automaton, &mut elements.work, node);
            return Ok(());
        }
        let mut above = structural;
        for _ in step..segment.steps_to(structural) - 1 {
            above = segment.parent_links[above as usize].parent;
        }
        let alignment = &mut self.buffers.alignment;
        alignment.set_node(segment, structural);
        let mut depths = alignment.depths_of_step(step);
        while depths != 0 {
            let depth = depths.trailing_zeros() as usize;
            self.defer(elements, memo, (node, above), depth)?;
            depths &= depths - 1;
        }
        Ok(())
    }

    /// Lets `node` wait for the element at `depth`, which is aligned with the trie node
    /// `structural`.
    pub fn defer(
        &mut self,
        elements: &mut ElementStack,
        memo: &mut SubtreeMemo,
        (node, structural): (u32, u32),
        depth: usize,
    ) -> Result<(), Stop> {
        if !elements.work.allows_node(node) {
            return Ok(());
        }
        elements.work.spend_on_node(node, STEPS_PER_PENDING);
        elements.work.check()?;
        memo.record_pending(depth, node, structural);
        let element = &mut elements.open_mut()[depth];
        self.pending.add(element, depth, node, structural)
    }
}

/// The structural trie node that is aligned with the element whose condition leads to `node`.
fn structural_node(segment: &Segment, node: u32) -> u32 {
    let links = &segment.parent_links;
    let step = links[node as usize].edge & !ParentLink::CONDITION;
    let mut at = node;
    while links[at as usize].edge & ParentLink::CONDITION != 0 {
        at = links[at as usize].parent;
    }
    for _ in step + 1..segment.steps_to(at) {
        at = links[at as usize].parent;
    }
    at
}
