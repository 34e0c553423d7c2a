//! The normal form: equivalent queries get the same tree, as far as these rules go.
//!
//! The rules preserve the result of a query in XPath 1.0 on every document:
//!
//! * `and`, `or` and unions are flat, sorted, without duplicates, and have at least two operands;
//! * `not()` is applied only to tests without `not`, `and` or `or`, and never to positions;
//! * `[a and b]` becomes `[a][b]`; positions in an `and` stay together and come first;
//! * the predicates between two positional ones are sorted and have no duplicates;
//! * nested paths are flattened: `[a[b]]` becomes `[a/b]`, `[a[. = 'x']]` becomes `[a = 'x']`;
//! * `<`, `<=`, `>` and `>=` compare with numbers; positions use only `=`, `!=`, `<=` and `>=`;
//! * `count()` and `string-length()` use the same operators, and `count()` never says whether there is a
//!   node: `count(a) > 0` becomes `a`;
//! * of two compared paths, the first comes first in the order of trees;
//! * predicates that are always true are omitted; those that are never true become `[not(.)]`, as the only
//!   predicate of the step.
//!
//! A comparison holds if *some* node compares, so `not(a = 'x')` and `a != 'x'` remain different.
//! `normal_form.py` is the same in Python.

use super::ast::{
    Axis, Expr, Kind, Literal, NameTest, Op, Path, Query, Step, StringCondition, StringTest,
};
use super::regex::Pattern;
use super::tree_order::{compare_exprs, compare_paths};
use crate::xpath::number::number;

/// An upper bound on positions, counts and lengths: no document has that many nodes or characters. Beyond
/// it, doubles skip integers.
const INTEGER_BOUND: f64 = 9_007_199_254_740_992.0;

/// The normal form of a query. It selects the same nodes and is its own normal form.
pub fn normalise(query: Query) -> Query {
    let mut branches: Vec<Path> = query
        .branches
        .into_iter()
        .map(normal_path)
        .filter(|path| !selects_nothing(path))
        .collect();
    branches.sort_by(compare_paths);
    branches.dedup();
    if branches.is_empty() {
        branches.push(nothing());
    }
    Query { branches }
}

/// `.`, which is always true.
fn always() -> Expr {
    Expr::Exists(Path::default())
}

/// `not(.)`, which is never true.
fn never() -> Expr {
    Expr::Not(Box::new(always()))
}

/// `/*[not(.)]`, the one query that selects nothing.
fn nothing() -> Path {
    let predicates = vec![never()];
    let test = NameTest::default();
    Path {
        steps: vec![Step {
            axis: Axis::Child,
            kind: Kind::Element,
            test,
            predicates,
        }],
    }
}

fn is_always(expr: &Expr) -> bool {
    matches!(expr, Expr::Exists(path) if path.steps.is_empty())
}

fn is_never(expr: &Expr) -> bool {
    matches!(expr, Expr::Not(item) if is_always(item))
}

fn selects_nothing(path: &Path) -> bool {
    path.steps
        .iter()
        .any(|step| matches!(&step.predicates[..], [only] if is_never(only)))
}

/// Normalises the predicates of a path.
fn normal_path(mut path: Path) -> Path {
    for step in &mut path.steps {
        if !step.predicates.is_empty() {
            let predicates = std::mem::take(&mut step.predicates);
            step.predicates = normal_predicates(predicates, step.kind);
        }
    }
    path
}

/// Normalises the predicates of a step that selects nodes of `kind`.
fn normal_predicates(predicates: Vec<Expr>, kind: Kind) -> Vec<Expr> {
    let mut filters = Filters::default();
    for predicate in predicates {
        let normal = normal_expr(predicate, false, kind);
        if is_never(&normal) {
            return vec![normal];
        }
        match normal {
            Expr::And(items) => {
                let (mut positional, others): (Vec<_>, Vec<_>) =
                    items.into_iter().partition(Expr::is_positional);
                match positional.len() {
                    0 => {}
                    1 => filters.add(positional.remove(0)),
                    _ => filters.add(Expr::And(positional)),
                }
                others.into_iter().for_each(|other| filters.add(other));
            }
            normal => filters.add(normal),
        }
    }
    filters.all
}

