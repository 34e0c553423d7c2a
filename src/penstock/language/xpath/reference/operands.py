"""Operands of expressions, and their comparison.

XPath expressions have values: node sets, strings, numbers, booleans. A predicate is boolean in the
end; the other values occur only as its operands.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from penstock.language.xpath.ast import Compare, Expr, Last, Op, Path, Position, PositionLast


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
class Truth:
    """A condition."""

    expr: Expr


Value: TypeAlias = Nodes | Text | Number | PositionCall | LastCall | Truth


class Operand(NamedTuple):
    """A value and its start position."""

    value: Value
    start: int


FLIPPED = {Op.EQ: Op.EQ, Op.NE: Op.NE, Op.LT: Op.GT, Op.LE: Op.GE, Op.GT: Op.LT, Op.GE: Op.LE}
"""``a op b`` is ``b FLIPPED[op] a``."""


def compare(left: Operand, op: Op, right: Operand, at: int) -> Expr:
    """The condition ``left op right`` with the operator at ``at``; refuses unsupported operands."""
    match left.value, right.value:
        case Truth(), _:
            raise Refused("query.comparison", "a condition cannot be compared", at)
        case _, Truth():
            raise Refused("query.comparison", "a condition cannot be compared", at)
        case (Nodes(), Nodes()):
            raise Refused("query.comparison", "two paths cannot be compared with each other", at)
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
