"""Tests of one string-value, and the satisfiability of several.

A test concerns the string-value of one node, so it is a predicate on strings:
``. = 'x'``, ``. < 5``, ``contains(., 'x')``, ``starts-with(., 'x')``, or a negation.
Numbers follow XPath 1.0: a string that is not a number is NaN, which is unequal to every number and
neither less nor greater.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from penstock.language.xpath.ast import Compare, Contains, Op, Path, StartsWith

SELF = Path()
"""The path ``.``."""

_COMPARE: dict[Op, Callable[[float, float], bool]] = {
    Op.EQ: operator.eq,
    Op.NE: operator.ne,
    Op.LT: operator.lt,
    Op.LE: operator.le,
    Op.GT: operator.gt,
    Op.GE: operator.ge,
}
OPPOSITE = {
    Op.EQ: Op.NE,
    Op.NE: Op.EQ,
    Op.LT: Op.GE,
    Op.LE: Op.GT,
    Op.GT: Op.LE,
    Op.GE: Op.LT,
}
"""The negation of each comparison, except for NaN."""

FLIPPED = {Op.EQ: Op.EQ, Op.NE: Op.NE, Op.LT: Op.GT, Op.LE: Op.GE, Op.GT: Op.LT, Op.GE: Op.LE}
"""``a op b`` is ``b FLIPPED[op] a``."""

_SPACE = " \t\r\n"
_NUMBER = re.compile(r"-?([0-9]+(\.[0-9]*)?|\.[0-9]+)")
_NUMERIC = frozenset("0123456789.-" + _SPACE)


def number(text: str) -> float:
    """XPath 1.0's ``number()`` of a string."""
    bare = text.strip(_SPACE)
    return float(bare) if _NUMBER.fullmatch(bare) else math.nan


def compare(left: float, op: Op, right: float) -> bool:
    """``left op right`` in XPath 1.0."""
    return _COMPARE[op](left, right)


@dataclass(frozen=True, slots=True)
class ValueTest:
    """A comparison, ``contains`` or ``starts-with`` on ``.``, possibly negated."""

    expr: Compare | Contains | StartsWith
    holds: bool = True

    def opposite(self) -> ValueTest:
        """The negated test."""
        return ValueTest(self.expr, not self.holds)

    def accepts(self, value: str) -> bool:
        """Whether a node with this string-value passes the test."""
        return self._bare(value) == self.holds

    def _bare(self, value: str) -> bool:
        expr = self.expr
        if isinstance(expr, Contains):
            return expr.text in value
        if isinstance(expr, StartsWith):
            return value.startswith(expr.text)
        if isinstance(expr.literal, str):
            if expr.op in (Op.EQ, Op.NE):
                return (value == expr.literal) == (expr.op is Op.EQ)
            return compare(number(value), expr.op, number(expr.literal))
        return compare(number(value), expr.op, expr.literal)


NOT_EMPTY = ValueTest(Compare(SELF, Op.NE, ""))
"""A text node is never empty."""


class Numbers:
    """The possible numeric values: an interval, and whether NaN is possible."""

    __slots__ = ("excluded", "high", "high_open", "low", "low_open", "nan")

    def __init__(self, tests: Iterable[ValueTest]) -> None:
        self.low, self.low_open = -math.inf, False
        self.high, self.high_open = math.inf, False
        self.nan = True
        self.excluded: set[float] = set()
        for test in tests:
            self._narrow(test)

    def _narrow(self, test: ValueTest) -> None:
        expr = test.expr
        if not isinstance(expr, Compare):
            return
        if isinstance(expr.literal, str):
            if expr.op in (Op.EQ, Op.NE):
                if (expr.op is Op.EQ) == test.holds:  # the string is known exactly
                    self.nan = self.nan and math.isnan(number(expr.literal))
                    self._bound(Op.EQ, number(expr.literal))
                return
            bound = number(expr.literal)
        else:
            bound = expr.literal
        if math.isnan(bound):
            if (expr.op is Op.NE) != test.holds:  # can never hold
                self.nan, self.low, self.high = False, math.inf, -math.inf
            return
        op = expr.op if test.holds else OPPOSITE[expr.op]
        # NaN satisfies `!=` and the negation of any other comparison.
        keeps_nan = op is Op.NE if op in (Op.EQ, Op.NE) else not test.holds
        self.nan = self.nan and keeps_nan
        self._bound(op, bound)

    def _bound(self, op: Op, bound: float) -> None:
        if math.isnan(bound):  # equal to a non-numeric string
            self.low, self.high = math.inf, -math.inf
            return
        if op is Op.NE:
            self.excluded.add(bound)
        if op in (Op.EQ, Op.GE, Op.GT) and (bound, op is Op.GT) > (self.low, self.low_open):
            self.low, self.low_open = bound, op is Op.GT
        if op in (Op.EQ, Op.LE, Op.LT) and (-bound, op is Op.LT) > (-self.high, self.high_open):
            self.high, self.high_open = bound, op is Op.LT

    def empty(self) -> bool:
        """Whether no value is possible, not even NaN."""
        return not self.nan and self.no_number()

    def no_number(self) -> bool:
        """Whether no number is possible."""
        if self.low > self.high:
            return True
        if self.low < self.high:
            return False
        return self.low_open or self.high_open or self.low in self.excluded


def unsatisfiable(
    tests: Sequence[ValueTest], *, values: frozenset[str] | None = None, blank: bool = False
) -> bool:
    """Whether provably no string passes all tests.

    ``values`` are all possible strings, if known; ``blank`` means that the string is white space.
    """
    known = known_value(tests)
    if known is not None and values is None:
        values = frozenset((known,))
    if values is not None:
        return not any(
            all(test.accepts(value) for test in tests) and not (blank and value.strip(_SPACE))
            for value in values
        )
    return _numbers_conflict(tests, blank) or _texts_conflict(tests, blank)


def implies(tests: Sequence[ValueTest], goal: ValueTest) -> bool:
    """Whether provably each string that passes all tests satisfies the goal."""
    return goal in tests or unsatisfiable((*tests, goal.opposite()))


def known_value(tests: Iterable[ValueTest]) -> str | None:
    """The exact string, if a test determines it."""
    for test in tests:
        expr = test.expr
        if (
            isinstance(expr, Compare)
            and isinstance(expr.literal, str)
            and expr.op is (Op.EQ if test.holds else Op.NE)
        ):
            return expr.literal
    return None


def _numbers_conflict(tests: Sequence[ValueTest], blank: bool) -> bool:
    numbers = Numbers(tests)
    if numbers.empty():
        return True
    if numbers.nan:
        return False
    return blank or any(
        test.holds
        and isinstance(test.expr, Contains | StartsWith)
        and not _NUMERIC.issuperset(test.expr.text)
        for test in tests
    )


def _texts_conflict(tests: Sequence[ValueTest], blank: bool) -> bool:
    starts = [t.expr.text for t in tests if t.holds and isinstance(t.expr, StartsWith)]
    parts = [t.expr.text for t in tests if t.holds and isinstance(t.expr, Contains)] + starts
    if blank and any(part.strip(_SPACE) for part in parts):
        return True
    longest = max(starts, key=len, default="")
    if not all(longest.startswith(start) for start in starts):
        return True
    for test in tests:
        if test.holds or isinstance(test.expr, Compare):
            continue
        text = test.expr.text
        if isinstance(test.expr, StartsWith):
            if longest.startswith(text):
                return True
        elif not text or any(text in part for part in parts):
            return True
    return False
