"""A query that is printed and parsed again is the same query."""

from __future__ import annotations

import pickle

from hypothesis import given
from lxml import etree

from penstock.language import parse, to_text
from penstock.language.xpath.ast import Query
from support.strategies.queries import NAMESPACED, Vocabulary, queries

XPATH_1_0 = Vocabulary(uris=("", "urn:x", "urn:y"), any_namespace=False)


@given(queries(NAMESPACED))
def test_parsing_a_printed_query_returns_the_same_tree(query: Query) -> None:
    printed = to_text(query)
    assert parse(printed.text, namespaces=printed.namespaces) == query


@given(queries(XPATH_1_0))
def test_printed_queries_are_xpath_1_0(query: Query) -> None:
    printed = to_text(query)
    etree.XPath(printed.text, namespaces=dict(printed.namespaces))


@given(queries(NAMESPACED))
def test_trees_and_printed_queries_can_be_pickled(query: Query) -> None:
    assert pickle.loads(pickle.dumps(query)) == query
    assert pickle.loads(pickle.dumps(to_text(query))) == to_text(query)
