"""A mailbox: what was delivered to one subscriber.

Deliveries stand in a Delta table, the documents' bytes once in another. Reading a mailbox reads one
bucket of the first, and of the second what is looked at.
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

from penstock.workspace.limits import CONTENTS_AT_ONCE, FOLLOW_HOURS
from penstock.workspace.pipeline_tables import Tables
from penstock.workspace.subscriber_buckets import bucket_of
from penstock.workspace.table_reader import contents_of, rows_of
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
        )
    ]
)
"""What is known of a delivery before it is opened."""


@dataclass(frozen=True, slots=True)
class FragmentText:
    """What a query selected, as XML that stands alone."""

    kind: str
    """What of the document it is; :data:`~penstock.workspace.table_schemas.MORE` for the
    last one of a delivery that leaves fragments out."""
    spans: tuple[tuple[int, int], ...]
    """Where it stands in the document's bytes."""
    xml: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A document, or fragments of it, for a subscriber."""

    delivery: str
    """Names the delivery: a hash of document and subscription."""
    subscription: str
    document: str
    publisher: str
    sequence: int
    published_at: datetime
    delivered_at: datetime
    fragments: tuple[FragmentText, ...] | None
    """``None`` where the document is delivered whole: because the subscription asked for that, or
    because it is too large to tell which part of it holds some of many keywords."""
    content: bytes | None
    """The whole document, if it was asked for and is still kept."""


class Mailbox:
    """The deliveries of one subscriber, in publishing order."""

    def __init__(self, tables: Tables, subscriber: str) -> None:
        self._tables = tables
        self.subscriber = subscriber

    def deliveries(self, since: datetime | None = None) -> pa.Table:
        """All deliveries, or those of batches not before a time, as rows of :data:`HEADERS`."""
        where = self._mine()
        if since is not None:
            where = where & (pc.field("delivered_at") >= since)
        found = rows_of(self._tables.deliveries, where, HEADERS.names)
        if found is None:
            return HEADERS.empty_table()
        return found.sort_by([("sequence", "ascending"), ("subscription", "ascending")])

    def opened(self, deliveries: pa.Table) -> Iterator[Delivery]:
        """Deliveries with what they hold; only a few are in memory at a time."""
        for start in range(0, deliveries.num_rows, CONTENTS_AT_ONCE):
            yield from self._opened(deliveries.slice(start, CONTENTS_AT_ONCE))

    def follow(self, *, seconds: float) -> Iterator[pa.Table]:
        """New deliveries as they are committed, looked for so often, for ever.

        The first table holds everything that is there; tables may be empty.
        """
        seen: pa.Array[Any] = pa.array([], pa.string())
        newest: datetime | None = None
        version = -1
        while True:
            fresh = HEADERS.empty_table()
            current = self._version()
            if current != version:
                version = current
                # Batches of several streams may be committed out of order.
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
        sequences = [row["sequence"] for row in rows]
        where = self._mine() & pc.field("sequence").isin(sorted(set(sequences)))
        found = rows_of(self._tables.deliveries, where, ["delivery", "fragments"])
        assert found is not None, "whoever has headers read them from the table"
        fragments = {row["delivery"]: row["fragments"] for row in found.to_pylist()}
        whole = [row["sequence"] for row in rows if fragments.get(row["delivery"]) is None]
        contents = dict(contents_of(self._tables, whole))
        for row in rows:
            parts = fragments.get(row["delivery"])
            yield Delivery(
                **row,
                fragments=None if parts is None else tuple(_fragment(part) for part in parts),
                content=contents.get(row["sequence"]) if parts is None else None,
            )

    def _mine(self) -> pc.Expression:
        bucket = pc.field("bucket") == bucket_of(self.subscriber)
        return bucket & (pc.field("subscriber") == self.subscriber)

    def _version(self) -> int:
        table = self._tables.deliveries
        return DeltaTable(table).version() if DeltaTable.is_deltatable(table) else -1


def _fragment(row: dict[str, Any]) -> FragmentText:
    spans = tuple((span["start"], span["end"]) for span in row["spans"])
    return FragmentText(row["kind"], spans, row["xml"])
