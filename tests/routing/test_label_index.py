"""The label index finds what testing every pattern finds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.routing import Pattern
from penstock.routing import containment_search as searches
from penstock.routing.containment_search import ExhaustiveSearch, LabelIndex
from support.strategies.patterns import satisfiable


@pytest.mark.parametrize("subsets_max", [0, 8])
@given(st.lists(satisfiable, max_size=12, unique=True), satisfiable, st.data())
def test_both_searches_agree(
    subsets_max: int, filed: list[Pattern], wanted: Pattern, data: st.DataObject
) -> None:
    index, exhaustive = LabelIndex(), ExhaustiveSearch()
    removed = data.draw(st.sets(st.sampled_from(filed))) if filed else set()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(searches, "LABEL_SUBSETS_MAX", subsets_max)
        for pattern in filed:
            index.add(pattern)
            exhaustive.add(pattern)
        for pattern in sorted(removed, key=lambda each: each.key):
            index.discard(pattern)
            exhaustive.discard(pattern)
            index.discard(pattern)
        assert index.containers(wanted) == exhaustive.containers(wanted)
        assert index.contained(wanted) == exhaustive.contained(wanted)


def test_an_empty_index_retains_nothing() -> None:
    index = LabelIndex()
    index.add(Pattern.of_path("/a[@n = 3]/b"))
    index.discard(Pattern.of_path("/a[@n = 3]/b"))
    assert index.contained(Pattern.of_path("/*")) == []
    assert vars(index) == vars(LabelIndex())
