//! Moves candidates upwards, through the predicates of the nodes above them.
//!
//! A candidate moves along a path from its last step towards its first. At each binding it is
//! forwarded if the step's predicates hold, held if they are undecided, and dropped if they fail. On
//! the descendant axis it moves to every open binding of the preceding step, innermost first. An outer
//! binding has received everything that an inner one has, so the walk outwards ends at the first
//! binding for which the candidate is not new. A nested path leads to the open atoms of its context
//! nodes in the same way; when the value of an open atom becomes known, the predicates of all bindings
//! of the node that use it are evaluated.

use crate::events::{Stop, CANDIDATES_HELD, VALUES_STORED};
use crate::xpath::ast::Axis;

use super::accumulator::Side;
use super::candidate::{Candidate, CandidateId, CandidateNode, CandidateNodes, Collected};
use super::deferred_nodes::{DeferredNode, DeferredNodes};
use super::open_atoms::{AtomValue, OpenAtomId, NONE};
use super::open_nodes::{BindingId, OpenNodes, Verdict, DOCUMENT_BINDING};
use super::predicate::SiblingPosition;
use super::query_result::{
    ResultDetail, ResultSet, SelectedNode, SelectionOptions, SelectionResult,
};
use super::query_steps::{QuerySteps, StepContext, StepId};
use super::query_work::{QueryWork, STEPS_PER_BINDING, STEPS_PER_SELECTED, STEPS_PER_VISIT};
use super::selector::{AtomTest, Goal};
use super::sibling_counters::SiblingCounters;
use super::undecided_parts::UndecidedParts;

/// Evaluates predicates and propagates candidates over the bindings and atoms of open nodes.
pub(super) struct Propagation<'a> {
    pub steps: &'a QuerySteps<'a>,
    pub nodes: OpenNodes<'a>,
    options: SelectionOptions,
    counters: SiblingCounters,
    candidates: CandidateNodes,
    deferred: DeferredNodes,
    results: Vec<ResultSet>,
    undecided: UndecidedParts,
    /// The bytes of all reported nodes in the document.
    selected_bytes: u64,
    pub work: QueryWork,
}

impl<'a> Propagation<'a> {
    pub fn new(steps: &'a QuerySteps<'a>, options: SelectionOptions) -> Self {
        let queries = 0..steps.query_count();
        Self {
            nodes: OpenNodes::new(steps),
            options,
            counters: SiblingCounters::new(steps.counted()),
            candidates: CandidateNodes::default(),
            deferred: DeferredNodes::new(steps.counted()),
            results: queries
                .map(|query| ResultSet::new(steps.branch_count(query)))
                .collect(),
            undecided: UndecidedParts::new(steps),
            selected_bytes: 0,
            steps,
            work: QueryWork::new(steps.preparation(), options.steps_max),
        }
    }

    /// The results of a document that was read to its end.
    pub fn finish(mut self) -> SelectionResult {
        // The document was read to its end within the budget; only its root may be undecided.
        self.work.lift_limit();
        self.resolve_deferred(0);
        debug_assert_eq!(
            self.candidates.held(),
            0,
            "nothing is undecided at the end of the document"
        );
        self.into_result(None)
    }

    /// The results so far of a document that was stopped.
    pub fn interrupt(self) -> SelectionResult {
        let held = (!self.work.is_spent()).then(|| self.held_by_part());
        self.into_result(held)
    }

    fn into_result(self, held: Option<Vec<u64>>) -> SelectionResult {
        let queries = (0..).zip(self.results);
        SelectionResult {
            queries: queries
                .map(|(query, result)| result.finish(!self.undecided.contains(query)))
                .collect(),
            steps: self.work.into_parts(),
            held,
        }
    }

