//! The steps of all queries of a selection in one table, in which equal parts of queries are shared.
//!
//! The steps of the queries' branches form a trie: a step stands there once for all queries that begin
//! with the same steps up to it. An atom, with the steps of its nested paths, stands there once for all
//! steps whose predicates test it. What is shared is identified by address, see
//! [`super::SelectorCompiler`], so the table is made without comparing steps.
//!
//! The *parts* of the table are what steps of evaluation are counted for: each query itself, each step of
//! the trie, and each atom.

use std::sync::{Arc, LazyLock};

use foldhash::fast::RandomState;
use hashbrown::hash_map::Entry;
use hashbrown::HashMap;

use crate::xpath::ast::{Axis, Kind, NameTest};

use super::end_set::EndRange;
use super::query_work::{STEPS_PER_FOUND_STEP, STEPS_PER_PREPARED_ATOM, STEPS_PER_PREPARED_STEP};
use super::selector::{Atom, Goal, Selector, Step};

/// Index of a step in [`QuerySteps`].
pub(super) type StepId = u32;

/// Index of an atom in [`QuerySteps`].
pub(super) type AtomId = u32;

/// Number of a part in [`QuerySteps`]. Those of the queries themselves come first, in order.
pub(super) type PartId = u32;

/// The step of the document node, which precedes the first steps of all branches.
pub(super) const DOCUMENT: StepId = 0;

/// The end of a list of steps or branches.
const END: u32 = u32::MAX;

static DOCUMENT_STEP: LazyLock<Step> = LazyLock::new(|| Step {
    axis: Axis::Child,
    kind: Kind::Element,
    test: NameTest::default(),
    predicates: Box::default(),
    has_position: false,
    first_deferred: 0,
    last_only: false,
    atoms: Box::default(),
    preparation: STEPS_PER_PREPARED_STEP,
});

/// A step, with its place in the table.
pub(super) struct QueryStep<'a> {
    pub step: &'a Step,
    /// What its path is for; `None` before the last step.
    pub goal: Option<&'a Goal>,
    pub context: StepContext,
    pub part: PartId,
    /// Index of the step's sibling counters, if it has a positional predicate.
    pub counters: usize,
    /// Where its atoms begin in [`QuerySteps::step_atoms`].
    first_atom: usize,
    /// The steps that continue its path.
    next: StepList,
    /// The next step with the same context.
    sibling: StepId,
    /// The ends of branches at or below the step.
    pub ends: EndRange,
}

/// What the nodes of a step are found from, and contribute to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StepContext {
    /// The nodes of the preceding step.
    Step(StepId),
    /// The nodes that an atom is tested for.
    Atom(AtomId),
}

/// Steps with the same context, linked by [`QueryStep::sibling`].
#[derive(Clone, Copy)]
struct StepList {
    first: StepId,
    len: u32,
}

impl Default for StepList {
    fn default() -> Self {
        Self { first: END, len: 0 }
    }
}

/// An atom, with its place in the table.
pub(super) struct QueryAtom<'a> {
    pub atom: &'a Atom,
    pub part: PartId,
    /// The first steps of its paths.
    next: StepList,
}

/// A branch of a query.
struct QueryBranch {
    query: u32,
    /// Its last step.
    step: StepId,
    /// The next branch with the same last step.
    same_end: u32,
}

/// The steps of all queries of a selection.
pub struct QuerySteps<'a> {
    steps: Vec<QueryStep<'a>>,
    atoms: Vec<QueryAtom<'a>>,
    /// The atoms of all steps, step by step.
    step_atoms: Vec<AtomId>,
    /// Number of steps with sibling counters.
    counted: usize,
    /// The branches of all queries, query by query.
    branches: Vec<QueryBranch>,
    /// By query: where its branches begin.
    first_branches: Vec<usize>,
    /// By end: its first branch.
    ends: Vec<u32>,
    parts: Vec<Part>,
}

/// A part of the table.
#[derive(Clone, Copy, Default)]
struct Part {
    /// Steps to prepare it.
    preparation: u64,
    /// What uses it: the branches through a step, the steps whose predicates test an atom.
    users: u32,
}

