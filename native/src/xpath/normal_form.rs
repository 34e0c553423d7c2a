//! The normal form: queries that say the same in different words become one tree.
//!
//! What it does, all of it true in XPath 1.0 on every document:
//!
//! * `and`, `or` and unions are flat, ordered, without repetitions, and not of one item;
//! * `not()` stands only before what has no `not`, `and` or `or`, and never before a position;
//! * `[a and b]` is `[a][b]`; of an `and` with positions, those stay together and come first;
//! * predicates are ordered and not repeated between the positions among them;
//! * nested paths are pulled straight: `[a[b]]` is `[a/b]`, `[a[. = 'x']]` is `[a = 'x']`;
//! * `<` and its kin compare with numbers, and positions are counted with `=`, `!=`, `<=`, `>=`;
//! * what is always true is left out; what is never true is `[not(.)]`, alone in its step.
//!
//! Comparisons speak of *some* node, so `not(a = 'x')` and `a != 'x'` remain different.
//! `normal_form.py` is the same in plain Python.

use super::ast::{Axis, Expr, Kind, Literal, NameTest, Op, Path, Query, Step};
use super::tree_order::{compare_exprs, compare_paths};
use crate::xpath::number::number;

/// Positions are smaller: no document has that many nodes. Past it doubles skip integers.
const MORE_THAN_ANY_POSITION: f64 = 9_007_199_254_740_992.0;

/// The normal form of a query: it selects the same nodes, and normalising it again changes nothing.
pub fn normalise(query: Query) -> Query {
    let mut branches: Vec<Path> = query
        .branches
        .into_iter()
        .map(normal_path)
        .filter(|path| !is_dead(path))
        .collect();
    branches.sort_by(compare_paths);
    branches.dedup();
    if branches.is_empty() {
        branches.push(nothing());
    }
    Query { branches }
}

/// `.`, which every node has.
fn always() -> Expr {
    Expr::Exists(Path::default())
}

/// `not(.)`
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

fn is_dead(path: &Path) -> bool {
    path.steps
        .iter()
        .any(|step| matches!(&step.predicates[..], [only] if is_never(only)))
}

/// The same nodes.
fn normal_path(mut path: Path) -> Path {
    for step in &mut path.steps {
        if !step.predicates.is_empty() {
            let predicates = std::mem::take(&mut step.predicates);
            step.predicates = normal_predicates(predicates, step.kind);
        }
    }
    path
}

/// The predicates of a step that selects nodes of `kind`.
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

/// Predicates of one step, in normal form.
#[derive(Default)]
struct Filters {
    all: Vec<Expr>,
    /// Where those begin that follow the last position: they are in order.
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
            let place = self.free + self.all[self.free..].partition_point(before);
            self.all.insert(place, predicate);
        }
    }

    /// Takes out the last predicate that could as well be the rest of an existing path.
    fn take_continuation(&mut self) -> Option<Continuation> {
        let continues = |expr: &Expr| matches!(expr, Expr::Exists(_) | Expr::Compare(..));
        let place = self.free + self.all[self.free..].iter().rposition(continues)?;
        match self.all.remove(place) {
            Expr::Exists(path) => Some((path, None)),
            Expr::Compare(path, op, literal) => Some((path, Some((op, literal)))),
            _ => unreachable!("only these continue a path"),
        }
    }
}

/// The rest of a path, and what its end is compared with.
type Continuation = (Path, Option<(Op, Literal)>);

fn existing((path, goal): Continuation) -> Expr {
    match goal {
        None => Expr::Exists(path),
        Some((op, literal)) => Expr::Compare(path, op, literal),
    }
}

/// That there is a node at the end of `path`, and that it compares as `goal` says.
///
/// Built from the end: what follows a step is one more predicate of it, and of these one continues
/// the path. So it does not matter which one did before.
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
                // Twice negated: only `not(.)` is negated here already.
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
    // Attributes and text have nothing below them.
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
                // Adding 0 makes 0 of -0.
                normal_existence(path, Some((op, Literal::Number(number + 0.0))))
            }
            (op, literal) => normal_existence(path, Some((op, literal))),
        },
        Expr::Contains(path, text) => normal_text_test(path, text, Expr::Contains),
        Expr::StartsWith(path, text) => normal_text_test(path, text, Expr::StartsWith),
        other => unreachable!("{other:?} is no condition on a path"),
    }
}

fn normal_text_test(path: Path, text: Box<str>, make: fn(Path, Box<str>) -> Expr) -> Expr {
    if text.is_empty() {
        return always();
    }
    let path = normal_path(path);
    if is_dead(&path) {
        return never();
    }
    make(path, text)
}

/// A condition on a count from 1 up, in integers, with `=`, `!=`, `<=` or `>=`.
fn normal_position(op: Op, number: f64, negated: bool, make: fn(Op, f64) -> Expr) -> Expr {
    let op = if negated { op.negated() } else { op };
    if number.abs() >= MORE_THAN_ANY_POSITION {
        let holds = match op {
            Op::Eq => false,
            Op::Ne => true,
            Op::Lt | Op::Le => number > 0.0,
            Op::Gt | Op::Ge => number < 0.0,
        };
        return if holds { always() } else { never() };
    }
    let whole = number.floor() == number;
    match op {
        Op::Eq if !whole || number < 1.0 => never(),
        Op::Ne if !whole || number < 1.0 => always(),
        Op::Eq => make(Op::Eq, number),
        Op::Ne if number == 1.0 => make(Op::Ge, 2.0),
        Op::Ne => make(Op::Ne, number),
        Op::Lt => at_most(number.ceil() - 1.0, make),
        Op::Le => at_most(number.floor(), make),
        Op::Gt => at_least(number.floor() + 1.0, make),
        Op::Ge => at_least(number.ceil(), make),
    }
}

fn at_most(number: f64, make: fn(Op, f64) -> Expr) -> Expr {
    if number < 1.0 {
        never()
    } else if number == 1.0 {
        make(Op::Eq, 1.0)
    } else {
        make(Op::Le, number)
    }
}

fn at_least(number: f64, make: fn(Op, f64) -> Expr) -> Expr {
    if number <= 1.0 {
        always()
    } else {
        make(Op::Ge, number)
    }
}
