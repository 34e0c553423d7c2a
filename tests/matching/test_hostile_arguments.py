"""Arguments that are not text, too long, or change while they are used, are refused or copied."""

from __future__ import annotations

import pickle
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from penstock import (
    IndexFileError,
    KeywordIndex,
    PenstockError,
    QueryError,
    SubscriptionIndex,
    TokenizerOptions,
    UnknownSubscriptionError,
    combine_matchers,
)
from penstock.documents import Document, Header, Limits
from penstock.errors import DocumentError, MissingIndexError, error
from penstock.language import parse
from penstock.language.keywords.query import parse_keywords, parse_reference
from penstock.language.limits import (
    KEYWORD_QUERY_CHARACTERS_MAX,
    MAX_ID_BYTES,
    MAX_NAMESPACE_BYTES,
    MAX_NAMESPACES,
)
from penstock.language.xpath.reference import parser as reference_parser
from penstock.matching.query_indexes import QueryIndexes
from support.contracts.native_engines import needs_native

NEWS = b"<news><item lang='en'>Storm on the coast</item></news>"
ENGINES = ["reference", pytest.param("shared", marks=needs_native)]
KEYWORD_ENGINES = ["reference", pytest.param("postings", marks=needs_native)]


def paths(engine: str) -> SubscriptionIndex:
    index = SubscriptionIndex(engine=engine)
    index.add_many(["english", "any"], ["//item[@lang = 'en']", "/news/item"])
    return index


def keywords(engine: str) -> KeywordIndex:
    index = KeywordIndex(engine=engine)
    index.add_many(["coast", "either"], ["storm coast", "gale OR storm"])
    return index


# Buffers.

RACE = """
import sys, threading
from penstock import KeywordIndex, SubscriptionIndex

document = bytearray(("<a k='v'>" + "<b>éè text</b>" * 3_000 + "</a>").encode())
original = bytes(document)
index, words = SubscriptionIndex(), KeywordIndex()
index.add_many(["a", "b"], ["//b[contains(., 'text')]", "//b[. = 'x']"])
words.add("w", "text v")
matcher, keyword_matcher = index.matcher(), words.matcher()
running = True

def change():
    while running:
        for at in range(0, len(document), 7):
            document[at] = 0xC3 if document[at] != 0xC3 else 0x3C
        document[:] = original

threads = [threading.Thread(target=change) for _ in range(2)]
for thread in threads:
    thread.start()
try:
    for _ in range(150):
        for given in (document, memoryview(document), memoryview(document).toreadonly()):
            matcher.match(given)
            keyword_matcher.match(given)
            # The native core does not rely on the copy that the Python layer makes.
            matcher.engine.core.match_bytes(given)
            matcher.engine.core.select(given, ["a"])
            keyword_matcher.engine.core.answers(given, ["w"], 1)
finally:
    running = False
    for thread in threads:
        thread.join()
print("survived")
"""


