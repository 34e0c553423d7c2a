"""Clusters of places of several schemas: average linkage over all pairs of schemas."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.documents import read_events
from penstock.mediation import Abbreviations, integrate
from penstock.mediation.integration import progressive_merge
from penstock.mediation.integration.average_linkage import AverageLinkage
from penstock.mediation.integration.place_clusters import cluster_places
from penstock.mediation.integration.sources import Source
from penstock.schema import SampleSummary, SampleValues, SchemaTree, print_tree, read_tree
from support.strategies.schemas import schema_trees

FEWER = max(settings().max_examples // 3, 1)


def tree(outline: str) -> SchemaTree:
    return read_tree(f"penstock schema 1\n{outline}")


def clusters_of(*outlines: str) -> list[set[str]]:
    sources = [Source(tree(each)) for each in outlines]
    found = cluster_places(sources, Abbreviations.shipped())
    return [{f"{number}{place}" for number, place in members} for members in found.members]


# Linkage


def merged_plainly(sources: list[int], weights: dict[tuple[int, int], int]) -> list[list[int]]:
    """The reference: compares all pairs of clusters in each step."""
    found = [[number] for number in range(len(sources))]
    while True:
        ranked = []
        for one, other in combinations(range(len(found)), 2):
            pairs = [(min(a, b), max(a, b)) for a in found[one] for b in found[other]]
            is_apart = all(sources[a] != sources[b] for a, b in pairs)
            mean = sum(weights.get(pair, 0) for pair in pairs) / len(pairs)
            if is_apart and mean >= 1:
                ranked.append((-mean, found[one][0], found[other][0], one, other))
        if not ranked:
            return sorted(sorted(each) for each in found)
        *_, one, other = min(ranked)
        found[one] += found.pop(other)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=9), st.data())
def test_clusters_are_those_of_the_plain_algorithm(sources: list[int], data: st.DataObject) -> None:
    pairs = [
        pair
        for pair in combinations(range(len(sources)), 2)
        if sources[pair[0]] != sources[pair[1]]
    ]
    some = st.dictionaries(st.sampled_from(pairs), st.integers(1, 4)) if pairs else st.just({})
    weights = data.draw(some)
    linkage = AverageLinkage(sources)
    for (one, other), weight in weights.items():
        linkage.add(one, other, weight)
    linkage.merge_all()
    assert sorted(linkage.clusters()) == merged_plainly(sources, weights)


# Clusters


def test_a_place_meets_others_through_a_third_schema() -> None:
    names = "anfang", "anfang_start", "anfang_start", "start"
    outlines = [f"list\n  title text\n  {name} text\n" for name in names]
    assert {f"{number}/list/{name}" for number, name in enumerate(names)} in clusters_of(*outlines)
    directly = clusters_of(outlines[0], outlines[-1])
    assert {"0/list/anfang"} in directly


@settings(max_examples=FEWER)
@given(st.lists(schema_trees(), min_size=1, max_size=4))
def test_clusters_are_a_partition_with_one_place_of_each_schema(schemas: list[SchemaTree]) -> None:
    found = cluster_places([Source(each) for each in schemas], Abbreviations.shipped())
    members = [member for cluster in found.members for member in cluster]
    places = [(number, each) for number, one in enumerate(schemas) for each in one.places()]
    assert sorted(members, key=str) == sorted(places, key=str)
    for cluster in found.members:
        assert len({number for number, _ in cluster}) == len(cluster)


def test_elements_are_one_concept_if_they_contain_the_same_concepts() -> None:
    # The names of the records and of half of their contents have nothing in common.
    shared = "{0}days text\n{0}room text\n{0}instructor text\n"
    flat = "root\n  qwerty*\n" + shared.format("    ") + "    ab text\n    cd text\n"
    deep = "root\n  zyx*\n    gh text\n    ij text\n    uvw\n" + shared.format("      ")
    found = clusters_of(flat, flat.replace("qwerty", "asdf"), deep)
    assert {"0/root/qwerty", "1/root/asdf", "2/root/zyx"} in found
    assert {"0/root", "1/root", "2/root"} in found
    assert {"2/root/zyx/uvw"} in found


# Integration


def test_a_schema_of_one_record_is_placed_inside_the_list_of_records() -> None:
    fields = "title text\n{0}units text\n{0}days text\n{0}room text\n{0}instructor text\n"
    lists = ["catalogue\n  course*\n    " + fields.format("    ") for _ in range(2)]
    record = "course\n  @id\n  " + fields.format("  ") + "  note text\n"
    schema = integrate("d", [tree(each) for each in (record, *lists)]).schema
    assert [str(place) for place in schema.tree.places()][:2] == ["/catalogue", "/catalogue/course"]


def test_values_join_what_names_do_not() -> None:
    documents = [
        b"<l><r><aa>MATH 101</aa><bb>9:30am</bb></r><r><aa>ART 22</aa><bb>1:00pm</bb></r></l>",
        b"<l><r><yy>10:45am</yy><zz>MATH 343</zz></r><r><yy>2:15pm</yy><zz>ART 10</zz></r></l>",
    ]
    trees = [SampleSummary.of(read_events(each)).tree() for each in documents]
    values = [SampleValues.of(read_events(each)) for each in documents]
    assert len(integrate("d", trees).added) == 6
    assert len(integrate("d", trees, values=values).added) == 4
    others = integrate("d", trees[::-1], values=values[::-1])
    assert others.schema == integrate("d", trees, values=values).schema


@pytest.mark.parametrize("limit", ["CLUSTERED_SCHEMAS_MAX", "CLUSTERED_PAIRS_MAX"])
def test_schemas_beyond_the_limits_join_one_by_one(
    limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = [
        f"<l><r><{a}>MATH 101</{a}><{b}>9:30am</{b}></r></l>".encode()
        for a, b in (("aa", "bb"), ("yy", "zz"), ("vv", "ww"), ("pp", "qq"))
    ]
    trees = [SampleSummary.of(read_events(each)).tree() for each in documents]
    values = [SampleValues.of(read_events(each)) for each in documents]
    expected = integrate("d", trees, values=values)
    monkeypatch.setattr(progressive_merge, limit, 2)
    found = integrate("d", trees, values=values)
    assert print_tree(found.schema.tree) == print_tree(expected.schema.tree)
    assert [each.pairs for each in found.matchings] == [each.pairs for each in expected.matchings]
