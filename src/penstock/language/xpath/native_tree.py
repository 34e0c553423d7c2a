"""Converts the native core's nested tuples to syntax trees."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

from penstock.language.limits import MAX_CACHED_STEPS
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
    NameTest,
    NormalizeSpace,
    Not,
    Op,
    Or,
    Path,
    Position,
    PositionLast,
    Query,
    StartsWith,
    StartsWithText,
    Step,
    StringCondition,
    StringFunction,
    StringTest,
    Translate,
    UpperCase,
)


def query_of(branches: tuple[Any, ...]) -> Query:
    """The query of a native tuple."""
    return Query(tuple([_path(branch) for branch in branches]))


def _path(steps: tuple[Any, ...]) -> Path:
    return Path(tuple([_step(*step) for step in steps]))


def _step(
    axis: str, kind: str, uri: str | None, local: str | None, predicates: tuple[Any, ...]
) -> Step:
    if not predicates:
        return _bare_step(axis, kind, uri, local)
    test = _bare_step(axis, kind, uri, local).test
    return Step(_AXES[axis], _KINDS[kind], test, tuple([_expr(*expr) for expr in predicates]))


@lru_cache(maxsize=MAX_CACHED_STEPS)
def _bare_step(axis: str, kind: str, uri: str | None, local: str | None) -> Step:
    """A step without predicates. Queries have few different ones, which are immutable."""
    return Step(_AXES[axis], _KINDS[kind], NameTest(uri, local), ())


def _expr(tag: str, *parts: Any) -> Expr:  # noqa: ANN401 - each tag has parts of its own types
    return _EXPRESSIONS[tag](*parts)


def _items(items: tuple[Any, ...]) -> tuple[Expr, ...]:
    return tuple([_expr(*item) for item in items])


def _string_test(
    steps: tuple[Any, ...], functions: tuple[Any, ...], condition: tuple[Any, ...]
) -> StringTest:
    transforms = tuple(_function(*function) for function in functions)
    return StringTest(_path(steps), transforms, _condition(*condition))


_AXES: Final = {axis.value: axis for axis in Axis}
_KINDS: Final = {kind.value: kind for kind in Kind}
_OPS: Final = {op.value: op for op in Op}

_EXPRESSIONS: Final[dict[str, Callable[..., Expr]]] = {
    "and": lambda items: And(_items(items)),
    "or": lambda items: Or(_items(items)),
    "not": lambda item: Not(_expr(*item)),
    "exists": lambda steps: Exists(_path(steps)),
    "compare": lambda steps, op, literal: Compare(_path(steps), _OPS[op], literal),
    "contains": lambda steps, text: Contains(_path(steps), text),
    "starts-with": lambda steps, text: StartsWith(_path(steps), text),
    "string": _string_test,
    "count": lambda steps, op, value: Count(_path(steps), _OPS[op], value),
    "compare-paths": lambda left, op, right: ComparePaths(_path(left), _OPS[op], _path(right)),
    "position": lambda op, value: Position(_OPS[op], value),
    "position-last": lambda op: PositionLast(_OPS[op]),
    "last": lambda op, value: Last(_OPS[op], value),
}
"""By the tag of a native tuple, what makes the expression of its other parts."""


def _function(tag: str, *parts: str) -> StringFunction:
    match tag, parts:
        case "normalize-space", ():
            return NormalizeSpace()
        case "lower-case", ():
            return LowerCase()
        case "upper-case", ():
            return UpperCase()
        case "translate", (source, target):
            return Translate(source, target)
    raise AssertionError(f"unknown function {tag!r} from the native core")


def _condition(tag: str, *parts: Any) -> StringCondition:  # noqa: ANN401 - likewise
    match tag, parts:
        case "compare", (op, literal):
            return ComparesWith(Op(op), literal)
        case "contains", (text,):
            return ContainsText(text)
        case "starts-with", (text,):
            return StartsWithText(text)
        case "ends-with", (text,):
            return EndsWithText(text)
        case "matches", (pattern, flags):
            return MatchesPattern(pattern, flags)
        case "length", (op, value):
            return HasLength(Op(op), value)
        case "date", (date_type, op, text):
            return IsDate(DateType(date_type), Op(op), text)
    raise AssertionError(f"unknown condition {tag!r} from the native core")