    /// What each part holds, in candidates or bytes, whichever is closer to its limit.
    fn held_by_part(&self) -> Vec<u64> {
        let bytes_per_candidate =
            (self.options.compared_bytes_max / self.options.candidates_max.max(1)).max(1);
        // The parts of the queries themselves come first.
        let mut held: Vec<u64> = self.results.iter().map(ResultSet::bytes).collect();
        held.resize(self.steps.part_count(), 0);
        let mut add = |part: u32, candidates: usize, bytes: usize| {
            held[part as usize] += (candidates * bytes_per_candidate + bytes) as u64;
        };
        self.nodes.for_each_holder(self.steps, &mut add);
        for node in self.deferred.iter() {
            let candidates = 1 + node.collected.node_count();
            add(self.steps.step(node.step).part, candidates, 0);
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

    /// Whether some undecided query uses a step.
    #[inline]
    pub fn is_needed(&self, step: StepId) -> bool {
        self.undecided.contains(self.steps.step(step).part)
    }

    /// Whether the binding or open atom `target` can still use what a node of `step` contributes; `None`
    /// if its predicates are decided, so that only outer ones can.
    ///
    /// A parent that needs nothing from its children never will again, so children that are skipped
    /// need not be counted for positions either.
    #[inline]
    pub fn needs(&mut self, step: StepId, target: u32) -> Option<bool> {
        match self.steps.step(step).context {
            StepContext::Step(_) => {
                let binding = self.nodes.binding(target);
                let ends = self.steps.step(step).ends;
                (binding.verdict != Verdict::Fails).then(|| !binding.collected.has_existence(ends))
            }
            StepContext::Atom(_) => match self.nodes.atoms.get(target).value.known() {
                Some(_) => Some(false),
                None => self.is_used(target).then_some(true),
            },
        }
    }

    /// Whether an undecided binding uses an open atom.
    #[inline]
    fn is_used(&mut self, open: OpenAtomId) -> bool {
        while let Some((_, user)) = self.nodes.atoms.first_user(open) {
            let binding = self.nodes.binding(user);
            if binding.verdict == Verdict::Undecided && self.is_needed(binding.step) {
                return true;
            }
            // It never becomes undecided again.
            self.nodes.atoms.remove_first_user(open);
        }
        false
    }

    /// The innermost binding or open atom that needs what a node in frame `depth` contributes with a
    /// step on the descendant axis.
    pub fn descendant_target(&mut self, step: StepId, depth: u32) -> Option<u32> {
        let compiled = self.steps.step(step);
        self.work.spend(compiled.part, STEPS_PER_VISIT);
        if !self.is_needed(step) {
            return None;
        }
        let mut target = match compiled.context {
            StepContext::Step(context) => self.nodes.innermost(context),
            StepContext::Atom(atom) => self.nodes.atoms.innermost(atom),
        };
        while target != NONE {
            self.work.spend(compiled.part, STEPS_PER_VISIT);
            let (target_depth, outer) = self.depth_and_outer(compiled.context, target);
            // The node itself may be bound to the context step, but it is not its own descendant.
            if target_depth != depth {
                if let Some(is_needed) = self.needs(step, target) {
                    // What an inner binding has, the outer ones have too.
                    return is_needed.then_some(target);
                }
            }
            target = outer;
        }
        None
    }

    /// The depth of a binding or open atom, and the next enclosing one.
    #[inline]
    fn depth_and_outer(&self, context: StepContext, target: u32) -> (u32, u32) {
        match context {
            StepContext::Step(_) => {
                let binding = self.nodes.binding(target);
                (binding.depth, binding.outer)
            }
            StepContext::Atom(_) => {
                let open = self.nodes.atoms.get(target);
                (open.depth, open.outer)
            }
        }
    }

    /// Propagates a candidate from a node of `step` to the binding or open atom `target` of its context.
    pub fn propagate(&mut self, step: StepId, target: u32, candidate: Candidate) {
        if let Candidate::Node(_) = candidate {
            self.candidates.start_walk();
        }
        self.offer(step, target, candidate);
    }

    fn offer(&mut self, step: StepId, mut target: u32, candidate: Candidate) {
        let step = self.steps.step(step);
        while target != NONE && !self.work.is_spent() {
            self.work.spend(step.part, STEPS_PER_BINDING);
            let (_, outer) = self.depth_and_outer(step.context, target);
            let is_new = match step.context {
                StepContext::Step(_) => self.accept_on_path(target, candidate),
                StepContext::Atom(_) => self.accept_in_atom(target, candidate),
            };
            if !is_new || step.step.axis == Axis::Child {
                return;
            }
            target = outer;
        }
    }

    /// Accepts a candidate that continues the path of the binding's step; whether it is new there.
    fn accept_on_path(&mut self, id: BindingId, candidate: Candidate) -> bool {
        if id == DOCUMENT_BINDING {
            return self.accept_as_result(candidate);
        }
        let binding = self.nodes.binding_mut(id);
        if binding.verdict == Verdict::Fails {
            return true;
        }
        let (step, target, verdict) = (binding.step, binding.target, binding.verdict);
        match candidate {
            Candidate::Existence(end) => {
                let ends = self.steps.step(step).ends;
                if !binding.collected.add_existence(end, ends) {
                    return false;
                }
            }
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
                    binding.collected.add_node(node);
                }
            }
        }
        if verdict == Verdict::Holds {
            self.offer(step, target, candidate);
        }
        true
    }

