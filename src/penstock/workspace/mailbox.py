"""A mailbox: what was delivered to one subscriber.

Deliveries stand in a Delta table, the documents' bytes once in another. Reading a mailbox reads one
bucket of the first, and of the second what is looked at.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pyarrow.dataset as ds
from deltalake import DeltaTable

from penstock.workspace.buckets import bucket_of
from penstock.workspace.limits import FOLLOW_HOURS
from penstock.workspace.reading import contents_of, rows_of
from penstock.workspace.tables import Tables

_COLUMNS = (
    "delivery",
    "subscription",
    "document",
    "publisher",
    "sequence",
    "published_at",
    "delivered_at",
    "fragments",
)


@dataclass(frozen=True, slots=True)
class FragmentText:
    """What a query selected, as XML that stands alone."""

    kind: str
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
    """``None`` where the subscription asked for whole documents."""


class Mailbox:
    """The deliveries of one subscriber, in publishing order."""

    def __init__(self, tables: Tables, subscriber: str) -> None:
        self._tables = tables
        self.subscriber = subscriber

    def deliveries(self, since: datetime | None = None) -> list[Delivery]:
        """All deliveries, or those of batches not before a time."""
        where = (ds.field("bucket") == bucket_of(self.subscriber)) & (
            ds.field("subscriber") == self.subscriber
        )
        if since is not None:
            where = where & (ds.field("delivered_at") >= since)
        found = rows_of(self._tables.deliveries, where, _COLUMNS)
        if found is None:
            return []
        ordered = found.sort_by([("sequence", "ascending"), ("subscription", "ascending")])
        return [_delivery(row) for row in ordered.to_pylist()]

    def with_contents(
        self, deliveries: Sequence[Delivery]
    ) -> Iterator[tuple[Delivery, bytes | None]]:
        """Deliveries with the bytes of their documents; ``None`` where they are no longer kept."""
        contents = contents_of(self._tables, [each.sequence for each in deliveries])
        for delivery, (_, content) in zip(deliveries, contents, strict=True):
            yield delivery, content

    def follow(self, *, seconds: float) -> Iterator[list[Delivery]]:
        """New deliveries as they are committed, looked for so often, for ever.

        The first list holds everything that is there; lists may be empty.
        """
        seen: dict[str, datetime] = {}
        newest: datetime | None = None
        version = -1
        while True:
            fresh: list[Delivery] = []
            current = self._version()
            if current != version:
                version = current
                # Batches of several streams may be committed out of order.
                since = None if newest is None else newest - timedelta(hours=FOLLOW_HOURS)
                found = self.deliveries(since)
                fresh = [each for each in found if each.delivery not in seen]
                newest = max((each.delivered_at for each in found), default=newest)
                seen = {each.delivery: each.delivered_at for each in found}
            yield fresh
            time.sleep(seconds)

    def _version(self) -> int:
        table = self._tables.deliveries
        return DeltaTable(table).version() if DeltaTable.is_deltatable(table) else -1


def _delivery(row: dict[str, Any]) -> Delivery:
    fragments = row.pop("fragments")
    return Delivery(
        **row,
        fragments=None if fragments is None else tuple(_fragment(each) for each in fragments),
    )


def _fragment(row: dict[str, Any]) -> FragmentText:
    spans = tuple((span["start"], span["end"]) for span in row["spans"])
    return FragmentText(row["kind"], spans, row["xml"])
