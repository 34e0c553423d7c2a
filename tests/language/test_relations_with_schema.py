"""The relations over valid documents, compared with all documents of small schemas."""

from __future__ import annotations

import random
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from penstock.language.relations.decisions import why_never
from penstock.language.xpath.ast import Path, Query
from support.fixtures.both_relations import contains, covers, overlaps
from support.strategies.queries import Vocabulary, linear_queries, queries
from support.strategies.tiny_documents import from_xml, select
from support.strategies.tiny_universes import TinyUniverse, takes, tiny_universes

PLAIN = Vocabulary(attributes=("p",), texts=("x", "xy", "1"), numbers=(1.0, 1.5), uris=("",))
DEPTH = 7
"""Deep enough for three names and queries of three steps."""


def short(query: Query) -> Query:
    return Query(tuple(Path(path.steps[-3:]) for path in query.branches))


LINEAR = linear_queries(replace(PLAIN, any_namespace=False)).map(short)


@given(tiny_universes(), LINEAR, LINEAR)
def test_containment_of_linear_paths_is_exact(schema: TinyUniverse, p: Query, q: Query) -> None:
    cases = schema.met_together((*p.branches, *q.branches))
    assert contains(p, q, schema) == (frozenset({1}) not in cases)
    assert (why_never(q, schema) is None) == any(1 in case for case in cases)


@given(tiny_universes(), LINEAR, LINEAR, LINEAR)
def test_containment_in_a_union_of_linear_paths_is_exact(
    schema: TinyUniverse, one: Query, two: Query, q: Query
) -> None:
    p = Query(one.branches + two.branches)
    cases = schema.met_together((*p.branches, *q.branches))
    assert contains(p, q, schema) == (frozenset({2}) not in cases)


@given(tiny_universes(), LINEAR, LINEAR)
def test_covering_and_overlap_of_linear_paths_are_exact(
    schema: TinyUniverse, p: Query, q: Query
) -> None:
    ways = list(schema.paths_down(DEPTH))
    of_p = {way for way in ways if takes(p.branches[0], way)}
    of_q = {way for way in ways if takes(q.branches[0], way)}

    covered = [any(way[:end] in of_p for end in range(1, len(way) + 1)) for way in of_q]
    covering = [any(way[:end] in of_q for end in range(1, len(way) + 1)) for way in of_p]
    assert covers(p, q, schema) == all(covered)
    assert overlaps(p, q, schema) == (any(covered) or any(covering))


@given(
    tiny_universes(),
    queries(PLAIN, max_branches=2, max_depth=1),
    queries(PLAIN, max_branches=1, max_depth=1),
    st.integers(0, 999),
)
def test_proofs_with_a_schema_hold_in_valid_documents(
    schema: TinyUniverse, p: Query, q: Query, seed: int
) -> None:
    contained, covered = contains(p, q, schema), covers(p, q, schema)
    apart, never = not overlaps(p, q, schema), why_never(q, schema) is not None
    chance = random.Random(seed)
    for _ in range(25):
        text = schema.document(chance)
        if text is None:
            assert never
            return
        document = from_xml(text)
        of_p, of_q = select(p, document), select(q, document)
        under = [not set(of_p).isdisjoint(node.up()) for node in of_q]
        above = [not set(of_q).isdisjoint(node.up()) for node in of_p]
        assert not (never and of_q), text
        assert not (contained and of_q and not of_p), text
        assert not (covered and not all(under)), text
        assert not (apart and (any(under) or any(above))), text


@given(
    tiny_universes(),
    queries(PLAIN, max_branches=1, max_depth=1),
    queries(PLAIN, max_branches=1, max_depth=1),
)
def test_a_schema_never_invalidates_a_proof(schema: TinyUniverse, p: Query, q: Query) -> None:
    if contains(p, q):
        assert contains(p, q, schema)
    if covers(p, q):
        assert covers(p, q, schema)
    if not overlaps(p, q):
        assert not overlaps(p, q, schema)
