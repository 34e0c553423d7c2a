"""Generated queries are reproducible, distinct, and have the requested proportions."""

from __future__ import annotations

import re

import pytest
from lxml import etree

from penstock.errors import WorkloadError
from penstock.lab.built_in_schemas import built_in_schema
from penstock.lab.workload import (
    DocumentGenerator,
    DocumentParameters,
    PredicateMix,
    QueryGenerator,
    QueryParameters,
    ValueParameters,
)
from penstock.language import parse
from penstock.schema import SchemaGraph, UnfoldLimits

NEWS = built_in_schema("news")
STEP = re.compile(r"(//?)(\*|[\w-]+)((?:\[[^\]]*\])*)")
ONLY_RANGES = PredicateMix(attribute_equality=0, attribute_range=1)
ONLY_CHILD_TEXT = PredicateMix(attribute_equality=0, child_text=1)
ONLY_OWN_TEXT = PredicateMix(attribute_equality=0, own_text=1)


def steps(query: str) -> list[tuple[str, str, str]]:
    """Axis, name and predicates of each step; a final attribute is left out."""
    found = STEP.findall(query)
    rest = STEP.sub("", query)
    assert re.fullmatch(r"(/@[\w-]+)?", rest), query
    return found


def drawn(count: int = 4000, **parameters: object) -> list[str]:
    options = {"distinct": False, "predicate_weights": (1.0,)} | parameters
    return QueryGenerator(NEWS, QueryParameters(**options)).queries(count)  # type: ignore[arg-type]


def test_queries_are_reproducible_by_seed() -> None:
    generator = QueryGenerator(NEWS)
    once = generator.queries(100, seed=1)
    assert once == QueryGenerator(NEWS).queries(100, seed=1)
    assert once[:60] == generator.queries(60, seed=1)
    assert once != generator.queries(100, seed=2)


def test_queries_are_distinct_unless_repeats_are_allowed() -> None:
    assert len(set(QueryGenerator(NEWS).queries(20_000))) == 20_000
    assert len(set(drawn(20_000))) < 20_000


def test_distinctness_leaves_the_share_of_predicates_alone() -> None:
    queries = QueryGenerator(NEWS, QueryParameters(depth_min=4)).queries(20_000)
    assert sum("[" in query for query in queries) / 20_000 == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize(
    ("wildcard", "descendant"), [(0.0, 0.0), (0.1, 0.1), (0.0, 0.5), (0.8, 0.2)]
)
def test_shares_of_wildcards_and_descendants(wildcard: float, descendant: float) -> None:
    queries = drawn(wildcard_probability=wildcard, descendant_probability=descendant)
    every = [step for query in queries for step in steps(query)]
    assert sum(axis == "//" for axis, _, _ in every) / len(every) == pytest.approx(
        descendant, abs=0.02
    )
    assert sum(name == "*" for _, name, _ in every) / len(every) == pytest.approx(
        wildcard, abs=0.02
    )
    both = sum(axis == "//" and name == "*" for axis, name, _ in every) / len(every)
    assert both == pytest.approx(wildcard * descendant, abs=0.02), "they are independent"


def test_depths_fill_their_range_evenly() -> None:
    depths = [len(steps(query)) for query in drawn(depth_min=3, depth_max=6)]
    assert min(depths) == 3
    assert max(depths) == 6
    assert sum(depth == 6 for depth in depths) / len(depths) == pytest.approx(0.25, abs=0.05)
    assert {len(steps(query)) for query in drawn(depth_min=6, depth_max=6)} == {6}


def test_a_skew_prefers_first_children_and_a_negative_one_last_children() -> None:
    shares = [
        sum("/head" in query for query in drawn(1000, depth_min=2, child_skew=skew)) / 1000
        for skew in (3.0, 0.0, -3.0)
    ]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] > 0.5
    assert shares[2] < 0.2


def test_a_descendant_step_may_skip_a_level() -> None:
    chain = SchemaGraph.from_dtd(
        "<!ELEMENT a (b)><!ELEMENT b (c)><!ELEMENT c (d)><!ELEMENT d EMPTY>"
    )

    def last_steps(skips: bool) -> set[str]:
        parameters = QueryParameters(
            depth_min=2,
            depth_max=2,
            wildcard_probability=0,
            descendant_probability=0.5,
            descendant_skips=skips,
            distinct=False,
            predicate_weights=(1.0,),
        )
        return set(QueryGenerator(chain, parameters).queries(200))

    assert last_steps(skips=False) == {"/a/b", "/a//b", "//a/b", "//a//b"}
    assert last_steps(skips=True) == {"/a/b", "/a//c", "//b/c", "//b//d"}