@needs_native
def test_a_buffer_that_another_thread_changes_does_not_abort_the_process() -> None:
    done = subprocess.run(
        [sys.executable, "-c", RACE], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.stdout == "survived\n", done.stderr[-2_000:]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("wrap", [bytes, bytearray, memoryview, pa.py_buffer])
def test_every_kind_of_buffer_is_a_document(engine: str, wrap: Callable[[bytes], bytes]) -> None:
    matcher = paths(engine).matcher()
    given = wrap(NEWS)
    matches = matcher.match(given, fragments=True)
    assert set(matches.ids) == {"english", "any"}
    assert set(matches.fragments) == {"english", "any"}
    assert matcher.explain(given, "any").witness_count == 1


@pytest.mark.parametrize("engine", ENGINES)
def test_batches_of_every_kind_of_buffer(engine: str) -> None:
    matcher = paths(engine).matcher()
    offsets = pa.array([0, len(NEWS)], pa.int64()).buffers()[1]
    for content in (NEWS, bytearray(NEWS)):
        documents = pa.LargeBinaryArray.from_buffers(
            pa.large_binary(), 1, [None, offsets, pa.py_buffer(content)]
        )
        ids = matcher.match_batch(documents).ids.flatten().to_pylist()
        assert set(ids) == {"any", "english"}


@pytest.mark.parametrize("engine", ENGINES)
def test_text_is_no_document(engine: str) -> None:
    with pytest.raises(TypeError, match="bytes"):
        paths(engine).matcher().match("<a/>")  # type: ignore[arg-type]


# Lone surrogates.

LONE = "caf\udce9"


@pytest.mark.parametrize("engine", ENGINES)
def test_lone_surrogates_in_path_subscriptions(engine: str) -> None:
    index = paths(engine)
    refused = index.add_many(
        [LONE, "query", "fine", "any"], ["/a", f"/a[b = '{LONE}']", "/b", "/c"]
    )
    assert {name: reason.code for name, reason in refused.items()} == {
        LONE: "subscription.id",
        "query": "query.character",
        "any": "subscription.duplicate",
    }
    position = refused["query"].where
    assert position is not None
    assert position.offset == 11
    assert "fine" in index
    for bindings in ({LONE: "urn:a"}, {"p": LONE}):
        with pytest.raises(QueryError) as caught:
            index.add("other", "/a", namespaces=bindings)
        assert caught.value.code == "query.namespaces"
    with pytest.raises(QueryError) as caught:
        index.add("other", "/a", default_namespace=LONE)
    assert caught.value.code == "query.namespaces"
    assert LONE not in index
    unknown: list[Callable[[], object]] = [
        lambda: index.remove(LONE),
        lambda: index.query(LONE),
        lambda: index.matcher().explain(NEWS, LONE),
        lambda: index.matcher().select(NEWS, [LONE]),
    ]
    for use in unknown:
        with pytest.raises(UnknownSubscriptionError):
            use()


@pytest.mark.parametrize("engine", KEYWORD_ENGINES)
def test_lone_surrogates_in_keyword_subscriptions(engine: str) -> None:
    index = keywords(engine)
    refused = index.add_many([LONE, "query", "fine"], ["storm", f"storm {LONE}", "gale"])
    assert {name: reason.code for name, reason in refused.items()} == {
        LONE: "subscription.id",
        "query": "query.character",
    }
    assert "fine" in index
    assert LONE not in index
    with pytest.raises(UnknownSubscriptionError):
        index.matcher().answers(NEWS, [LONE])
    with pytest.raises(UnknownSubscriptionError):
        index.matcher().explain(NEWS, LONE)


def test_lone_surrogates_in_headers() -> None:
    for fields in (
        {"publisher": LONE},
        {"publisher": "a", "schema": LONE},
        {"publisher": "a", "id": LONE},
        {"publisher": "a", "fields": {"lang": LONE}},
        {"publisher": "a", "fields": {LONE: "en"}},
    ):
        with pytest.raises(DocumentError) as caught:
            Header(**fields)
        assert caught.value.code == "document.header"
    assert Document(b"<a/>", Header(publisher="café")).identity.startswith("caf%C3%A9/")


# Limits.


@pytest.mark.parametrize("engine", ENGINES)
def test_the_limit_of_ids(engine: str) -> None:
    index = SubscriptionIndex(engine=engine)
    index.add("é" * (MAX_ID_BYTES // 2), "/a")
    with pytest.raises(QueryError) as caught:
        index.add("é" * (MAX_ID_BYTES // 2) + "a", "/a")
    assert caught.value.code == "subscription.id"
    assert len(str(caught.value)) < 1_000


@pytest.mark.parametrize("parse_query", [parse, reference_parser.parse])
def test_the_limits_of_namespaces(parse_query: Callable[..., object]) -> None:
    most = "u" * MAX_NAMESPACE_BYTES
    parse_query("/p:a", namespaces={"p": most}, default_namespace=most)
    many = {f"p{number}": "urn:a" for number in range(MAX_NAMESPACES)}
    parse_query("/a", namespaces=many)
    refused: list[dict[str, object]] = [
        {"namespaces": {"p": most + "u"}},
        {"namespaces": {"p" + most: "urn:a"}},
        {"default_namespace": most + "u"},
        {"namespaces": {**many, "one": "more"}},
    ]
    for arguments in refused:
        with pytest.raises(QueryError) as caught:
            parse_query("/a", **arguments)
        assert caught.value.code == "query.namespaces"


@pytest.mark.parametrize("parse_query", [parse_keywords, parse_reference])
def test_the_limit_of_keyword_queries(parse_query: Callable[[str], object]) -> None:
    most = "é " * (KEYWORD_QUERY_CHARACTERS_MAX // 2)
    parse_query(most)
    with pytest.raises(QueryError) as caught:
        parse_query(most + "é")
    assert caught.value.code == "keywords.too-long"
    assert caught.value.where is not None
    assert caught.value.where.offset == KEYWORD_QUERY_CHARACTERS_MAX


# Missing files.


@pytest.mark.parametrize("engine", ENGINES)
def test_a_missing_file_is_named(engine: str, tmp_path: Path) -> None:
    missing = tmp_path / "missing.xml"
    matcher = paths(engine).matcher()
    uses: list[Callable[[], object]] = [
        lambda: matcher.match_file(missing),
        lambda: matcher.match_file(missing, fragments=True),
        lambda: SubscriptionIndex.load(missing),
        lambda: KeywordIndex.load(missing),
        lambda: paths(engine).save(missing / "index"),
    ]
    for use in uses:
        with pytest.raises(FileNotFoundError) as caught:
            use()
        assert str(missing) in str(caught.value)
        assert caught.value.errno is not None


def test_a_missing_index_file_is_a_missing_file() -> None:
    missing = error("index.missing", "s3://bucket/index does not exist")
    assert isinstance(missing, MissingIndexError)
    assert isinstance(missing, IndexFileError)
    assert isinstance(missing, FileNotFoundError)
    assert "s3://bucket/index" in str(missing)


# Errors, pickles and representations.


def test_a_traceback_shows_the_hint() -> None:
    with pytest.raises(QueryError) as caught:
        parse("/a[")
    assert f"Hint: {caught.value.hint}" in "".join(traceback.format_exception(caught.value))
    again: PenstockError = pickle.loads(pickle.dumps(caught.value))
    assert again.__notes__ == caught.value.__notes__


@pytest.mark.parametrize("engine", ENGINES)
def test_an_index_of_paths_is_picklable(engine: str) -> None:
    index = paths(engine)
    index.remove("any")
    index.add("p", "/p:a", namespaces={"p": "urn:a"})
    copied: SubscriptionIndex = pickle.loads(pickle.dumps(index))
    assert repr(copied) == repr(index)
    assert copied.query("p") == "/p:a"
    assert copied.matcher().match(NEWS).ids == ("english",)
    assert copied.matcher().match(b"<a xmlns='urn:a'/>").ids == ("p",)
    copied.add("any", "/news")
    assert "any" not in index


@pytest.mark.parametrize("engine", KEYWORD_ENGINES)
def test_an_index_of_keywords_is_picklable(engine: str) -> None:
    index = keywords(engine)
    copied: KeywordIndex = pickle.loads(pickle.dumps(index))
    assert set(copied.matcher().match(NEWS)) == {"coast", "either"}
    assert copied.query("either") == "gale OR storm"


def test_the_indexes_of_both_kinds_are_picklable_together() -> None:
    indexes = QueryIndexes(TokenizerOptions())
    indexes.add([(0, "xpath", "/news", (), None, ()), (1, "keywords", "storm", (), None, ())])
    copied: QueryIndexes = pickle.loads(pickle.dumps(indexes))
    assert set(copied.matcher(Limits()).match(NEWS)) == {"0", "1"}


@needs_native
def test_a_damaged_pickle_is_refused() -> None:
    content = pickle.dumps(paths("shared"))
    at = content.index(b"//item[@lang")
    with pytest.raises(IndexFileError) as caught:
        pickle.loads(content[:at] + b"X" + content[at + 1 :])
    assert caught.value.code == "index.damaged"


@pytest.mark.parametrize("engine", ENGINES)
def test_representations_name_the_subscriptions_and_the_engine(engine: str) -> None:
    index = paths(engine)
    assert repr(index) == f"<SubscriptionIndex: 2 subscriptions, engine {engine}>"
    assert repr(index.matcher()) == f"<Matcher: 2 subscriptions, engine {engine}>"
    words = keywords("reference")
    assert repr(words.matcher()) == "<KeywordMatcher: 2 subscriptions, engine reference>"
    assert repr(combine_matchers(index.matcher(), words.matcher())) == (
        f"<Matcher: XPath (2 subscriptions, engine {engine})"
        " and keywords (2 subscriptions, engine reference)>"
    )


@needs_native
def test_ids_are_the_same_strings_each_time() -> None:
    index = paths("shared")
    first, second = (index.matcher().match(NEWS).ids for _ in range(2))
    assert first == second == ("english", "any")
    assert all(one is other for one, other in zip(first, second, strict=True))
    index.add("later", "/news")
    index.remove("english")
    assert index.matcher().match(NEWS).ids == ("any", "later")
