//! From a query's tree to a flat table of steps.
//!
//! Every step, of the query's own paths and of the paths nested in predicates alike, gets a number.
//! A step knows the step whose nodes are its context (`from`) and what a node bound to it gives to a
//! node bound there (`slot`): it continues that step's own path, or it serves one of its predicates.
//! Step 0 is the document node, and the branches of a union all continue it.

use crate::values::ValueTest;
use crate::xpath::ast::{Axis, Expr, Kind, NameTest, Op, Path, Query};

use super::predicate::{Formula, Predicate};

/// A compiled query: immutable, shared freely between threads and documents.
#[derive(Clone, Debug)]
pub struct Selector {
    pub(super) steps: Box<[Step]>,
    pub(super) branches: usize,
}

/// One step.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub axis: Axis,
    pub kind: Kind,
    pub test: NameTest,
    /// The step whose nodes are this one's context.
    pub from: u32,
    /// What a node of this step is to a node of `from`.
    pub slot: Slot,
    pub predicates: Box<[Predicate]>,
    /// The first predicate that asks for `last()`: it and those behind it are decided only when the
    /// parent ends. The number of predicates where none does.
    pub deferred: usize,
    /// Whether that predicate is `[last()]`: of the nodes that wait, only the last one matters.
    pub last_only: bool,
    /// What the predicates ask about nested paths and the node's own value.
    pub atoms: Box<[Atom]>,
    /// What the path is for, at its last step; `None` before.
    pub goal: Option<Goal>,
    /// Steps to this step's own attributes that serve its predicates.
    pub asked_attributes: Vec<u32>,
    /// Steps to this step's own attributes that continue its path.
    pub further_attributes: Vec<u32>,
    /// Steps to child elements and own text nodes.
    pub children: Vec<u32>,
    /// Steps to nodes anywhere below.
    pub descendants: Vec<u32>,
}

impl Step {
    /// Without predicates yet, nor steps that start from it.
    fn new(
        axis: Axis,
        kind: Kind,
        test: NameTest,
        from: u32,
        slot: Slot,
        goal: Option<Goal>,
    ) -> Self {
        Self {
            axis,
            kind,
            test,
            from,
            slot,
            predicates: Box::default(),
            deferred: 0,
            last_only: false,
            atoms: Box::default(),
            goal,
            asked_attributes: Vec::new(),
            further_attributes: Vec::new(),
            children: Vec::new(),
            descendants: Vec::new(),
        }
    }
}

/// Where a node's contribution goes in the node bound to the step before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    /// On along the path.
    Onward,
    /// To this atom of its predicates.
    Atom(usize),
}

/// What a path is for.
#[derive(Clone, Debug)]
pub(super) enum Goal {
    /// The nodes themselves: the query's own paths.
    Select,
    /// That there is a node.
    Exists,
    /// That there is a node whose value passes.
    AnyPasses(ValueTest),
    /// Whether the first node's value passes.
    FirstPasses(ValueTest),
}

/// Something a predicate asks that is not known at once.
#[derive(Clone, Debug)]
pub(super) enum Atom {
    /// About the node's own string-value.
    Value(ValueTest),
    /// About the nodes of a nested path.
    Path {
        /// The answer where the path selects nothing (or nothing that passes).
        otherwise: bool,
        /// Whether the path is one step to the node's own attributes: known at the start tag.
        at_start: bool,
        /// Whether nodes become certain in document order, so that the first to come decides.
        in_order: bool,
    },
}

impl Selector {
    /// Compiles a query.
    pub fn compile(query: &Query) -> Self {
        let document = Step::new(
            Axis::Child,
            Kind::Element,
            NameTest::default(),
            0,
            Slot::Onward,
            None,
        );
        let mut compiler = Compiler {
            steps: vec![document],
        };
        for branch in &query.branches {
            compiler.path(branch, 0, Slot::Onward, Goal::Select);
        }
        compiler.link();
        Self {
            steps: compiler.steps.into_boxed_slice(),
            branches: query.branches.len(),
        }
    }
}

struct Compiler {
    steps: Vec<Step>,
}

