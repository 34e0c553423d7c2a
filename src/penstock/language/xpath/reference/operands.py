"""Operands of expressions, and their comparison.

XPath expressions have values: node sets, strings, numbers, booleans. A predicate is boolean in the
end; the other values occur only as its operands.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from penstock.language.xpath.ast import (
    Compare,
    ComparePaths,
    ComparesWith,
    Count,
    DateType,
    Expr,
    HasLength,
    IsDate,
    Last,
    Op,
    Path,
    Position,
    PositionLast,
    StringFunction,
    StringTest,
)
from penstock.language.xpath.value_tests import FLIPPED


class Refused(Exception):  # noqa: N818 - it becomes a QueryError once the position is known
    """A query is refused: code, message, offset in characters."""

    def __init__(self, code: str, message: str, offset: int) -> None:
        super().__init__(code, message, offset)
        self.code = code
        self.message = message
        self.offset = offset


@dataclass(frozen=True, slots=True)
class Nodes:
    """The union of one or more paths."""

    paths: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Text:
    """``'text'``"""

    value: str


@dataclass(frozen=True, slots=True)
class Number:
    """``10``, ``-1.5``"""

    value: float


@dataclass(frozen=True, slots=True)
class PositionCall:
    """``position()``"""


@dataclass(frozen=True, slots=True)
class LastCall:
    """``last()``"""


@dataclass(frozen=True, slots=True)
class StringOf:
    """The string-value of the first node of a path, after functions."""

    path: Path
    functions: tuple[StringFunction, ...]


@dataclass(frozen=True, slots=True)
class LengthCall:
    """``string-length()``"""

    string: StringOf


@dataclass(frozen=True, slots=True)
class CountCall:
    """``count()``"""

    path: Path


@dataclass(frozen=True, slots=True)
class DateOf:
    """``xs:date()`` or ``xs:dateTime()`` of a path."""

    date_type: DateType
    string: StringOf


@dataclass(frozen=True, slots=True)
class DateLiteral:
    """The same of a string in quotes, which is valid."""

    date_type: DateType
    text: str


@dataclass(frozen=True, slots=True)
class Truth:
    """A condition."""

    expr: Expr


Value: TypeAlias = (
    Nodes
    | Text
    | Number
    | PositionCall
    | LastCall
    | StringOf
    | LengthCall
    | CountCall
    | DateOf
    | DateLiteral
    | Truth
)


class Operand(NamedTuple):
    """A value and its start position."""

    value: Value
    start: int


def compare(left: Operand, op: Op, right: Operand, at: int) -> Expr:
    """The condition ``left op right`` with the operator at ``at``; refuses unsupported operands."""
    match left.value, right.value:
        case Truth(), _:
            raise Refused("query.comparison", "a condition cannot be compared", at)
        case _, Truth():
            raise Refused("query.comparison", "a condition cannot be compared", at)
        case (DateOf() | DateLiteral(), _) | (_, DateOf() | DateLiteral()):
            return _compare_dates(left.value, op, right.value, at)
        case (CountCall() | LengthCall(), _) | (_, CountCall() | LengthCall()):
            return _compare_numbers(left.value, op, right.value, at)
        case StringOf(path, functions), (Text() | Number()) as literal:
            return StringTest(path, functions, ComparesWith(op, literal.value))
        case (Text() | Number()) as literal, StringOf(path, functions):
            return StringTest(path, functions, ComparesWith(FLIPPED[op], literal.value))
        case (StringOf(), _) | (_, StringOf()):
            raise Refused(
                "query.comparison",
                "the result of a string function can only be compared with a string or a number",
                at,
            )
        case Nodes((first,)), Nodes((second,)):
            return ComparePaths(first, op, second)
        case Nodes(), Nodes():
            raise Refused("query.comparison", "a union cannot be compared", at)
        case (Nodes((path,)), (Text() | Number()) as literal):
            return Compare(path, op, literal.value)
        case ((Text() | Number()) as literal, Nodes((path,))):
            return Compare(path, FLIPPED[op], literal.value)
        case (Nodes(), Text() | Number()) | (Text() | Number(), Nodes()):
            raise Refused("query.comparison", "a union cannot be compared", at)
        case PositionCall(), Number(value):
            return Position(op, value)
        case Number(value), PositionCall():
            return Position(FLIPPED[op], value)
        case PositionCall(), LastCall():
            return PositionLast(op)
        case LastCall(), PositionCall():
            return PositionLast(FLIPPED[op])
        case LastCall(), Number(value):
            return Last(op, value)
        case Number(value), LastCall():
            return Last(FLIPPED[op], value)
        case (PositionCall() | LastCall(), Nodes() | Text()) | (
            Nodes() | Text(),
            PositionCall() | LastCall(),
        ):
            raise Refused(
                "query.comparison",
                "`position()` and `last()` can only be compared with numbers and each other",
                at,
            )
    raise Refused("query.constant", "the comparison has the same value for every node", left.start)


def _compare_dates(left: Value, op: Op, right: Value, at: int) -> Expr:
    match left, right:
        case DateOf(one, StringOf(path, functions)), DateLiteral(two, text) if one is two:
            return StringTest(path, functions, IsDate(one, op, text))
        case DateLiteral(one, text), DateOf(two, StringOf(path, functions)) if one is two:
            return StringTest(path, functions, IsDate(one, FLIPPED[op], text))
    raise Refused(
        "query.comparison",
        "a date of a path can only be compared with a date of the same type of a string",
        at,
    )


def _compare_numbers(left: Value, op: Op, right: Value, at: int) -> Expr:
    match left, right:
        case CountCall(path), Number(value):
            return Count(path, op, value)
        case Number(value), CountCall(path):
            return Count(path, FLIPPED[op], value)
        case LengthCall(StringOf(path, functions)), Number(value):
            return StringTest(path, functions, HasLength(op, value))
        case Number(value), LengthCall(StringOf(path, functions)):
            return StringTest(path, functions, HasLength(FLIPPED[op], value))
    raise Refused(
        "query.comparison", "`count()` and `string-length()` can only be compared with numbers", at
    )
