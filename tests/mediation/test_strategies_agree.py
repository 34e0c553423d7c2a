"""Every rewriting strategy returns the matches and fragments of the reference."""

from __future__ import annotations

from collections.abc import Mapping as Mapped
from collections.abc import Sequence
from typing import get_args

import pyarrow as pa
import pytest
from hypothesis import given

from penstock.documents import Fragment
from penstock.matching import Matcher, SubscriptionIndex
from penstock.mediation import Mapping, MediatedMatcher, SchemaMatching, Way, derive
from penstock.schema import read_tree
from support.contracts.mediation_cases import (
    NAMESPACES,
    cases,
    cases_with_shared_elements,
    paths_to_all_nodes,
    query_texts,
)
from support.contracts.native_engines import NATIVE_ENGINES, needs_native

# The native engines are compared with the reference.
pytestmark = needs_native

STRATEGIES: tuple[Way, ...] = get_args(Way)

SHOP = """penstock mapping 1
a
  @x?
  => to-element @x as made
  => downgrade (c) into b
  => insert s (b, @x)
  b* text
    c*
  c* text
"""
"""Operators that interact: nodes are moved twice."""


def matcher_of(queries: Sequence[str], engine: str) -> Matcher:
    index = SubscriptionIndex(engine=engine)
    assert not index.add_many(queries, queries, namespaces=NAMESPACES)
    return index.matcher()


def found(
    matcher: MediatedMatcher, mapping: Mapping, document: bytes
) -> tuple[str | None, Mapped[str, Sequence[Fragment]], int]:
    """The refusal, the selection of each query, and the number of unknown elements."""
    matches = matcher.match(document, mapping, fragments=True)
    assert set(matches.ids) == set(matches.fragments)
    code = matches.errors[0].code if matches.errors else None
    return code, dict(matches.fragments), matches.counters.work.unknown


def check(mapping: Mapping, document: bytes, queries: Sequence[str]) -> None:
    expected = found(MediatedMatcher(matcher_of(queries, "reference")), mapping, document)
    for engine in NATIVE_ENGINES:
        matcher = matcher_of(queries, engine)
        for strategy in STRATEGIES:
            mediated = MediatedMatcher(matcher, way=strategy)
            assert found(mediated, mapping, document) == expected, (engine, strategy)
            for fragment in (each for parts in expected[1].values() for each in parts):
                fragment.to_xml()


@given(cases())
def test_each_node_is_where_the_reference_has_it(case: tuple[Mapping, bytes]) -> None:
    mapping, document = case
    check(mapping, document, paths_to_all_nodes(mapping, document))


@given(cases_with_shared_elements())
def test_shared_elements_are_where_the_reference_has_them(case: tuple[Mapping, bytes]) -> None:
    mapping, document = case
    check(mapping, document, paths_to_all_nodes(mapping, document))


@given(cases(), query_texts())
def test_any_query_selects_the_same_as_the_reference(
    case: tuple[Mapping, bytes], queries: list[str]
) -> None:
    mapping, document = case
    check(mapping, document, queries)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("engine", ["reference", *NATIVE_ENGINES])
def test_a_conjunction_of_two_children_inserted_below_one_element_matches(
    engine: str, strategy: Way
) -> None:
    local = read_tree("penstock schema 1\nc\n  a text\n  b text\n")
    target = read_tree("penstock schema 1\nc\n  s\n    x\n      a text\n    y\n      b text\n")
    matching = SchemaMatching.from_text("penstock matching 1\n/c /c\n/c/a /c/s/x/a\n/c/b /c/s/y/b")
    mapping = derive(local, target, matching).mapping
    query = "/c/s[x/a='1' and y/b='2']"
    mediated = MediatedMatcher(matcher_of([query, "/c/s[2]"], engine), way=strategy)
    assert list(mediated.match(b"<c><a>1</a><b>2</b></c>", mapping).ids) == [query]
    assert list(mediated.match(b"<c><a>1</a><b>3</b></c>", mapping).ids) == []


@pytest.mark.parametrize("encoding", ["utf-16", "iso-8859-1"])
def test_ranges_are_of_the_original_bytes_in_any_encoding(encoding: str) -> None:
    mapping = Mapping.from_text(SHOP)
    text = (
        f'<?xml version="1.0" encoding="{encoding}"?><a x="é"><b>é<c>1</c></b><c>é</c><b>2</b></a>'
    )
    document = text.encode(encoding)
    check(mapping, document, [*paths_to_all_nodes(mapping, document), "//s", "//c | //b"])


def test_deep_documents_are_rewritten_like_shallow_ones() -> None:
    mapping = Mapping.from_text(SHOP)
    deep = "<d>" * 400 + "x" + "</d>" * 400
    document = f"<a x='1'><b>{deep}<c/></b><b/><c>{deep}</c></a>".encode()
    check(mapping, document, ["//d[. = 'x'][not(d)]", "//s/b//d", "/a/s/b/c", "//b/c"])


def test_one_matcher_handles_documents_of_many_mappings() -> None:
    mappings = [
        Mapping.from_text(f"penstock mapping 1\na\n  => insert w{number} (b)\n  b*\n")
        for number in range(20)
    ]
    queries = [f"/a/w{number}/b" for number in range(20)]
    matcher = matcher_of(queries, "shared")
    for strategy in STRATEGIES:
        mediated = MediatedMatcher(matcher, way=strategy)
        rows = pa.array([b"<a><b/></a>"] * 40)
        batch = mediated.match_batch(rows, mappings * 2)
        assert batch.ids.to_pylist() == [[query] for query in queries * 2]
