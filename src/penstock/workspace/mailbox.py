"""A mailbox: the deliveries of one subscriber.

Deliveries are rows of one Delta table; the documents' bytes are stored once, in another. Reading a
mailbox reads one bucket and the recent deliveries of the first, and only the opened documents of
the second: each is found by its identity and checked by its digest.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.errors import error
from penstock.language.source_position import utf8_size
from penstock.workspace.arrow_values import empty_table, integer_array, rows_of
from penstock.workspace.delta_rs import DeltaTable
from penstock.workspace.document_contents import DocumentKey, read_contents
from penstock.workspace.limits import (
    CONTENT_BYTES_AT_ONCE,
    CONTENTS_AT_ONCE,
    CONTENTS_AT_ONCE_MAX,
)
from penstock.workspace.mailbox_cursors import CursorStore
from penstock.workspace.name_validation import validate_name
from penstock.workspace.pipeline_tables import Tables
from penstock.workspace.subscriber_buckets import partitions_of
from penstock.workspace.table_scan import Condition, GreaterThan, OneOf, scan
from penstock.workspace.table_schemas import DELIVERIES, MORE_FRAGMENTS, POSITION

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
            "position",
        )
    ]
)
"""Columns of a delivery without its content."""

_FRAGMENTS = pa.schema(
    [DELIVERIES.field(name) for name in ("delivery", "sequence", "content_digest", "fragments")]
)

_SUBSCRIBER = pa.schema([DELIVERIES.field("subscriber")])


@dataclass(frozen=True, slots=True)
class FragmentText:
    """A fragment that a query selected, as self-contained XML."""

    kind: str
    """The kind of node."""
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
    position: int
    """The commit position: a delivery that becomes visible later has a greater one."""
    fragments: tuple[FragmentText, ...] | None
    """``None`` if the complete document is delivered: the subscription returns documents, or the
    document is too large to locate the answers of a keyword query with OR in it."""
    fragments_omitted: int = 0
    """Number of fragments that were omitted because of the subscription's limit."""
    content: bytes | None
    """The complete document, unless fragments are delivered or retention has removed it."""


class Mailbox:
    """The deliveries of one subscriber, in the order of their commit positions.

    Within a batch this is publishing order. Made by
    :meth:`Workspace.mailbox <penstock.workspace.Workspace.mailbox>`.

    Examples
    --------
    >>> import tempfile
    >>> from penstock.workspace import Workspace
    >>> with Workspace.create(tempfile.mkdtemp()) as workspace:
    ...     mailbox = workspace.mailbox("anna")
    ...     cursor = mailbox.cursor("billing")
    ...     for delivery in cursor.read():
    ...         print(delivery.content)  # process it, then
    ...         cursor.acknowledge(delivery)
    """

    def __init__(self, tables: Tables, subscriber: str, cursors: CursorStore | None = None) -> None:
        if utf8_size(subscriber) is None:
            raise error("workspace.name", f"{subscriber!a} contains a lone surrogate")
        self._tables = tables
        self._cursors = cursors
        self.subscriber = subscriber

    def __repr__(self) -> str:
        return f"<Mailbox: {self.subscriber}>"

    def deliveries(self, *, after: int | None = None) -> pa.Table:
        """All deliveries, or those after a commit position, as rows of :data:`HEADERS`."""
        if after is not None and after >= 0:
            return self._read(HEADERS, GreaterThan(POSITION.name, after)).sort_by(POSITION.name)
        found = _with_positions(self._read(HEADERS)).sort_by(POSITION.name)
        if after is None:
            return found
        return found.filter(GreaterThan(POSITION.name, after).selects(found))

    def read(self, *, after: int | None = None, limit: int | None = None) -> Iterator[Delivery]:
        """The deliveries after a commit position, with their content.

        Parameters
        ----------
        after
            The position of the last delivery that was read; by default all are read.
        limit
            At most this many, the first ones.
        """
        return self.opened(self.deliveries(after=after)[:limit])

    def cursor(self, name: str) -> Cursor:
        """The cursor of a reader of this mailbox, which starts at the first delivery.

        Raises
        ------
        WorkspaceError
            ``workspace.name``
        """
        if self._cursors is None:
            raise TypeError("a mailbox has cursors only if Workspace.mailbox() opened it")
        validate_name("cursor", name)
        return Cursor(self, self._cursors, name)

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

    def follow(self, *, seconds: float, after: int | None = None) -> Iterator[pa.Table]:
        """New deliveries as they are committed, polled at an interval, without end.

        The first table contains all existing deliveries, or those after a commit position. Tables
        may be empty.
        """
        version = -1
        while True:
            fresh = empty_table(HEADERS)
            current = self._version()
            if current != version:
                version = current
                fresh = self.deliveries(after=after)
                after = pc.max(fresh.column(POSITION.name)).as_py() if fresh.num_rows else after
            yield fresh
            time.sleep(seconds)

    def _opened(self, headers: pa.Table) -> Iterator[Delivery]:
        rows = rows_of(headers)
        sequences = OneOf("sequence", sorted({row["sequence"] for row in rows}))
        found = self._read(_FRAGMENTS, sequences)
        fragments = {_key(row): row["fragments"] for row in found.to_pylist()}
        complete = [_document(row) for row in rows if fragments.get(_key(row)) is None]
        contents = read_contents(self._tables, complete)
        for row in rows:
            parts = fragments.get(_key(row))
            omitted = _omitted(parts[-1]) if parts else 0
            content = contents.get(_document(row)) if parts is None else None
            del row["content_digest"]
            yield Delivery(
                **row,
                fragments=None
                if parts is None
                else tuple(_fragment(part) for part in (parts[:-1] if omitted else parts)),
                fragments_omitted=omitted,
                content=content,
            )

    def _read(self, columns: pa.Schema, *conditions: Condition) -> pa.Table:
        """The subscriber's rows of the deliveries table that meet some conditions."""
        schema = pa.unify_schemas([columns, _SUBSCRIBER])
        is_own = OneOf("subscriber", [self.subscriber])
        partitions = {"bucket": partitions_of(self.subscriber)}
        tables = scan(self._tables.deliveries, schema, [is_own, *conditions], partitions=partitions)
        found = pa.concat_tables([empty_table(schema), *tables])
        return found.select(columns.names)

    def _version(self) -> int:
        table = self._tables.deliveries
        return DeltaTable(table).version() if DeltaTable.is_deltatable(table) else -1