@pytest.mark.parametrize(
    ("mix", "shape"),
    [
        (PredicateMix(), r"@[\w-]+ = ('[^']+'|\d+)"),
        (ONLY_RANGES, r"@[\w-]+ (<|<=|>|>=) \d+"),
        (ONLY_CHILD_TEXT, r"[\w-]+ = ('[^']+'|\d+)"),
        (ONLY_OWN_TEXT, r"\. = ('[^']+'|\d+)"),
    ],
)
def test_kinds_of_predicates(mix: PredicateMix, shape: str) -> None:
    queries = drawn(500, predicate_weights=(0.0, 0.5, 0.5), predicate_mix=mix)
    predicates = [re.findall(r"\[([^\]]*)\]", query) for query in queries]
    assert {len(found) for found in predicates} == {1, 2}
    assert all(re.fullmatch(shape, one) for found in predicates for one in found)


def test_counts_of_predicates_and_nested_paths() -> None:
    queries = drawn(predicate_weights=(0.2, 0.5, 0.3), nested_path_weights=(0.4, 0.6))
    values = [len(re.findall(r"\[@[^\]]*\]", query)) for query in queries]
    nested = [query.count("[") - count for query, count in zip(queries, values, strict=True)]
    shares = [values.count(number) / len(values) for number in range(3)]
    assert shares == pytest.approx([0.2, 0.5, 0.3], abs=0.04)
    assert nested.count(1) / len(nested) == pytest.approx(0.6, abs=0.04)
    for query in queries:
        etree.XPath(query)


def test_nested_paths_have_bounded_depth() -> None:
    queries = drawn(
        500, nested_path_weights=(0.0, 1.0), nested_depth_max=3, descendant_probability=0.0
    )
    depths = {one.count("/") + 1 for query in queries for one in re.findall(r"\[([^\]]*)\]", query)}
    assert depths == {1, 2, 3}


def test_attribute_leaves() -> None:
    queries = drawn(depth_min=3, attribute_leaf_probability=1.0)
    labels = [(steps(query)[-1][1], "/@" in query) for query in queries]
    for label, leaf in labels:
        if label != "*":
            assert leaf == bool(NEWS.elements[label].attributes), label


def test_values_of_predicates_are_values_of_documents() -> None:
    schema = SchemaGraph.from_dtd("""
        <!ELEMENT shop (item*)> <!ELEMENT item (name)> <!ELEMENT name (#PCDATA)>
        <!ATTLIST item code CDATA #REQUIRED price CDATA #REQUIRED>""")
    values = ValueParameters(count=10)
    parameters = QueryParameters(
        depth_min=2,
        predicate_weights=(0.0, 1.0),
        predicate_mix=PredicateMix(attribute_range=1, child_text=1, own_text=1),
        values=values,
        distinct=False,
    )
    documents = DocumentGenerator(schema, DocumentParameters(values=values)).documents(3)
    trees = [etree.fromstring(one).getroottree() for one in documents]
    queries = QueryGenerator(schema, parameters).queries(200)
    hits = sum(any(tree.xpath(query) for tree in trees) for query in queries)
    assert hits / len(queries) > 0.8


def test_a_schema_with_too_few_queries_is_exhausted() -> None:
    small = SchemaGraph.from_dtd("<!ELEMENT a (b)><!ELEMENT b EMPTY>")
    with pytest.raises(WorkloadError, match="found only") as caught:
        QueryGenerator(small, QueryParameters(predicate_weights=(1.0,))).queries(1000)
    assert caught.value.code == "lab.exhausted"
    with pytest.raises(WorkloadError, match="no path has 3 steps"):
        QueryGenerator(small, QueryParameters(depth_min=3))


@pytest.mark.parametrize(
    "parameters",
    [
        {"depth_min": 0},
        {"depth_min": 4, "depth_max": 3},
        {"wildcard_probability": -0.1},
        {"descendant_probability": 2},
        {"predicate_weights": ()},
        {"predicate_weights": (0.0, 0.0)},
        {"nested_path_weights": (-1.0, 2.0)},
        {"child_skew": float("inf")},
    ],
)
def test_parameters_are_validated(parameters: dict[str, object]) -> None:
    with pytest.raises(WorkloadError) as caught:
        QueryParameters(**parameters)  # type: ignore[arg-type]
    assert caught.value.code == "lab.parameter"


def test_a_mix_of_no_predicates_is_refused() -> None:
    with pytest.raises(WorkloadError):
        PredicateMix(attribute_equality=0)


def test_every_query_is_in_the_language_and_can_match() -> None:
    parameters = QueryParameters(
        nested_path_weights=(0.5, 0.5),
        attribute_leaf_probability=0.2,
        predicate_mix=PredicateMix(attribute_range=1, child_text=1, own_text=1),
    )
    for query in QueryGenerator(NEWS, parameters).queries(60):
        assert NEWS.expand(parse(query), UnfoldLimits(size_max=5000)).paths, query


def test_share_of_steps_with_a_branch() -> None:
    queries = drawn(branching_probability=0.3, nested_depth_max=1, depth_min=2, depth_max=4)
    every = [step for query in queries for step in steps(query)]
    branches = sum(predicates.count("[") for _, _, predicates in every)
    # All but leaves have children; no step has two branches.
    assert 0.2 < branches / len(every) <= 0.31
    assert max(predicates.count("[") for _, _, predicates in every) == 1
    assert not any("[" in query for query in drawn())
    with pytest.raises(WorkloadError):
        QueryParameters(branching_probability=1.5)
