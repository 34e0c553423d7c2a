"""A subscription as a workspace keeps it: as a value, a row of SQLite, a row of Arrow."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypeAlias, get_args

import pyarrow as pa

from penstock.errors import error
from penstock.language import Subscription
from penstock.workspace.limits import NAME_CHARACTERS_MAX
from penstock.workspace.schemas import SUBSCRIPTIONS, TIME
from penstock.workspace.times import loaded, stored

Returns: TypeAlias = Literal["document", "fragments"]
"""What a delivery carries: the document whole, or what the query selected in it."""

Backfill: TypeAlias = Literal["none", "wanted", "done"]
"""Whether documents of the past are to be delivered too, or have been."""

COLUMNS = (
    "id, subscriber, query, namespaces, default_namespace, returns, paused, starts_at, expires_at,"
    " backfill, created_at"
)
"""The columns of SQLite's table, in the order of the fields."""

FOR_VERSIONS = (
    "id, subscriber, query, namespaces, default_namespace, returns, starts_at, expires_at"
)
"""Those that an index version has, in its order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSubscription:
    """What a subscriber asks for, and when and how it is delivered."""

    id: str = ""
    """Names the subscription in its workspace; where it is empty, a name is made."""

    subscriber: str
    query: str
    namespaces: Mapping[str, str] = field(default_factory=dict, hash=False)
    default_namespace: str | None = None
    returns: Returns = "document"
    paused: bool = False
    """Nothing is delivered until it is resumed; what came meanwhile is not made up for."""

    starts_at: datetime | None = None
    """What is processed earlier is not delivered."""

    expires_at: datetime | None = None
    """What is processed at this time or later is not delivered."""

    backfill: Backfill = "none"
    created_at: datetime | None = None
    """When it was made; a workspace sets it."""

    @property
    def subscription(self) -> Subscription:
        """The query with its namespaces, under its name."""
        return Subscription(
            self.id,
            self.query,
            namespaces=self.namespaces,
            default_namespace=self.default_namespace,
        )

    def asks_the_same_as(self, other: StoredSubscription) -> bool:
        """Whether the two are of one subscriber and differ in nothing that he said."""
        return self._said() == other._said()

    def _said(self) -> tuple[object, ...]:
        return (
            self.subscriber,
            self.query,
            dict(self.namespaces),
            self.default_namespace,
            self.returns,
            self.starts_at,
            self.expires_at,
        )

    def check(self) -> None:
        """Look at everything but the query.

        Raises
        ------
        WorkspaceError
            ``workspace.name``, ``subscription.times`` or ``subscription.returns``.
        """
        check_name("subscriber", self.subscriber)
        if self.id:
            check_name("subscription", self.id)
        if self.returns not in get_args(Returns):
            raise error("subscription.returns", f"`{self.returns}` is nothing that can be returned")
        if self.starts_at and self.expires_at and self.expires_at <= self.starts_at:
            raise error(
                "subscription.times",
                f"it expires at {self.expires_at.isoformat()}, and starts only at"
                f" {self.starts_at.isoformat()}",
            )


def check_name(kind: str, name: str) -> None:
    """Refuse a name that could not be told apart, or not be shown on a line.

    Raises
    ------
    WorkspaceError
        ``workspace.name``
    """
    if not name.strip() or name != name.strip():
        raise error(
            "workspace.name", f"`{name}` is no name of a {kind}: empty, or spaces around it"
        )
    if len(name) > NAME_CHARACTERS_MAX:
        raise error(
            "workspace.name",
            f"the name of a {kind} has {len(name)} characters, more than {NAME_CHARACTERS_MAX}",
        )
    if any(unicodedata.category(character).startswith(("C", "Zl", "Zp")) for character in name):
        raise error("workspace.name", f"{name!r} is no name of a {kind}: it cannot be shown")


def to_row(subscription: StoredSubscription) -> tuple[object, ...]:
    """The values of :data:`COLUMNS`."""
    return (
        subscription.id,
        subscription.subscriber,
        subscription.query,
        json.dumps(dict(subscription.namespaces), sort_keys=True, ensure_ascii=False),
        subscription.default_namespace,
        subscription.returns,
        int(subscription.paused),
        stored(subscription.starts_at),
        stored(subscription.expires_at),
        subscription.backfill,
        stored(subscription.created_at),
    )


def from_row(row: tuple[Any, ...]) -> StoredSubscription:
    """The subscription of values of :data:`COLUMNS`."""
    return StoredSubscription(
        id=row[0],
        subscriber=row[1],
        query=row[2],
        namespaces=json.loads(row[3]),
        default_namespace=row[4],
        returns=row[5],
        paused=bool(row[6]),
        starts_at=loaded(row[7]),
        expires_at=loaded(row[8]),
        backfill=row[9],
        created_at=loaded(row[10]),
    )


def as_table(subscriptions: Iterable[StoredSubscription]) -> pa.Table:
    """Subscriptions as an index version has them."""
    rows = map(to_row, subscriptions)
    return to_table((*row[:6], *row[7:9]) for row in rows)


def to_table(rows: Iterable[tuple[Any, ...]]) -> pa.Table:
    """Rows of :data:`FOR_VERSIONS` as an index version has them."""
    columns: list[list[Any]] = [list(column) for column in zip(*rows, strict=True)]
    if not columns:
        return SUBSCRIPTIONS.empty_table()
    of_text: dict[str, list[tuple[str, str]]] = {}
    for text in columns[3]:
        if text not in of_text:
            of_text[text] = list(json.loads(text).items())
    columns[3] = [of_text[text] for text in columns[3]]
    arrays: list[pa.Array[Any]] = []
    for values, of in zip(columns, SUBSCRIPTIONS, strict=True):
        if of.type == TIME:
            arrays.append(pa.array(values, pa.int64()).cast(TIME))
        else:
            arrays.append(pa.array(values, of.type))
    return pa.Table.from_arrays(arrays, schema=SUBSCRIPTIONS)
