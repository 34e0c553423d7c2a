"""Matches, errors and fragments of a batch of documents, without Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from penstock.documents import Fragment
from penstock.errors import DocumentError
from penstock.matching import Matcher
from penstock.pipeline import batch_matcher
from penstock.pipeline.batch_matcher import BatchMatcher
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


def fragments_of(matcher: BatchMatcher) -> dict[str, list[str] | None]:
    """The fragments of the first document, by subscription."""
    outcomes = matcher.match(DOCUMENTS)
    (names,) = matcher.subscription_columns(outcomes, ["subscription"])
    given = matcher.fragments(CONTENTS, outcomes, wanted=np.full(len(names), True))
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
    ) -> Mapping[str, tuple[Fragment, ...]]:
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
    given = matcher.fragments(contents, outcomes, wanted=np.full(len(names), True))
    path_fragments = [
        [(part["kind"], part["xml"]) for part in parts or ()]
        for name, parts in zip(names.to_pylist(), given.to_pylist(), strict=True)
        if name == "anna.path"
    ]
    item = ("element", "<item/>")
    assert path_fragments == [[item, item, (MORE_FRAGMENTS, "<!-- 2 more -->")], [item, item]]


def test_unexpected_errors_are_raised(
    matcher: BatchMatcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_arguments: object) -> None:
        raise DocumentError("xml.unclosed", "unexpected")

    monkeypatch.setattr(Matcher, "select", refuse)
    with pytest.raises(DocumentError):
        fragments_of(matcher)