    /// Accepts a candidate for which every predicate holds; whether it is new.
    fn accept_as_result(&mut self, candidate: Candidate) -> bool {
        let steps = self.steps;
        match candidate {
            Candidate::Existence(end) => {
                for query in steps.queries_of_end(end) {
                    self.undecided.remove_query(query, steps);
                }
            }
            Candidate::Node(node) => {
                let Some((end, node)) = self.candidates.select(node) else {
                    return false;
                };
                let mut queries = steps.queries_of_end(end).peekable();
                let mut node = Some(node);
                while let Some(query) = queries.next() {
                    self.work.spend(query, STEPS_PER_SELECTED);
                    let is_last = queries.peek().is_none();
                    let own = if is_last { node.take() } else { node.clone() };
                    let own = own.expect("it is taken for the last query");
                    self.selected_bytes +=
                        self.results[query as usize].add(own, self.options.detail);
                }
            }
            Candidate::First(..) => unreachable!("it decides a predicate"),
        }
        true
    }

    /// Accepts a candidate that decides an atom of its node's predicates; whether it is new there.
    fn accept_in_atom(&mut self, open: OpenAtomId, candidate: Candidate) -> bool {
        let known = self.nodes.atoms.get(open).value;
        if let AtomValue::Known(_) = known {
            return false;
        }
        let atom = self.steps.atom(self.nodes.atoms.get(open).atom).atom;
        // The start tag decides an atom before it has users.
        if !atom.at_start_tag && !self.is_used(open) {
            return true;
        }
        if let Candidate::Node(node) = candidate {
            return self.accumulate(open, node);
        }
        let AtomTest::Path { in_order, .. } = atom.test else {
            unreachable!("other atoms receive nodes");
        };
        let value = match (known, candidate) {
            (AtomValue::Provisional(first, _), Candidate::First(order, _)) if first <= order => {
                return false
            }
            (_, Candidate::Existence(_)) => AtomValue::Known(true),
            (_, Candidate::First(_, passes)) if in_order => AtomValue::Known(passes),
            (_, Candidate::First(order, passes)) => AtomValue::Provisional(order, passes),
            (_, Candidate::Node(_)) => unreachable!("nodes are accumulated"),
        };
        self.set_atom_value(open, value);
        true
    }

    /// Sets the value of an open atom; if it is known, evaluates the predicates that use it.
    fn set_atom_value(&mut self, open: OpenAtomId, value: AtomValue) {
        self.nodes.atoms.set_value(open, value);
        if !matches!(value, AtomValue::Known(_)) {
            return;
        }
        let mut user = self.nodes.atoms.first_user(open);
        while let Some((slot, binding)) = user {
            self.evaluate_predicates(binding);
            user = self.nodes.atoms.next_user(slot);
        }
    }

