"""Detects positional predicates that contradict the number of candidate nodes.

``a[1][2]`` selects the second of one node, ``@a[2]`` a second attribute of one name, ``/a[2]`` a
second root. Sound but incomplete.
"""

from __future__ import annotations

import math

from penstock.language.relations.reference.position_conditions import PositionExpr, impossible
from penstock.language.xpath.ast import (
    And,
    Axis,
    Compare,
    ComparePaths,
    Contains,
    Exists,
    Expr,
    Kind,
    Last,
    Op,
    Or,
    Path,
    Position,
    PositionLast,
    StartsWith,
    Step,
)


def miscounts(branch: Path) -> bool:
    """Whether a path from the document node provably selects nothing in any document."""
    if not branch.steps:
        return False
    first = branch.steps[0]
    is_root = first.axis is Axis.CHILD and first.kind is Kind.ELEMENT
    return _step_miscounts(first, 1 if is_root else _siblings_max(first)) or any(
        _step_miscounts(step, _siblings_max(step)) for step in branch.steps[1:]
    )


def _siblings_max(step: Step) -> float:
    """Maximum number of nodes of one parent that satisfy the step's name test."""
    one_name = step.test.uri is not None and step.test.local is not None
    return 1 if step.kind is Kind.ATTRIBUTE and one_name else math.inf


def _step_miscounts(step: Step, count_max: float) -> bool:
    for predicate in step.predicates:
        if _never(predicate, count_max):
            return True
        count_max = _left_max(predicate, count_max)
    return False


def _never(expr: Expr, count_max: float) -> bool:
    """Whether the predicate holds for none of at most ``count_max`` nodes."""
    match expr:
        case And(items):
            counted = [item for item in items if isinstance(item, PositionExpr)]
            return _excluded(counted, count_max) or any(_never(item, count_max) for item in items)
        case Or(items):
            return all(_never(item, count_max) for item in items)
        case Exists(path) | Compare(path):
            return _nested_miscounts(path)
        case Contains(path, text) | StartsWith(path, text):
            return bool(text) and _nested_miscounts(path)
        case ComparePaths(left, _, right):
            return _nested_miscounts(left) or _nested_miscounts(right)
        case Position() | PositionLast() | Last():
            return _excluded([expr], count_max)
    return False


def _excluded(counted: list[PositionExpr], count_max: float) -> bool:
    return bool(counted) and impossible([*counted, Last(Op.LE, count_max)])


def _nested_miscounts(path: Path) -> bool:
    return any(_step_miscounts(step, _siblings_max(step)) for step in path.steps)


def _left_max(expr: Expr, count_max: float) -> float:
    """How many of at most ``count_max`` nodes can satisfy the predicate."""
    match expr:
        case And(items):
            return min(_left_max(item, count_max) for item in items)
        case Or(items):
            return min(count_max, sum(_left_max(item, count_max) for item in items))
        case Position(Op.EQ) | PositionLast(Op.EQ | Op.GE):
            return min(count_max, 1)
        case Position(Op.LE, value) | Last(Op.EQ | Op.LE, value):
            return min(count_max, max(0, value))
        case Position(Op.LT, value) | Last(Op.LT, value) if math.isfinite(value):
            return min(count_max, max(0, math.ceil(value) - 1))
    return count_max
