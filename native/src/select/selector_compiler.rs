//! Compiles queries, so that equal parts of them are the same object.
//!
//! A step is identified by the steps before it and its canonical text, an atom by its canonical text:
//! what it tests depends on nothing else.

use std::sync::Arc;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use crate::value_tests::ValueTest;
use crate::xpath::ast::{Axis, Expr, Kind, Op, Path, Query, Step as SyntaxStep};
use crate::xpath::{canonical_predicate, canonical_step};

use super::accumulator::Side;
use super::predicate::{Formula, Predicate};
use super::query_work::{STEPS_PER_FOUND_STEP, STEPS_PER_PREPARED_STEP};
use super::selector::{Atom, AtomTest, Goal, NestedPath, Selector, Step, ValueType};

/// Compiles queries. The selectors that it makes share their equal parts.
#[derive(Default)]
pub struct SelectorCompiler {
    /// By the address of the preceding step, or 0, and the canonical text.
    steps: HashMap<(usize, String), Arc<Step>, RandomState>,
    /// By canonical text.
    atoms: HashMap<String, Arc<Atom>, RandomState>,
}

impl SelectorCompiler {
    /// Compiles a query.
    pub fn compile(&mut self, query: &Query) -> Selector {
        let branches = query.branches.iter();
        let branches: Box<[_]> = branches.map(|branch| self.branch(branch)).collect();
        let steps = branches.iter().flat_map(|branch| branch.iter());
        Selector {
            preparation: steps
                .map(|step| STEPS_PER_FOUND_STEP + step.preparation)
                .sum(),
            branches,
        }
    }

    /// Forgets what was compiled: later selectors share nothing with earlier ones.
    pub fn clear(&mut self) {
        self.steps.clear();
        self.atoms.clear();
    }

    fn branch(&mut self, path: &Path) -> Box<[Arc<Step>]> {
        let mut preceding = 0;
        let mut steps = Vec::with_capacity(path.steps.len());
        for step in &path.steps {
            let key = (preceding, canonical_step(step));
            let compiled = match self.steps.get(&key) {
                Some(known) => Arc::clone(known),
                None => {
                    let new = Arc::new(self.step(step));
                    self.steps.insert(key, Arc::clone(&new));
                    new
                }
            };
            // The compiler keeps the step, so no other one gets its address.
            preceding = Arc::as_ptr(&compiled).addr();
            steps.push(compiled);
        }
        steps.into_boxed_slice()
    }

    fn step(&mut self, step: &SyntaxStep) -> Step {
        let mut atoms = Vec::new();
        let predicates: Box<[Predicate]> = step
            .predicates
            .iter()
            .map(|expr| Predicate::new(self.formula(expr, &mut atoms)))
            .collect();
        let first_deferred = predicates
            .iter()
            .position(|predicate| predicate.needs_last)
            .unwrap_or(predicates.len());
        let last_only = predicates
            .get(first_deferred)
            .is_some_and(|predicate| matches!(predicate.formula, Formula::PositionLast(Op::Eq)));
        Step {
            axis: step.axis,
            kind: step.kind,
            test: step.test.clone(),
            has_position: predicates.iter().any(|one| one.needs_position),
            predicates,
            first_deferred,
            last_only,
            preparation: STEPS_PER_PREPARED_STEP
                + atoms.iter().map(|atom| atom.preparation).sum::<u64>(),
            atoms: atoms.into_boxed_slice(),
        }
    }

    /// Compiles a predicate; adds its atoms to those of its step.
    fn formula(&mut self, expr: &Expr, atoms: &mut Vec<Arc<Atom>>) -> Formula {
        let mut all = |parts: &[Expr]| -> Vec<Formula> {
            parts.iter().map(|part| self.formula(part, atoms)).collect()
        };
        match expr {
            Expr::And(parts) => Formula::And(all(parts)),
            Expr::Or(parts) => Formula::Or(all(parts)),
            Expr::Not(part) => Formula::Not(Box::new(self.formula(part, atoms))),
            Expr::Position(op, n) => Formula::Position(*op, *n),
            Expr::PositionLast(op) => Formula::PositionLast(*op),
            Expr::Last(op, n) => Formula::Last(*op, *n),
            // `.` always exists, and is one node.
            Expr::Exists(path) if path.steps.is_empty() => Formula::constant(true),
            Expr::Count(path, op, n) if path.steps.is_empty() => {
                Formula::constant(op.compare(1.0, *n))
            }
            Expr::Exists(_)
            | Expr::Compare(..)
            | Expr::Contains(..)
            | Expr::StartsWith(..)
            | Expr::String(_)
            | Expr::Count(..)
            | Expr::ComparePaths(..) => {
                let atom = self.atom(expr);
                let known = atoms.iter().position(|known| Arc::ptr_eq(known, &atom));
                Formula::Atom(known.unwrap_or_else(|| {
                    atoms.push(atom);
                    atoms.len() - 1
                }))
            }
        }
    }

