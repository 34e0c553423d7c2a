"""Every engine agrees with the reference on generated documents and queries.

A document, its queries and what the reference makes of them are worked out once for all engines:
that is where the time goes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hypothesis import given
from hypothesis import strategies as st

from penstock import Matcher, Matches, SubscriptionIndex
from penstock.language import PrintedQuery, to_text
from support.contracts.native_engines import NATIVE_ENGINES, needs_native
from support.strategies.documents import (
    ATTRIBUTE_NAMES,
    ELEMENT_NAMES,
    NAMESPACE_URIS,
    VALUES,
    chunks_of,
    deep_documents,
    documents,
    perhaps_broken,
)
from support.strategies.queries import Vocabulary, queries, queries_in_common

pytestmark = needs_native

VOCABULARY = Vocabulary(
    elements=ELEMENT_NAMES,
    attributes=ATTRIBUTE_NAMES,
    uris=("", *NAMESPACE_URIS),
    texts=VALUES,
)
some_queries = st.lists(queries(VOCABULARY).map(to_text), min_size=1, max_size=8)
queries_with_common_parts = queries_in_common(VOCABULARY).map(
    lambda made: [to_text(query) for query in made]
)
few_queries = st.lists(
    queries(VOCABULARY, max_branches=2, max_depth=1).map(to_text), min_size=1, max_size=3
)
"""For deep documents: each `//` in a predicate multiplies lxml's time by the depth."""


def matcher(engine: str, printed: Sequence[PrintedQuery]) -> Matcher:
    index = SubscriptionIndex(engine=engine)
    for number, query in enumerate(printed):
        index.add(str(number), query.text, namespaces=query.namespaces)
    return index.matcher()


def assert_all_alike(printed: Sequence[PrintedQuery], match: Callable[[Matcher], Matches]) -> None:
    """Assert that ``match`` returns the same for every engine and the reference."""
    expected = match(matcher("reference", printed))
    for engine in NATIVE_ENGINES:
        assert_alike(match(matcher(engine, printed)), expected, engine)


def assert_alike(found: Matches, expected: Matches, engine: str) -> None:
    assert set(found) == set(expected), engine
    assert len(found) == len(expected), engine
    assert found.fragments == expected.fragments, engine
    assert bool(found.errors) == bool(expected.errors), engine
    assert found.counters == expected.counters, engine


@given(documents, some_queries)
def test_matches_and_fragments(document: bytes, printed: list[PrintedQuery]) -> None:
    assert_all_alike(printed, lambda matcher: matcher.match(document, fragments=True))


@given(documents, queries_with_common_parts)
def test_common_steps_and_predicates(document: bytes, printed: list[PrintedQuery]) -> None:
    """The evaluator evaluates parts that queries have in common once for all of them."""
    assert_all_alike(printed, lambda matcher: matcher.match(document))
    assert_all_alike(printed, lambda matcher: matcher.match(document, fragments=True))


@given(deep_documents, few_queries)
def test_deep_documents(document: bytes, printed: list[PrintedQuery]) -> None:
    assert_all_alike(printed, lambda matcher: matcher.match(document, fragments=True))


@given(perhaps_broken, some_queries)
def test_refusals(document: bytes, printed: list[PrintedQuery]) -> None:
    assert_all_alike(printed, lambda matcher: matcher.match(document))


@given(st.data(), documents | perhaps_broken, some_queries)
def test_chunks(data: st.DataObject, document: bytes, printed: list[PrintedQuery]) -> None:
    chunks = data.draw(chunks_of(document))
    assert_all_alike(printed, lambda matcher: matcher.match_chunks(chunks))


@given(st.lists(documents, max_size=4), some_queries)
def test_one_matcher_over_many_documents(several: list[bytes], printed: list[PrintedQuery]) -> None:
    """State cached from one document must not affect the next."""
    reference = matcher("reference", printed)
    natives = [matcher(engine, printed) for engine in NATIVE_ENGINES]
    for document in several:
        expected = reference.match(document)
        for engine, native in zip(NATIVE_ENGINES, natives, strict=True):
            assert_alike(native.match(document), expected, engine)


@given(documents, some_queries)
def test_explanations(document: bytes, printed: list[PrintedQuery]) -> None:
    """Both native engines use the same evaluator for explanations, so one suffices."""
    native, reference = matcher(NATIVE_ENGINES[0], printed), matcher("reference", printed)
    for number in range(len(printed)):
        expected = reference.explain(document, str(number))
        assert native.explain(document, str(number)) == expected
