//! Compiles a query into a flat table of steps.
//!
//! The steps of the query's own paths and of the paths nested in predicates are numbered together. A
//! step refers to the step whose nodes are its context (`context`) and says what its nodes contribute
//! there (`role`): they continue that step's path, or they decide an atom of its predicates. Step 0 is
//! the document node; the branches of a union all continue it.

use crate::value_tests::ValueTest;
use crate::xpath::ast::{Axis, Expr, Kind, NameTest, Op, Path, Query};
use crate::xpath::number::number;

use super::accumulator::{ComparedValue, Side};
use super::predicate::{Formula, Predicate};

/// Steps to prepare the evaluation of a step.
const STEPS_PER_PREPARED_STEP: usize = 32;

/// A compiled query. It is immutable, so threads and documents can share it.
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
    pub context: u32,
    /// What a node of this step contributes to a node of `context`.
    pub role: StepRole,
    pub predicates: Box<[Predicate]>,
    /// Index of the first predicate that uses `last()`; it and those after it are decided only when
    /// the parent ends. The number of predicates if none uses it.
    pub first_deferred: usize,
    /// Whether that predicate is `[last()]`: among deferred siblings, only the last one matters.
    pub last_only: bool,
    /// The tests of the predicates on nested paths and on the node's own value.
    pub atoms: Box<[Atom]>,
    /// What the path is for; `None` before its last step.
    pub goal: Option<Goal>,
    /// Steps to this node's attributes that decide its predicates.
    pub predicate_attributes: Vec<u32>,
    /// Steps to this node's attributes that continue its path.
    pub path_attributes: Vec<u32>,
    /// Steps to child elements and child text nodes.
    pub children: Vec<u32>,
    /// Steps to descendants and their attributes.
    pub descendants: Vec<u32>,
}

impl Step {
    /// A step without predicates and without steps that start from it.
    fn new(
        axis: Axis,
        kind: Kind,
        test: NameTest,
        context: u32,
        role: StepRole,
        goal: Option<Goal>,
    ) -> Self {
        Self {
            axis,
            kind,
            test,
            context,
            role,
            predicates: Box::default(),
            first_deferred: 0,
            last_only: false,
            atoms: Box::default(),
            goal,
            predicate_attributes: Vec::new(),
            path_attributes: Vec::new(),
            children: Vec::new(),
            descendants: Vec::new(),
        }
    }

    /// Whether a predicate uses `position()`.
    pub fn has_position(&self) -> bool {
        self.predicates
            .iter()
            .any(|predicate| predicate.needs_position)
    }
}

impl Step {
    /// The number of the accumulator of an atom among those of the step.
    pub fn accumulator_of(&self, atom: usize) -> usize {
        let accumulates = |atom: &&Atom| matches!(atom, Atom::Count { .. } | Atom::Pair { .. });
        self.atoms[..atom].iter().filter(accumulates).count()
    }
}

/// What the nodes of a step contribute to the nodes of its context step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StepRole {
    /// They continue its path.
    Path,
    /// They decide this atom of its predicates.
    Atom(usize),
}

/// What a path is for.
#[derive(Clone, Debug)]
pub(super) enum Goal {
    /// The nodes themselves: a branch of the query.
    Select,
    /// Whether there is a node.
    Exists,
    /// Whether the value of some node passes.
    AnyPasses(ValueTest),
    /// Whether the value of the first node passes.
    FirstPasses(ValueTest),
    /// The number of nodes.
    Count,
    /// The values of the nodes, which are compared with those of another path.
    Compare(Side, ValueType),
}

/// As what values of two paths are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueType {
    Text,
    Number,
}

impl ValueType {
    fn of(op: Op) -> Self {
        match op {
            Op::Eq | Op::Ne => Self::Text,
            Op::Lt | Op::Le | Op::Gt | Op::Ge => Self::Number,
        }
    }

    /// A complete value.
    pub fn of_text(self, text: &str) -> ComparedValue {
        match self {
            Self::Text => ComparedValue::Text(text.into()),
            Self::Number => ComparedValue::Number(number(text)),
        }
    }
}

/// A test in a predicate whose value becomes known while the node is read.
#[derive(Clone, Debug)]
pub(super) enum Atom {
    /// Tests the node's own string-value.
    Value(ValueTest),
    /// Tests the nodes of a nested path.
    Path {
        /// The value if the path selects nothing, or nothing that passes.
        default: bool,
        /// Whether the path starts at the node's own attributes, so that the start tag decides it.
        at_start_tag: bool,
        /// Whether nodes become certain in document order, so that the first to arrive decides.
        in_order: bool,
    },
    /// Compares the number of nodes of a nested path.
    Count {
        op: Op,
        n: f64,
        at_start_tag: bool,
        /// Whether a node may arrive more than once: by several ways through nested elements.
        may_repeat: bool,
    },
    /// Compares the nodes of two nested paths.
    Pair {
        op: Op,
        at_start_tag: bool,
        /// For each path, whether it is the node itself.
        is_self: [bool; 2],
    },
}

impl Atom {
    /// Whether the node's own value is compared with that of a path, and how.
    pub fn own_value(&self) -> Option<ValueType> {
        match self {
            Self::Pair { op, is_self, .. } if is_self.contains(&true) => Some(ValueType::of(*op)),
            _ => None,
        }
    }
}

impl Selector {
    /// Steps to prepare the evaluation of the query.
    pub(crate) fn preparation_steps(&self) -> usize {
        self.steps.len() * STEPS_PER_PREPARED_STEP
    }

