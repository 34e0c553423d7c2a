"""Queries: native parser and normal form agree with the reference: tree, or code and position."""

from __future__ import annotations

from collections.abc import Callable

from penstock.errors import QueryError
from penstock.language import parse, parse_normal
from penstock.language.xpath.ast import Query
from penstock.language.xpath.normal_form import normalise
from penstock.language.xpath.reference import parser as reference
from seed_inputs import seed_inputs

DICTIONARY = "queries.dict"

_PREFIXES = {"p": "urn:p", "q": "urn:q"}


def seeds() -> list[bytes]:
    """Those of the native target."""
    return seed_inputs()["queries"]


def run_input(data: bytes) -> None:
    """Parse a query with both parsers."""
    text = data.decode("utf-8", errors="surrogateescape")
    expected = _outcome(reference.parse, text)
    assert _outcome(parse, text) == expected
    if isinstance(expected, Query):
        normal = normalise(expected)
        assert normalise(normal) == normal
        assert _outcome(parse_normal, text) == normal


def _outcome(parser: Callable[..., Query], text: str) -> object:
    try:
        return parser(text, namespaces=_PREFIXES, default_namespace="urn:d")
    except QueryError as refused:
        return refused.code, refused.message, refused.where
