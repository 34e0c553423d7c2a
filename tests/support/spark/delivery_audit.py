"""What must be in the tables of a workspace, worked out without Spark, and whether it is.

Two accounts that know nothing of each other. The first takes each batch's record at its word: its
documents are matched one by one by the mappings, and against the version, that it names. The second
knows nothing of batches: who was subscribed from before a document was published until the end was
given it, who was not was not, and who asked for the past was given everything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Any

from deltalake import DeltaTable

from penstock.documents import Header
from penstock.pipeline.inbox_stream import stream_of_workspace
from penstock.workspace import Workspace
from penstock.workspace.batch_records import BatchRecords
from penstock.workspace.index_versions import open_version
from penstock.workspace.mapping_versions import open_mappings
from support.spark.workspace_traffic import Interest, PublishedDocument, Traffic
from support.strategies.query_kinds import kind_of, matched_by

Pair = tuple[str, str]
"""Subscription and document."""


@dataclass(frozen=True, slots=True)
class Audit:
    """What was found to be right."""

    documents: int
    dead: int
    deliveries: int
    batches: int

    def __add__(self, other: Audit) -> Audit:
        pairs = zip(astuple(self), astuple(other), strict=True)
        return Audit(*(mine + others for mine, others in pairs))


def audit(workspace: Workspace, traffic: Traffic) -> Audit:
    """Compare the tables with what must be in them; raises where they differ."""
    documents = _rows(workspace.tables.documents)
    dead = _rows(workspace.tables.dead_letters)
    deliveries = _rows(workspace.tables.deliveries)
    counts = _rows(workspace.tables.counts)

    sound = {each.identity: each for each in traffic.documents if each.sound}
    broken = [each.identity for each in traffic.documents if not each.sound]
    assert sorted(row["document"] for row in documents) == sorted(sound)
    assert sorted(row["document"] for row in dead) == sorted(broken)
    assert all(row["content"] == sound[row["document"]].content for row in documents)

    delivered = [(row["subscription"], row["document"]) for row in deliveries]
    assert [pair for pair, times in Counter(delivered).items() if times > 1] == []
    assert len({row["delivery"] for row in deliveries}) == len(deliveries)

    matches = _matches(traffic.interests, list(sound.values()))
    past = {pair for pair in matches if traffic.interests[pair[0]].wants_the_past}
    by_records = _by_records(workspace, documents)
    assert set(delivered) == by_records | past
    _check_without_records(set(delivered), matches, sound, traffic.interests)

    stream = stream_of_workspace(workspace).stream
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
    """Every pair that would be delivered if all had been subscribed all the time."""
    queries = {name: interest.query for name, interest in interests.items()}
    matched = matched_by(queries)
    return {
        (name, document.identity)
        for document in documents
        # Keywords hear what was sent, paths what it means.
        for kind, heard in (("xpath", document.meant), ("keywords", document.content))
        for name in matched(heard)
        if kind_of(queries[name]) == kind
    }


def _by_records(workspace: Workspace, documents: Sequence[dict[str, Any]]) -> set[Pair]:
    """What the documents of each batch give with the version that the batch recorded."""
    stream = stream_of_workspace(workspace).stream
    records = {each.batch: each for each in BatchRecords(str(workspace.batches), stream).all()}
    found = set()
    for row in documents:
        record = records[row["batch"]]
        (uri,) = record.versions
        assert record.mappings is not None
        header = Header(publisher=row["publisher"], schema=row["schema"])
        mapping = open_mappings(record.mappings).choose(header)
        version = open_version(uri)
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
        if interest.wants_the_past or interest.always(True, since=document.deed):
            assert pair in delivered, f"{pair} was lost"
        elif interest.always(False, since=document.deed):
            assert pair not in delivered, f"{pair} was not wanted any more"
