"""Generated keyword queries: from terms of paths, and from words of documents."""

from __future__ import annotations

from collections import Counter

import pytest

from penstock.errors import WorkloadError
from penstock.lab.built_in_schemas import built_in_schema
from penstock.lab.workload import (
    KEYWORD_WORKLOADS,
    DocumentGenerator,
    DocumentParameters,
    KeywordParameters,
    KeywordsOfDocuments,
    KeywordsOfPaths,
    QueryParameters,
    terms,
)
from penstock.lab.workload.keyword_generator import document_words
from penstock.language import KeywordQuery, parse_keywords
from penstock.language.keywords.query import Mode
from penstock.matching import KeywordIndex, SubscriptionIndex
from penstock.schema import SchemaGraph

NEWS = built_in_schema("news")
SMALL = DocumentParameters(size_min=2000, size_max=6000)
FEED = [b"<n><p>storm on the coast</p></n>", b"<n><p>the storm</p></n>", b"<n><p>sun</p></n>"]


def parsed(queries: list[str]) -> list[KeywordQuery]:
    return [parse_keywords(query) for query in queries]


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/news/*//head", "news head"),
        ("//section[@style = 'wide']/link", "section style wide link"),
        ('/a[b = "Long Value"]', "a b long value"),
        ("/a/series-part[@number >= 12]", "a series part number 12"),
        ("/a[. = '2020-01-05']", "a 2020 01 05"),
        ("/p:shop[.//p:item/@p:price]", "shop item price"),
        ("/*//*", ""),
    ],
)
def test_the_terms_of_a_path_are_its_names_and_constants(path: str, words: str) -> None:
    assert terms(path) == set(words.split())


@pytest.mark.parametrize("schema", ["news", "bibliography", "treebank"])
def test_queries_have_the_terms_of_their_paths_within_the_range(schema: str) -> None:
    parameters = KeywordParameters(words_min=4, words_max=6)
    pairs = KeywordsOfPaths(built_in_schema(schema), parameters=parameters).pairs(200, seed=3)
    for path, keywords in pairs:
        query = parse_keywords(keywords)
        assert set(query.keywords) == terms(path)
        assert query.mode is Mode.ALL
        assert 4 <= len(query.keywords) <= 6
    assert len({pair.keywords for pair in pairs}) == 200


def test_keywords_match_every_document_of_their_path() -> None:
    paths = QueryParameters(depth_max=4)
    pairs = KeywordsOfPaths(NEWS, paths, KeywordParameters(words_min=2)).pairs(300, seed=1)
    ids = [str(number) for number in range(len(pairs))]
    by_path, by_words = SubscriptionIndex(), KeywordIndex()
    assert not by_path.add_many(ids, [pair.path for pair in pairs])
    assert not by_words.add_many(ids, [pair.keywords for pair in pairs])
    paths_matcher, words_matcher = by_path.matcher(), by_words.matcher()
    matched = 0
    for document in DocumentGenerator(NEWS, SMALL).documents(5):
        selected = set(paths_matcher.match(document))
        assert selected <= set(words_matcher.match(document))
        matched += len(selected)
    assert matched > 0


def test_words_are_those_of_names_attributes_values_and_text() -> None:
    document = (
        b'<a-b xmlns:q="urn:q" q:key="Some value">text<c/>tail &amp; end<!-- no --><?no no?></a-b>'
    )
    assert document_words(document) == {
        *("a", "b", "key", "some", "value", "text", "c", "tail", "end")
    }


def test_common_words_are_drawn_more_often_the_greater_the_skew() -> None:
    def share_of_common(skew: float) -> float:
        parameters = KeywordParameters(words_min=2, words_max=3, skew=skew)
        sample = list(DocumentGenerator(NEWS, SMALL).documents(3))
        drawn = KeywordsOfDocuments(sample, parameters).queries(500, seed=1)
        counted = Counter(word for query in parsed(drawn) for word in query.keywords)
        everywhere = set.intersection(*map(document_words, sample))
        return sum(counted[word] for word in everywhere) / counted.total()

    assert share_of_common(0.0) < share_of_common(0.7) < share_of_common(1.4)


def test_queries_have_words_of_the_documents_within_the_range() -> None:
    parameters = KeywordParameters(words_min=2, words_max=4)
    queries = parsed(KeywordsOfDocuments(FEED, parameters).queries(40, seed=2))
    assert {len(query.keywords) for query in queries} == {2, 3, 4}
    assert {word for query in queries for word in query.keywords} == {
        *("n", "p", "storm", "on", "the", "coast", "sun")
    }


def test_some_queries_are_disjunctions() -> None:
    parameters = KeywordParameters(words_min=2, words_max=4, any_probability=0.5)
    for queries in (
        KeywordsOfDocuments(FEED, parameters).queries(60, seed=2),
        KeywordsOfPaths(NEWS, parameters=parameters).queries(60, seed=2),
    ):
        modes = Counter(query.mode for query in parsed(queries))
        assert 15 < modes[Mode.ANY] < 45


@pytest.mark.parametrize("name", KEYWORD_WORKLOADS)
def test_a_keyword_workload_is_reproducible_and_a_larger_count_appends(name: str) -> None:
    workload = KEYWORD_WORKLOADS[name]
    queries = workload.queries(30, seed=4)
    assert queries == workload.queries(60, seed=4)[:30]
    assert queries != workload.queries(30, seed=5)
    assert all(3 <= len(query.keywords) <= 6 for query in parsed(queries))
    assert list(workload.documents(2, seed=4)) == list(workload.documents(2, seed=4))


def test_too_few_distinct_queries_are_an_error() -> None:
    shop = SchemaGraph.from_dtd("<!ELEMENT shop (item)> <!ELEMENT item EMPTY>")
    parameters = QueryParameters(depth_max=2, predicate_weights=(1.0,), distinct=False)
    words = KeywordParameters(words_min=1, words_max=2)
    of_documents = KeywordsOfDocuments([b"<a>b</a>"], words)
    for generator in (KeywordsOfPaths(shop, parameters, words), of_documents):
        with pytest.raises(WorkloadError, match="found only 3") as caught:
            generator.queries(100)
        assert caught.value.code == "lab.exhausted"


def test_too_few_distinct_words_are_an_error() -> None:
    with pytest.raises(WorkloadError, match="only 2 different words"):
        KeywordsOfDocuments([b"<a>b</a>"], KeywordParameters(words_min=3))


@pytest.mark.parametrize(
    "given", [{"words_min": 0}, {"words_min": 11}, {"skew": -1.0}, {"any_probability": 1.5}]
)
def test_parameters_out_of_range_are_refused(given: dict[str, float]) -> None:
    with pytest.raises(WorkloadError) as caught:
        KeywordParameters(**given)  # type: ignore[arg-type]
    assert caught.value.code == "lab.parameter"
