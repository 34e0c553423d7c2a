"""The native parser agrees with the reference on every text: tree, or code and position."""

from __future__ import annotations

import pytest
from hypothesis import example, given

from penstock.errors import QueryError, Where
from penstock.language import parse, to_text
from penstock.language.xpath.ast import Query
from penstock.language.xpath.reference import parser as reference
from penstock.native import native
from support.strategies.queries import NAMESPACED, mangled_texts, queries, token_soup

pytestmark = pytest.mark.skipif(native is None, reason="the native core is not built")

PREFIXES = {"p": "urn:x", "q": "urn:y"}
Outcome = Query | tuple[str, str, Where | None]


def outcome(parser: object, text: str, **options: object) -> Outcome:
    assert callable(parser)
    try:
        parsed = parser(text, **options)
    except QueryError as refused:
        return refused.code, refused.message, refused.where
    assert isinstance(parsed, Query)
    return parsed


def agree(text: str) -> None:
    plain = outcome(reference.parse, text, namespaces=PREFIXES, default_namespace="urn:d")
    assert outcome(parse, text, namespaces=PREFIXES, default_namespace="urn:d") == plain


@given(queries(NAMESPACED).map(lambda query: to_text(query, PREFIXES).text))
def test_they_agree_on_queries(text: str) -> None:
    agree(text)


@given(mangled_texts(queries(NAMESPACED).map(lambda query: to_text(query, PREFIXES).text)))
def test_they_agree_on_mangled_queries(text: str) -> None:
    agree(text)


@given(token_soup())
@example("a/descendant-or-self::node()//./b[--1]")
@example("\ud800")
@example("1" * 400 + " = a")
@example("a[. = " + "1" * 400 + "]")
def test_they_agree_on_random_tokens(text: str) -> None:
    agree(text)


@pytest.mark.parametrize(
    ("namespaces", "default_namespace"),
    [
        ({"": "urn:x"}, None),
        ({"p": ""}, None),
        ({"xmlns": "urn:x"}, None),
        ({"xml": "urn:x"}, None),
        ({"p": "urn:x", "é": "urn:y"}, "urn:d"),
        ({}, "http://www.w3.org/2000/xmlns/"),
        ({"xml": "http://www.w3.org/XML/1998/namespace"}, None),
    ],
)
def test_they_agree_on_namespace_maps(
    namespaces: dict[str, str], default_namespace: str | None
) -> None:
    options = {"namespaces": namespaces, "default_namespace": default_namespace}
    text = "/a/xml:b/@c"
    assert outcome(parse, text, **options) == outcome(reference.parse, text, **options)
