"""Refinements kept after any history are those of sorting all candidates."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.routing import Pattern
from penstock.routing.refinements import Refinements

PATTERNS = [Pattern.of_path("/a" * steps + f"/b{name}") for steps in range(5) for name in range(8)]

changes = st.dictionaries(st.sampled_from(PATTERNS), st.integers(0, 3), max_size=3)
large_changes = st.dictionaries(st.sampled_from(PATTERNS), st.integers(0, 3), min_size=10)


@given(st.lists(st.tuples(changes | large_changes, st.integers(0, 60)), max_size=20))
def test_the_longest_prefix_that_fits_is_kept(
    history: list[tuple[dict[Pattern, int], int]],
) -> None:
    refinements = Refinements()
    candidates: dict[Pattern, int] = {}
    kept: list[Pattern] = []
    for change, room in history:
        candidates |= change
        refinements.put(change)
        refinements.fit(room)
        before, kept, size = set(kept), [], 0
        for pattern in sorted(
            (each for each, members in candidates.items() if members),
            key=lambda each: (-candidates[each], each.size, each.key),
        ):
            size += pattern.size
            if size > room:
                break
            kept.append(pattern)
        assert list(refinements) == kept
        assert refinements.size == sum(pattern.size for pattern in kept)
        assert all((each in refinements) == (each in kept) for each in PATTERNS)
        assert refinements.changed >= before ^ set(kept)
        refinements.changed.clear()
