"""A mailbox: the deliveries of one subscriber.

Deliveries are rows of one Delta table; the documents' bytes are stored once, in another. Reading a
mailbox reads one bucket of the first, and only the opened documents of the second: each is found by
its identity and checked by its digest.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from penstock.errors import error
from penstock.language.source_position import utf8_size
from penstock.workspace.document_contents import DocumentKey, read_contents
from penstock.workspace.limits import (
    CONTENT_BYTES_AT_ONCE,
    CONTENTS_AT_ONCE,
    CONTENTS_AT_ONCE_MAX,
    FOLLOW_HOURS,
)
from penstock.workspace.pipeline_tables import Tables
from penstock.workspace.subscriber_buckets import bucket_of
from penstock.workspace.table_reader import read_rows
from penstock.workspace.table_schemas import DELIVERIES

HEADERS = pa.schema(
    [
        DELIVERIES.field(name)
        for name in (
            "delivery",
            "subscription",
            "document",
            "publisher",
            "sequence",
            "published_at",
            "delivered_at",
            "content_digest",
        )
    ]
)
"""Columns of a delivery without its content."""


@dataclass(frozen=True, slots=True)
class FragmentText:
    """A fragment that a query selected, as self-contained XML."""

    kind: str
    """The kind of node; :data:`~penstock.workspace.table_schemas.MORE_FRAGMENTS` for a last
    fragment that stands for omitted ones."""
    spans: tuple[tuple[int, int], ...]
    """Its byte spans in the document."""
    xml: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A document, or fragments of it, delivered to a subscriber."""

    delivery: str
    """The delivery's id: a hash of document and subscription."""
    subscription: str
    document: str
    publisher: str
    sequence: int
    published_at: datetime
    delivered_at: datetime
    fragments: tuple[FragmentText, ...] | None
    """``None`` if the complete document is delivered: the subscription returns documents, or the
    document is too large to locate the answers of a keyword query with OR in it."""
    content: bytes | None
    """The complete document, unless fragments are delivered or retention has removed it."""


class Mailbox:
    """The deliveries of one subscriber, in publishing order."""

    def __init__(self, tables: Tables, subscriber: str) -> None:
        if utf8_size(subscriber) is None:
            raise error("workspace.name", f"{subscriber!a} contains a lone surrogate")
        self._tables = tables
        self.subscriber = subscriber

    def deliveries(self, since: datetime | None = None) -> pa.Table:
        """All deliveries, or those delivered since a time, as rows of :data:`HEADERS`."""
        condition = self._condition()
        if since is not None:
            condition = condition & (pc.field("delivered_at") >= since)
        found = read_rows(self._tables.deliveries, condition, HEADERS.names, schema=DELIVERIES)
        if found is None:
            return HEADERS.empty_table()
        return found.sort_by([("sequence", "ascending"), ("subscription", "ascending")])

    def opened(self, deliveries: pa.Table) -> Iterator[Delivery]:
        """Deliveries with their content; only a few are in memory at a time."""
        start, count = 0, CONTENTS_AT_ONCE
        while start < deliveries.num_rows:
            opened = list(self._opened(deliveries.slice(start, count)))
            yield from opened
            start += count
            # Each read scans the table, so small documents are read in larger numbers.
            size = sum(len(each.content or b"") for each in opened)
            if 2 * size <= CONTENT_BYTES_AT_ONCE:
                count = min(2 * count, CONTENTS_AT_ONCE_MAX)
            elif size > CONTENT_BYTES_AT_ONCE:
                count = max(count // 2, 1)

    def follow(self, *, seconds: float) -> Iterator[pa.Table]:
        """New deliveries as they are committed, polled at an interval, without end.

        The first table contains all existing deliveries. Tables may be empty.
        """
        seen: pa.Array[Any] = pa.array([], pa.string())
        newest: datetime | None = None
        version = -1
        while True:
            fresh = HEADERS.empty_table()
            current = self._version()
            if current != version:
                version = current
                # Batches of different streams may be committed out of order.
                since = None if newest is None else newest - timedelta(hours=FOLLOW_HOURS)
                found = self.deliveries(since)
                known = pc.is_in(found.column("delivery"), seen)
                fresh = found.filter(pc.invert(known))
                seen = found.column("delivery").combine_chunks()
                newest = pc.max(found.column("delivered_at")).as_py() or newest
            yield fresh
            time.sleep(seconds)

    def _opened(self, headers: pa.Table) -> Iterator[Delivery]:
        rows: list[dict[str, Any]] = headers.to_pylist()
        sequences = sorted({row["sequence"] for row in rows})
        condition = self._condition() & pc.field("sequence").isin(sequences)
        columns = ["delivery", "sequence", "content_digest", "fragments"]
        found = read_rows(self._tables.deliveries, condition, columns, schema=DELIVERIES)
        assert found is not None, "the headers were read from this table"
        fragments = {_key(row): row["fragments"] for row in found.to_pylist()}
        complete = [_document(row) for row in rows if fragments.get(_key(row)) is None]
        contents = read_contents(self._tables, complete)
        for row in rows:
            parts = fragments.get(_key(row))
            content = contents.get(_document(row)) if parts is None else None
            del row["content_digest"]
            yield Delivery(
                **row,
                fragments=None if parts is None else tuple(_fragment(part) for part in parts),
                content=content,
            )

    def _condition(self) -> pc.Expression:
        bucket = pc.field("bucket") == bucket_of(self.subscriber)
        return bucket & (pc.field("subscriber") == self.subscriber)

    def _version(self) -> int:
        table = self._tables.deliveries
        return DeltaTable(table).version() if DeltaTable.is_deltatable(table) else -1


def _key(row: dict[str, Any]) -> tuple[str, int, bytes | None]:
    # An identity that is published again with other bytes gives a delivery of the same id.
    return row["delivery"], row["sequence"], row["content_digest"]


def _document(row: dict[str, Any]) -> DocumentKey:
    return DocumentKey(row["document"], row["sequence"], row["content_digest"])


def _fragment(row: dict[str, Any]) -> FragmentText:
    spans = tuple((span["start"], span["end"]) for span in row["spans"])
    return FragmentText(row["kind"], spans, row["xml"])
