"""A subscription as a workspace keeps it: as a value, a row of SQLite, a row of Arrow."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal, TypeAlias, get_args

import pyarrow as pa

from penstock.errors import error
from penstock.language import Subscription
from penstock.workspace.limits import NAME_CHARACTERS_MAX
from penstock.workspace.query_indexes import KINDS, Kind, Wanted
from penstock.workspace.table_schemas import SUBSCRIPTIONS, TIME
from penstock.workspace.timestamps import loaded, stored

Returns: TypeAlias = Literal["document", "fragments"]
"""What a delivery carries: the document whole, or what the query selected in it."""

RETURNS_BY_DEFAULT: Final[Mapping[Kind, Returns]] = {"xpath": "document", "keywords": "fragments"}
"""What commands and files mean where they do not say. Whoever asks by keywords asks for the part of
a document that holds them together."""

Backfill: TypeAlias = Literal["none", "wanted", "done"]
"""Whether documents of the past are to be delivered too, or have been."""

COLUMNS = (
    "id, subscriber, kind, query, namespaces, default_namespace, returns, starts_at, expires_at,"
    " paused, backfill, created_at"
)
"""The columns of SQLite's table, in the order of the fields."""

FOR_VERSIONS = ", ".join(COLUMNS.split(", ")[: len(SUBSCRIPTIONS)])
"""The first of them are those that an index version has, in its order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSubscription:
    """What a subscriber asks for, and when and how it is delivered."""

    id: str = ""
    """Names the subscription in its workspace; where it is empty, a name is made."""

    subscriber: str
    kind: Kind = "xpath"
    query: str
    """XPath, or keywords."""

    namespaces: Mapping[str, str] = field(default_factory=dict, hash=False)
    default_namespace: str | None = None
    returns: Returns = "document"
    starts_at: datetime | None = None
    """What is processed earlier is not delivered."""

    expires_at: datetime | None = None
    """What is processed at this time or later is not delivered."""

    paused: bool = False
    """Nothing is delivered until it is resumed; what came meanwhile is not made up for."""

    backfill: Backfill = "none"
    created_at: datetime | None = None
    """When it was made; a workspace sets it."""

    @property
    def subscription(self) -> Subscription:
        """The query in XPath with its namespaces, under its name."""
        assert self.kind == "xpath", "keywords are no XPath"
        return Subscription(
            self.id,
            self.query,
            namespaces=self.namespaces,
            default_namespace=self.default_namespace,
        )

    def as_wanted(self, number: int) -> Wanted:
        """The query as an index takes it, under a number."""
        bindings = tuple(sorted(self.namespaces.items()))
        return number, self.kind, self.query, bindings, self.default_namespace

    def asks_the_same_as(self, other: StoredSubscription) -> bool:
        """Whether the two are of one subscriber and differ in nothing that he said."""
        return self._said() == other._said()

    def _said(self) -> tuple[object, ...]:
        return (
            self.subscriber,
            self.kind,
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
            ``workspace.name``, ``subscription.kind``, ``subscription.returns`` or
            ``subscription.times``.
        """
        check_name("subscriber", self.subscriber)
        if self.id:
            check_name("subscription", self.id)
        if self.kind not in KINDS:
            raise error("subscription.kind", f"`{self.kind}` is no kind of subscription")
        if self.kind == "keywords" and (self.namespaces or self.default_namespace):
            raise error("subscription.kind", "keywords are of no namespace, and this names some")
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
    # Looked at letter by letter only where need be: names come by the million.
    if not name.isprintable() and any(map(_hides, name)):
        raise error("workspace.name", f"{name!r} is no name of a {kind}: it cannot be shown")


def _hides(character: str) -> bool:
    return unicodedata.category(character).startswith(("C", "Zl", "Zp"))


def to_row(subscription: StoredSubscription) -> tuple[object, ...]:
    """The values of :data:`COLUMNS`."""
    return (
        subscription.id,
        subscription.subscriber,
        subscription.kind,
        subscription.query,
        json.dumps(dict(subscription.namespaces), sort_keys=True, ensure_ascii=False),
        subscription.default_namespace,
        subscription.returns,
        stored(subscription.starts_at),
        stored(subscription.expires_at),
        int(subscription.paused),
        subscription.backfill,
        stored(subscription.created_at),
    )


def from_row(row: tuple[Any, ...]) -> StoredSubscription:
    """The subscription of values of :data:`COLUMNS`."""
    return StoredSubscription(
        id=row[0],
        subscriber=row[1],
        kind=row[2],
        query=row[3],
        namespaces=json.loads(row[4]),
        default_namespace=row[5],
        returns=row[6],
        starts_at=loaded(row[7]),
        expires_at=loaded(row[8]),
        paused=bool(row[9]),
        backfill=row[10],
        created_at=loaded(row[11]),
    )


def as_table(subscriptions: Iterable[StoredSubscription]) -> pa.Table:
    """Subscriptions as an index version has them."""
    return to_table(to_row(each)[: len(SUBSCRIPTIONS)] for each in subscriptions)


def to_table(rows: Iterable[tuple[Any, ...]]) -> pa.Table:
    """Rows of :data:`FOR_VERSIONS` as an index version has them."""
    columns: list[list[Any]] = [list(column) for column in zip(*rows, strict=True)]
    if not columns:
        return SUBSCRIPTIONS.empty_table()
    of_text: dict[str, list[tuple[str, str]]] = {}
    namespaces = SUBSCRIPTIONS.get_field_index("namespaces")
    for text in columns[namespaces]:
        if text not in of_text:
            of_text[text] = list(json.loads(text).items())
    columns[namespaces] = [of_text[text] for text in columns[namespaces]]
    arrays: list[pa.Array[Any]] = []
    for values, of in zip(columns, SUBSCRIPTIONS, strict=True):
        if of.type == TIME:
            arrays.append(pa.array(values, pa.int64()).cast(TIME))
        else:
            arrays.append(pa.array(values, of.type))
    return pa.Table.from_arrays(arrays, schema=SUBSCRIPTIONS)
