"""Every engine gives what the reference gives, on generated documents and queries."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from document_strategies import (
    ATTRIBUTE_NAMES,
    ELEMENT_NAMES,
    NAMESPACE_URIS,
    VALUES,
    chunks_of,
    deep_documents,
    documents,
    perhaps_broken,
)
from hypothesis import given
from hypothesis import strategies as st
from native_engines import NATIVE_ENGINES
from query_strategies import Vocabulary, queries

from penstock import Matcher, Matches, SubscriptionIndex
from penstock.language import PrintedQuery, to_text

pytestmark = pytest.mark.parametrize("engine", NATIVE_ENGINES)

VOCABULARY = Vocabulary(
    elements=ELEMENT_NAMES,
    attributes=ATTRIBUTE_NAMES,
    uris=("", *NAMESPACE_URIS),
    texts=VALUES,
)
some_queries = st.lists(queries(VOCABULARY).map(to_text), min_size=1, max_size=12)


def matcher(engine: str, printed: Sequence[PrintedQuery]) -> Matcher:
    index = SubscriptionIndex(engine=engine)
    for number, query in enumerate(printed):
        index.add(str(number), query.text, namespaces=query.namespaces)
    return index.matcher()


def assert_alike(engine: Matches, reference: Matches) -> None:
    assert set(engine) == set(reference)
    assert len(engine) == len(reference)
    assert engine.fragments == reference.fragments
    assert bool(engine.errors) == bool(reference.errors)
    assert engine.counters == reference.counters


@given(documents, some_queries)
def test_matches_and_fragments(engine: str, document: bytes, printed: list[PrintedQuery]) -> None:
    expected = matcher("reference", printed).match(document, fragments=True)
    assert expected.errors == ()
    assert_alike(matcher(engine, printed).match(document, fragments=True), expected)


@given(deep_documents, some_queries)
def test_deep_documents(engine: str, document: bytes, printed: list[PrintedQuery]) -> None:
    expected = matcher("reference", printed).match(document, fragments=True)
    assert expected.errors == ()
    assert_alike(matcher(engine, printed).match(document, fragments=True), expected)


@given(perhaps_broken, some_queries)
def test_refusals(engine: str, document: bytes, printed: list[PrintedQuery]) -> None:
    expected = matcher("reference", printed).match(document)
    assert_alike(matcher(engine, printed).match(document), expected)


@given(st.data(), documents | perhaps_broken, some_queries)
def test_chunks(
    engine: str, data: st.DataObject, document: bytes, printed: list[PrintedQuery]
) -> None:
    chunks = data.draw(chunks_of(document))
    expected = matcher("reference", printed).match(document)
    assert_alike(matcher(engine, printed).match_chunks(chunks), expected)


@given(st.lists(documents, max_size=6), some_queries)
def test_one_matcher_over_many_documents(
    engine: str, several: list[bytes], printed: list[PrintedQuery]
) -> None:
    """What an engine remembers from one document must not change the next."""
    engine_matcher, reference = matcher(engine, printed), matcher("reference", printed)
    for document in several:
        assert_alike(engine_matcher.match(document), reference.match(document))


@given(documents, some_queries)
def test_explanations(engine: str, document: bytes, printed: list[PrintedQuery]) -> None:
    engine_matcher, reference = matcher(engine, printed), matcher("reference", printed)
    for number in range(len(printed)):
        expected = reference.explain(document, str(number))
        assert engine_matcher.explain(document, str(number)) == expected
