"""Interests as stored files: what is read is what was written, and damage is refused."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import PenstockError
from penstock.routing import DigestRequest, Pattern, StoredInterest, TreeTopology
from penstock.routing.announced_interest import AnnouncedInterest
from penstock.routing.stored_interest import FixedInterest

QUERIES = ("/a", "/a/b", "/a/c", "//b", "//b[@p = 1]", "//b[@p = 2]", "/x/y/z", "//z")
members_of = st.sets(st.sampled_from(QUERIES)).map(
    lambda queries: {query: Pattern.of_path(query) for query in queries}
)


@given(members_of, st.sampled_from((1, 3, 100)))
def test_a_stored_interest_answers_as_the_original(members: dict[str, Pattern], bound: int) -> None:
    original = AnnouncedInterest(members, bound=bound)
    stored = StoredInterest.from_bytes(StoredInterest.of(original, members).to_bytes())
    fixed = FixedInterest(stored, members)
    assert (fixed.digest, fixed.patterns) == (original.digest, original.patterns)
    assert sorted(fixed.digests) == sorted(original.digests)
    for member, pattern in members.items():
        assert fixed.pattern_for(member) == original.pattern_for(member)
        assert fixed.member_pattern(member) == pattern
    for digest in (original.digest, ""):
        request = DigestRequest(number=7, digest=digest)
        assert fixed.answer(request) == original.answer(request)


@pytest.mark.parametrize(
    "encoded",
    [b"", b"[]", b"{}", b'{"version": 2}', b'{"version": 1, "patterns": 3, "containers": {}}'],
)
def test_damaged_interests_are_refused(encoded: bytes) -> None:
    with pytest.raises(PenstockError) as refused:
        StoredInterest.from_bytes(encoded)
    assert refused.value.code == "routing.state"


def test_patterns_of_a_stored_interest_are_checked() -> None:
    encoded = json.dumps({"version": 1, "patterns": ["/a"], "containers": {}}).encode()
    with pytest.raises(PenstockError, match=r"routing\.pattern"):
        StoredInterest.from_bytes(encoded)


def test_a_member_outside_of_the_interest_is_refused() -> None:
    members = {"s": Pattern.of_path("/a")}
    with pytest.raises(PenstockError, match=r"routing\.state"):
        FixedInterest(StoredInterest(), members)
    stored = StoredInterest.of(AnnouncedInterest(members, bound=9), members)
    with pytest.raises(PenstockError) as refused:
        FixedInterest(stored, members).change({}, ["s"])
    assert refused.value.code == "routing.fixed"


@given(st.lists(st.integers(0, 100), min_size=1, max_size=20))
def test_distances_in_random_trees(choices: list[int]) -> None:
    links = [(str(choice % number), str(number)) for number, choice in enumerate(choices, start=1)]
    tree = TreeTopology.of(links)
    farthest = {name: tree.hops_from(name) for name in tree.neighbours}
    assert tree.hops_max == max(farthest.values())
    assert farthest[tree.center] == min(farthest.values())
    assert sorted(name for level in tree.levels for name in level) == sorted(tree.neighbours)
    assert set(tree.parents) == set(tree.neighbours) - {tree.center}