class Cursor:
    """How far a reader of a mailbox has acknowledged its deliveries."""

    def __init__(self, mailbox: Mailbox, store: CursorStore, name: str) -> None:
        self._mailbox = mailbox
        self._store = store
        self.name = name

    @property
    def position(self) -> int | None:
        """The position of the last acknowledged delivery; ``None`` if there is none."""
        return self._store.position(self._mailbox.subscriber, self.name)

    def read(self, *, limit: int | None = None) -> Iterator[Delivery]:
        """The deliveries that are not acknowledged, the oldest first."""
        return self._mailbox.read(after=self.position, limit=limit)

    def acknowledge(self, delivery: Delivery | int) -> None:
        """Acknowledge a delivery, or a position, and all deliveries before it.

        It is durable on return. A cursor never moves back.
        """
        position = delivery.position if isinstance(delivery, Delivery) else delivery
        self._store.acknowledge(self._mailbox.subscriber, self.name, position)

    def delete(self) -> None:
        """Delete the cursor: a new one of the same name starts at the first delivery."""
        self._store.delete(self._mailbox.subscriber, self.name)


def _with_positions(headers: pa.Table) -> pa.Table:
    """The rows of earlier versions, which have no positions, get negative ones.

    They count back from the newest, so that they stay the same when retention removes the oldest.
    """
    position = headers.schema.get_field_index(POSITION.name)
    is_old = pc.is_null(headers.column(position))
    old = headers.filter(is_old)
    if not old.num_rows:
        return headers
    old = old.sort_by(
        [("delivered_at", "ascending"), ("sequence", "ascending"), ("subscription", "ascending")]
    )
    negative = integer_array(range(-old.num_rows, 0))
    old = old.set_column(position, headers.schema.field(position), negative)
    return pa.concat_tables([old, headers.filter(pc.invert(is_old))])


def _key(row: dict[str, Any]) -> tuple[str, int, bytes | None]:
    # An identity that is published again with other bytes gives a delivery of the same id.
    return row["delivery"], row["sequence"], row["content_digest"]


def _document(row: dict[str, Any]) -> DocumentKey:
    return DocumentKey(row["document"], row["sequence"], row["content_digest"])


def _omitted(row: dict[str, Any]) -> int:
    """The number of omitted fragments, if this row stands for them; otherwise 0."""
    if row["kind"] != MORE_FRAGMENTS:
        return 0
    return int(row["xml"].removeprefix("<!-- ").removesuffix(" more -->"))


def _fragment(row: dict[str, Any]) -> FragmentText:
    spans = tuple((span["start"], span["end"]) for span in row["spans"])
    return FragmentText(row["kind"], spans, row["xml"])
