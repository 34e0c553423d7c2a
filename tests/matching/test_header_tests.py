"""Subscriptions that test header fields: engines, references and combinations agree."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import BatchMatches, KeywordIndex, SubscriptionIndex, combine_matchers
from penstock.documents import Document, Header
from penstock.errors import EngineError, QueryError
from penstock.language import PrintedQuery, to_text
from penstock.matching.limits import HEADER_TEST_CHARACTERS_MAX, HEADER_TESTS_MAX
from penstock.mediation import Mapping as SchemaMapping
from penstock.mediation import MediatedMatcher
from support.contracts.native_engines import needs_native
from support.strategies.documents import (
    ATTRIBUTE_NAMES,
    ELEMENT_NAMES,
    NAMESPACE_URIS,
    VALUES,
    documents,
)
from support.strategies.queries import Vocabulary, queries

DOCUMENT = b"<news lang='fr'><item n='1'>storm</item><item n='2'>gale</item></news>"

ENGINES = [pytest.param("shared", marks=needs_native), "reference"]
KEYWORD_ENGINES = [pytest.param("postings", marks=needs_native), "reference"]


def id_sets(batch: BatchMatches) -> list[set[str]]:
    """The ids of each row."""
    rows: list[Any] = batch.ids.to_pylist()
    return [set(ids) for ids in rows]


QUERIES = {
    "descendant": "//item",
    "root": "/news",
    "any root": "//news",
    "attribute": "//@n",
    "text": "//text()",
    "position": "//item[2]",
    "last": "//item[last()]",
    "negation": "/news[not(weather)]",
    "union": "/weather | //item[@n='2']",
    "value": "/news/item[@n='1']",
    "wildcard": "/*/*",
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES.keys())
def test_a_path_matches_only_with_its_header(engine: str, query: str) -> None:
    index = SubscriptionIndex(engine=engine)
    index.add("plain", query)
    index.add("one", query, where={"publisher": "reuters"})
    index.add("two", query, where={"publisher": "reuters", "lang": "en"})
    matcher = index.matcher()
    for header, expected in (
        ({}, {"plain"}),
        ({"publisher": "ap"}, {"plain"}),
        ({"publisher": "reuters"}, {"plain", "one"}),
        ({"publisher": "reuters", "lang": "fr"}, {"plain", "one"}),
        ({"lang": "en", "other": "x", "publisher": "reuters"}, {"plain", "one", "two"}),
    ):
        matches = matcher.match(DOCUMENT, header=header, fragments=True)
        assert set(matches) == expected
        # The header makes no difference to what a query selects.
        assert {matches.fragments[name] for name in expected} == {matches.fragments["plain"]}
        assert set(matcher.match_chunks([DOCUMENT], header=header)) == expected


@pytest.mark.parametrize("engine", KEYWORD_ENGINES)
@pytest.mark.parametrize("query", ["storm", "storm gale", "storm OR absent", "item OR gale"])
def test_keywords_match_only_with_their_header(engine: str, query: str) -> None:
    index = KeywordIndex(engine=engine)
    index.add("plain", query)
    index.add("one", query, where={"publisher": "reuters"})
    index.add("two", query, where={"publisher": "reuters", "lang": "en"})
    matcher = index.matcher()
    for header, expected in (
        ({}, {"plain"}),
        ({"publisher": "reuters"}, {"plain", "one"}),
        ({"publisher": "reuters", "lang": "en"}, {"plain", "one", "two"}),
    ):
        matches = matcher.match(DOCUMENT, header=header, fragments=True)
        assert set(matches) == expected
        assert {matches.fragments[name] for name in expected} == {matches.fragments["plain"]}
    answers = matcher.answers(DOCUMENT, ["plain", "two"])
    assert answers["plain"] == answers["two"]


@pytest.mark.parametrize("engine", KEYWORD_ENGINES)
def test_header_values_are_not_words_of_the_document(engine: str) -> None:
    index = KeywordIndex(engine=engine)
    index.add("word", "reuters", where={"lang": "en"})
    index.add("missing", "absent OR nowhere", where={"lang": "en"})
    header = {"publisher": "reuters", "lang": "en", "x": "absent"}
    assert index.matcher().match(DOCUMENT, header=header).ids == ()


@pytest.mark.parametrize("engine", ENGINES)
def test_header_fields_are_not_attributes_of_the_document(engine: str) -> None:
    index = SubscriptionIndex(engine=engine)
    index.add("tested", "//item", where={"lang": "en"})
    for number, query in enumerate(["//@*[. = 'en']", "/*[@* = 'en']", "//@*:lang[. = 'en']"]):
        index.add(str(number), query)
    index.add("count", "/news[@*][@lang = 'fr']")
    matches = index.matcher().match(DOCUMENT, header={"lang": "en"})
    assert set(matches) == {"tested", "count"}
    select = index.matcher().match(DOCUMENT, header={"lang": "en"}, fragments=True)
    assert len(select.fragments["tested"]) == 2


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("uri", ["header", "urn:penstock:header", "&#x1;header"])
def test_a_document_cannot_imitate_a_header(engine: str, uri: str) -> None:
    index = SubscriptionIndex(engine=engine)
    index.add("tested", "//*", where={"lang": "en"})
    document = f"<a xmlns:h='{uri}' h:lang='en' lang='en'/>".encode()
    assert index.matcher().match(document).ids == ()


def test_a_document_brings_its_own_header() -> None:
    index = SubscriptionIndex()
    index.add("both", "/a", where={"publisher": "reuters", "schema": "news", "lang": "en"})
    header = Header(publisher="reuters", schema="news", fields={"lang": "en", "publisher": "x"})
    matcher = index.matcher()
    assert matcher.match(Document(b"<a/>", header)).ids == ("both",)
    assert matcher.match(Document(b"<a/>", header), header={}).ids == ()
    assert matcher.match(b"<a/>", header=header).ids == ("both",)


@pytest.mark.parametrize("engine", ENGINES)
def test_files_batches_and_saved_indexes(engine: str, tmp_path: Path) -> None:
    index = SubscriptionIndex(engine=engine)
    keywords = KeywordIndex(engine=None if engine == "shared" else engine)
    index.add_many(
        ["a", "b", "c"],
        ["//item", "//item", "/a[c]"],
        where=[{"lang": "en"}, {}, {"lang": "en", "x": ""}],
    )
    keywords.add("k", "storm OR rain", where={"lang": "en"})
    index.save(tmp_path / "index")
    keywords.save(tmp_path / "keywords")
    (tmp_path / "a.xml").write_bytes(DOCUMENT)
    loaded = SubscriptionIndex.load(tmp_path / "index")
    loaded.add("late", "//item", where={"lang": "fr"})
    loaded.remove("b")
    assert loaded.query("c") == "/a[c]"
    matcher = combine_matchers(loaded.matcher(), KeywordIndex.load(tmp_path / "keywords").matcher())
    assert set(matcher.match_file(tmp_path / "a.xml", header={"lang": "en"})) == {"a", "k"}
    rows = pa.array([DOCUMENT, None, DOCUMENT, b"<a><c/></a>"], pa.binary())
    headers: list[Mapping[str, str]] = [{"lang": "fr"}, {}, {"lang": "en"}, {"lang": "en", "x": ""}]
    batch = matcher.match_batch(rows, headers)
    assert id_sets(batch) == [{"late"}, set(), {"a", "k"}, {"c"}]
    assert id_sets(matcher.match_batch(rows)) == [set()] * 4
    with pytest.raises(ValueError, match="1 headers for 4 documents"):
        matcher.match_batch(rows, headers[:1])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("way", ["sdr", "nddr", "iddr"])
def test_rewritten_documents_are_tested_too(engine: str, way: str) -> None:
    index = SubscriptionIndex(engine=engine)
    keywords = KeywordIndex(engine=None if engine == "shared" else engine)
    index.add("course", "/dept/course", where={"publisher": "eth"})
    index.add("deep", "//course[code = 'db']", where={"publisher": "eth"})
    index.add("other", "//course", where={"publisher": "mit"})
    keywords.add("word", "department", where={"publisher": "eth"})
    mapping = SchemaMapping.from_text(
        "penstock mapping 1\ndepartment\n  => rename dept\n  course*\n    @code\n"
        "    => to-element @code\n"
    )
    document = b"<department><course code='db'/></department>"
    for matcher, expected in (
        (index.matcher(), {"course", "deep"}),
        (combine_matchers(index.matcher(), keywords.matcher()), {"course", "deep", "word"}),
    ):
        mediated = MediatedMatcher(matcher, way=way)  # type: ignore[arg-type]
        header = {"publisher": "eth"}
        assert set(mediated.match(document, mapping, header=header)) == expected
        assert set(mediated.match(document, mapping)) == set()
        rows = pa.array([document, document], pa.binary())
        batch = mediated.match_batch(rows, [mapping, mapping], [header, {"publisher": "mit"}])
        assert id_sets(batch) == [expected, {"other"}]


@pytest.mark.parametrize("engine", ENGINES)
def test_explanations_name_the_header_field(engine: str) -> None:
    index = SubscriptionIndex(engine=engine)
    index.add("it", "//item", where={"publisher": "reuters", "lang": "en"})
    explain = index.matcher().explain
    assert explain(DOCUMENT, "it", header={"publisher": "reuters", "lang": "en"}).matched
    failed = explain(DOCUMENT, "it", header={"publisher": "ap"})
    assert not failed.matched
    assert failed.header_failures == {"publisher": ("reuters", "ap"), "lang": ("en", None)}
    assert "the header field publisher must be reuters; it is ap" in str(failed)
    assert "the header field lang must be en; there is no such field" in str(failed)
    content = explain(b"<a/>", "it", header={"publisher": "reuters", "lang": "en"})
    assert "there is no //item" in str(content)


@pytest.mark.parametrize(
    "where",
    [
        {"": "x"},
        {"a\x01": "x"},
        {"a": "x\x02"},
        {"a": "\ud800"},
        {"a": "x" * (HEADER_TEST_CHARACTERS_MAX + 1)},
        {str(number): "x" for number in range(HEADER_TESTS_MAX + 1)},
    ],
)
def test_invalid_tests_are_refused_and_the_others_added(where: Mapping[str, str]) -> None:
    for index in (SubscriptionIndex(), KeywordIndex()):
        refused = index.add_many(["bad", "good"], ["a", "a"], where=[where, {"a": "x"}])
        assert refused["bad"].code == "subscription.where"
        assert ("bad" in index, "good" in index) == (False, True)
    with pytest.raises(QueryError):
        SubscriptionIndex().add("bad", "/a", where=where)


@needs_native
def test_baseline_engines_refuse_header_tests() -> None:
    index, keywords = SubscriptionIndex(), KeywordIndex()
    index.add("a", "/a", where={"x": "y"})
    keywords.add("a", "a", where={"x": "y"})
    with pytest.raises(EngineError, match=r"`yfilter` does not test .*\[engine.where\]"):
        index.matcher(engine="yfilter")
    for engine in ("kemb", "kale", "slca"):
        with pytest.raises(EngineError, match=engine):
            keywords.matcher(engine=engine)


VOCABULARY = Vocabulary(
    elements=ELEMENT_NAMES,
    attributes=ATTRIBUTE_NAMES,
    uris=("", *NAMESPACE_URIS),
    texts=VALUES,
)
fields = st.dictionaries(st.sampled_from("abc"), st.sampled_from(["", "1", "2"]), max_size=3)


@needs_native
@given(
    st.lists(st.tuples(queries(VOCABULARY).map(to_text), fields), min_size=1, max_size=8),
    st.lists(documents, max_size=3),
    fields,
)
def test_engine_and_reference_agree(
    subscriptions: list[tuple[PrintedQuery, dict[str, str]]],
    contents: list[bytes],
    header: dict[str, str],
) -> None:
    matchers = []
    for engine in ("shared", "reference"):
        index = SubscriptionIndex(engine=engine)
        for number, (printed, where) in enumerate(subscriptions):
            index.add_many(
                [str(number)], [printed.text], namespaces=printed.namespaces, where=where
            )
        matchers.append(index.matcher())
    for content in contents:
        found = [set(matcher.match(content, header=header)) for matcher in matchers]
        assert found[0] == found[1]


words = st.lists(
    st.sampled_from(["storm", "gale", "news", "item", "absent"]), min_size=1, max_size=3
)


@needs_native
@given(
    st.lists(st.tuples(words, st.sampled_from([" ", " OR "]), fields), min_size=1, max_size=12),
    fields,
)
def test_keyword_engine_and_reference_agree(
    subscriptions: list[tuple[list[str], str, dict[str, str]]], header: dict[str, str]
) -> None:
    found = []
    for engine in ("postings", "reference"):
        index = KeywordIndex(engine=engine)
        for number, (some, joined, where) in enumerate(subscriptions):
            index.add(str(number), joined.join(some), where=where)
        found.append(set(index.matcher().match(DOCUMENT, header=header)))
    assert found[0] == found[1]
