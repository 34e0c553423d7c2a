"""Relations of keyword queries, compared with the matcher."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.language import KeywordQuery, parse_keywords
from penstock.language.keywords.query import Mode
from penstock.language.limits import KEYWORDS_MAX
from penstock.matching import KeywordIndex
from penstock.routing.keyword_relations import (
    contains_keywords,
    generalise_keywords,
    minimise_keywords,
)
from support.strategies.patterns import keyword_texts

keyword_queries = keyword_texts().map(parse_keywords)


def matches(query: KeywordQuery, document: bytes) -> bool:
    index = KeywordIndex()
    index.add("q", str(query))
    return "q" in index.matcher().match(document)


def least_documents(query: KeywordQuery) -> list[bytes]:
    """Documents that match and contain nothing beyond what the query requires."""
    cases = [(word,) for word in query.keywords] if query.mode is Mode.ANY else [query.keywords]
    return [
        ("<n>" + "".join(f"<n>{keyword}</n>" for keyword in case) + "</n>").encode()
        for case in cases
    ]


@given(keyword_queries, keyword_queries)
def test_containment_is_exact(p: KeywordQuery, q: KeywordQuery) -> None:
    documents = least_documents(q)
    assert all(matches(q, document) for document in documents)
    assert contains_keywords(p, q) == all(matches(p, document) for document in documents)


@given(keyword_queries)
def test_a_minimised_query_is_equivalent(query: KeywordQuery) -> None:
    smaller = minimise_keywords(query)
    assert len(smaller.keywords) <= len(query.keywords)
    assert contains_keywords(smaller, query)
    assert contains_keywords(query, smaller)
    assert parse_keywords(str(smaller)) == smaller


@given(keyword_queries, keyword_queries)
def test_generalisations_contain_both(p: KeywordQuery, q: KeywordQuery) -> None:
    found = list(generalise_keywords(p, q))
    assert found
    for general in found:
        assert contains_keywords(general, p)
        assert contains_keywords(general, q)
        assert parse_keywords(str(general)) == general


@given(st.integers(1, 3))
def test_a_union_beyond_the_limit_of_keywords_is_omitted(more: int) -> None:
    half = [f"w{number}" for number in range(KEYWORDS_MAX // 2 + more)]
    one = KeywordQuery(tuple(sorted(half)), Mode.ANY)
    two = KeywordQuery(tuple(sorted(f"v{word}" for word in half)), Mode.ANY)
    assert list(generalise_keywords(one, two)) == []


def test_a_thousand_keywords_are_compared_by_their_parts() -> None:
    """Not pair by pair: 500 subscriptions of 200 words took a router most of a minute."""
    looked_up = []

    class Word(str):
        __slots__ = ()

        def __eq__(self, other: object) -> bool:
            looked_up.append(other)
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    words = tuple(Word(f"w{number:04}") for number in range(KEYWORDS_MAX))
    others = tuple(f"w{number:04}" for number in range(KEYWORDS_MAX))
    for mode in Mode:
        assert contains_keywords(KeywordQuery(others, mode), KeywordQuery(words, mode))
        assert minimise_keywords(KeywordQuery(words, mode)).keywords == others
    assert len(looked_up) < 40 * KEYWORDS_MAX


def test_shorter_phrases_are_parts_of_longer_ones() -> None:
    p, q = parse_keywords('"b c" d "a b c d"'), parse_keywords('"a b c d e" x')
    assert contains_keywords(p, q)
    assert not contains_keywords(q, p)
    assert str(minimise_keywords(p)) == '"a b c d"'
    assert str(minimise_keywords(parse_keywords('"b c" OR d OR "a b c d"'))) == '"b c" OR d'
    general = [str(each) for each in generalise_keywords(p, parse_keywords('"z b c y" d'))]
    assert general[0] == '"b c" d'