impl<'a> QuerySteps<'a> {
    /// The table of `selectors`, which may contain duplicates.
    pub fn new(selectors: &[&'a Selector]) -> Self {
        Self::within(selectors, u64::MAX).0
    }

    /// The table of as many of `selectors` as `steps_max` steps prepare, and the indexes of all: first
    /// of its queries, in order, then of those that it has no place for. If not all are certain to
    /// fit, those that take the fewest steps come first. What exceeds the steps is never made.
    pub(crate) fn within(selectors: &[&'a Selector], steps_max: u64) -> (Self, Vec<usize>) {
        let mut builder = Builder::new(selectors.len());
        let mut order: Vec<usize> = (0..selectors.len()).collect();
        let unshared: u64 = selectors.iter().map(|one| one.preparation).sum();
        if builder.preparation + unshared > steps_max {
            // A stable sort: the result is repeatable.
            order.sort_by_key(|&at| selectors[at].preparation);
        }
        for (query, &at) in (0..).zip(&order) {
            // What the query shares with others is counted again here, so that none is made that does
            // not fit. Those after it take no fewer steps.
            if builder.preparation + selectors[at].preparation > steps_max {
                break;
            }
            builder.add_query(query, selectors[at]);
        }
        (builder.finish(), order)
    }

    /// Number of queries.
    pub fn query_count(&self) -> usize {
        self.first_branches.len() - 1
    }

    /// Number of steps.
    pub(super) fn len(&self) -> usize {
        self.steps.len()
    }

    /// Number of atoms.
    pub(super) fn atom_count(&self) -> usize {
        self.atoms.len()
    }

    /// Number of steps with sibling counters.
    pub(super) fn counted(&self) -> usize {
        self.counted
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &QueryStep<'a>> {
        self.steps.iter()
    }

    #[inline]
    pub(super) fn step(&self, step: StepId) -> &QueryStep<'a> {
        &self.steps[step as usize]
    }

    #[inline]
    pub(super) fn atom(&self, atom: AtomId) -> &QueryAtom<'a> {
        &self.atoms[atom as usize]
    }

    /// The atoms of a step.
    #[inline]
    pub(super) fn atoms_of(&self, step: &QueryStep<'_>) -> &[AtomId] {
        &self.step_atoms[step.first_atom..][..step.step.atoms.len()]
    }

    /// The steps that continue the path of a step.
    #[inline]
    pub(super) fn next_steps(&self, step: &QueryStep<'_>) -> impl Iterator<Item = StepId> + '_ {
        self.list(step.next)
    }

    /// Number of steps that continue the path of a step.
    #[inline]
    pub(super) fn next_count(&self, step: &QueryStep<'_>) -> u64 {
        u64::from(step.next.len)
    }

    /// The first steps of the paths of an atom.
    #[inline]
    pub(super) fn first_steps(&self, atom: AtomId) -> impl Iterator<Item = StepId> + '_ {
        self.list(self.atom(atom).next)
    }

    fn list(&self, list: StepList) -> impl Iterator<Item = StepId> + '_ {
        let mut next = list.first;
        std::iter::from_fn(move || {
            let step = (next != END).then_some(next)?;
            next = self.steps[step as usize].sibling;
            Some(step)
        })
    }

    /// The queries with a branch that ends there; one with several such branches comes several times.
    pub(super) fn queries_of_end(&self, end: u32) -> impl Iterator<Item = u32> + '_ {
        let mut next = self.ends[end as usize];
        std::iter::from_fn(move || {
            let branch = (next != END).then(|| &self.branches[next as usize])?;
            next = branch.same_end;
            Some(branch.query)
        })
    }

    /// Number of branches of a query.
    pub(super) fn branch_count(&self, query: usize) -> usize {
        self.first_branches[query + 1] - self.first_branches[query]
    }

    /// The last steps of the branches of a query.
    pub(super) fn last_steps(&self, query: usize) -> impl Iterator<Item = StepId> + '_ {
        let own = self.first_branches[query]..self.first_branches[query + 1];
        self.branches[own].iter().map(|branch| branch.step)
    }

    /// The step before a step of a branch; `None` before the first.
    pub(super) fn preceding(&self, step: StepId) -> Option<StepId> {
        match self.step(step).context {
            StepContext::Step(context) if step != DOCUMENT => Some(context),
            _ => None,
        }
    }

    /// The steps of the paths of an atom.
    pub(super) fn steps_of_atom(&self, atom: AtomId) -> impl Iterator<Item = StepId> + '_ {
        self.first_steps(atom).flat_map(|first| {
            // A nested path has no branches.
            std::iter::successors(Some(first), |&step| self.next_steps(self.step(step)).next())
        })
    }

    /// Number of parts.
    pub(super) fn part_count(&self) -> usize {
        self.parts.len()
    }

    /// By part: what uses it.
    pub(super) fn users(&self) -> Vec<u32> {
        self.parts.iter().map(|part| part.users).collect()
    }

    /// By part: the steps to prepare it.
    pub(crate) fn preparation(&self) -> Vec<u64> {
        self.parts.iter().map(|part| part.preparation).collect()
    }

    /// The parts that each query uses.
    pub(crate) fn parts_of_queries(&self) -> QueryParts {
        let mut parts = QueryParts::default();
        let mut seen = vec![END; self.parts.len()];
        let mut atoms: Vec<AtomId> = Vec::new();
        for query in 0..self.query_count() as u32 {
            parts.starts.push(parts.numbers.len());
            parts.numbers.push(query);
            let mut is_new = |part: PartId| {
                let is_new = std::mem::replace(&mut seen[part as usize], query) != query;
                if is_new {
                    parts.numbers.push(part);
                }
                is_new
            };
            for last in self.last_steps(query as usize) {
                for step in std::iter::successors(Some(last), |&step| self.preceding(step)) {
                    if !is_new(self.step(step).part) {
                        break;
                    }
                    atoms.extend(self.atoms_of(self.step(step)));
                }
            }
            while let Some(atom) = atoms.pop() {
                if is_new(self.atom(atom).part) {
                    let steps = self.steps_of_atom(atom);
                    atoms.extend(steps.flat_map(|step| self.atoms_of(self.step(step))));
                }
            }
        }
        parts.starts.push(parts.numbers.len());
        parts
    }
}