impl Compiler {
    /// Adds a path's steps, the first of which has the context `from`.
    fn path(&mut self, path: &Path, mut from: u32, mut slot: Slot, goal: Goal) {
        let count = path.steps.len();
        let mut goal = Some(goal);
        for (at, step) in path.steps.iter().enumerate() {
            let id = u32::try_from(self.steps.len()).expect("a query has fewer than 2^32 steps");
            let goal = if at + 1 == count { goal.take() } else { None };
            self.steps.push(Step::new(
                step.axis,
                step.kind,
                step.test.clone(),
                from,
                slot,
                goal,
            ));
            let mut atoms = Vec::new();
            let predicates: Box<[Predicate]> = step
                .predicates
                .iter()
                .map(|expr| Predicate::new(self.formula(expr, id, &mut atoms)))
                .collect();
            let compiled = &mut self.steps[id as usize];
            compiled.deferred = predicates
                .iter()
                .position(|p| p.needs_last)
                .unwrap_or(predicates.len());
            compiled.last_only = predicates.get(compiled.deferred).is_some_and(|predicate| {
                matches!(predicate.formula, Formula::PositionLast(Op::Eq))
            });
            compiled.predicates = predicates;
            compiled.atoms = atoms.into_boxed_slice();
            from = id;
            slot = Slot::Onward;
        }
    }

    fn formula(&mut self, expr: &Expr, owner: u32, atoms: &mut Vec<Atom>) -> Formula {
        match expr {
            Expr::And(parts) => Formula::And(
                parts
                    .iter()
                    .map(|part| self.formula(part, owner, atoms))
                    .collect(),
            ),
            Expr::Or(parts) => Formula::Or(
                parts
                    .iter()
                    .map(|part| self.formula(part, owner, atoms))
                    .collect(),
            ),
            Expr::Not(part) => Formula::Not(Box::new(self.formula(part, owner, atoms))),
            Expr::Position(op, n) => Formula::Position(*op, *n),
            Expr::PositionLast(op) => Formula::PositionLast(*op),
            Expr::Last(op, n) => Formula::Last(*op, *n),
            // `.` always is.
            Expr::Exists(path) if path.steps.is_empty() => Formula::And(Vec::new()),
            Expr::Exists(path) => self.atom(path, owner, atoms, false, Goal::Exists),
            Expr::Compare(path, op, literal) => {
                let test = ValueTest::compare(*op, literal);
                self.atom(path, owner, atoms, false, Goal::AnyPasses(test))
            }
            Expr::Contains(path, text) => self.atom(
                path,
                owner,
                atoms,
                text.is_empty(),
                Goal::FirstPasses(ValueTest::contains(text)),
            ),
            Expr::StartsWith(path, text) => self.atom(
                path,
                owner,
                atoms,
                text.is_empty(),
                Goal::FirstPasses(ValueTest::starts_with(text)),
            ),
        }
    }

    fn atom(
        &mut self,
        path: &Path,
        owner: u32,
        atoms: &mut Vec<Atom>,
        otherwise: bool,
        goal: Goal,
    ) -> Formula {
        let id = atoms.len();
        match (path.steps.first(), goal) {
            (Some(first), goal) => {
                atoms.push(Atom::Path {
                    otherwise,
                    at_start: first.axis == Axis::Child && first.kind == Kind::Attribute,
                    in_order: path.steps.iter().all(|step| {
                        step.axis == Axis::Child
                            && !step.predicates.iter().any(Formula::asks_for_last)
                    }),
                });
                self.path(path, owner, Slot::Atom(id), goal);
            }
            (None, Goal::AnyPasses(test) | Goal::FirstPasses(test)) => {
                atoms.push(Atom::Value(test))
            }
            (None, Goal::Select | Goal::Exists) => unreachable!("`.` alone is no atom"),
        }
        Formula::Atom(id)
    }

    /// Tells each step which steps start from it.
    fn link(&mut self) {
        for id in 1..self.steps.len() {
            let step = &self.steps[id];
            let (axis, kind, slot, from) = (step.axis, step.kind, step.slot, step.from as usize);
            let from = &mut self.steps[from];
            let list = match (kind, axis, slot) {
                (Kind::Attribute, Axis::Child, Slot::Atom(_)) => &mut from.asked_attributes,
                (Kind::Attribute, Axis::Child, Slot::Onward) => &mut from.further_attributes,
                (Kind::Element | Kind::Text, Axis::Child, _) => &mut from.children,
                (_, Axis::Descendant, _) => &mut from.descendants,
            };
            list.push(u32::try_from(id).expect("a query has fewer than 2^32 steps"));
        }
    }
}