/// The normalised predicates of a step.
#[derive(Default)]
struct Filters {
    all: Vec<Expr>,
    /// Index of the first predicate after the last positional one; the predicates from there on are
    /// sorted.
    free: usize,
}

impl Filters {
    fn of(all: Vec<Expr>) -> Self {
        let free = all
            .iter()
            .rposition(Expr::is_positional)
            .map_or(0, |last| last + 1);
        Self { all, free }
    }

    fn add(&mut self, predicate: Expr) {
        if predicate.is_positional() {
            self.all.push(predicate);
            self.free = self.all.len();
        } else if !is_always(&predicate) && !self.all.contains(&predicate) {
            let before = |other: &Expr| compare_exprs(other, &predicate).is_lt();
            let at = self.free + self.all[self.free..].partition_point(before);
            self.all.insert(at, predicate);
        }
    }

    /// Removes the last predicate that can be the continuation of an existing path.
    fn take_continuation(&mut self) -> Option<Continuation> {
        let continues = |expr: &Expr| matches!(expr, Expr::Exists(_) | Expr::Compare(..));
        let at = self.free + self.all[self.free..].iter().rposition(continues)?;
        match self.all.remove(at) {
            Expr::Exists(path) => Some((path, None)),
            Expr::Compare(path, op, literal) => Some((path, Some((op, literal)))),
            _ => unreachable!("only these can continue a path"),
        }
    }
}

/// The rest of a path, and the comparison at its end.
type Continuation = (Path, Option<(Op, Literal)>);

fn existing((path, goal): Continuation) -> Expr {
    match goal {
        None => Expr::Exists(path),
        Some((op, literal)) => Expr::Compare(path, op, literal),
    }
}

/// Normalises the test that some node of `path` exists and satisfies the comparison `goal`.
///
/// Works backwards: the rest of the path after a step is one more predicate of the step, and then one of
/// the predicates is chosen to continue the path. Hence the result does not depend on which one continued
/// it before.
fn normal_existence(path: Path, goal: Option<(Op, Literal)>) -> Expr {
    let mut rest = (Path::default(), goal);
    for mut step in path.steps.into_iter().rev() {
        let mut filters = Filters::of(normal_predicates(step.predicates, step.kind));
        if matches!(&filters.all[..], [only] if is_never(only)) {
            return never();
        }
        filters.add(existing(rest));
        let (more, goal) = filters.take_continuation().unwrap_or_default();
        step.predicates = filters.all;
        let mut steps = Vec::with_capacity(1 + more.steps.len());
        steps.push(step);
        steps.extend(more.steps);
        rest = (Path { steps }, goal);
    }
    existing(rest)
}

fn normal_expr(expr: Expr, negated: bool, kind: Kind) -> Expr {
    match expr {
        Expr::Not(item) => normal_expr(*item, !negated, kind),
        Expr::And(items) => normal_items(items, negated, !negated, kind),
        Expr::Or(items) => normal_items(items, negated, negated, kind),
        Expr::Position(op, number) => normal_position(op, number, negated, Expr::Position),
        Expr::Last(op, number) => normal_position(op, number, negated, Expr::Last),
        Expr::Count(path, op, number) => {
            let op = if negated { op.negated() } else { op };
            normal_count(path, op, number, kind)
        }
        Expr::String(test) if negated && test.condition.negated().is_some() => {
            let condition = test.condition.negated().expect("just tested");
            normal_string_test(StringTest { condition, ..*test }, kind)
        }
        Expr::PositionLast(op) => match if negated { op.negated() } else { op } {
            Op::Eq | Op::Ge => Expr::PositionLast(Op::Eq),
            Op::Ne | Op::Lt => Expr::PositionLast(Op::Lt),
            Op::Le => always(),
            Op::Gt => never(),
        },
        condition => {
            let normal = normal_condition(condition, kind);
            match (negated, normal) {
                (false, normal) => normal,
                // A double negation: only `not(.)` is already negated.
                (true, Expr::Not(item)) => *item,
                (true, normal) => Expr::Not(Box::new(normal)),
            }
        }
    }
}

