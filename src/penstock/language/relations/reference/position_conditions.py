"""Conditions on ``position()`` and ``last()``, and the satisfiability of several.

Two conditions refer to the same count only after the same name test and the same earlier
predicates; such a position in a step is a :class:`Counting`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from penstock.language.xpath.ast import Expr, Kind, Last, NameTest, Op, Position, PositionLast
from penstock.language.xpath.value_tests import OPPOSITE, compare

PositionExpr: TypeAlias = Position | PositionLast | Last


@dataclass(frozen=True, slots=True)
class Counting:
    """The counted nodes: siblings of this kind and name that satisfy these predicates."""

    kind: Kind
    test: NameTest
    earlier: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Placed:
    """A condition on the position within one counting."""

    counting: Counting
    expr: PositionExpr

    def opposite(self) -> Placed:
        """The negated condition."""
        return Placed(self.counting, opposite(self.expr))


def opposite(expr: PositionExpr) -> PositionExpr:
    """The negated condition; positions are never NaN."""
    if isinstance(expr, PositionLast):
        return PositionLast(OPPOSITE[expr.op])
    return type(expr)(OPPOSITE[expr.op], expr.value)


def met_by_some(expr: PositionExpr) -> bool:
    """Whether the first or last node of any non-empty list satisfies the condition."""
    if isinstance(expr, Position):
        return compare(1.0, expr.op, expr.value)
    if isinstance(expr, PositionLast):
        return expr.op in (Op.EQ, Op.LE, Op.GE)
    return impossible([opposite(expr)])


def clash(placed: Iterable[Placed]) -> bool:
    """Whether provably no node satisfies all conditions."""
    groups: dict[Counting, list[PositionExpr]] = {}
    for each in placed:
        groups.setdefault(each.counting, []).append(each.expr)
    return any(impossible(group) for group in groups.values())


def impossible(exprs: list[PositionExpr]) -> bool:
    """Whether provably no ``1 <= position() <= last()`` satisfies all conditions of one
    counting."""
    is_last, is_earlier = True, True
    position, last = _Integers(), _Integers()
    for expr in exprs:
        if isinstance(expr, PositionLast):
            is_last = is_last and expr.op in (Op.EQ, Op.LE, Op.GE)
            is_earlier = is_earlier and expr.op in (Op.NE, Op.LT, Op.LE)
        else:
            (position if isinstance(expr, Position) else last).narrow(expr.op, expr.value)
    if not (is_last or is_earlier) or position.empty() or last.empty():
        return True
    if not is_earlier:
        return position.meet(last).empty()
    smallest = position.smallest() + (0 if is_last else 1)
    return last.at_least(smallest).empty()


class _Integers:
    """The positive integers that satisfy some comparisons."""

    def __init__(self) -> None:
        self.low: float = 1
        self.high = math.inf
        self.excluded: set[float] = set()

    def narrow(self, op: Op, value: float) -> None:
        if op is Op.NE:
            self.excluded.add(value)
        if op in (Op.EQ, Op.GE):
            self.low = max(self.low, value)
        if op in (Op.EQ, Op.LE):
            self.high = min(self.high, value)
        if op is Op.GT:
            self.low = max(self.low, math.floor(value) + 1 if math.isfinite(value) else value)
        if op is Op.LT:
            self.high = min(self.high, math.ceil(value) - 1 if math.isfinite(value) else value)

    def meet(self, other: _Integers) -> _Integers:
        both = _Integers()
        both.low, both.high = max(self.low, other.low), min(self.high, other.high)
        both.excluded = self.excluded | other.excluded
        return both

    def at_least(self, low: float) -> _Integers:
        bounded = _Integers()
        bounded.low = low
        return self.meet(bounded)

    def smallest(self) -> float:
        candidate = math.ceil(self.low) if math.isfinite(self.low) else self.low
        while candidate in self.excluded:
            candidate += 1
        return candidate

    def empty(self) -> bool:
        return self.low == math.inf or self.smallest() > self.high
