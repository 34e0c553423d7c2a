//! Moves candidates upwards, through the predicates of the nodes above them.
//!
//! A candidate moves along a path from its last step towards its first. At each binding it is
//! forwarded if the step's predicates hold, held if they are undecided, and dropped if they fail. On
//! the descendant axis it moves to every open binding of the preceding step, innermost first. An outer
//! binding has received everything that an inner one has, so the walk outwards ends at the first
//! binding for which the candidate is not new.

use crate::events::{Stop, CANDIDATES_HELD, VALUES_STORED};
use crate::xpath::ast::Axis;

use super::accumulator::Side;
use super::candidate::{Candidate, CandidateId, CandidateNode, CandidateNodes, Collected};
use super::deferred_nodes::{DeferredNode, DeferredNodes};
use super::open_nodes::{BindingId, OpenNodes, Verdict, NONE};
use super::predicate::{AtomValue, SiblingPosition};
use super::query_result::{QueryResult, ResultDetail, ResultSet, SelectedNode, SelectionOptions};
use super::query_steps::{QueryStep, QuerySteps, StepId};
use super::query_work::{QueryWork, STEPS_PER_BINDING, STEPS_PER_SELECTED, STEPS_PER_VISIT};
use super::selector::{Atom, Goal, Selector, StepRole};
use super::sibling_counters::SiblingCounters;

/// Evaluates predicates and propagates candidates over the bindings of open nodes.
pub(super) struct Propagation<'a> {
    pub steps: QuerySteps<'a>,
    pub nodes: OpenNodes<'a>,
    options: SelectionOptions,
    counters: SiblingCounters,
    candidates: CandidateNodes,
    deferred: DeferredNodes,
    results: Vec<ResultSet>,
    /// The bytes of all reported nodes in the document.
    selected_bytes: u64,
    pub work: QueryWork,
}