/// The parts of a table that each query uses.
#[derive(Default)]
pub(crate) struct QueryParts {
    /// By query: where its parts begin in `numbers`.
    starts: Vec<usize>,
    numbers: Vec<PartId>,
}

impl QueryParts {
    /// The parts of a query.
    pub(crate) fn of_query(&self, query: usize) -> &[PartId] {
        &self.numbers[self.starts[query]..self.starts[query + 1]]
    }
}

/// Whether more than one branch has a step, or more than one step an atom. The compiler has it, too. Most
/// parts have one user, and looking them up would take most of the time to make a table.
fn has_several_users<T>(part: &Arc<T>) -> bool {
    Arc::strong_count(part) > 2
}

/// Makes a table.
struct Builder<'a> {
    table: QuerySteps<'a>,
    /// Steps to prepare all parts so far.
    preparation: u64,
    /// Steps of branches, by address.
    step_ids: HashMap<*const Step, StepId, RandomState>,
    /// By address.
    atom_ids: HashMap<*const Atom, AtomId, RandomState>,
}

impl<'a> Builder<'a> {
    fn new(queries: usize) -> Self {
        let mut builder = Self {
            table: QuerySteps {
                steps: Vec::with_capacity(4 * queries),
                atoms: Vec::with_capacity(queries),
                step_atoms: Vec::with_capacity(queries),
                counted: 0,
                branches: Vec::with_capacity(queries),
                first_branches: Vec::with_capacity(queries + 1),
                ends: Vec::new(),
                parts: vec![Part::default(); queries],
            },
            preparation: 0,
            step_ids: HashMap::default(),
            atom_ids: HashMap::default(),
        };
        let part = builder.add_part();
        builder.push_step(&DOCUMENT_STEP, StepContext::Step(DOCUMENT), part, None);
        builder
    }

    fn add_part(&mut self) -> PartId {
        self.table.parts.push(Part::default());
        u32::try_from(self.table.parts.len() - 1).expect("fewer than 2^32 parts")
    }

    fn add_query(&mut self, query: u32, selector: &'a Selector) {
        self.table.first_branches.push(self.table.branches.len());
        for branch in &selector.branches {
            let mut last = DOCUMENT;
            self.count_branch(last);
            for step in branch {
                last = self.branch_step(step, last);
                self.count_branch(last);
            }
            self.count_preparation(query, STEPS_PER_FOUND_STEP * branch.len() as u64);
            self.table.branches.push(QueryBranch {
                query,
                step: last,
                same_end: END,
            });
        }
        self.table.parts[query as usize].users = 1;
    }

    fn count_preparation(&mut self, part: PartId, steps: u64) {
        self.table.parts[part as usize].preparation += steps;
        self.preparation += steps;
    }

