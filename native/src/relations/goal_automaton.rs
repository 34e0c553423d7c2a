//! A bit-parallel NFA for paths of which one must be satisfied below a node.
//!
//! A state is a set with one member per path and number of steps taken; under `//` a member stays while
//! elements are skipped.

use std::sync::atomic::{AtomicU64, Ordering};

use super::conditions::{conditions_of, Condition};
use super::position_facts::PositionCondition;
use crate::xpath::ast::{Axis, Kind, NameTest, Path, Step};
use crate::xpath::limits::MAX_STEPS;

/// Words of the largest set: a query has at most `MAX_STEPS` steps, so no more paths, and each path adds
/// one member for its end.
pub const WORDS_MAX: usize = 2 * MAX_STEPS / 64;

static NEXT_STEP: AtomicU64 = AtomicU64::new(0);

/// Paths of which one must be satisfied.
#[derive(Debug)]
pub struct Goals {
    /// The next step of each member; `None` if all are taken.
    steps: Box<[Option<GoalStep>]>,
    start: Box<[u64]>,
    done: Box<[u64]>,
}

/// A step of a goal, with its predicates compiled.
#[derive(Debug)]
pub struct GoalStep {
    /// Unique, so that what was proved about it can be cached.
    pub id: u64,
    pub axis: Axis,
    pub kind: Kind,
    pub test: NameTest,
    pub predicates: Box<[Condition]>,
}

/// A set of members, in `WORDS` words.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepSet<const WORDS: usize>([u64; WORDS]);

impl<const WORDS: usize> StepSet<WORDS> {
    pub const EMPTY: Self = StepSet([0; WORDS]);

    fn of(words: &[u64]) -> Self {
        let mut set = Self::EMPTY;
        set.0[..words.len()].copy_from_slice(words);
        set
    }

    pub fn insert(&mut self, member: usize) {
        self.0[member / 64] |= 1 << (member % 64);
    }

    pub fn is_subset(&self, other: &Self) -> bool {
        let mut pairs = self.0.iter().zip(&other.0);
        pairs.all(|(own, other)| own & !other == 0)
    }

    pub fn members(self) -> impl Iterator<Item = usize> {
        self.0.into_iter().enumerate().flat_map(|(index, word)| {
            let mut left = word;
            std::iter::from_fn(move || {
                let member = left.trailing_zeros() as usize;
                (left != 0).then(|| {
                    left &= left - 1;
                    index * 64 + member
                })
            })
        })
    }
}

impl Goals {
    /// The goals of selecting a node at the end of a path.
    pub fn of_selection(paths: &[Path]) -> Self {
        Self::new(paths, |step| step.predicates.len())
    }

    /// The goals of selecting any node. A final positional predicate such as `[1]` is omitted: the path
    /// selects a node exactly if it does without that predicate.
    pub fn of_existence(paths: &[Path]) -> Self {
        Self::new(paths, |step| {
            let omitted = step.predicates.iter().rev().take_while(|predicate| {
                PositionCondition::of(predicate).is_some_and(PositionCondition::is_met_by_some)
            });
            step.predicates.len() - omitted.count()
        })
    }

    fn new(paths: &[Path], last_predicates: impl Fn(&Step) -> usize) -> Self {
        let count: usize = paths.iter().map(|path| path.steps.len() + 1).sum();
        assert!(
            count <= 64 * WORDS_MAX,
            "compiled queries are within the limits"
        );
        let words = count.div_ceil(64);
        let mut start = StepSet::<WORDS_MAX>::EMPTY;
        let mut done = StepSet::<WORDS_MAX>::EMPTY;
        let mut steps = Vec::with_capacity(count);
        for path in paths {
            start.insert(steps.len());
            for (index, step) in path.steps.iter().enumerate() {
                let kept = if index + 1 == path.steps.len() {
                    last_predicates(step)
                } else {
                    step.predicates.len()
                };
                steps.push(Some(GoalStep::new(step, kept)));
            }
            done.insert(steps.len());
            steps.push(None);
        }
        Goals {
            steps: steps.into(),
            start: start.0[..words].into(),
            done: done.0[..words].into(),
        }
    }

    /// Whether a state fits into one word.
    pub fn is_small(&self) -> bool {
        self.start.len() == 1
    }

    /// Whether a path has no steps, so that it is satisfied everywhere.
    pub fn is_met_at_start(&self) -> bool {
        let mut pairs = self.start.iter().zip(&self.done);
        pairs.any(|(start, done)| start & done != 0)
    }

    pub fn start<const WORDS: usize>(&self) -> StepSet<WORDS> {
        StepSet::of(&self.start)
    }

    /// The state after one more node, whose kind and name are given; `None` if a goal is satisfied.
    /// `holds` decides the predicates of a step.
    pub fn advance<const WORDS: usize, E>(
        &self,
        state: StepSet<WORDS>,
        kind: Kind,
        name: &NameTest,
        mut holds: impl FnMut(&GoalStep) -> Result<bool, E>,
    ) -> Result<Option<StepSet<WORDS>>, E> {
        let mut after = StepSet::EMPTY;
        for member in state.members() {
            let Some(step) = &self.steps[member] else {
                continue;
            };
            if step.axis == Axis::Descendant && kind == Kind::Element {
                after.insert(member);
            }
            if step.accepts(kind, name) && (step.predicates.is_empty() || holds(step)?) {
                if self.steps[member + 1].is_none() {
                    return Ok(None);
                }
                after.insert(member + 1);
            }
        }
        Ok(Some(after))
    }
}

impl GoalStep {
    fn new(step: &Step, predicates: usize) -> Self {
        let mut conditions = conditions_of(step).into_vec();
        conditions.truncate(predicates);
        GoalStep {
            id: NEXT_STEP.fetch_add(1, Ordering::Relaxed),
            axis: step.axis,
            kind: step.kind,
            test: step.test.clone(),
            predicates: conditions.into(),
        }
    }

    fn accepts(&self, kind: Kind, name: &NameTest) -> bool {
        self.kind == kind && super::name_tests::includes(&self.test, name)
    }
}
