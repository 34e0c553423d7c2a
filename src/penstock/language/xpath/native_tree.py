"""Converts the native core's nested tuples to syntax trees."""

from __future__ import annotations

from typing import Any

from penstock.language.xpath.ast import (
    And,
    Axis,
    Compare,
    Contains,
    Exists,
    Expr,
    Kind,
    Last,
    NameTest,
    Not,
    Op,
    Or,
    Path,
    Position,
    PositionLast,
    Query,
    StartsWith,
    Step,
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
        case "position", (op, value):
            return Position(Op(op), value)
        case "position-last", (op,):
            return PositionLast(Op(op))
        case "last", (op, value):
            return Last(Op(op), value)
    raise AssertionError(f"unknown tag {tag!r} from the native core")