    fn count_branch(&mut self, step: StepId) {
        let part = self.table.step(step).part;
        self.table.parts[part as usize].users += 1;
    }

    /// The step of a branch that follows the step `context`.
    fn branch_step(&mut self, step: &'a Arc<Step>, context: StepId) -> StepId {
        let may_be_known = has_several_users(step);
        if may_be_known {
            if let Some(&known) = self.step_ids.get(&Arc::as_ptr(step)) {
                return known;
            }
        }
        let part = self.add_part();
        let id = self.push_step(step, StepContext::Step(context), part, None);
        if may_be_known {
            self.step_ids.insert(Arc::as_ptr(step), id);
        }
        id
    }

    fn push_step(
        &mut self,
        step: &'a Step,
        context: StepContext,
        part: PartId,
        goal: Option<&'a Goal>,
    ) -> StepId {
        self.count_preparation(part, STEPS_PER_PREPARED_STEP);
        let table = &mut self.table;
        let id = u32::try_from(table.steps.len()).expect("fewer than 2^32 steps");
        let mut new = QueryStep {
            step,
            goal,
            context,
            part,
            counters: table.counted,
            first_atom: table.step_atoms.len(),
            next: StepList::default(),
            sibling: END,
            ends: EndRange::default(),
        };
        table.counted += usize::from(step.has_position);
        let first_atom = new.first_atom;
        if id != DOCUMENT {
            let list = match context {
                StepContext::Step(context) => &mut table.steps[context as usize].next,
                StepContext::Atom(atom) => &mut table.atoms[atom as usize].next,
            };
            new.sibling = std::mem::replace(&mut list.first, id);
            list.len += 1;
        }
        table.steps.push(new);
        table.step_atoms.resize(first_atom + step.atoms.len(), 0);
        for (at, atom) in (first_atom..).zip(&step.atoms) {
            let atom = self.add_atom(atom);
            self.table.step_atoms[at] = atom;
            let part = self.table.atom(atom).part;
            self.table.parts[part as usize].users += 1;
        }
        id
    }

    fn add_atom(&mut self, atom: &'a Arc<Atom>) -> AtomId {
        let id = u32::try_from(self.table.atoms.len()).expect("fewer than 2^32 atoms");
        if has_several_users(atom) {
            match self.atom_ids.entry(Arc::as_ptr(atom)) {
                Entry::Occupied(known) => return *known.get(),
                Entry::Vacant(new) => new.insert(id),
            };
        }
        let part = self.add_part();
        self.count_preparation(part, STEPS_PER_PREPARED_ATOM);
        self.table.atoms.push(QueryAtom {
            atom,
            part,
            next: StepList::default(),
        });
        for path in &atom.paths {
            let mut context = StepContext::Atom(id);
            for (at, step) in (1..).zip(&path.steps) {
                let goal = (at == path.steps.len()).then_some(&path.goal);
                context = StepContext::Step(self.push_step(step, context, part, goal));
            }
        }
        id
    }

    /// Numbers the ends of branches so that those below a step follow each other.
    fn finish(mut self) -> QuerySteps<'a> {
        let table = &mut self.table;
        table.first_branches.push(table.branches.len());
        for branch in &table.branches {
            let last = &mut table.steps[branch.step as usize];
            if last.goal.replace(&Goal::Select).is_none() {
                last.ends.count = 1;
                table.ends.push(END);
            }
        }
        // A step comes after its context. Those of nested paths have no branches' ends below them.
        for id in (1..table.steps.len()).rev() {
            let QueryStep { context, ends, .. } = table.steps[id];
            if let StepContext::Step(context) = context {
                table.steps[context as usize].ends.count += ends.count;
            }
        }
        let mut numbered = vec![0; table.steps.len()];
        for id in 1..table.steps.len() {
            let QueryStep {
                context,
                goal,
                ref mut ends,
                ..
            } = table.steps[id];
            match context {
                StepContext::Step(context) if ends.count > 0 => {
                    ends.first = numbered[context as usize];
                    numbered[context as usize] += ends.count;
                    numbered[id] = ends.first + u32::from(goal.is_some());
                }
                // Only one thing can move up a nested path.
                _ => *ends = EndRange { first: 0, count: 1 },
            }
        }
        for (at, branch) in (0..).zip(&mut table.branches) {
            let end = table.steps[branch.step as usize].ends.first;
            branch.same_end = std::mem::replace(&mut table.ends[end as usize], at);
        }
        self.table
    }
}