    /// Adds a node to the accumulator of an open atom; whether it is new there.
    ///
    /// An outer node has received every node that an inner one has, so a result that is final for the
    /// inner one is final for the outer one, too.
    fn accumulate(&mut self, open: OpenAtomId, node: CandidateId) -> bool {
        let open_atom = self.nodes.atoms.get(open);
        let part = self.steps.atom(open_atom.atom).part;
        let (accumulator, stored) = self.nodes.accumulator_mut(open_atom.accumulator);
        let (is_new, decided) = match self.candidates.node(node) {
            CandidateNode::Counted(order) => {
                let (is_new, bytes) = accumulator.count(*order);
                *stored += bytes;
                (is_new, accumulator.decided(None))
            }
            CandidateNode::Compared(side, value) => {
                // It is copied, hashed and compared.
                self.work.spend(part, 2 * value.bytes() as u64);
                *stored += accumulator.add(*side, value);
                (true, accumulator.decided(Some((*side, value))))
            }
            CandidateNode::Selected(..) => unreachable!("predicates select no nodes"),
        };
        if let Some(value) = decided {
            self.set_atom_value(open, AtomValue::Known(value));
        }
        is_new
    }

    /// Evaluates the predicates of an undecided binding after an atom became known.
    pub fn evaluate_predicates(&mut self, id: BindingId) {
        let binding = self.nodes.binding(id);
        if binding.verdict != Verdict::Undecided {
            return;
        }
        let linked = self.steps.step(binding.step);
        let step = linked.step;
        self.work.spend(
            linked.part,
            STEPS_PER_BINDING + STEPS_PER_VISIT * step.atoms.len() as u64,
        );
        while self.nodes.binding(id).predicates_passed < step.first_deferred {
            let sibling = self.sibling_position(id);
            let binding = self.nodes.binding(id);
            let predicate = &step.predicates[binding.predicates_passed];
            let atom = |number| self.nodes.atoms.slot_value(binding.first_slot + number);
            match predicate.formula.value(&atom, sibling) {
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
        let linked = self.steps.step(binding.step);
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
        let linked = self.steps.step(step);
        let exists = self.reports_existence(linked.goal);
        let binding = self.nodes.binding_mut(id);
        if exists {
            // The end of the step itself comes before those below it.
            binding
                .collected
                .add_existence(linked.ends.first, linked.ends);
        }
        let collected = if let Collected::Nodes(_) = binding.collected {
            std::mem::replace(&mut binding.collected, Collected::Nothing)
        } else {
            // Stays recorded, so that the same is not propagated twice.
            binding.collected.clone()
        };
        self.propagate_collected(step, target, collected);
    }

    fn propagate_collected(&mut self, step: StepId, target: u32, collected: Collected) {
        match collected {
            Collected::Nothing => {}
            Collected::Existence => {
                let ends = self.steps.step(step).ends;
                for end in ends.first..ends.first + ends.count {
                    self.propagate(step, target, Candidate::Existence(end));
                }
            }
            Collected::ExistenceFor(set) => {
                for end in set.iter() {
                    self.propagate(step, target, Candidate::Existence(end));
                }
            }
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

    /// Settles the open atoms of the innermost node, which ends.
    pub fn settle_atoms(&mut self) {
        for open in self.nodes.atoms.since(self.nodes.top().atoms_mark) {
            self.settle_atom(open);
        }
    }

    /// Settles an open atom of the innermost node when no further candidate can arrive. The predicates
    /// that use it are not evaluated yet.
    pub fn settle_atom(&mut self, open: OpenAtomId) {
        let open_atom = self.nodes.atoms.get(open);
        let (value, watcher, accumulator) =
            (open_atom.value, open_atom.watcher, open_atom.accumulator);
        let compiled = self.steps.atom(open_atom.atom);
        self.work.spend(compiled.part, STEPS_PER_VISIT);
        if let AtomValue::Known(_) = value {
            return;
        }
        let value = match &compiled.atom.test {
            AtomTest::Value(_) => self.nodes.watcher_result(watcher, &mut self.work),
            AtomTest::Path { default, .. } => match value {
                AtomValue::Provisional(_, passes) => passes,
                AtomValue::Unknown | AtomValue::Known(_) => *default,
            },
            AtomTest::Count { .. } => self.nodes.accumulator(accumulator).holds(),
            AtomTest::Pair { is_self, .. } => {
                if is_self.contains(&true) {
                    self.add_own_value(accumulator, watcher, *is_self);
                }
                self.nodes.accumulator(accumulator).holds()
            }
        };
        self.nodes.atoms.set_value(open, AtomValue::Known(value));
    }

    /// Adds the value of a node that ends to an accumulator, as one or both of the compared paths.
    fn add_own_value(&mut self, accumulator: usize, watcher: usize, is_self: [bool; 2]) {
        let value = self.nodes.take_value(watcher);
        let (accumulator, stored) = self.nodes.accumulator_mut(accumulator);
        for (side, is_self) in [Side::Left, Side::Right].into_iter().zip(is_self) {
            if is_self {
                *stored += accumulator.add(side, &value);
            }
        }
    }

    /// Decides a binding of the innermost node, which ends, and propagates what it contributes. The
    /// atoms of the node are settled. `capture` makes a record of the node, in case the query reports
    /// nodes.
    pub fn close_binding(
        &mut self,
        id: BindingId,
        capture: impl FnOnce(&OpenNodes<'a>) -> SelectedNode,
    ) {
        let binding = self.nodes.binding(id);
        let (step, target, watcher) = (binding.step, binding.target, binding.goal_watcher);
        let linked = self.steps.step(step);
        self.work.spend(linked.part, STEPS_PER_VISIT);
        if !self.is_needed(step) {
            return self.discard_collected(id);
        }
        self.work.spend(linked.part, STEPS_PER_BINDING);
        self.evaluate_predicates(id);
        let goal = linked.goal;
        let candidate = match (self.nodes.binding(id).verdict, goal) {
            (Verdict::Fails, _) => return,
            // Existence was propagated when the predicates turned out to hold.
            (Verdict::Holds, goal) if self.reports_existence(goal) => return,
            (_, None) => None,
            (_, goal) if self.reports_existence(goal) => {
                Some(Candidate::Existence(linked.ends.first))
            }
            (_, Some(Goal::AnyPasses(_))) => self
                .nodes
                .watcher_result(watcher, &mut self.work)
                .then_some(Candidate::Existence(linked.ends.first)),
            (_, Some(Goal::FirstPasses(_))) => Some(Candidate::First(
                self.nodes.top().order,
                self.nodes.watcher_result(watcher, &mut self.work),
            )),
            (_, Some(Goal::Exists | Goal::Select)) => {
                let node = CandidateNode::Selected(linked.ends.first, capture(&self.nodes));
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
    pub fn propagate_attribute(&mut self, step: StepId, target: u32, node: CandidateNode) {
        let node = self.candidates.add(node);
        self.propagate(step, target, Candidate::Node(node));
        self.candidates.release(node);
    }

    /// Defers a binding whose node ends but whose step tests `last()`.
    fn defer(&mut self, id: BindingId, candidate: Option<Candidate>) {
        let binding = self.nodes.binding_mut(id);
        let (step, target) = (binding.step, binding.target);
        let linked = self.steps.step(step);
        // What branches that continue the path contributed waits with the node itself.
        let mut collected = std::mem::replace(&mut binding.collected, Collected::Nothing);
        match candidate {
            Some(Candidate::Existence(end)) => {
                collected.add_existence(end, linked.ends);
            }
            Some(Candidate::First(order, passes)) => collected = Collected::First(order, passes),
            Some(Candidate::Node(node)) => collected.add_node(node),
            None => {}
        }
        let binding = self.nodes.binding(id);
        let atoms = 0..linked.step.atoms.len();
        let node = DeferredNode {
            step,
            target,
            atoms: atoms
                .map(|number| self.nodes.atoms.slot_value(binding.first_slot + number))
                .collect(),
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
        let part = self.steps.step(step).part;
        let compiled = self.steps.step(step).step;
        for predicate in &compiled.predicates[compiled.first_deferred..] {
            let steps = STEPS_PER_BINDING + STEPS_PER_VISIT * compiled.atoms.len() as u64;
            self.work.spend(part, steps * siblings.len() as u64);
            let last = siblings.len() as u64;
            let mut passing = Vec::with_capacity(siblings.len());
            for (position, node) in (1..).zip(siblings) {
                let sibling = SiblingPosition {
                    position: Some(position),
                    last: Some(last),
                };
                let atom = |number: usize| node.atoms[number];
                if predicate.formula.value(&atom, sibling) == Some(true) {
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
