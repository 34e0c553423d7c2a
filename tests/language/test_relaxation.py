"""Relaxed queries, and queries that a skeleton or a prefix decides."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import Matcher, SubscriptionIndex
from penstock.language import Query, parse, to_text
from penstock.language.xpath.ast import Kind, Path
from penstock.language.xpath.prefix_decision import is_decided_in_prefix
from penstock.language.xpath.relaxation import is_decided_by_skeleton, relaxed, required_elements
from penstock.matching.label_paths import LabelPaths
from support.strategies.documents import (
    ATTRIBUTE_NAMES,
    ELEMENT_NAMES,
    NAMESPACE_URIS,
    VALUES,
    documents,
)
from support.strategies.queries import Vocabulary, linear_queries, queries

VOCABULARY = Vocabulary(
    elements=ELEMENT_NAMES,
    attributes=ATTRIBUTE_NAMES,
    uris=("", *NAMESPACE_URIS),
    texts=VALUES,
)
some_queries: st.SearchStrategy[Query] = st.one_of(
    queries(VOCABULARY),
    queries(VOCABULARY, max_branches=1, max_depth=1),
    linear_queries(VOCABULARY),
)


def matcher(query: Query) -> Matcher:
    index, printed = SubscriptionIndex(), to_text(query)
    index.add("q", printed.text, namespaces=printed.namespaces)
    return index.matcher()


def matches(query: Query, document: bytes) -> bool:
    return bool(matcher(query).match(document).ids)


def label_paths_of(document: bytes) -> LabelPaths:
    found = SubscriptionIndex().matcher().match(document, label_paths=True).label_paths
    assert found is not None
    return found


def skeleton_of(document: bytes) -> bytes:
    """A document with one element for each label path."""
    paths = label_paths_of(document).paths

    def element(number: int) -> str:
        path = paths[number]
        attributes = "".join(
            f" p{at}:{name.local}='' xmlns:p{at}='{name.uri}'" if name.uri else f" {name.local}=''"
            for at, name in enumerate(path.attributes)
        )
        children = (at for at, each in enumerate(paths) if each.parent == number)
        start = f"<{path.name.local} xmlns='{path.name.uri}'{attributes}>"
        return f"{start}{''.join(map(element, children))}</{path.name.local}>"

    return element(0).encode()


@given(documents, some_queries)
def test_the_skeleton_of_a_match_matches_the_relaxed_query(document: bytes, query: Query) -> None:
    skeleton = skeleton_of(document)
    general = relaxed(query)
    if matches(query, document):
        assert matches(general, document)
        assert matches(general, skeleton)
    if is_decided_by_skeleton(query):
        assert general == query
        assert matches(query, skeleton) == matches(query, document)


@given(documents, some_queries)
def test_a_match_has_the_required_elements(document: bytes, query: Query) -> None:
    names = {path.name for path in label_paths_of(document)}
    if matches(query, document):
        assert required_elements(query) <= names


@given(documents, some_queries)
def test_a_prefix_with_all_selected_elements_decides(document: bytes, query: Query) -> None:
    if not is_decided_in_prefix(query):
        return
    selected = matcher(without_predicates(query)).select(document, ["q"])["q"]
    ends = [span.end for fragment in selected for span in fragment.spans]
    # Attributes and texts end with the element that has them.
    if any(branch.steps[-1].kind is not Kind.ELEMENT for branch in query.branches):
        ends += [path.end for path in label_paths_of(document)]
    prefix = matcher(query).match_prefix(document, stop_at=max(ends, default=0))
    assert bool(prefix.ids) == matches(query, document)


def without_predicates(query: Query) -> Query:
    """What the query could select."""
    return Query(
        tuple(
            Path(tuple(replace(step, predicates=()) for step in branch.steps))
            for branch in query.branches
        )
    )


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("/a[@n = 1]/b[c]", True),
        ("/a[@n]/b[position() = 2]", True),
        ("/a[not(@n)]/b[c[last()] = 3]", True),
        ("//a[2]/b", True),
        ("//a[b = 1]/@id", True),
        ("//a[b = 1]/text()", True),
        ("//a[b = 1]//@id", False),
        ("/a[b]/c", False),
        ("/a[. = 'x']/c", False),
        ("/a/b[last()]", False),
        ("/a/b[not(position() = last())]", False),
        ("/a[.//@id]/b", False),
        ("/a[@x = @y]/b", False),
        ("/a/b | /a[c]/d", False),
    ],
)
def test_prefix_decision(query: str, expected: bool) -> None:
    assert is_decided_in_prefix(parse(query)) is expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("/a[b or not(c)]/d", "/a/d"),
        ("/a[b and (c or d = 2)]", "/a[b and (c or d)]"),
        ("/a[contains(b, '')][contains(c, 'x')]", "/a[c]"),
        ("/a[count(b) > 2][lower-case(c) = 'x']", "/a"),
        ("/a[b = c]", "/a[b and c]"),
        ("/a[. = 'x']/text()", "/a"),
        ("/a[.//text() = 'x']", "/a"),
        ("/a[b[3]/c[d != 4]]", "/a[b/c[d]]"),
    ],
)
def test_relaxed_examples(query: str, expected: str) -> None:
    assert str(to_text(relaxed(parse(query)))) == expected
