"""Generalises two sets of value tests, without ``not``."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from penstock.language.relations.reference.pattern_paths import positive
from penstock.language.xpath.ast import Compare, Op, StartsWith
from penstock.language.xpath.value_tests import SELF, Numbers, ValueTest, implies, known_value


def common(one: Sequence[ValueTest], two: Sequence[ValueTest]) -> tuple[ValueTest, ...]:
    """Tests implied by each of the two sets, without redundant ones."""
    kept: list[ValueTest] = []
    for test in _shared(one, two):
        if not implies(kept, test):
            kept = [other for other in kept if not implies((test,), other)]
            kept.append(test)
    return tuple(kept)


def _shared(one: Sequence[ValueTest], two: Sequence[ValueTest]) -> Iterator[ValueTest]:
    for test in (*one, *two):
        written = positive(test)
        if written is not None and implies(one, written) and implies(two, written):
            yield written
    yield from _hull(Numbers(one), Numbers(two))
    start = _common_start(_start(one), _start(two))
    if start:
        yield ValueTest(StartsWith(SELF, start))


def _hull(one: Numbers, two: Numbers) -> Iterator[ValueTest]:
    """The smallest interval that contains both."""
    if one.nan or two.nan or one.no_number() or two.no_number():
        return
    low, low_open = min((one.low, one.low_open), (two.low, two.low_open))
    high, closed = max((one.high, not one.high_open), (two.high, not two.high_open))
    if math.isfinite(low):
        yield ValueTest(Compare(SELF, Op.GT if low_open else Op.GE, low))
    if math.isfinite(high):
        yield ValueTest(Compare(SELF, Op.LE if closed else Op.LT, high))


def _start(tests: Sequence[ValueTest]) -> str:
    """The longest known prefix of a value."""
    known = known_value(tests)
    if known is not None:
        return known
    starts = [t.expr.text for t in tests if t.holds and isinstance(t.expr, StartsWith)]
    return max(starts, key=len, default="")


def _common_start(one: str, two: str) -> str:
    length = 0
    while length < min(len(one), len(two)) and one[length] == two[length]:
        length += 1
    return one[:length]