impl<'a> Propagation<'a> {
    pub fn new(selectors: &[&'a Selector], options: SelectionOptions) -> Self {
        let steps = QuerySteps::new(selectors);
        Self {
            nodes: OpenNodes::new(steps.len()),
            options,
            counters: SiblingCounters::new(steps.counted()),
            candidates: CandidateNodes::default(),
            deferred: DeferredNodes::new(steps.counted()),
            results: selectors
                .iter()
                .map(|selector| ResultSet::new(selector.branches))
                .collect(),
            selected_bytes: 0,
            steps,
            work: QueryWork::new(
                selectors
                    .iter()
                    .map(|selector| selector.preparation_steps()),
                options.steps_max,
            ),
        }
    }

    /// The results, in the order of the queries. The bindings of the document nodes come first, also
    /// in that order.
    pub fn finish(mut self) -> Vec<QueryResult> {
        // The document was read to its end within the budget; only its root may be undecided.
        self.work.lift_limit();
        self.resolve_deferred(0);
        debug_assert_eq!(
            self.candidates.held(),
            0,
            "nothing is undecided at the end of the document"
        );
        self.interrupt()
    }

    /// The results so far of a document that was stopped.
    pub fn interrupt(mut self) -> Vec<QueryResult> {
        let costs = if self.work.is_spent() {
            Vec::new()
        } else {
            self.held_by_query()
        };
        let results = std::mem::take(&mut self.results);
        (0..)
            .zip(results)
            .map(|(query, result)| {
                let document = self.nodes.binding(query);
                let steps = self.work.of_query(query as usize);
                let cost = costs.get(query as usize).copied().unwrap_or(steps);
                let is_found = document.collected == Collected::Existence;
                result.finish(is_found, (steps, cost))
            })
            .collect()
    }

    /// What each query holds, in candidates or bytes, whichever is closer to its limit.
    fn held_by_query(&self) -> Vec<u64> {
        let bytes_per_candidate =
            (self.options.compared_bytes_max / self.options.candidates_max.max(1)).max(1);
        let mut held: Vec<u64> = self.results.iter().map(ResultSet::bytes).collect();
        let mut add = |query: u32, candidates: usize, bytes: usize| {
            held[query as usize] += (candidates * bytes_per_candidate + bytes) as u64;
        };
        self.nodes.for_each_holder(&self.steps, &mut add);
        for node in self.deferred.iter() {
            let candidates = match &node.collected {
                Collected::Nodes(nodes) => nodes.len(),
                Collected::Nothing | Collected::Existence | Collected::First(..) => 0,
            };
            add(self.steps[node.step].query, 1 + candidates, 0);
        }
        held
    }

    /// Stops the document if too many candidates are undecided, or too many values stored.
    #[inline]
    pub fn check_limit(&self) -> Result<(), Stop> {
        self.work.check()?;
        let undecided = self.candidates.held() + self.deferred.len();
        let compared_bytes = self.candidates.bytes() + self.nodes.compared_bytes();
        if compared_bytes > self.options.compared_bytes_max {
            return Err(Stop {
                code: VALUES_STORED,
                message: format!(
                    "counting and comparing nodes takes more than {} bytes",
                    self.options.compared_bytes_max
                ),
            });
        }
        if self.selected_bytes > self.options.selected_bytes_max {
            return Err(Stop {
                code: VALUES_STORED,
                message: format!(
                    "the selected nodes have more than {} bytes",
                    self.options.selected_bytes_max
                ),
            });
        }
        if undecided <= self.options.candidates_max {
            return Ok(());
        }
        Err(Stop {
            code: CANDIDATES_HELD,
            message: format!(
                "more than {} nodes wait for predicates that are not decided yet",
                self.options.candidates_max
            ),
        })
    }

    /// A mark for [`Propagation::resolve_deferred`].
    #[inline]
    pub fn deferred_mark(&self) -> usize {
        self.deferred.len()
    }

    /// Whether a step ends a path whose nodes are reported.
    #[inline]
    pub fn reports_nodes(&self, goal: Option<&Goal>) -> bool {
        self.options.detail != ResultDetail::MatchOnly && matches!(goal, Some(Goal::Select))
    }

    /// Whether a step ends a path of which only existence matters.
    fn reports_existence(&self, goal: Option<&Goal>) -> bool {
        match goal {
            Some(Goal::Exists) => true,
            Some(Goal::Select) => self.options.detail == ResultDetail::MatchOnly,
            Some(Goal::AnyPasses(_) | Goal::FirstPasses(_) | Goal::Count | Goal::Compare(..))
            | None => false,
        }
    }

    /// Whether the result of a query is known, so that it needs no further evaluation.
    #[inline]
    pub fn is_finished(&self, query: u32) -> bool {
        // The bindings of the document nodes come first, by query.
        self.options.detail == ResultDetail::MatchOnly
            && self.nodes.binding(query).collected == Collected::Existence
    }

    /// Whether a binding can still use what a node of `step` contributes; `None` if its predicates are
    /// decided, so that only outer bindings can.
    ///
    /// A parent that needs nothing from its children never will again, so children that are skipped
    /// need not be counted for positions either.
    #[inline]
    pub fn needs(&self, step: StepId, target: BindingId) -> Option<bool> {
        let binding = self.nodes.binding(target);
        match self.steps[step].step.role {
            StepRole::Path if binding.verdict == Verdict::Fails => None,
            StepRole::Path => Some(binding.collected != Collected::Existence),
            StepRole::Atom(_) if binding.verdict != Verdict::Undecided => None,
            StepRole::Atom(atom) => Some(!matches!(
                self.nodes.atom(binding.first_atom + atom),
                AtomValue::Known(_)
            )),
        }
    }

    /// The innermost binding that needs what a node in frame `depth` contributes with a step on the
    /// descendant axis.
    pub fn descendant_target(&mut self, step: StepId, depth: u32) -> Option<BindingId> {
        let linked = self.steps[step];
        self.work.spend(linked.query, STEPS_PER_VISIT);
        if self.is_finished(linked.query) {
            return None;
        }
        let mut target = self.nodes.innermost(linked.base + linked.step.context);
        while target != NONE {
            self.work.spend(linked.query, STEPS_PER_VISIT);
            let binding = self.nodes.binding(target);
            // The node itself may be bound to the context step, but it is not its own descendant.
            if binding.depth != depth {
                if let Some(is_needed) = self.needs(step, target) {
                    // What an inner binding has, the outer ones have too.
                    return is_needed.then_some(target);
                }
            }
            target = binding.outer;
        }
        None
    }

    /// Propagates a candidate from a node of `step` to the binding `target` of the context step.
    pub fn propagate(&mut self, step: StepId, target: BindingId, candidate: Candidate) {
        if let Candidate::Node(_) = candidate {
            self.candidates.start_walk();
        }
        self.offer(step, target, candidate);
    }

    fn offer(&mut self, step: StepId, mut target: BindingId, candidate: Candidate) {
        let QueryStep { step, query, .. } = self.steps[step];
        while target != NONE && !self.work.is_spent() {
            self.work.spend(query, STEPS_PER_BINDING);
            let outer = self.nodes.binding(target).outer;
            let is_new = match step.role {
                StepRole::Path => self.accept_on_path(target, candidate),
                StepRole::Atom(atom) => self.accept_in_predicate(target, atom, candidate),
            };
            if !is_new || step.axis == Axis::Child {
                return;
            }
            target = outer;
        }
    }

    /// Accepts a candidate that continues the path of the binding's step; whether it is new there.
    fn accept_on_path(&mut self, id: BindingId, candidate: Candidate) -> bool {
        let binding = self.nodes.binding_mut(id);
        if binding.verdict == Verdict::Fails {
            return true;
        }
        let (step, target, verdict) = (binding.step, binding.target, binding.verdict);
        match candidate {
            Candidate::Existence if binding.collected == Collected::Existence => return false,
            Candidate::Existence => binding.collected = Collected::Existence,
            Candidate::First(order, passes) => {
                if matches!(binding.collected, Collected::First(first, _) if first <= order) {
                    return false;
                }
                binding.collected = Collected::First(order, passes);
            }
            Candidate::Node(node) => {
                let walk = self.candidates.walk();
                if binding.walk == walk || self.candidates.is_selected(node) {
                    return false;
                }
                binding.walk = walk;
                if verdict == Verdict::Undecided {
                    self.candidates.hold(node);
                    match &mut binding.collected {
                        Collected::Nodes(nodes) => nodes.push(node),
                        collected => *collected = Collected::Nodes(vec![node]),
                    }
                } else if target == NONE {
                    let query = self.steps[step].query as usize;
                    if let Some(node) = self.candidates.select(node) {
                        self.work.spend(query as u32, STEPS_PER_SELECTED);
                        let bytes = self.results[query].add(node, self.options.detail);
                        self.selected_bytes += bytes;
                    }
                }
            }
        }
        if verdict == Verdict::Holds {
            self.offer(step, target, candidate);
        }
        true
    }

    /// Accepts a candidate that decides an atom of the binding's predicates; whether it is new there.
    fn accept_in_predicate(&mut self, id: BindingId, atom: usize, candidate: Candidate) -> bool {
        let binding = self.nodes.binding(id);
        if binding.verdict != Verdict::Undecided {
            return true;
        }
        let at = binding.first_atom + atom;
        let known = self.nodes.atom(at);
        if let AtomValue::Known(_) = known {
            return false;
        }
        if let Candidate::Node(node) = candidate {
            return self.accumulate(id, atom, node);
        }
        let Atom::Path { in_order, .. } = self.steps[binding.step].step.atoms[atom] else {
            unreachable!("other atoms receive nodes");
        };
        let value = match (known, candidate) {
            (AtomValue::Provisional(first, _), Candidate::First(order, _)) if first <= order => {
                return false
            }
            (_, Candidate::Existence) => AtomValue::Known(true),
            (_, Candidate::First(_, passes)) if in_order => AtomValue::Known(passes),
            (_, Candidate::First(order, passes)) => AtomValue::Provisional(order, passes),
            (_, Candidate::Node(_)) => unreachable!("nodes are accumulated"),
        };
        self.nodes.set_atom(at, value);
        if matches!(value, AtomValue::Known(_)) {
            self.evaluate_predicates(id);
        }
        true
    }

    /// Adds a node to the accumulator of an atom; whether it is new there.
    ///
    /// An outer binding has received every node that an inner one has, so a result that is final for
    /// the inner one is final for the outer one, too.
    fn accumulate(&mut self, id: BindingId, atom: usize, node: CandidateId) -> bool {
        let binding = self.nodes.binding(id);
        let at = binding.first_atom + atom;
        let step = self.steps[binding.step].step;
        let accumulator = binding.first_accumulator + step.accumulator_of(atom);
        let query = self.steps[binding.step].query;
        let (accumulator, stored) = self.nodes.accumulator_mut(accumulator);
        let (is_new, decided) = match self.candidates.node(node) {
            CandidateNode::Counted(order) => {
                let (is_new, bytes) = accumulator.count(*order);
                *stored += bytes;
                (is_new, accumulator.decided(None))
            }
            CandidateNode::Compared(side, value) => {
                // It is copied, hashed and compared.
                self.work.spend(query, 2 * value.bytes() as u64);
                *stored += accumulator.add(*side, value);
                (true, accumulator.decided(Some((*side, value))))
            }
            CandidateNode::Selected(_) => unreachable!("predicates select no nodes"),
        };
        if let Some(value) = decided {
            self.nodes.set_atom(at, AtomValue::Known(value));
            self.evaluate_predicates(id);
        }
        is_new
    }

    /// Evaluates the predicates of an undecided binding after an atom became known.
    pub fn evaluate_predicates(&mut self, id: BindingId) {
        let binding = self.nodes.binding(id);
        if binding.verdict != Verdict::Undecided {
            return;
        }
        let QueryStep { step, query, .. } = self.steps[binding.step];
        let first_atom = binding.first_atom;
        self.work
            .spend(query, STEPS_PER_BINDING + 4 * step.atoms.len() as u64);
        while self.nodes.binding(id).predicates_passed < step.first_deferred {
            let sibling = self.sibling_position(id);
            let predicate = &step.predicates[self.nodes.binding(id).predicates_passed];
            let atoms = self.nodes.atoms(first_atom, step.atoms.len());
            match predicate.formula.value(atoms, sibling) {
                None => return,
                Some(false) => {
                    self.nodes.binding_mut(id).verdict = Verdict::Fails;
                    self.discard_collected(id);
                    return;
                }
                Some(true) => {
                    let binding = self.nodes.binding_mut(id);
                    binding.predicates_passed += 1;
                    binding.position = None;
                }
            }
        }
        if step.first_deferred == step.predicates.len() {
            self.nodes.binding_mut(id).verdict = Verdict::Holds;
            self.forward_collected(id);
        }
    }

    /// The position of a binding's node for its next predicate, as far as it is known. The first
    /// call for a predicate that uses `position()` counts the node.
    fn sibling_position(&mut self, id: BindingId) -> SiblingPosition {
        let binding = self.nodes.binding(id);
        let linked = self.steps[binding.step];
        let predicate = binding.predicates_passed;
        let mut position = binding.position;
        if position.is_none() && linked.step.predicates[predicate].needs_position {
            let depth = binding.depth - 1;
            position = Some(self.counters.count(
                linked.counters,
                predicate,
                linked.step.predicates.len(),
                self.nodes.frame(depth).order,
                depth,
            ));
            self.nodes.binding_mut(id).position = position;
        }
        SiblingPosition {
            position,
            last: None,
        }
    }

    /// Drops what a binding collected because its predicates fail.
    fn discard_collected(&mut self, id: BindingId) {
        let collected = &mut self.nodes.binding_mut(id).collected;
        if let Collected::Nodes(nodes) = std::mem::replace(collected, Collected::Nothing) {
            self.release(&nodes);
        }
    }

    fn release(&mut self, nodes: &[CandidateId]) {
        for &node in nodes {
            self.candidates.release(node);
        }
    }

    /// Propagates what a binding collected because its predicates hold.
    fn forward_collected(&mut self, id: BindingId) {
        let binding = self.nodes.binding(id);
        let (step, target) = (binding.step, binding.target);
        let exists = self.reports_existence(self.steps[step].step.goal.as_ref());
        let binding = self.nodes.binding_mut(id);
        if exists {
            binding.collected = Collected::Existence;
        }
        let collected = if let Collected::Nodes(_) = binding.collected {
            std::mem::replace(&mut binding.collected, Collected::Nothing)
        } else {
            // Stays recorded, so that the same is not propagated twice.
            binding.collected.clone()
        };
        self.propagate_collected(step, target, collected);
    }

    fn propagate_collected(&mut self, step: StepId, target: BindingId, collected: Collected) {
        match collected {
            Collected::Nothing => {}
            Collected::Existence => self.propagate(step, target, Candidate::Existence),
            Collected::First(order, passes) => {
                self.propagate(step, target, Candidate::First(order, passes));
            }
            Collected::Nodes(mut nodes) => {
                self.candidates.deduplicate(&mut nodes);
                for &node in &nodes {
                    self.propagate(step, target, Candidate::Node(node));
                }
                self.release(&nodes);
            }
        }
    }

    /// Feeds a chunk of text to the watchers from index `first` on.
    #[inline]
    pub fn feed(&mut self, first: usize, chunk: &str) {
        self.nodes.feed(first, chunk, &mut self.work);
    }

    /// Settles the atoms that the start tag decides.
    pub fn settle_start_tag_atoms(&mut self, id: BindingId) {
        let binding = self.nodes.binding(id);
        let (step, first_atom) = (self.steps[binding.step].step, binding.first_atom);
        let mut accumulator = binding.first_accumulator;
        for (number, atom) in step.atoms.iter().enumerate() {
            match atom {
                Atom::Value(_) => {}
                Atom::Path {
                    at_start_tag,
                    default,
                    ..
                } => {
                    if *at_start_tag {
                        self.settle_path_atom(first_atom + number, *default);
                    }
                }
                Atom::Count { at_start_tag, .. } | Atom::Pair { at_start_tag, .. } => {
                    if *at_start_tag {
                        self.settle_accumulator_atom(first_atom + number, accumulator);
                    }
                    accumulator += 1;
                }
            }
        }
    }

    /// Settles an atom about several nodes when no further one can arrive.
    fn settle_accumulator_atom(&mut self, at: usize, accumulator: usize) {
        if !matches!(self.nodes.atom(at), AtomValue::Known(_)) {
            let holds = self.nodes.accumulator(accumulator).holds();
            self.nodes.set_atom(at, AtomValue::Known(holds));
        }
    }

    /// Settles an atom about two paths, one or both of which are the node itself, when it ends.
    fn settle_own_value(&mut self, accumulator: usize, watcher: usize, is_self: [bool; 2]) {
        let value = self.nodes.take_value(watcher);
        let (accumulator, stored) = self.nodes.accumulator_mut(accumulator);
        for (side, is_self) in [Side::Left, Side::Right].into_iter().zip(is_self) {
            if is_self {
                *stored += accumulator.add(side, &value);
            }
        }
    }

    /// Settles a path atom when no further candidate can arrive.
    fn settle_path_atom(&mut self, at: usize, default: bool) {
        let value = match self.nodes.atom(at) {
            AtomValue::Unknown => default,
            AtomValue::Provisional(_, passes) => passes,
            AtomValue::Known(known) => known,
        };
        self.nodes.set_atom(at, AtomValue::Known(value));
    }

    /// Decides a binding of the innermost node, which ends, and propagates what it contributes.
    /// `capture` makes a record of the node, in case the query reports nodes.
    pub fn close_binding(
        &mut self,
        id: BindingId,
        capture: impl FnOnce(&OpenNodes<'a>) -> SelectedNode,
    ) {
        let binding = self.nodes.binding(id);
        let (step, target, first_atom) = (binding.step, binding.target, binding.first_atom);
        let linked = self.steps[step];
        self.work.spend(linked.query, STEPS_PER_VISIT);
        if self.is_finished(linked.query) {
            return self.discard_collected(id);
        }
        self.work.spend(linked.query, STEPS_PER_BINDING);
        let mut watcher = binding.first_watcher;
        let mut accumulator = binding.first_accumulator;
        for (number, atom) in linked.step.atoms.iter().enumerate() {
            match atom {
                Atom::Value(_) => {
                    let passes = self.nodes.watcher_result(watcher);
                    self.nodes
                        .set_atom(first_atom + number, AtomValue::Known(passes));
                    watcher += 1;
                }
                Atom::Path { default, .. } => {
                    self.settle_path_atom(first_atom + number, *default);
                }
                Atom::Count { .. } | Atom::Pair { .. } => {
                    if let Atom::Pair { is_self, .. } = atom {
                        if is_self.contains(&true) {
                            self.settle_own_value(accumulator, watcher, *is_self);
                            watcher += 1;
                        }
                    }
                    self.settle_accumulator_atom(first_atom + number, accumulator);
                    accumulator += 1;
                }
            }
        }
        self.evaluate_predicates(id);
        let goal = linked.step.goal.as_ref();
        let candidate = match (self.nodes.binding(id).verdict, goal) {
            (Verdict::Fails, _) => return,
            // Existence was propagated when the predicates turned out to hold.
            (Verdict::Holds, goal) if self.reports_existence(goal) => return,
            (_, None) => None,
            (_, goal) if self.reports_existence(goal) => Some(Candidate::Existence),
            (_, Some(Goal::AnyPasses(_))) => self
                .nodes
                .watcher_result(watcher)
                .then_some(Candidate::Existence),
            (_, Some(Goal::FirstPasses(_))) => Some(Candidate::First(
                self.nodes.top().order,
                self.nodes.watcher_result(watcher),
            )),
            (_, Some(Goal::Exists | Goal::Select)) => {
                let node = CandidateNode::Selected(capture(&self.nodes));
                Some(Candidate::Node(self.candidates.add(node)))
            }
            (_, Some(Goal::Count)) => {
                let node = CandidateNode::Counted(self.nodes.top().order);
                Some(Candidate::Node(self.candidates.add(node)))
            }
            (_, Some(Goal::Compare(side, _))) => {
                let node = CandidateNode::Compared(*side, self.nodes.take_value(watcher));
                Some(Candidate::Node(self.candidates.add(node)))
            }
        };
        if self.nodes.binding(id).verdict == Verdict::Undecided {
            self.defer(id, candidate);
            return;
        }
        if let Some(candidate) = candidate {
            self.propagate(step, target, candidate);
            if let Candidate::Node(node) = candidate {
                self.candidates.release(node);
            }
        }
    }

    /// Propagates an attribute that a predicate counts or compares.
    pub fn propagate_attribute(&mut self, step: StepId, target: BindingId, node: CandidateNode) {
        let node = self.candidates.add(node);
        self.propagate(step, target, Candidate::Node(node));
        self.candidates.release(node);
    }

    /// Defers a binding whose node ends but whose step tests `last()`.
    fn defer(&mut self, id: BindingId, candidate: Option<Candidate>) {
        let binding = self.nodes.binding_mut(id);
        let (step, target, first_atom) = (binding.step, binding.target, binding.first_atom);
        let collected = match candidate {
            Some(candidate) => Collected::of(candidate),
            None => std::mem::replace(&mut binding.collected, Collected::Nothing),
        };
        let linked = self.steps[step];
        let node = DeferredNode {
            step,
            target,
            atoms: self.nodes.atoms(first_atom, linked.step.atoms.len()).into(),
            collected,
        };
        if !linked.step.last_only {
            self.deferred.push(node);
            return;
        }
        let siblings = self.nodes.parent().deferred_mark;
        let replaced = self.deferred.push_as_last(node, siblings, linked.counters);
        if let Some(Collected::Nodes(nodes)) = replaced.map(|node| node.collected) {
            self.release(&nodes);
        }
    }

    /// Decides the nodes deferred since `mark`: their parent ends.
    #[inline]
    pub fn resolve_deferred(&mut self, mark: usize) {
        if self.deferred.len() == mark {
            return;
        }
        for siblings in self.deferred.take_from(mark) {
            self.resolve_siblings(siblings);
        }
    }

    fn resolve_siblings(&mut self, mut siblings: Vec<DeferredNode>) {
        let step = siblings[0].step;
        let QueryStep {
            step: compiled,
            query,
            ..
        } = self.steps[step];
        for predicate in &compiled.predicates[compiled.first_deferred..] {
            let steps =
                (STEPS_PER_BINDING + 4 * compiled.atoms.len() as u64) * siblings.len() as u64;
            self.work.spend(query, steps);
            let last = siblings.len() as u64;
            let mut passing = Vec::with_capacity(siblings.len());
            for (position, node) in (1..).zip(siblings) {
                let sibling = SiblingPosition {
                    position: Some(position),
                    last: Some(last),
                };
                if predicate.formula.value(&node.atoms, sibling) == Some(true) {
                    passing.push(node);
                } else if let Collected::Nodes(nodes) = node.collected {
                    self.release(&nodes);
                }
            }
            siblings = passing;
        }
        for node in siblings {
            self.propagate_collected(step, node.target, node.collected);
        }
    }
}
