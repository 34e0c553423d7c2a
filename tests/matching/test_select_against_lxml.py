"""The native evaluator of single queries agrees with lxml, including byte ranges."""

from __future__ import annotations

import re
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from penstock.language import to_text
from penstock.language.xpath.ast import Query
from support.fixtures.xpath2_functions import EXTENSIONS, NAMESPACES
from support.strategies.placed_documents import PlacedDocument, placed_documents
from support.strategies.queries import NAMESPACED, PLAIN, Vocabulary, queries

native = pytest.importorskip("penstock._native", reason="the native core is not built")

_ANY_NAMESPACE = re.compile(r"\*:(\w+)")


def assert_alike(document: PlacedDocument, query: Query) -> None:
    printed = to_text(query)
    selected = native.select(document.data, printed.text, list(printed.namespaces.items()))
    # lxml supports only XPath 1.0, here with the functions of 2.0. No string of the vocabularies
    # contains `*:`.
    text = _ANY_NAMESPACE.sub(r"*[local-name() = '\1']", printed.text)
    tree = etree.fromstring(document.data, etree.XMLParser(huge_tree=True)).getroottree()
    namespaces = {**NAMESPACES, **printed.namespaces}
    found = etree.XPath(text, namespaces=namespaces, extensions=EXTENSIONS)(tree)
    expected = document.ranges_of(cast("list[object]", found))
    assert selected == [(kind, [placed]) for kind, placed in expected]


def cases(vocabulary: Vocabulary) -> st.SearchStrategy[tuple[PlacedDocument, Query]]:
    return st.tuples(placed_documents(vocabulary), queries(vocabulary))


@given(cases(PLAIN))
def test_nodes_and_ranges_are_those_of_lxml(case: tuple[PlacedDocument, Query]) -> None:
    assert_alike(*case)


@given(cases(NAMESPACED))
def test_namespaces_are_those_of_lxml(case: tuple[PlacedDocument, Query]) -> None:
    assert_alike(*case)


FEW = Vocabulary(elements=("a",), attributes=("p",), texts=("", "1", "2"), numbers=(1.0, 2.0))
"""One name only: recursion everywhere."""


@given(cases(FEW))
def test_recursive_documents_agree_with_lxml(case: tuple[PlacedDocument, Query]) -> None:
    assert_alike(*case)


def test_deep_documents_agree_with_lxml() -> None:
    depth = 250
    document = b"<a>" * depth + b"<b/>" + b"</a>" * depth
    [(kind, [(start, end)])] = native.select(document, "//a[a]//a[not(a)]/b", [])
    assert (kind, start, end) == ("element", 3 * depth, 3 * depth + 4)


@pytest.mark.parametrize("query", ["/a[", "/p:a"])
def test_an_invalid_query_is_refused(query: str) -> None:
    with pytest.raises(ValueError, match="query"):
        native.select(b"<a/>", query, [])


def test_an_invalid_document_is_refused() -> None:
    with pytest.raises(ValueError, match=r"xml\."):
        native.select(b"<a>", "/a", [])
