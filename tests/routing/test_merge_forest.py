"""A forest that is filled at once has the roots of one that is filled step by step."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.lab.workload import workload
from penstock.routing import MergeForest, Pattern, PatternNode
from penstock.routing import containment_search as searches
from penstock.routing import merge_forest as forests
from penstock.routing.containment_search import containers_of_all
from support.strategies.patterns import satisfiable


def nodes_of(several: list[Pattern], merged: set[int]) -> list[PatternNode]:
    return [
        PatternNode(pattern, set() if number in merged else {str(number)})
        for number, pattern in enumerate(several)
    ]


def checked_roots(forest: MergeForest, several: list[Pattern]) -> set[Pattern]:
    """The roots; each other pattern is proved to be below one."""
    below = [node for root in forest.roots.values() for node in root.subtree()]
    assert sorted(node.pattern.key for node in below) == sorted(each.key for each in several)
    for node in below:
        if node.parent is not None:
            assert node.parent.pattern.contains(node.pattern)
            assert node.is_repetition() == node.pattern.contains(node.parent.pattern)
    assert forest.size == sum(pattern.size for pattern in forest.roots)
    return set(forest.roots)


@given(st.lists(satisfiable, min_size=1, max_size=12), st.sets(st.integers(0, 11)))
def test_both_ways_to_fill_a_forest_agree(several: list[Pattern], merged: set[int]) -> None:
    """Equal patterns occur too: blocks may be merged to the same one."""
    one_by_one = MergeForest()
    for node in sorted(nodes_of(several, merged), key=forests.insertion_order):
        one_by_one.insert(node)
    expected = checked_roots(one_by_one, several)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(searches, "SEARCHED_TOGETHER_MIN", 1)
        together = MergeForest()
        together.insert_all(nodes_of(several, merged))
    found = checked_roots(together, several)
    # Equivalent patterns may stand for each other.
    for one, other in ((expected, found), (found, expected)):
        assert all(any(e.contains(f) and f.contains(e) for f in other) for e in one)


@settings(max_examples=30)
@given(st.lists(satisfiable, max_size=12, unique=True))
def test_containers_of_all_are_those_of_each(several: list[Pattern]) -> None:
    expected = containers_of_all(several)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(searches, "SEARCHED_TOGETHER_MIN", 1)
        found = containers_of_all(several)
    assert found == expected
    for number, above in enumerate(found):
        assert number not in above
        assert all(several[each].contains(several[number]) for each in above)


def test_each_pattern_is_below_the_most_specific_one() -> None:
    queries = random.Random(2).sample(workload("paths-sparse").queries(5_000), 1_000)
    several = list(dict.fromkeys(map(Pattern.of_path, queries)))
    forest = MergeForest()
    forest.insert_all(nodes_of(several, set()))
    checked_roots(forest, several)
    depths = [node for root in forest.roots.values() for node in root.subtree() if node.parent]
    assert any(node.parent is not None and node.parent.parent for node in depths)
    for node in depths:
        assert node.parent is not None
        above = [other for other in depths if other.pattern.contains(node.pattern)]
        strict = [each for each in above if not node.pattern.contains(each.pattern)]
        assert all(each.pattern.size <= node.parent.pattern.size for each in strict)