fn normal_items(items: Vec<Expr>, negated: bool, all: bool, kind: Kind) -> Expr {
    let mut flat = Vec::with_capacity(items.len());
    for item in items {
        match normal_expr(item, negated, kind) {
            Expr::And(more) if all => flat.extend(more),
            Expr::Or(more) if !all => flat.extend(more),
            normal if is_always(&normal) => {
                if !all {
                    return normal;
                }
            }
            normal if is_never(&normal) => {
                if all {
                    return normal;
                }
            }
            normal => flat.push(normal),
        }
    }
    flat.sort_by(compare_exprs);
    flat.dedup();
    match (flat.len(), all) {
        (0, true) => always(),
        (0, false) => never(),
        (1, _) => flat.remove(0),
        (_, true) => Expr::And(flat),
        (_, false) => Expr::Or(flat),
    }
}

fn normal_condition(condition: Expr, kind: Kind) -> Expr {
    // Attributes and text have no children.
    let dead_end = |path: &Path| kind != Kind::Element && !path.steps.is_empty();
    match condition {
        Expr::Exists(path) | Expr::Compare(path, ..) if dead_end(&path) => never(),
        Expr::Contains(path, text) | Expr::StartsWith(path, text) if dead_end(&path) => {
            if text.is_empty() {
                always()
            } else {
                never()
            }
        }
        Expr::Exists(path) => normal_existence(path, None),
        Expr::Compare(path, op, literal) => match (op, literal) {
            (Op::Lt | Op::Le | Op::Gt | Op::Ge, Literal::Text(text)) => {
                let number = number(&text);
                if number.is_nan() {
                    return never();
                }
                // Adding 0 turns -0 into 0.
                normal_existence(path, Some((op, Literal::Number(number + 0.0))))
            }
            (op, literal) => normal_existence(path, Some((op, literal))),
        },
        Expr::String(test) => normal_string_test(*test, kind),
        Expr::ComparePaths(left, ..) if dead_end(&left) => never(),
        Expr::ComparePaths(_, _, right) if dead_end(&right) => never(),
        Expr::ComparePaths(left, op, right) => normal_path_comparison(left, op, right),
        Expr::Contains(path, text) => normal_text_test(path, text, Expr::Contains),
        Expr::StartsWith(path, text) => normal_text_test(path, text, Expr::StartsWith),
        other => unreachable!("{other:?} is not a condition on a path"),
    }
}

fn normal_text_test(path: Path, text: Box<str>, make: fn(Path, Box<str>) -> Expr) -> Expr {
    if text.is_empty() {
        return always();
    }
    let path = normal_path(path);
    if selects_nothing(&path) {
        return never();
    }
    make(path, text)
}

impl StringCondition {
    /// The negation, if it is a condition too; not for numbers and dates, because of NaN and strings
    /// that are not dates.
    fn negated(&self) -> Option<Self> {
        match self {
            Self::Compare(op @ (Op::Eq | Op::Ne), Literal::Text(text)) => {
                Some(Self::Compare(op.negated(), Literal::Text(text.clone())))
            }
            Self::Length(op, number) => Some(Self::Length(op.negated(), *number)),
            _ => None,
        }
    }

    /// Whether it holds for the empty string.
    pub(crate) fn holds_for_empty(&self) -> bool {
        match self {
            Self::Compare(op @ (Op::Eq | Op::Ne), Literal::Text(text)) => {
                text.is_empty() == (*op == Op::Eq)
            }
            Self::Compare(op, Literal::Text(text)) => op.compare(f64::NAN, number(text)),
            Self::Compare(op, Literal::Number(n)) => op.compare(f64::NAN, *n),
            Self::Contains(text) | Self::StartsWith(text) | Self::EndsWith(text) => text.is_empty(),
            Self::Matches(pattern, flags) => Pattern::compile(pattern, flags)
                .expect("patterns of queries are valid")
                .is_match(""),
            Self::Length(op, n) => op.compare(0.0, *n),
            Self::Date(..) => false,
        }
    }
}

fn constant(holds: bool) -> Expr {
    if holds {
        always()
    } else {
        never()
    }
}

