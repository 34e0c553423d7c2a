"""The engines of keyword subscriptions, for tests that run on each of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pytest

from penstock import KeywordIndex, KeywordMatcher, TokenizerOptions
from penstock.language.keywords.tokenizer_options import DEFAULT_TOKENIZER
from support.contracts.native_engines import needs_native

KEYWORD_ENGINES: Final = {
    "reference": ("reference", True),
    "postings": ("postings", True),
    "kale": ("kale", True),
    "kemb": ("kemb", True),
    "kemb without discarding": ("kemb", False),
}
"""The engine and its discard option, by name in the tests."""

NATIVE_KEYWORD_ENGINES: Final = tuple(
    engine_name for engine_name in KEYWORD_ENGINES if engine_name != "reference"
)

keyword_engine_params: Final = (
    "reference",
    *(pytest.param(engine_name, marks=needs_native) for engine_name in NATIVE_KEYWORD_ENGINES),
)
"""The engines as test parameters."""


def keyword_index(
    engine_name: str, queries: Mapping[str, str], tokenizer: TokenizerOptions = DEFAULT_TOKENIZER
) -> KeywordIndex:
    """An index for an engine, with these queries."""
    index = KeywordIndex(engine=KEYWORD_ENGINES[engine_name][0], tokenizer=tokenizer)
    assert index.add_many(queries.keys(), queries.values()) == {}
    return index


def keyword_matcher(
    engine_name: str, queries: Mapping[str, str], tokenizer: TokenizerOptions = DEFAULT_TOKENIZER
) -> KeywordMatcher:
    """A matcher of an engine, with these queries."""
    index = keyword_index(engine_name, queries, tokenizer)
    return index.matcher(discard=KEYWORD_ENGINES[engine_name][1])
