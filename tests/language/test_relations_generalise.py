"""Generalisation: it contains both queries, stays in its fragment, and is as specific as
possible."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from penstock.language import parse, to_text
from penstock.language.relations.decisions import why_never
from penstock.language.relations.reference import decisions as reference
from penstock.language.xpath.ast import (
    And,
    Axis,
    Compare,
    Contains,
    Exists,
    Expr,
    Kind,
    NameTest,
    Path,
    Query,
    StartsWith,
    Step,
)
from penstock.schema import SchemaGraph
from support.fixtures.both_relations import contains, covers, generalise
from support.strategies.queries import Vocabulary, linear_queries, queries
from support.strategies.tiny_universes import TinyUniverse, tiny_universes

SMALL = Vocabulary(elements=("a", "b"), texts=("x", "xy", "1"), numbers=(1.0, 1.5, 2.0))
ELEMENTS = replace(SMALL, any_namespace=False)
REFERENCE = "penstock.language.relations.reference"

EXAMPLES = [
    ("/a/b", "/a/b", "/a/b"),
    ("/news/item/title", "/news/flash/title", "/news/*/title"),
    ("/a/b/c", "/a/x/y/c", "/a/*//c"),
    ("/a/*//b", "/a//*/b", "/a//*//b"),
    ("//x/b", "/a/b", "//*/b"),
    ("//a//a//a", "//a/a", "//a//a"),
    ("/a/@p", "/a/@q", "/a/@*"),
    ("/a/@p", "/a/text()", "/a"),
    ("/a", "/b", "/*"),
    ("/a | /a/c", "/a/b", "/a"),
    ("/a[b][c]", "/a[c][d]", "/a[c]"),
    ("/a[b or c]", "/a[b][d]", "/a[*]"),
    ("/a[not(b)]", "/a[2]", "/a"),
    # values
    ("/a[@n = 3]", "/a[@n = 7]", "/a[@n >= 3][@n <= 7]"),
    ("/a[@n = 3]", "/a[@n < 7]", "/a[@n < 7]"),
    ("/a[@n < 3]", "/a[@n > 7]", "/a[@n]"),
    ("/a[b < 10]", "/a[b > 20][b < 30]", "/a[b < 30]"),
    ("/a[@n = 'x1']", "/a[@n = 'x2']", "/a[@n[starts-with(., 'x')]]"),
    ("/a[@n = 'x']", "/a[@n != 'y']", "/a[@n != 'y']"),
    ("/a[@n = 'x']", "/a", "/a"),
]


@pytest.mark.parametrize(("p", "q", "general"), EXAMPLES)
def test_examples(p: str, q: str, general: str) -> None:
    assert str(to_text(generalise(parse(p), parse(q)))) == general


def test_common_namespaces_are_preserved() -> None:
    spaces = {"n": "urn:n", "m": "urn:m"}
    assert generalise(parse("/n:a", namespaces=spaces), parse("/n:b", namespaces=spaces)) == parse(
        "/n:*", namespaces=spaces
    )
    assert generalise(parse("/n:a", namespaces=spaces), parse("/m:a", namespaces=spaces)) == parse(
        "/*:a"
    )


def test_a_schema_makes_the_generalisation_more_specific() -> None:
    schema = SchemaGraph.from_dtd(
        "<!ELEMENT a (b)> <!ELEMENT b (c, d)> <!ELEMENT c EMPTY> <!ELEMENT d EMPTY>"
    )
    assert generalise(parse("//c"), parse("/a/b/d")) == parse("//*")
    assert generalise(parse("//c"), parse("/*/b/c"), schema) == parse("/a/b/c")
    assert contains(generalise(parse("//c"), parse("//d"), schema), parse("//b"), schema)


def test_with_a_schema_wildcards_may_remain() -> None:
    schema = SchemaGraph.from_dtd("<!ELEMENT a (b?, a?)> <!ELEMENT b (a?)>", roots=["a"])
    deeper, root = parse("/a[.//*/b]"), parse("/a")
    assert generalise(deeper, deeper, schema) == deeper
    assert generalise(deeper, root, schema) == root


def test_beyond_its_limits_the_result_is_more_general(monkeypatch: pytest.MonkeyPatch) -> None:
    p, q = parse("/a[b/c][d/e]/f"), parse("/a[b/c][d/e]/f/g")
    assert reference.generalise(p, q) == p
    monkeypatch.setattr(
        "penstock.language.relations.reference.generalisation.MAX_GENERALISED_NODES", 3
    )
    smaller = reference.generalise(p, q)
    assert reference.contains(smaller, p)
    assert not reference.contains(p, smaller)
    monkeypatch.setattr(f"{REFERENCE}.prover.MAX_PROOF_STEPS", 0)
    assert reference.generalise(p, q) == parse("/*")


def in_fragment(path: Path) -> bool:
    """Whether a path has no ``or``, ``not`` or position anywhere."""
    return all(fine(each) for step in path.steps for each in step.predicates)


def fine(expr: Expr) -> bool:
    if isinstance(expr, And):
        return all(map(fine, expr.items))
    return isinstance(expr, Exists | Compare | Contains | StartsWith) and in_fragment(expr.path)


def check(p: Query, q: Query, schema: TinyUniverse | None = None) -> Query:
    general = generalise(p, q, schema)
    assert contains(general, p, schema)
    assert contains(general, q, schema)
    assert len(general.branches) == 1
    assert in_fragment(general.branches[0])
    return general


def linear_paths(steps: int) -> Iterator[Query]:
    tests = (NameTest("", "a"), NameTest("", "b"), NameTest())
    one = [Step(axis, Kind.ELEMENT, test) for axis in Axis for test in tests]
    for length in range(1, steps + 1):
        for made in product(one, repeat=length):
            yield Query((Path(made),))


@given(linear_queries(ELEMENTS), linear_queries(ELEMENTS))
def test_no_linear_path_lies_between_linear_paths_and_their_generalisation(
    p: Query, q: Query
) -> None:
    assume(why_never(p) is None and why_never(q) is None)  # else there is nothing to contain
    general = check(p, q)
    for between in linear_paths(3):
        if contains(general, between) and contains(between, p) and contains(between, q):
            assert contains(between, general), str(to_text(between))


@given(linear_queries(ELEMENTS), linear_queries(ELEMENTS))
def test_nodes_of_linear_paths_are_covered(p: Query, q: Query) -> None:
    general = generalise(p, q)
    assert covers(general, p)
    assert covers(general, q)


@given(queries(SMALL, max_branches=2), queries(SMALL, max_branches=2))
def test_the_generalisation_of_any_two_contains_both(p: Query, q: Query) -> None:
    check(p, q)


@given(tiny_universes(), queries(SMALL, max_depth=1), queries(SMALL, max_depth=1))
def test_with_a_schema_it_contains_both_in_valid_documents(
    schema: TinyUniverse, p: Query, q: Query
) -> None:
    check(p, q, schema)


@given(st.lists(queries(SMALL, max_branches=1, max_depth=1), min_size=2, max_size=4))
def test_several_queries_are_generalised_to_one(several: list[Query]) -> None:
    general = several[0]
    for query in several[1:]:
        general = generalise(general, query)
    assert contains(general, Query(tuple(path for query in several for path in query.branches)))
