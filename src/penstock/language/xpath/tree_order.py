"""A total order on syntax trees, for the normal form.

The native core must use the same order (``order.rs``). Kinds of conditions and their fields are
ordered as declared.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from penstock.language.xpath.ast import (
    And,
    Axis,
    Compare,
    Contains,
    Exists,
    Expr,
    Kind,
    Last,
    Not,
    Op,
    Or,
    Path,
    Position,
    PositionLast,
    StartsWith,
    Step,
)

Key: TypeAlias = tuple[Any, ...]
"""Nested tuples that can be compared."""

_AXES: Final = {axis: rank for rank, axis in enumerate(Axis)}
_KINDS: Final = {kind: rank for rank, kind in enumerate(Kind)}
_OPS: Final = {op: rank for rank, op in enumerate(Op)}


def path_key(path: Path) -> Key:
    """The sort key of a path."""
    return tuple(_step_key(step) for step in path.steps)


def expr_key(expr: Expr) -> Key:
    """The sort key of a condition."""
    match expr:
        case And(items):
            return 0, tuple(expr_key(item) for item in items)
        case Or(items):
            return 1, tuple(expr_key(item) for item in items)
        case Not(item):
            return 2, expr_key(item)
        case Exists(path):
            return 3, path_key(path)
        case Compare(path, op, literal):
            return 4, path_key(path), _OPS[op], isinstance(literal, float), literal
        case Contains(path, text):
            return 5, path_key(path), text
        case StartsWith(path, text):
            return 6, path_key(path), text
        case Position(op, value):
            return 7, _OPS[op], value
        case PositionLast(op):
            return 8, _OPS[op]
        case Last(op, value):
            return 9, _OPS[op], value


def _step_key(step: Step) -> Key:
    return (
        _AXES[step.axis],
        _KINDS[step.kind],
        _text_key(step.test.uri),
        _text_key(step.test.local),
        tuple(expr_key(predicate) for predicate in step.predicates),
    )


def _text_key(text: str | None) -> Key:
    return () if text is None else (text,)