fn normal_string_test(test: StringTest, kind: Kind) -> Expr {
    let StringTest {
        path,
        functions,
        mut condition,
    } = test;
    match &mut condition {
        StringCondition::Contains(text)
        | StringCondition::StartsWith(text)
        | StringCondition::EndsWith(text)
            if text.is_empty() =>
        {
            return always();
        }
        StringCondition::Compare(Op::Lt | Op::Le | Op::Gt | Op::Ge, literal) => {
            if let Literal::Text(text) = literal {
                let number = number(text);
                if number.is_nan() {
                    return never();
                }
                // Adding 0 turns -0 into 0.
                *literal = Literal::Number(number + 0.0);
            }
        }
        StringCondition::Length(op, number) => match whole_number(*op, *number, 0.0) {
            WholeNumber::Constant(holds) => return constant(holds),
            WholeNumber::Compare(normal_op, normal_number) => {
                (*op, *number) = (normal_op, normal_number);
            }
        },
        StringCondition::Date(_, _, text) => {
            let bare = text.trim_matches(['\u{20}', '\u{9}', '\u{D}', '\u{A}']);
            *text = bare.into();
        }
        _ => {}
    }
    // Attributes and text have no children.
    if kind != Kind::Element && !path.steps.is_empty() {
        return constant(condition.holds_for_empty());
    }
    let path = normal_path(path);
    if selects_nothing(&path) {
        return constant(condition.holds_for_empty());
    }
    Expr::String(Box::new(StringTest {
        path,
        functions,
        condition,
    }))
}

fn normal_count(path: Path, op: Op, number: f64, kind: Kind) -> Expr {
    if path.steps.is_empty() {
        return constant(op.compare(1.0, number));
    }
    let (op, number) = match whole_number(op, number, 0.0) {
        WholeNumber::Constant(holds) => return constant(holds),
        WholeNumber::Compare(op, number) => (op, number),
    };
    let path = normal_path(path);
    if kind != Kind::Element || selects_nothing(&path) {
        return constant(op.compare(0.0, number));
    }
    match (op, number) {
        (Op::Ge, 1.0) => normal_existence(path, None),
        (Op::Eq, 0.0) => match normal_existence(path, None) {
            Expr::Not(item) => *item,
            exists => Expr::Not(Box::new(exists)),
        },
        _ => Expr::Count(path, op, number),
    }
}

fn normal_path_comparison(left: Path, op: Op, right: Path) -> Expr {
    let (left, right) = (normal_path(left), normal_path(right));
    if selects_nothing(&left) || selects_nothing(&right) {
        return never();
    }
    if compare_paths(&right, &left).is_lt() {
        Expr::ComparePaths(right, op.flipped(), left)
    } else {
        Expr::ComparePaths(left, op, right)
    }
}

/// Normalises a condition on a position, which is an integer from 1 on.
fn normal_position(op: Op, number: f64, negated: bool, make: fn(Op, f64) -> Expr) -> Expr {
    let op = if negated { op.negated() } else { op };
    match whole_number(op, number, 1.0) {
        WholeNumber::Constant(holds) => constant(holds),
        WholeNumber::Compare(op, number) => make(op, number),
    }
}

/// A condition on an integer.
enum WholeNumber {
    Constant(bool),
    /// With `=`, `!=`, `<=` or `>=`, and an integer that is possible.
    Compare(Op, f64),
}

/// Normalises a condition on an integer from `least` on.
fn whole_number(op: Op, number: f64, least: f64) -> WholeNumber {
    if number.abs() >= INTEGER_BOUND {
        return WholeNumber::Constant(match op {
            Op::Eq => false,
            Op::Ne => true,
            Op::Lt | Op::Le => number > 0.0,
            Op::Gt | Op::Ge => number < 0.0,
        });
    }
    let is_possible = number.floor() == number && number >= least;
    let at_most = |number: f64| {
        if number < least {
            WholeNumber::Constant(false)
        } else if number == least {
            WholeNumber::Compare(Op::Eq, least)
        } else {
            WholeNumber::Compare(Op::Le, number)
        }
    };
    let at_least = |number: f64| {
        if number <= least {
            WholeNumber::Constant(true)
        } else {
            WholeNumber::Compare(Op::Ge, number)
        }
    };
    match op {
        Op::Eq | Op::Ne if !is_possible => WholeNumber::Constant(op == Op::Ne),
        Op::Ne if number == least => at_least(least + 1.0),
        // Adding 0 turns -0 into 0.
        Op::Eq | Op::Ne => WholeNumber::Compare(op, number + 0.0),
        Op::Lt => at_most(number.ceil() - 1.0),
        Op::Le => at_most(number.floor()),
        Op::Gt => at_least(number.floor() + 1.0),
        Op::Ge => at_least(number.ceil()),
    }
}
