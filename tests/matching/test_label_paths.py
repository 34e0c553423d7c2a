"""Label paths and prefixes of documents: every engine agrees with the reference."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import KeywordIndex, Matcher, SubscriptionIndex, combine_matchers
from penstock.documents import Name
from penstock.language import PrintedQuery, to_text
from penstock.matching.label_paths import LabelPath, LabelPaths
from penstock.matching.limits import LABEL_PATHS_MAX
from penstock.mediation import Mapping, MediatedMatcher
from penstock.native import native
from support.contracts.native_engines import NATIVE_ENGINES, needs_native
from support.strategies.documents import (
    ATTRIBUTE_NAMES,
    ELEMENT_NAMES,
    NAMESPACE_URIS,
    VALUES,
    deep_documents,
    documents,
)
from support.strategies.queries import Vocabulary, queries

VOCABULARY = Vocabulary(
    elements=ELEMENT_NAMES,
    attributes=ATTRIBUTE_NAMES,
    uris=("", *NAMESPACE_URIS),
    texts=VALUES,
)
some_queries = st.lists(queries(VOCABULARY).map(to_text), min_size=1, max_size=6)
ENGINES = ["reference", *(NATIVE_ENGINES if native is not None else ())]


def matcher(engine: str, printed: list[PrintedQuery]) -> Matcher:
    index = SubscriptionIndex(engine=engine)
    for number, query in enumerate(printed):
        index.add(str(number), query.text, namespaces=query.namespaces)
    return index.matcher()


def plain(paths: LabelPaths | None) -> list[tuple[int | None, str, list[str], int]]:
    assert paths is not None
    return [
        (path.parent, str(path.name), sorted(map(str, path.attributes)), path.end) for path in paths
    ]


@needs_native
@given(documents | deep_documents, st.integers(0, 2000))
def test_label_paths_and_prefixes_are_those_of_the_reference(document: bytes, stop_at: int) -> None:
    expected = matcher("reference", [])
    for engine in NATIVE_ENGINES:
        found = matcher(engine, [])
        whole = expected.match(document, label_paths=True)
        assert found.match(document, label_paths=True).label_paths == whole.label_paths
        prefix = expected.match_prefix(document, stop_at=stop_at, label_paths=True)
        ours = found.match_prefix(document, stop_at=stop_at, label_paths=True)
        assert ours.label_paths == prefix.label_paths
        assert ours.counters == prefix.counters


@needs_native
@given(documents, some_queries, st.integers(0, 400))
def test_matches_in_a_prefix_are_those_of_the_reference(
    document: bytes, printed: list[PrintedQuery], stop_at: int
) -> None:
    expected = matcher("reference", printed).match_prefix(document, stop_at=stop_at)
    for engine in NATIVE_ENGINES:
        found = matcher(engine, printed).match_prefix(document, stop_at=stop_at)
        assert set(found) == set(expected), engine
        assert found.counters == expected.counters, engine


@pytest.mark.parametrize("engine", ENGINES)
def test_a_path_has_its_attributes_and_its_last_end(engine: str) -> None:
    document = b"<a><b x='1'/><c/><b y='2' x='3'><c xmlns='u'/></b></a>"
    found = matcher(engine, []).match(document, label_paths=True).label_paths
    assert plain(found) == [
        (None, "a", [], 54),
        (0, "b", ["x", "y"], 50),
        (0, "c", [], 17),
        (1, "{u}c", [], 46),
    ]


@pytest.mark.parametrize("engine", ENGINES)
def test_reading_does_not_stop_inside_an_entity(engine: str) -> None:
    document = b'<!DOCTYPE a [<!ENTITY e "<b/><c/>">]><a>&e;<d/><f/></a>'
    stop_at = document.index(b"&e;") + 3
    printed = [to_text_of(text) for text in ("//b", "//c", "//d", "//f")]
    matches = matcher(engine, printed).match_prefix(document, stop_at=stop_at)
    assert sorted(matches) == ["0", "1", "2"]
    assert matches.counters.work.bytes_read == document.index(b"<f/>")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_query_that_is_verified_is_evaluated_on_the_prefix(engine: str) -> None:
    document = b"<a><b/><c/><b/></a>"
    printed = [to_text_of(text) for text in ("/a[not(c)]", "/a[count(b) = 1]", "/a/b[last()]")]
    assert sorted(matcher(engine, printed).match_prefix(document, stop_at=7)) == ["0", "1", "2"]
    assert sorted(matcher(engine, printed).match(document)) == ["2"]


def to_text_of(query: str) -> PrintedQuery:
    return PrintedQuery(query, {})


@needs_native
def test_what_follows_the_prefix_is_not_read() -> None:
    matches = matcher("shared", []).match_prefix(b"<a><b/><c></a>", stop_at=7)
    assert not matches.errors
    assert matches.counters.work.bytes_read == 7
    assert matcher("shared", []).match_prefix(b"<a><b/><c></a>", stop_at=8).errors


@pytest.mark.parametrize("engine", ENGINES)
def test_there_are_no_label_paths_beyond_the_limit(engine: str) -> None:
    names = [f"n{number}" for number in range(LABEL_PATHS_MAX)]
    children = "".join(f"<{name}/>" for name in names[1:])
    found = matcher(engine, []).match(f"<a>{children}</a>".encode(), label_paths=True)
    assert found.label_paths is not None
    assert len(found.label_paths) == LABEL_PATHS_MAX
    more = matcher(engine, []).match(f"<a id='1'>{children}</a>".encode(), label_paths=True)
    assert more.label_paths is None
    assert not more.errors


@pytest.mark.parametrize("engine", ENGINES)
def test_a_refused_document_has_no_label_paths(engine: str) -> None:
    matches = matcher(engine, []).match(b"<a><b></a>", label_paths=True)
    assert matches.errors
    assert matches.label_paths is None


@pytest.mark.parametrize("engines", [("reference", "reference"), ("shared", "postings")])
def test_combined_matchers_collect_label_paths(engines: tuple[str, str]) -> None:
    if native is None and "reference" not in engines:
        pytest.skip("no native core")
    paths, keywords = SubscriptionIndex(engine=engines[0]), KeywordIndex(engine=engines[1])
    paths.add("path", "//b")
    keywords.add("words", "storm")
    combined = combine_matchers(paths.matcher(), keywords.matcher())
    document = b"<a><b>storm</b><c>gale</c></a>"
    matches = combined.match(document, label_paths=True)
    assert sorted(matches) == ["path", "words"]
    assert [row[1] for row in plain(matches.label_paths)] == ["a", "b", "c"]
    assert sorted(combined.match_prefix(document, stop_at=1)) == ["path", "words"]
    of_keywords = keywords.matcher().match_prefix(document, stop_at=1, label_paths=True)
    assert [row[1] for row in plain(of_keywords.label_paths)] == ["a", "b"]


def test_a_mediated_matcher_collects_label_paths_without_a_mapping() -> None:
    index = SubscriptionIndex()
    index.add("b", "/a/b")
    mediated = MediatedMatcher(index.matcher())
    matches = mediated.match(b"<a><b/></a>", None, label_paths=True)
    assert [row[1] for row in plain(matches.label_paths)] == ["a", "b"]
    mapping = Mapping.from_text("penstock mapping 1\na\n  b\n    => rename c\n")
    assert mediated.match(b"<a><b/></a>", mapping, label_paths=True).label_paths is None
    assert mediated.match_prefix(b"<a><c/><b/></a>", stop_at=1).ids == ()


def test_label_paths_are_pickled() -> None:
    paths = matcher("reference", []).match(b"<a b='1'><c/></a>", label_paths=True)
    copy = pickle.loads(pickle.dumps(paths))
    assert copy.label_paths == paths.label_paths


@needs_native
def test_label_paths_pass_through_the_native_core() -> None:
    name = Name("urn:x", "a")
    paths = LabelPaths([LabelPath(None, name, frozenset({Name("", "id")}), 9)])
    assert LabelPaths(core=paths.core) == paths
    with pytest.raises(ValueError, match="before its parent"):
        _ = LabelPaths([LabelPath(1, name, frozenset(), 9)]).core