    /// Compiles a query.
    pub fn compile(query: &Query) -> Self {
        let document = Step::new(
            Axis::Child,
            Kind::Element,
            NameTest::default(),
            0,
            StepRole::Path,
            None,
        );
        let mut compiler = Compiler {
            steps: vec![document],
        };
        for branch in &query.branches {
            compiler.path(branch, 0, StepRole::Path, Goal::Select);
        }
        compiler.link();
        Self {
            steps: compiler.steps.into_boxed_slice(),
            branches: query.branches.len(),
        }
    }
}

/// Whether a path starts at the attributes of its context node.
fn is_at_start_tag(path: &Path) -> bool {
    path.steps
        .first()
        .is_some_and(|first| first.axis == Axis::Child && first.kind == Kind::Attribute)
}

struct Compiler {
    steps: Vec<Step>,
}

impl Compiler {
    /// Adds the steps of a path that starts at the nodes of step `context`.
    fn path(&mut self, path: &Path, mut context: u32, mut role: StepRole, goal: Goal) {
        let count = path.steps.len();
        let mut goal = Some(goal);
        for (at, step) in path.steps.iter().enumerate() {
            let id = u32::try_from(self.steps.len()).expect("a query has fewer than 2^32 steps");
            let goal = if at + 1 == count { goal.take() } else { None };
            self.steps.push(Step::new(
                step.axis,
                step.kind,
                step.test.clone(),
                context,
                role,
                goal,
            ));
            let mut atoms = Vec::new();
            let predicates: Box<[Predicate]> = step
                .predicates
                .iter()
                .map(|expr| Predicate::new(self.formula(expr, id, &mut atoms)))
                .collect();
            let compiled = &mut self.steps[id as usize];
            compiled.first_deferred = predicates
                .iter()
                .position(|p| p.needs_last)
                .unwrap_or(predicates.len());
            compiled.last_only = predicates
                .get(compiled.first_deferred)
                .is_some_and(|predicate| {
                    matches!(predicate.formula, Formula::PositionLast(Op::Eq))
                });
            compiled.predicates = predicates;
            compiled.atoms = atoms.into_boxed_slice();
            context = id;
            role = StepRole::Path;
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
            // `.` always exists.
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
            Expr::String(test) => {
                let value_test = ValueTest::of_string(&test.functions, &test.condition);
                let default = value_test.holds("");
                self.atom(
                    &test.path,
                    owner,
                    atoms,
                    default,
                    Goal::FirstPasses(value_test),
                )
            }
            Expr::Count(path, op, n) => self.count(path, *op, *n, owner, atoms),
            Expr::ComparePaths(left, op, right) => self.pair([left, right], *op, owner, atoms),
        }
    }

    fn count(&mut self, path: &Path, op: Op, n: f64, owner: u32, atoms: &mut Vec<Atom>) -> Formula {
        if path.steps.is_empty() {
            // `.` is one node.
            let parts = Vec::new();
            return if op.compare(1.0, n) {
                Formula::And(parts)
            } else {
                Formula::Or(parts)
            };
        }
        let is_descendant = |step: &&crate::xpath::ast::Step| step.axis == Axis::Descendant;
        let id = atoms.len();
        atoms.push(Atom::Count {
            op,
            n,
            at_start_tag: is_at_start_tag(path),
            may_repeat: path.steps.iter().filter(is_descendant).count() > 1,
        });
        self.path(path, owner, StepRole::Atom(id), Goal::Count);
        Formula::Atom(id)
    }

    fn pair(&mut self, paths: [&Path; 2], op: Op, owner: u32, atoms: &mut Vec<Atom>) -> Formula {
        let id = atoms.len();
        atoms.push(Atom::Pair {
            op,
            at_start_tag: paths.iter().all(|path| is_at_start_tag(path)),
            is_self: paths.map(|path| path.steps.is_empty()),
        });
        for (path, side) in paths.into_iter().zip([Side::Left, Side::Right]) {
            let goal = Goal::Compare(side, ValueType::of(op));
            self.path(path, owner, StepRole::Atom(id), goal);
        }
        Formula::Atom(id)
    }

    fn atom(
        &mut self,
        path: &Path,
        owner: u32,
        atoms: &mut Vec<Atom>,
        default: bool,
        goal: Goal,
    ) -> Formula {
        let id = atoms.len();
        match (path.steps.is_empty(), goal) {
            (false, goal) => {
                atoms.push(Atom::Path {
                    default,
                    at_start_tag: is_at_start_tag(path),
                    in_order: path.steps.iter().all(|step| {
                        step.axis == Axis::Child && !step.predicates.iter().any(Formula::uses_last)
                    }),
                });
                self.path(path, owner, StepRole::Atom(id), goal);
            }
            (true, Goal::AnyPasses(test) | Goal::FirstPasses(test)) => {
                atoms.push(Atom::Value(test))
            }
            (true, Goal::Select | Goal::Exists | Goal::Count | Goal::Compare(..)) => {
                unreachable!("`.` alone is not an atom")
            }
        }
        Formula::Atom(id)
    }

    /// Records in each step the steps that start from it.
    fn link(&mut self) {
        for id in 1..self.steps.len() {
            let step = &self.steps[id];
            let (axis, kind, role, context) =
                (step.axis, step.kind, step.role, step.context as usize);
            let context = &mut self.steps[context];
            let list = match (kind, axis, role) {
                (Kind::Attribute, Axis::Child, StepRole::Atom(_)) => {
                    &mut context.predicate_attributes
                }
                (Kind::Attribute, Axis::Child, StepRole::Path) => &mut context.path_attributes,
                (Kind::Element | Kind::Text, Axis::Child, _) => &mut context.children,
                (_, Axis::Descendant, _) => &mut context.descendants,
            };
            list.push(u32::try_from(id).expect("a query has fewer than 2^32 steps"));
        }
    }
}
