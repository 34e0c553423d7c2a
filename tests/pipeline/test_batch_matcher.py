"""Matches, errors and fragments of a batch of documents, without Spark."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from penstock.documents import Fragment
from penstock.errors import DocumentError
from penstock.matching import Matcher, SubscriptionIndex
from penstock.matching.batch import error_array
from penstock.pipeline import batch_matcher, fragment_rows
from penstock.pipeline.batch_matcher import BatchMatcher, BatchOutcomes, DeliveredDocuments
from penstock.pipeline.document_mappings import BatchMappings
from penstock.workspace.index_versions import open_version, write_version
from penstock.workspace.table_schemas import MORE_FRAGMENTS
from support.spark.example_tables import subscription_table

QUERIES = {
    "anna.path": "/news/item",
    "anna.words": "news item",
    "ben.any": "item OR gale",
    "carl.any": "storm OR item",
    "dora.path": "//item",
}
CONTENTS = pa.array([b"<news><item/></news>", b"<other/>", b"<news><item>storm</item></news>"])
DOCUMENTS = pa.RecordBatch.from_arrays([CONTENTS], names=["content"])


@pytest.fixture
def matcher(tmp_path: Path) -> BatchMatcher:
    return BatchMatcher(open_version(write_version(str(tmp_path), subscription_table(QUERIES))))


def with_fragments(
    matcher: BatchMatcher, contents: pa.Array[Any], outcomes: BatchOutcomes
) -> tuple[BatchOutcomes, pa.Array[Any]]:
    """The outcomes and fragments of a batch that is not divided."""
    (part,) = matcher.with_fragments(contents, outcomes, "all")
    assert part.rows == range(len(contents))
    return part.outcomes, part.fragments


def fragments_of(matcher: BatchMatcher) -> dict[str, list[str] | None]:
    """The fragments of the first document, by subscription."""
    outcomes = matcher.match(DOCUMENTS)
    (names,) = matcher.subscription_columns(outcomes, ["subscription"])
    kept, given = with_fragments(matcher, CONTENTS, outcomes)
    assert kept is outcomes
    assert len(given) == 2 * len(QUERIES)
    rows = zip(names.to_pylist(), given.to_pylist(), strict=True)
    return {
        str(name): None if parts is None else [part["xml"] for part in parts]
        for name, parts in list(rows)[: len(QUERIES)]
    }


def test_fragments_of_both_query_kinds(matcher: BatchMatcher) -> None:
    assert fragments_of(matcher) == {
        "anna.path": ["<item/>"],
        "anna.words": ["<news><item/></news>"],
        "ben.any": ["<item/>"],
        "carl.any": ["<item/>"],
        "dora.path": ["<item/>"],
    }


def test_a_document_too_large_for_some_queries_has_fragments_for_the_others(
    matcher: BatchMatcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    select = Matcher.select

    def select_some(
        matcher: Matcher, document: bytes, ids: Sequence[str]
    ) -> Mapping[str, Sequence[Fragment]]:
        return select(matcher, document, [each for each in ids if each not in ("2", "3")])

    monkeypatch.setattr(Matcher, "select", select_some)
    found = fragments_of(matcher)
    assert {name for name, parts in found.items() if parts is None} == {"ben.any", "carl.any"}
    assert (found["anna.path"], found["dora.path"]) == (["<item/>"], ["<item/>"])


def test_omitted_fragments_are_counted(
    matcher: BatchMatcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_matcher, "DELIVERY_FRAGMENTS_MAX", 2)
    document = b"<news><item/><item/><item/><item/></news>"
    contents = pa.array([document, b"<news><item/><item/></news>"])
    outcomes = matcher.match(pa.RecordBatch.from_arrays([contents], names=["content"]))
    (names,) = matcher.subscription_columns(outcomes, ["subscription"])
    _, given = with_fragments(matcher, contents, outcomes)
    path_fragments = [
        [(part["kind"], part["xml"]) for part in parts or ()]
        for name, parts in zip(names.to_pylist(), given.to_pylist(), strict=True)
        if name == "anna.path"
    ]
    item = ("element", "<item/>")
    assert path_fragments == [[item, item, (MORE_FRAGMENTS, "<!-- 2 more -->")], [item, item]]


def test_a_subscription_limits_its_fragments(tmp_path: Path) -> None:
    table = subscription_table({"anna.few": "//item", "ben.words": "item", "carl.all": "//item"})
    column = table.schema.get_field_index("fragments_max")
    limits = pa.array([1, 2, None], pa.int32())
    table = table.set_column(column, table.schema.field(column), limits)
    limited = BatchMatcher(open_version(write_version(str(tmp_path), table)))
    contents = pa.array([b"<news/>", b"<news><item/><item/><item/></news>"])
    outcomes = limited.match(pa.RecordBatch.from_arrays([contents], names=["content"]))
    outcomes, given = with_fragments(limited, contents, outcomes)
    (names,) = limited.subscription_columns(outcomes, ["subscription"])
    fragments: list[Any] = given.to_pylist()
    last = {
        name: parts[-1]["xml"] for name, parts in zip(names.to_pylist(), fragments, strict=True)
    }
    assert last == {
        "anna.few": "<!-- 2 more -->",
        "ben.words": "<!-- 1 more -->",
        "carl.all": "<item/>",
    }
    assert outcomes.fragments_omitted == {1: 3}


def test_fragments_past_the_bytes_of_a_delivery_are_counted(
    matcher: BatchMatcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    contents = pa.array([b"<news><item/><item/><item/></news>"])
    outcomes = matcher.match(pa.RecordBatch.from_arrays([contents], names=["content"]))
    (names,) = matcher.subscription_columns(outcomes, ["subscription"])
    for most, count in ((1, 1), (13, 1), (14, 2), (21, 3)):
        monkeypatch.setattr(fragment_rows, "DELIVERY_FRAGMENT_BYTES_MAX", most)
        _, given = with_fragments(matcher, contents, outcomes)
        parts: Any = given.to_pylist()[names.to_pylist().index("anna.path")]
        omitted = [f"<!-- {3 - count} more -->"] if count < 3 else []
        assert [part["xml"] for part in parts] == ["<item/>"] * count + omitted


@pytest.mark.parametrize(
    ("size", "parts"),
    [(1, [2, 2, 1]), (400, [4, 1]), (2_000, [5])],
)
def test_a_batch_is_divided_where_its_fragments_are_too_large(
    matcher: BatchMatcher, monkeypatch: pytest.MonkeyPatch, size: int, parts: list[int]
) -> None:
    first, unmatched, second = CONTENTS.to_pylist()
    contents = pa.array([first, b"<news", second, unmatched, first], pa.binary())
    batch = pa.RecordBatch.from_arrays([contents], names=["content"])
    matched = matcher.match(batch)
    whole, fragments = with_fragments(matcher, contents, matched)
    monkeypatch.setattr(batch_matcher, "SLICE_FRAGMENT_BYTES", size)
    divided = list(matcher.with_fragments(contents, matched, "all"))
    assert [len(part.rows) for part in divided] == parts
    assert [row for part in divided for row in part.rows] == list(range(5))
    assert_same(divided, whole, fragments)


def assert_same(
    parts: Sequence[DeliveredDocuments], whole: BatchOutcomes, fragments: pa.Array[Any]
) -> None:
    """Parts have the outcomes and fragments of the batch."""
    rows = [part.outcomes.document_rows + part.rows.start for part in parts]
    assert np.concatenate(rows).tolist() == whole.document_rows.tolist()
    subscriptions = [part.outcomes.subscription_rows for part in parts]
    assert np.concatenate(subscriptions).tolist() == whole.subscription_rows.tolist()
    unknown = [part.outcomes.unknown_elements for part in parts]
    assert np.concatenate(unknown).tolist() == whole.unknown_elements.tolist()
    errors: Any = pa.concat_arrays([part.outcomes.errors for part in parts])
    assert errors.equals(whole.errors)
    assert pa.concat_arrays([part.fragments for part in parts]).equals(fragments)
    omitted = {
        row + part.rows.start: count
        for part in parts
        for row, count in part.outcomes.fragments_omitted.items()
        if count
    }
    assert omitted == {row: count for row, count in whole.fragments_omitted.items() if count}


def test_outcomes_of_some_documents_are_as_if_they_were_the_batch() -> None:
    outcomes = BatchOutcomes(
        np.array([0, 1, 1, 3]),
        np.array([5, 6, 7, 8]),
        error_array({2: DocumentError("xml.unclosed", "it ends")}, 4),
        BatchMappings((None,) * 4, {2: DocumentError("xml.unclosed", "it ends")}),
        np.array([0, 9, 0, 1]),
        {1: np.array([3]), 3: np.array([4])},
        {0: 1, 3: 2},
    )
    assert outcomes.of(range(4)) is outcomes
    part = outcomes.of(range(1, 3))
    assert part.match_counts.tolist() == [2, 0]
    assert part.subscription_rows.tolist() == [6, 7]
    errors: Any = part.errors
    assert [error and error["code"] for error in errors.to_pylist()] == [None, "xml.unclosed"]
    assert (len(part.mappings.mappings), set(part.mappings.refused)) == (2, {1})
    assert part.unknown_elements.tolist() == [9, 0]
    assert {row: list(numbers) for row, numbers in part.set_aside.items()} == {0: [3]}
    assert part.fragments_omitted == {}
    assert outcomes.of(range(3, 4)).fragments_omitted == {0: 2}


@pytest.mark.parametrize(("size", "delivered"), [(100, 1), (200, 3), (1_000, 5)])
def test_subscriptions_get_the_whole_document_past_the_fragments_of_a_document(
    matcher: BatchMatcher, monkeypatch: pytest.MonkeyPatch, size: int, delivered: int
) -> None:
    monkeypatch.setattr(batch_matcher, "DOCUMENT_FRAGMENT_BYTES_MAX", size)
    _, fragments = with_fragments(matcher, CONTENTS, matcher.match(DOCUMENTS))
    counts = [given is not None for given in fragments.to_pylist()]
    # Each document has its own limit.
    assert [sum(counts[:5]), sum(counts[5:])] == [delivered, delivered]


def test_fragments_past_the_offsets_of_an_array_are_not_added(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fragment_rows, "ARRAY_BYTES_MAX", 150)
    rows = fragment_rows.FragmentRows()
    index = SubscriptionIndex()
    index.add("a", "//item")
    found = index.matcher().select(b"<n><item/><item/></n>", ["a"])["a"]
    assert [rows.add(match, found, 1) for match in range(3)] == [1, 0, 0]
    assert [given and len(given) for given in rows.array(3).to_pylist()] == [2, None, None]


def test_only_fragments_that_fit_a_delivery_are_converted(monkeypatch: pytest.MonkeyPatch) -> None:
    index = SubscriptionIndex()
    index.add("a", "//item")
    found = index.matcher().select(b"<n>" + b"<item/>" * 500 + b"</n>", ["a"])["a"]
    converted: list[Fragment] = []
    to_xml = Fragment.to_xml

    def counting(fragment: Fragment) -> str:
        converted.append(fragment)
        return to_xml(fragment)

    monkeypatch.setattr(Fragment, "to_xml", counting)
    monkeypatch.setattr(fragment_rows, "DELIVERY_FRAGMENT_BYTES_MAX", 20)
    assert fragment_rows.FragmentRows().add(0, found, 400) == 498
    assert len(converted) == 3


@pytest.mark.parametrize("failure", [MemoryError(), OverflowError("too large")])
def test_a_failure_to_write_fragments_refuses_its_document_and_no_other(
    matcher: BatchMatcher, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    matched = matcher.match(DOCUMENTS)
    before, given = with_fragments(matcher, CONTENTS, matched)
    array = fragment_rows.FragmentRows.array

    def failing(rows: fragment_rows.FragmentRows, length: int) -> pa.Array[Any]:
        if b"storm" in rows._xml:  # it has no other trace of the document
            raise failure
        return array(rows, length)

    monkeypatch.setattr(fragment_rows.FragmentRows, "array", failing)
    parts = list(matcher.with_fragments(CONTENTS, matched, "all"))
    assert [part.rows for part in parts] == [range(0, 1), range(1, 2), range(2, 3)]
    kept = before.document_rows != 2
    assert_same(parts[:2], before.of(range(2)), given.filter(pa.array(kept)))
    errors: Any = parts[2].outcomes.errors
    (error,) = errors.to_pylist()
    assert error["code"] == "internal.error"
    assert len(parts[2].fragments) == len(parts[2].outcomes.document_rows) == 0
    content: Any = CONTENTS[2].as_py()
    assert json.loads(error["report"])["document"]["sha256"] == sha256(content).hexdigest()


class PanicException(BaseException):
    """Stands for a panic of the native core, which derives from ``BaseException``."""


FAILURES = [
    RecursionError("too deep"),
    MemoryError(),
    PanicException("index out of bounds"),
    ValueError("x" * 5_000),
]


@pytest.fixture(params=["match_batch", "select"])
def fail(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Callable[[BaseException], None]:
    """Makes a method of the matcher raise if a document contains ``storm``."""
    method = request.param
    process = getattr(Matcher, method)

    def install(failure: BaseException) -> None:
        def failing(self: Matcher, documents: bytes | pa.Array[Any], *arguments: object) -> object:
            batch: Any = [documents] if isinstance(documents, bytes) else documents.to_pylist()
            if any(b"storm" in document for document in batch):
                raise failure
            return process(self, documents, *arguments)

        monkeypatch.setattr(Matcher, method, failing)

    return install


@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: type(failure).__name__)
def test_a_failure_refuses_its_document_and_no_other(
    matcher: BatchMatcher, failure: BaseException, fail: Callable[[BaseException], None]
) -> None:
    before, _ = with_fragments(matcher, CONTENTS, matcher.match(DOCUMENTS))
    fail(failure)
    outcomes, fragments = with_fragments(matcher, CONTENTS, matcher.match(DOCUMENTS))
    kept = before.document_rows != 2
    assert outcomes.document_rows.tolist() == before.document_rows[kept].tolist()
    assert outcomes.subscription_rows.tolist() == before.subscription_rows[kept].tolist()
    assert len(fragments) == len(outcomes.document_rows)
    assert outcomes.match_counts.tolist() == [len(QUERIES), 0, 0]
    errors: Any = outcomes.errors
    *others, error = errors.to_pylist()
    assert others == [None, None]
    assert error["code"] == "internal.error"
    assert type(failure).__name__ in error["message"]
    assert len(error["message"]) < 1_100
    report = json.loads(error["report"])
    assert report["type"] == type(failure).__name__
    assert "in failing" in report["traceback"]
    content: Any = CONTENTS[2].as_py()
    assert report["document"] == {"sha256": sha256(content).hexdigest(), "bytes": len(content)}
    assert set(report["versions"]) == {"penstock", "native", "python", "platform"}
    assert "storm" not in error["report"]


def test_the_end_of_the_process_is_no_failure_of_a_document(
    matcher: BatchMatcher, fail: Callable[[BaseException], None]
) -> None:
    fail(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        fragments_of(matcher)


def test_a_refusal_while_matching_or_selecting_keeps_its_code(
    matcher: BatchMatcher, fail: Callable[[BaseException], None]
) -> None:
    fail(DocumentError("xml.unclosed", "unexpected"))
    outcomes, _ = with_fragments(matcher, CONTENTS, matcher.match(DOCUMENTS))
    errors: Any = outcomes.errors
    assert [error and error["code"] for error in errors.to_pylist()] == [
        *(None, None, "xml.unclosed")
    ]


def test_subscriptions_test_the_headers_of_a_batch(tmp_path: Path) -> None:
    queries = {"anna.path": "/news/item", "ben.words": "news OR gale"}
    plain = subscription_table({"carl.path": "//item"})
    tests = subscription_table(queries, where=[("publisher", "p"), ("lang", "en")])
    uri = write_version(str(tmp_path), pa.concat_tables([tests, plain]))
    columns: dict[str, Any] = {
        "content": CONTENTS.take(pa.array([0, 0, 0])),
        "publisher": pa.array(["p", "p", "q"]),
        "schema": pa.array(["", "", ""]),
        "fields": pa.array(
            [[("lang", "en"), ("x", "y")], [], [("lang", "en")]], pa.map_(pa.string(), pa.string())
        ),
    }
    matcher = BatchMatcher(open_version(uri))
    for batch, expected in (
        (pa.RecordBatch.from_pydict(columns), [3, 1, 1]),
        (pa.RecordBatch.from_pydict({"content": columns["content"]}), [1, 1, 1]),
    ):
        assert matcher.match(batch).match_counts.tolist() == expected
