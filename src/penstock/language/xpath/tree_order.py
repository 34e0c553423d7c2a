"""A total order on syntax trees, for the normal form.

The native core must use the same order (``tree_order.rs``). Kinds of conditions and their fields
are ordered as declared.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from penstock.language.xpath.ast import (
    And,
    Axis,
    Compare,
    ComparePaths,
    ComparesWith,
    Contains,
    ContainsText,
    Count,
    DateType,
    EndsWithText,
    Exists,
    Expr,
    HasLength,
    IsDate,
    Kind,
    Last,
    LowerCase,
    MatchesPattern,
    NormalizeSpace,
    Not,
    Op,
    Or,
    Path,
    Position,
    PositionLast,
    StartsWith,
    StartsWithText,
    Step,
    StringCondition,
    StringFunction,
    StringTest,
    Translate,
    UpperCase,
)

Key: TypeAlias = tuple[Any, ...]
"""Nested tuples that can be compared."""

_AXES: Final = {axis: rank for rank, axis in enumerate(Axis)}
_KINDS: Final = {kind: rank for rank, kind in enumerate(Kind)}
_OPS: Final = {op: rank for rank, op in enumerate(Op)}
_DATE_TYPES: Final = {date_type: rank for rank, date_type in enumerate(DateType)}


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
        case StringTest(path, functions, condition):
            return (
                7,
                path_key(path),
                tuple(map(_function_key, functions)),
                _condition_key(condition),
            )
        case Count(path, op, value):
            return 8, path_key(path), _OPS[op], value
        case ComparePaths(left, op, right):
            return 9, path_key(left), _OPS[op], path_key(right)
        case Position(op, value):
            return 10, _OPS[op], value
        case PositionLast(op):
            return 11, _OPS[op]
        case Last(op, value):
            return 12, _OPS[op], value


def _function_key(function: StringFunction) -> Key:
    match function:
        case NormalizeSpace():
            return (0,)
        case LowerCase():
            return (1,)
        case UpperCase():
            return (2,)
        case Translate(source, target):
            return 3, source, target


def _condition_key(condition: StringCondition) -> Key:
    match condition:
        case ComparesWith(op, literal):
            return 0, _OPS[op], isinstance(literal, float), literal
        case ContainsText(text):
            return 1, text
        case StartsWithText(text):
            return 2, text
        case EndsWithText(text):
            return 3, text
        case MatchesPattern(pattern, flags):
            return 4, pattern, flags
        case HasLength(op, value):
            return 5, _OPS[op], value
        case IsDate(date_type, op, text):
            return 6, _DATE_TYPES[date_type], _OPS[op], text


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
