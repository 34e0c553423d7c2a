"""Neighbours: similar patterns, never the pattern itself, never a removed one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.routing import Pattern
from penstock.routing.limits import MERGE_CANDIDATES_MAX
from penstock.routing.neighbours import NeighbourOrders
from support.strategies.patterns import patterns


@given(st.lists(patterns, min_size=1, max_size=12, unique=True), st.data())
def test_neighbours_are_other_patterns_of_the_same_kind(
    filed: list[Pattern], data: st.DataObject
) -> None:
    orders = NeighbourOrders()
    for pattern in filed:
        orders.add(pattern)
    removed = data.draw(st.sets(st.sampled_from(filed)))
    for pattern in removed:
        orders.discard(pattern)
        orders.discard(pattern)
    left = [pattern for pattern in filed if pattern not in removed]
    for pattern in left:
        near = orders.nearest(pattern)
        others = [each for each in left if each != pattern and each.kind == pattern.kind]
        assert set(near) <= set(others)
        assert len(near) == len(set(near)) <= MERGE_CANDIDATES_MAX
        assert near or not others or pattern.kind == "keywords"


def test_patterns_with_a_common_end_or_keyword_are_near() -> None:
    orders = NeighbourOrders()
    for number in range(50):
        orders.add(Pattern.of_path(f"/m{number}/x{number}/y{number}"))
        orders.add(Pattern.of_keywords(f"m{number} n{number}"))
    far = Pattern.of_path("/z/price/amount")
    orders.add(far)
    assert orders.nearest(Pattern.of_path("/a/price/amount"))[0] == far
    storm = Pattern.of_keywords("zephyr storm")
    orders.add(storm)
    assert orders.nearest(Pattern.of_keywords("alarm storm"))[0] == storm
