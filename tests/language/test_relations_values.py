"""Values and positions that exclude each other, compared with enumeration."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.language.relations.reference.position_conditions import (
    PositionExpr,
    impossible,
    met_by_some,
)
from penstock.language.xpath.ast import (
    Compare,
    Contains,
    Last,
    Op,
    Position,
    PositionLast,
    StartsWith,
)
from penstock.language.xpath.value_tests import SELF, ValueTest, compare, implies, unsatisfiable

TEXTS = ("", "x", "xy", "yx", "1", "2", "1.0", " 2 ", "-1", "a1")
VALUES = (*TEXTS, "0", "1.5", "3", "0.5", "-2", "1.2", "1.7", "xyx", "y", "xx", "x1", "yxy", " ")
OPS = st.sampled_from(Op)
NUMERIC = st.builds(
    ValueTest, st.builds(Compare, st.just(SELF), OPS, st.sampled_from((-1.0, 1.0, 1.5, 2.0)))
)
TESTS = st.builds(
    ValueTest,
    st.builds(Compare, st.just(SELF), OPS, st.sampled_from((*TEXTS, -1.0, 1.0, 1.5, 2.0)))
    | st.builds(Contains, st.just(SELF), st.sampled_from(TEXTS))
    | st.builds(StartsWith, st.just(SELF), st.sampled_from(TEXTS)),
    st.booleans(),
)


def passing(tests: list[ValueTest]) -> list[str]:
    return [value for value in VALUES if all(test.accepts(value) for test in tests)]


@given(st.lists(TESTS, max_size=4), TESTS)
def test_exclusive_values_exclude_each_other(tests: list[ValueTest], goal: ValueTest) -> None:
    if unsatisfiable(tests):
        assert not passing(tests)
    if implies(tests, goal):
        assert all(goal.accepts(value) for value in passing(tests))


@given(st.lists(NUMERIC, max_size=4), NUMERIC)
def test_comparisons_with_numbers_are_decided(tests: list[ValueTest], goal: ValueTest) -> None:
    assert unsatisfiable(tests) == (not passing(tests))
    assert implies(tests, goal) == all(goal.accepts(value) for value in passing(tests))


@given(st.lists(TESTS, max_size=4), st.frozensets(st.sampled_from(VALUES)), st.booleans())
def test_listed_values_are_decided(
    tests: list[ValueTest], values: frozenset[str], blank: bool
) -> None:
    left = [each for each in passing(tests) if each in values and not (blank and each.strip())]
    assert unsatisfiable(tests, values=values, blank=blank) == (not left)


@given(st.lists(TESTS, max_size=4))
def test_blank_values_exclude_other_values(tests: list[ValueTest]) -> None:
    if unsatisfiable(tests, blank=True):
        assert not any(not value.strip() for value in passing(tests))


POSITIONS: st.SearchStrategy[PositionExpr] = (
    st.builds(Position, OPS, st.sampled_from((-1.0, 0.0, 1.0, 1.5, 2.0, 3.0)))
    | st.builds(Last, OPS, st.sampled_from((-1.0, 0.0, 1.0, 1.5, 2.0, 3.0)))
    | st.builds(PositionLast, OPS)
)


def met(expr: PositionExpr, position: int, last: int) -> bool:
    if isinstance(expr, PositionLast):
        return compare(position, expr.op, last)
    return compare(position if isinstance(expr, Position) else last, expr.op, expr.value)


@given(st.lists(POSITIONS, max_size=4))
def test_impossible_positions_are_found(exprs: list[PositionExpr]) -> None:
    some = any(
        all(met(expr, position, last) for expr in exprs)
        for last in range(1, 9)
        for position in range(1, last + 1)
    )
    if impossible(exprs):
        assert not some
    if not any(isinstance(expr, PositionLast) for expr in exprs):
        assert impossible(exprs) == (not some)


@given(POSITIONS)
def test_a_position_that_every_list_has_is_known(expr: PositionExpr) -> None:
    everywhere = all(
        any(met(expr, position, last) for position in range(1, last + 1)) for last in range(1, 9)
    )
    if met_by_some(expr):
        assert everywhere
