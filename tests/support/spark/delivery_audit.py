"""Audits the tables of a workspace against the expected content, computed without Spark.

There are two independent computations. The first trusts the batch records: it matches each document
with the mappings and the index version that its batch recorded. The second ignores batches: a
subscription that was active from before a document was published until the end must have it, one
that was inactive all that time must not, and one with a backfill must have all documents.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Any

from deltalake import DeltaTable

from penstock.documents import Header
from penstock.pipeline.inbox_stream import inbox_stream
from penstock.pipeline.worker_cache import cached_mappings, cached_version
from penstock.workspace import Workspace
from penstock.workspace.batch_records import BatchRecords
from support.spark.workspace_traffic import Interest, PublishedDocument, Traffic
from support.strategies.query_kinds import kind_of, matched_by

Pair = tuple[str, str]
"""Subscription and document."""


@dataclass(frozen=True, slots=True)
class Audit:
    """The audited numbers."""

    documents: int
    dead: int
    deliveries: int
    batches: int

    def __add__(self, other: Audit) -> Audit:
        pairs = zip(astuple(self), astuple(other), strict=True)
        return Audit(*(a + b for a, b in pairs))


def audit(workspace: Workspace, traffic: Traffic) -> Audit:
    """Compare the tables with their expected content; raises if they differ."""
    documents = _rows(workspace.tables.documents)
    dead = _rows(workspace.tables.dead_letters)
    deliveries = _rows(workspace.tables.deliveries)
    counts = _rows(workspace.tables.counts)

    valid = {each.identity: each for each in traffic.documents if each.valid}
    broken = [each.identity for each in traffic.documents if not each.valid]
    assert sorted(row["document"] for row in documents) == sorted(valid)
    assert sorted(row["document"] for row in dead) == sorted(broken)
    assert all(row["content"] == valid[row["document"]].content for row in documents)

    delivered = [(row["subscription"], row["document"]) for row in deliveries]
    assert [pair for pair, times in Counter(delivered).items() if times > 1] == []
    assert len({row["delivery"] for row in deliveries}) == len(deliveries)

    matches = _matches(traffic.interests, list(valid.values()))
    backfilled = {pair for pair in matches if traffic.interests[pair[0]].backfill}
    by_records = _matches_by_records(workspace, documents)
    assert set(delivered) == by_records | backfilled
    _check_without_records(set(delivered), matches, valid, traffic.interests)

    stream = inbox_stream(workspace).stream
    of_stream = [row for row in counts if row["stream"] == stream]
    assert sorted(row["batch"] for row in of_stream) == list(range(len(of_stream)))
    assert len(counts) == len({row["stream"] for row in counts}) - 1 + len(of_stream)
    assert sum(row["documents"] for row in of_stream) == len(traffic.documents)
    assert sum(row["dead"] for row in of_stream) == len(broken)
    assert sum(row["deliveries"] for row in counts) == len(deliveries)
    return Audit(len(documents), len(dead), len(deliveries), len(of_stream))


def _rows(table: str) -> list[dict[str, Any]]:
    return DeltaTable(table).to_pyarrow_table().to_pylist()


def _matches(interests: dict[str, Interest], documents: Sequence[PublishedDocument]) -> set[Pair]:
    """All pairs that would be delivered if every subscription had always been active."""
    queries = {name: interest.query for name, interest in interests.items()}
    matched = matched_by(queries)
    return {
        (name, document.identity)
        for document in documents
        # Keywords match the original document, XPath the mapped one.
        for kind, content in (("xpath", document.mapped), ("keywords", document.content))
        for name in matched(content)
        if kind_of(queries[name]) == kind
    }


def _matches_by_records(workspace: Workspace, documents: Sequence[dict[str, Any]]) -> set[Pair]:
    """The matches of each batch's documents with the recorded version and mappings."""
    stream = inbox_stream(workspace).stream
    records = {each.batch: each for each in BatchRecords(str(workspace.batches), stream).all()}
    found = set()
    for row in documents:
        record = records[row["batch"]]
        (uri,) = record.versions
        assert record.mappings is not None
        header = Header(publisher=row["publisher"], schema=row["schema"])
        mapping = cached_mappings(record.mappings).choose(header)
        version = cached_version(uri)
        names = version.subscriptions.column("subscription")
        for number in version.mediated.match(row["content"], mapping).ids:
            found.add((str(names[int(number)]), row["document"]))
    return found


def _check_without_records(
    delivered: set[Pair],
    matches: set[Pair],
    documents: dict[str, PublishedDocument],
    interests: dict[str, Interest],
) -> None:
    assert delivered <= matches
    for pair in matches:
        interest, document = interests[pair[0]], documents[pair[1]]
        if interest.backfill or interest.always(True, since=document.step):
            assert pair in delivered, f"{pair} was lost"
        elif interest.always(False, since=document.step):
            assert pair not in delivered, f"{pair} was delivered to an inactive subscription"