    fn atom(&mut self, expr: &Expr) -> Arc<Atom> {
        let key = canonical_predicate(expr);
        if let Some(known) = self.atoms.get(&key) {
            return Arc::clone(known);
        }
        let new = Arc::new(self.new_atom(expr));
        self.atoms.insert(key, Arc::clone(&new));
        new
    }

    fn new_atom(&mut self, expr: &Expr) -> Atom {
        match expr {
            Expr::Exists(path) => self.path_atom(path, false, Goal::Exists),
            Expr::Compare(path, op, literal) => {
                let test = ValueTest::compare(*op, literal);
                self.path_atom(path, false, Goal::AnyPasses(test))
            }
            Expr::Contains(path, text) => {
                let goal = Goal::FirstPasses(ValueTest::contains(text));
                self.path_atom(path, text.is_empty(), goal)
            }
            Expr::StartsWith(path, text) => {
                let goal = Goal::FirstPasses(ValueTest::starts_with(text));
                self.path_atom(path, text.is_empty(), goal)
            }
            Expr::String(test) => {
                let value_test = ValueTest::of_string(&test.functions, &test.condition);
                let default = value_test.holds("");
                self.path_atom(&test.path, default, Goal::FirstPasses(value_test))
            }
            Expr::Count(path, op, n) => {
                let is_descendant = |step: &&SyntaxStep| step.axis == Axis::Descendant;
                let test = AtomTest::Count {
                    op: *op,
                    n: *n,
                    may_repeat: path.steps.iter().filter(is_descendant).count() > 1,
                };
                let nested = self.nested(path, Goal::Count);
                Atom::new(test, [nested].into(), is_at_start_tag(path))
            }
            Expr::ComparePaths(left, op, right) => self.pair([left, right], *op),
            Expr::And(_)
            | Expr::Or(_)
            | Expr::Not(_)
            | Expr::Position(..)
            | Expr::PositionLast(_)
            | Expr::Last(..) => unreachable!("a part of a formula, not an atom"),
        }
    }

    fn path_atom(&mut self, path: &Path, default: bool, goal: Goal) -> Atom {
        if path.steps.is_empty() {
            let (Goal::AnyPasses(test) | Goal::FirstPasses(test)) = goal else {
                unreachable!("`.` alone is not an atom");
            };
            return Atom::new(AtomTest::Value(test), Box::default(), false);
        }
        let in_order = path.steps.iter().all(|step| {
            step.axis == Axis::Child && !step.predicates.iter().any(Formula::uses_last)
        });
        let test = AtomTest::Path { default, in_order };
        let nested = self.nested(path, goal);
        Atom::new(test, [nested].into(), is_at_start_tag(path))
    }

    fn pair(&mut self, paths: [&Path; 2], op: Op) -> Atom {
        let sides = paths.into_iter().zip([Side::Left, Side::Right]);
        let nested = sides.filter(|(path, _)| !path.steps.is_empty());
        let nested =
            nested.map(|(path, side)| self.nested(path, Goal::Compare(side, ValueType::of(op))));
        let test = AtomTest::Pair {
            op,
            is_self: paths.map(|path| path.steps.is_empty()),
        };
        let at_start_tag = paths.iter().all(|path| is_at_start_tag(path));
        Atom::new(test, nested.collect(), at_start_tag)
    }

    fn nested(&mut self, path: &Path, goal: Goal) -> NestedPath {
        NestedPath {
            steps: path.steps.iter().map(|step| self.step(step)).collect(),
            goal,
        }
    }
}

/// Whether a path starts at the attributes of its context node.
fn is_at_start_tag(path: &Path) -> bool {
    path.steps
        .first()
        .is_some_and(|first| first.axis == Axis::Child && first.kind == Kind::Attribute)
}
