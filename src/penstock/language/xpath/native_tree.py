"""Converts the native core's nested tuples to syntax trees."""

from __future__ import annotations

from typing import Any

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
    return Query(tuple(_path(branch) for branch in branches))


def _path(steps: tuple[Any, ...]) -> Path:
    return Path(tuple(_step(*step) for step in steps))


def _step(
    axis: str, kind: str, uri: str | None, local: str | None, predicates: tuple[Any, ...]
) -> Step:
    test = NameTest(uri, local)
    return Step(Axis(axis), Kind(kind), test, tuple(_expr(*expr) for expr in predicates))


def _expr(tag: str, *parts: Any) -> Expr:  # noqa: ANN401 - each tag has parts of its own types
    match tag, parts:
        case "and", (items,):
            return And(tuple(_expr(*item) for item in items))
        case "or", (items,):
            return Or(tuple(_expr(*item) for item in items))
        case "not", (item,):
            return Not(_expr(*item))
        case "exists", (steps,):
            return Exists(_path(steps))
        case "compare", (steps, op, literal):
            return Compare(_path(steps), Op(op), literal)
        case "contains", (steps, text):
            return Contains(_path(steps), text)
        case "starts-with", (steps, text):
            return StartsWith(_path(steps), text)
        case "string", (steps, functions, condition):
            transforms = tuple(_function(*function) for function in functions)
            return StringTest(_path(steps), transforms, _condition(*condition))
        case "count", (steps, op, value):
            return Count(_path(steps), Op(op), value)
        case "compare-paths", (left, op, right):
            return ComparePaths(_path(left), Op(op), _path(right))
        case "position", (op, value):
            return Position(Op(op), value)
        case "position-last", (op,):
            return PositionLast(Op(op))
        case "last", (op, value):
            return Last(Op(op), value)
    raise AssertionError(f"unknown tag {tag!r} from the native core")


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
