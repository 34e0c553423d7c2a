"""The engines of keyword subscriptions, for tests that run on each of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pytest

from penstock import KeywordIndex, KeywordMatcher
from support.contracts.native_engines import needs_native

KEYWORD_WAYS: Final = {
    "reference": ("reference", True),
    "postings": ("postings", True),
    "kale": ("kale", True),
    "kemb": ("kemb", True),
    "kemb without discarding": ("kemb", False),
}
"""Engines by name of the test, and whether they discard."""

NATIVE_KEYWORD_WAYS: Final = tuple(way for way in KEYWORD_WAYS if way != "reference")

keyword_ways: Final = (
    "reference",
    *(pytest.param(way, marks=needs_native) for way in NATIVE_KEYWORD_WAYS),
)
"""As parameters of a test."""


def keyword_index(way: str, queries: Mapping[str, str]) -> KeywordIndex:
    """An index for an engine, with these queries."""
    index = KeywordIndex(engine=KEYWORD_WAYS[way][0])
    assert index.add_many(queries.keys(), queries.values()) == {}
    return index


def keyword_matcher(way: str, queries: Mapping[str, str]) -> KeywordMatcher:
    """A matcher of an engine, with these queries."""
    return keyword_index(way, queries).matcher(discard=KEYWORD_WAYS[way][1])
