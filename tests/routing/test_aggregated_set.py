"""Aggregated sets after any history: every member is contained, and upstream has the same set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import reduce
from itertools import pairwise
from operator import or_
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import ERRORS, PenstockError
from penstock.lab.workload import workload
from penstock.routing import (
    AggregateDelta,
    AggregatedSet,
    AggregateReplica,
    Pattern,
    SampledDocuments,
    digest_of,
)
from penstock.routing.merge_forest import MergeForest, PatternNode
from support.strategies.patterns import patterns, sample_documents

SAMPLE = SampledDocuments.of(sample_documents(5, 40))
HELD_BACK = SampledDocuments.of(sample_documents(6, 60))

IDS = [f"s{number}" for number in range(8)]

changes = st.one_of(
    st.dictionaries(st.sampled_from(IDS), patterns, min_size=1, max_size=6),
    st.sets(st.sampled_from(IDS), min_size=1, max_size=6).map(sorted),
    st.just(HELD_BACK),
)
"""Members to add, ids to remove, or a new sample."""


def changed(members: AggregatedSet, change: object) -> AggregateDelta:
    """Carries out a change as far as it is valid."""
    if isinstance(change, SampledDocuments):
        return members.resample(change)
    if isinstance(change, dict):
        return members.subscribe({k: v for k, v in change.items() if k not in members})
    assert isinstance(change, list)
    return members.unsubscribe([id_ for id_ in change if id_ in members])


def exact_size(asked: Mapping[str, Pattern]) -> int:
    """Pattern nodes of the members that no other contains."""
    forest = MergeForest()
    forest.insert_all(PatternNode(pattern, {"s"}) for pattern in set(asked.values()))
    return forest.size


def check(members: AggregatedSet, asked: Mapping[str, Pattern]) -> None:
    assert len(members) == len(asked)
    assert members.size == sum(pattern.size for pattern in members.patterns)
    assert members.size <= members.bound
    assert set(members.roots) <= set(members.patterns)
    assert members.refine or members.roots == members.patterns
    check_members(members, asked)
    check_documents(members, asked)
    check_refinements(members, asked)


def check_members(members: AggregatedSet, asked: Mapping[str, Pattern]) -> None:
    """Every member is below one root, by steps that are proved."""
    behind = [members.members_of(pattern) for pattern in members.roots]
    assert all(behind), "no pattern is without members"
    assert sorted(id_ for ids in behind for id_ in ids) == sorted(asked)
    for id_, pattern in asked.items():
        proof = members.proof_of(id_)
        assert proof[0] == pattern
        assert proof[-1] in members.roots
        assert members.pattern_for(id_) in members.patterns
        assert members.pattern_for(id_) == next(p for p in proof if p in members.patterns)
        assert all(upper.contains(lower) for lower, upper in pairwise(proof)), (
            "each step of the proof holds"
        )


def check_documents(members: AggregatedSet, asked: Mapping[str, Pattern]) -> None:
    """What the aggregate says about documents is what the matcher says."""
    patterns = [*members.patterns, *asked.values()]
    bits = dict(zip(patterns, HELD_BACK.match_bits(patterns), strict=True))
    wanted = reduce(or_, (bits[pattern] for pattern in asked.values()), 0)
    forwarded = reduce(or_, (bits[pattern] for pattern in members.roots), 0)
    assert wanted & ~forwarded == 0, "no wanted document is lost"
    assert forwarded == reduce(or_, (bits[pattern] for pattern in members.patterns), 0), (
        "refinements do not affect forwarding"
    )
    for pattern in members.patterns:
        if members.is_exact(pattern):
            below = (bits[asked[id_]] for id_ in members.members_of(pattern))
            assert bits[pattern] == reduce(or_, below)
        for id_ in members.equivalents_of(pattern):
            assert bits[asked[id_]] == bits[pattern]
    for id_, pattern in asked.items():
        assert bits[pattern] & ~bits[members.pattern_for(id_)] == 0
        deciding = members.deciding(id_)
        if deciding is not None:
            assert deciding in members.patterns
            assert bits[deciding] == bits[pattern]
            assert deciding.contains(pattern)


def check_refinements(members: AggregatedSet, asked: Mapping[str, Pattern]) -> None:
    """The refinements are those of the most members, then the smallest, that fit."""
    shared = Counter(asked.values())
    refinements = set(members.patterns) - set(members.roots)
    for refinement in refinements:
        assert shared[refinement]
        assert members.is_exact(refinement)
    if not members.refine:
        return
    dropped = {asked[id_] for id_ in asked if members.deciding(id_) is None}
    assert not dropped & set(members.patterns)

    def rank(pattern: Pattern) -> tuple[int, int, str]:
        return -shared[pattern], pattern.size, pattern.key

    if dropped:
        first = min(dropped, key=rank)
        assert members.size + first.size > members.bound, "the bound is used"
        assert all(rank(kept) < rank(first) for kept in refinements)


@given(st.integers(1, 30), st.booleans(), st.lists(changes, min_size=1, max_size=8))
def test_after_any_history_the_aggregate_contains_every_member(
    bound: int, refine: bool, history: list[object]
) -> None:
    members = AggregatedSet(bound=bound, sample=SAMPLE, refine=refine)
    replica = AggregateReplica()
    asked: dict[str, Pattern] = {}
    for change in history:
        before = set(members.patterns)
        known = set(asked)
        if isinstance(change, dict):
            asked |= {id_: pattern for id_, pattern in change.items() if id_ not in known}
        elif isinstance(change, list):
            asked = {id_: pattern for id_, pattern in asked.items() if id_ not in change}
        delta = changed(members, change)
        check(members, asked)
        assert not set(delta.added) & before, "a delta adds nothing that is there"
        assert {pattern.digest for pattern in before} >= set(delta.removed)
        replica.apply(delta)
        assert replica.digest == members.digest == digest_of(members.patterns)
        assert replica.patterns == members.patterns
        if exact_size(asked) <= bound:
            assert all(map(members.is_exact, members.roots)), "there is room for the members"
        if refine and sum(pattern.size for pattern in set(asked.values())) <= bound:
            assert all(map(members.deciding, asked)), "there is room for refinements"
    members.unsubscribe(list(asked))
    assert members.patterns == ()
    assert members.size == 0


@settings(max_examples=20)
@given(
    st.integers(1, 30),
    st.dictionaries(st.integers(0, 99).map(str), patterns, min_size=1, max_size=20),
)
def test_a_built_set_does_not_depend_on_order(bound: int, asked: dict[str, Pattern]) -> None:
    built = AggregatedSet.build(asked, bound=bound, sample=SAMPLE)
    check(built, asked)
    reverse = AggregatedSet.build(dict(reversed(asked.items())), bound=bound, sample=SAMPLE)
    assert reverse.digest == built.digest
    assert {id_: reverse.pattern_for(id_) for id_ in asked} == {
        id_: built.pattern_for(id_) for id_ in asked
    }
    members = sorted(asked)
    check_after = {id_: asked[id_] for id_ in members[1:]}
    built.unsubscribe(members[:1])
    check(built, check_after)


def paths(*queries: str) -> dict[str, Pattern]:
    return {query: Pattern.of_path(query) for query in queries}


def texts(members: AggregatedSet) -> set[str]:
    """The patterns that decide what is forwarded."""
    return set(map(str, members.roots))


def test_covered_members_need_no_delta_without_refinements() -> None:
    members = AggregatedSet(refine=False)
    assert members.subscribe(paths("/a//b"))
    assert not members.subscribe(paths("/a/b", "/a/c/b[@n = 3]"))
    assert members.members_of(Pattern.of_path("/a//b")) == {"/a//b", "/a/b", "/a/c/b[@n = 3]"}
    assert not members.unsubscribe(["/a/b"])
    delta = members.unsubscribe(["/a//b"])
    assert [str(pattern) for pattern in delta.added] == ["/a/c/b[@n = 3]"]


def test_a_more_general_member_replaces_others_without_refinements() -> None:
    members = AggregatedSet(refine=False)
    members.subscribe(paths("/a/b", "/a/c"))
    delta = members.subscribe(paths("/a/*"))
    assert [str(pattern) for pattern in delta.added] == ["/a/*"]
    assert len(delta.removed) == 2
    members.unsubscribe(["/a/*"])
    assert texts(members) == {"/a/b", "/a/c"}


def test_covered_members_are_refinements() -> None:
    members = AggregatedSet()
    members.subscribe(paths("/a/b", "/a/c"))
    delta = members.subscribe(paths("/a/*"))
    assert [str(pattern) for pattern in delta.added] == ["/a/*"]
    assert not delta.removed
    assert texts(members) == {"/a/*"}
    assert set(map(str, members.patterns)) == {"/a/*", "/a/b", "/a/c"}
    assert str(members.deciding("/a/b")) == "/a/b"
    delta = members.unsubscribe(["/a/*"])
    assert not delta.added
    assert texts(members) == {"/a/b", "/a/c"}


def test_beyond_the_bound_refinements_are_dropped_before_patterns_are_merged() -> None:
    members = AggregatedSet(bound=10)
    members.subscribe(paths("//b", "/a/b", "/a/b/c", "/a/b/c/d"))
    assert set(map(str, members.patterns)) == {"//b", "/a/b", "/a/b/c", "/a/b/c/d"}
    delta = members.subscribe(paths("/x"))
    assert [str(pattern) for pattern in delta.added] == ["/x"]
    assert delta.removed == (Pattern.of_path("/a/b/c/d").digest,)
    assert members.deciding("/a/b/c/d") is None
    members.subscribe(paths("/y/z", "/y/w"))
    assert texts(members) == {"//b", "/x", "/y/z", "/y/w"}
    assert set(map(str, members.patterns)) == {"//b", "/a/b", "/x", "/y/z", "/y/w"}
    assert str(members.pattern_for("/a/b/c")) == "/a/b"
    members.unsubscribe(["/x", "/y/z", "/y/w"])
    assert str(members.deciding("/a/b/c/d")) == "/a/b/c/d"


def test_refinements_of_many_members_are_kept_first() -> None:
    members = AggregatedSet(bound=5)
    members.subscribe(paths("//b", "/a/b", "/a/c/b"))
    assert set(map(str, members.patterns)) == {"//b", "/a/b"}
    delta = members.subscribe({"again": Pattern.of_path("/a/c/b")})
    assert [str(pattern) for pattern in delta.added] == ["/a/c/b"]
    assert set(map(str, members.patterns)) == {"//b", "/a/c/b"}
    members.unsubscribe(["again"])
    assert set(map(str, members.patterns)) == {"//b", "/a/b"}


def test_an_equivalent_pattern_is_no_refinement() -> None:
    members = AggregatedSet()
    members.subscribe(paths("/a/b", "/a[b]"))
    (pattern,) = members.patterns
    assert members.deciding("/a/b") == members.deciding("/a[b]") == pattern


def test_one_delta_adds_and_removes() -> None:
    members, replica = AggregatedSet(), AggregateReplica()
    replica.apply(members.subscribe(paths("/a", "/b")))
    delta = members.change(paths("/c", "/b/d"), ["/a", "/b"])
    assert {str(pattern) for pattern in delta.added} == {"/c", "/b/d"}
    assert len(delta.removed) == 2
    replica.apply(delta)
    assert replica.patterns == members.patterns
    digest = members.digest
    for wrong in ((paths("/e"), ["/e"]), (paths("/c"), ["/b/d"])):
        with pytest.raises(PenstockError):
            members.change(*wrong)
    assert members.digest == digest


def test_a_member_with_a_merged_pattern_makes_it_exact() -> None:
    members = AggregatedSet(bound=3)
    members.subscribe(paths("/a/b", "/a/c"))
    (merged,) = members.patterns
    assert str(merged) == "/a/*"
    assert not members.is_exact(merged)
    assert members.equivalents_of(merged) == frozenset()
    assert not members.subscribe(paths("/a/*"))
    assert members.is_exact(merged)
    assert members.equivalents_of(merged) == {"/a/*"}


def test_equivalent_members_are_known() -> None:
    members = AggregatedSet()
    members.subscribe(paths("/a[b]", "/a/b"))
    (pattern,) = members.roots
    assert members.equivalents_of(pattern) == {"/a[b]", "/a/b"}


def test_the_sample_decides_which_patterns_are_merged() -> None:
    asked = paths("/a/b/c", "/a/b/d", "/a/e/f", "/a/e/g")
    # Merging below `b` forwards these, merging below `e` forwards nothing more.
    harmful = SampledDocuments.of([b"<a><b><x/></b></a>"] * 5)
    members = AggregatedSet.build(asked, bound=9, sample=harmful)
    assert texts(members) == {"/a/b/c", "/a/b/d", "/a/e/*"}
    harmful = SampledDocuments.of([b"<a><e><x/></e></a>"] * 5)
    delta = members.resample(harmful)
    assert not delta, "a sample alone does not make room"
    members.unsubscribe(["/a/b/c"])
    assert texts(members) == {"/a/b/d", "/a/e/f", "/a/e/g"}
    members.subscribe(paths("/a/b/c"))
    assert texts(members) == {"/a/b/*", "/a/e/f", "/a/e/g"}


def test_the_last_resort_is_the_universal_pattern_and_it_is_left_again() -> None:
    members = AggregatedSet(bound=1)
    members.subscribe({"k": Pattern.of_keywords("storm"), **paths("/a/b")})
    assert texts(members) == {"/*"}
    members.unsubscribe(["/a/b"])
    assert texts(members) == {"storm"}


def test_one_pattern_beyond_the_bound_is_generalised() -> None:
    members = AggregatedSet(bound=2)
    members.subscribe(paths("/a/b/c"))
    assert texts(members) == {"/a/b"}
    assert not members.is_exact(members.patterns[0])
    assert members.members_of(members.patterns[0]) == {"/a/b/c"}


def test_a_deep_forest_is_handled_without_recursion() -> None:
    members = AggregatedSet(bound=10_000)
    chain = [Pattern.of_path("/a" + "/b" * depth) for depth in range(1, 60)]
    for pattern in reversed(chain):
        members.subscribe({str(pattern): pattern})
    assert texts(members) == {"/a/b"}
    for pattern in chain[:-1]:
        members.unsubscribe([str(pattern)])
    assert texts(members) == {str(chain[-1])}


@pytest.mark.parametrize("percent", [50, 10])
def test_merging_uses_most_of_the_bound(percent: int) -> None:
    news = workload("paths-sparse")
    queries = Random(3).sample(news.queries(10_000), 600)
    asked = {query: Pattern.of_path(query) for query in queries}
    bound = sum(pattern.size for pattern in asked.values()) * percent // 100
    sample = SampledDocuments.of(news.documents(20, seed=3))
    built = AggregatedSet.build(asked, bound=bound, sample=sample, refine=False)
    assert 0.8 * bound <= built.size <= bound


def test_words_are_dropped_before_keyword_queries_are_merged() -> None:
    documents = [b"<a>storm coast</a>", b"<a>coast</a>", b"<a>calm</a>", b"<a>sea</a>"]
    members = AggregatedSet(bound=3, sample=SampledDocuments.of(documents))
    members.subscribe(
        {"s1": Pattern.of_keywords("storm coast"), "s2": Pattern.of_keywords("calm sea")}
    )
    # Every document with `storm` has `coast`; the other words also occur alone.
    assert texts(members) == {"storm", "calm sea"}


def test_keywords_are_aggregated() -> None:
    members = AggregatedSet(bound=3)
    members.subscribe(
        {
            "s1": Pattern.of_keywords("storm coast warning"),
            "s2": Pattern.of_keywords("storm coast flood"),
        }
    )
    assert texts(members) == {"coast storm"}


def test_duplicate_and_unknown_ids_are_refused_and_change_nothing() -> None:
    members = AggregatedSet()
    members.subscribe(paths("/a"))
    digest = members.digest
    with pytest.raises(PenstockError) as caught:
        members.subscribe(paths("/b", "/a"))
    assert caught.value.code == "subscription.duplicate"
    with pytest.raises(PenstockError) as caught:
        members.unsubscribe(["/a", "/b"])
    assert caught.value.code == "subscription.unknown"
    assert members.digest == digest
    assert "/a" in members
    assert "/b" not in members


def test_a_bound_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="bound") as caught:
        AggregatedSet(bound=0)
    assert isinstance(caught.value, PenstockError)
    assert caught.value.code == "routing.bound"


def test_a_lost_or_repeated_delta_is_noticed() -> None:
    members, replica = AggregatedSet(), AggregateReplica()
    first = members.subscribe(paths("/a"))
    second = members.subscribe(paths("/b"))
    with pytest.raises(PenstockError) as caught:
        replica.apply(second)
    assert caught.value.code == "routing.digest"
    replica.apply(first)
    with pytest.raises(PenstockError, match="another state"):
        replica.apply(first)
    replica.apply(second)
    forged = AggregateDelta(
        before=replica.digest, after=replica.digest, added=(Pattern.of_path("/c"),)
    )
    with pytest.raises(PenstockError, match="does not result"):
        replica.apply(forged)
    assert replica.digest == members.digest
    assert AggregateReplica(members.patterns).digest == members.digest
    assert ERRORS["routing.digest"].hint
