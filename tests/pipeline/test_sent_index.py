"""Indexes that are sent to the workers with a task, without Spark."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest

from penstock.documents import Limits
from penstock.errors import PenstockError
from penstock.matching import SubscriptionIndex
from penstock.pipeline import sent_index
from penstock.pipeline.batch_matcher import BatchMatcher
from penstock.pipeline.sent_index import SentIndex
from penstock.pipeline.worker_cache import cached_index


def index_of(**queries: str) -> SubscriptionIndex:
    index = SubscriptionIndex()
    index.add_many(list(queries), list(queries.values()))
    return index


def documents_of(*contents: bytes) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array(contents)], names=["content"])


def test_a_process_opens_a_sent_index_once() -> None:
    sent = SentIndex.of(index_of(a="/a"))
    again = pickle.loads(pickle.dumps(sent))
    assert cached_index(again) is cached_index(sent)
    assert cached_index(sent, limits=Limits(depth=3)) is not cached_index(sent)
    assert cached_index(SentIndex.of(index_of(a="/b"))) is not cached_index(sent)


def test_later_changes_of_the_index_do_not_affect_what_was_sent() -> None:
    index = index_of(first="//a")
    sent = SentIndex.of(index)
    index.add("second", "//a")
    matcher = BatchMatcher(sent.open(Limits()))
    outcomes = matcher.match(documents_of(b"<a/>"))
    assert matcher.subscription_columns(outcomes, ["subscription"])[0].to_pylist() == ["first"]


def test_ids_of_later_batches_keep_their_numbers() -> None:
    opened = SentIndex.of(index_of(eins="//a", zwei="//b", drei="//c")).open(Limits())
    matcher = BatchMatcher(opened)
    found = []
    for content in (b"<b/>", b"<r><a/><b/><c/></r>", b"<c/>"):
        outcomes = matcher.match(documents_of(content))
        (names,) = matcher.subscription_columns(outcomes, ["subscription"])
        found.append(sorted(map(str, names.to_pylist())))
    assert found == [["zwei"], ["drei", "eins", "zwei"], ["drei"]]


def test_what_is_set_aside_is_named_by_its_id() -> None:
    expensive = "//*[not(.//c = 1)]" * 8
    opened = SentIndex.of(index_of(cheap="/a", costly=expensive)).open(Limits(work=20))
    matcher = BatchMatcher(opened)
    outcomes = matcher.match(documents_of(b"<a>" * 150 + b"</a>" * 150))
    assert matcher.set_aside_column(outcomes).to_pylist() == [["costly"]]
    assert matcher.subscription_columns(outcomes, ["subscription"])[0].to_pylist() == ["cheap"]


def test_a_large_index_is_refused_before_a_job_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sent_index, "SENT_INDEX_BYTES_MAX", 100)
    with pytest.raises(PenstockError, match="can be sent") as refused:
        SentIndex.of(index_of(a="/a"))
    assert refused.value.code == "pipeline.index-size"
