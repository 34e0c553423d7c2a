"""Every way of rewriting gives the matches and the fragments of the definition."""

from __future__ import annotations

from collections.abc import Mapping as Mapped
from collections.abc import Sequence
from typing import get_args

from hypothesis import given
from mediation_cases import NAMESPACES, cases, paths_to_all_nodes, query_texts

from penstock.documents import Fragment
from penstock.matching import Matcher, SubscriptionIndex
from penstock.mediation import Mapping, MediatedMatcher, Way

WAYS: tuple[Way, ...] = get_args(Way)


def matcher_of(queries: Sequence[str], engine: str) -> Matcher:
    index = SubscriptionIndex(engine=engine)
    assert not index.add_many(queries, queries, namespaces=NAMESPACES)
    return index.matcher()


def found(
    matcher: MediatedMatcher, mapping: Mapping, document: bytes
) -> tuple[str | None, Mapped[str, tuple[Fragment, ...]], int]:
    """Why it was refused, what each query selects, and how many elements are not known."""
    matches = matcher.match(document, mapping, fragments=True)
    assert set(matches.ids) == set(matches.fragments)
    code = matches.errors[0].code if matches.errors else None
    return code, dict(matches.fragments), matches.counters.work.unknown


def check(mapping: Mapping, document: bytes, queries: Sequence[str]) -> None:
    expected = found(MediatedMatcher(matcher_of(queries, "reference")), mapping, document)
    for engine in ("shared", "yfilter"):
        matcher = matcher_of(queries, engine)
        for way in WAYS:
            mediated = MediatedMatcher(matcher, way=way)
            assert found(mediated, mapping, document) == expected, (engine, way)
            for fragment in (each for parts in expected[1].values() for each in parts):
                fragment.to_xml()


@given(cases())
def test_each_node_is_where_the_definition_has_it(case: tuple[Mapping, bytes]) -> None:
    mapping, document = case
    check(mapping, document, paths_to_all_nodes(mapping, document))


@given(cases(), query_texts())
def test_any_query_selects_what_the_definition_says(
    case: tuple[Mapping, bytes], queries: list[str]
) -> None:
    mapping, document = case
    check(mapping, document, queries)
