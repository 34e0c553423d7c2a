"""A stored subscription, and its conversion to and from SQLite and Arrow rows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal, TypeAlias, get_args

import pyarrow as pa

from penstock.errors import error
from penstock.language import Subscription
from penstock.matching.query_indexes import QUERY_KINDS, NumberedQuery, QueryKind
from penstock.workspace.limits import SUBSCRIPTION_FRAGMENTS_MAX
from penstock.workspace.name_validation import validate_name
from penstock.workspace.table_schemas import SUBSCRIPTIONS, TIME
from penstock.workspace.timestamps import from_microseconds, to_microseconds

Returns: TypeAlias = Literal["document", "fragments"]
"""What a delivery contains: the complete document, or the fragments that the query selected."""

RETURNS_BY_DEFAULT: Final[Mapping[QueryKind, Returns]] = {
    "xpath": "document",
    "keywords": "fragments",
}
"""The default of commands and subscription files. Keyword queries ask for the part of a document
that contains the keywords together."""

Backfill: TypeAlias = Literal["none", "wanted", "done"]
"""Whether past documents are to be delivered too, or have been."""

COLUMNS = (
    "id, subscriber, kind, query, namespaces, default_namespace, returns, starts_at, expires_at,"
    " header_tests, fragments_max, paused, backfill, created_at"
)
"""The columns of the SQLite table."""

VERSION_COLUMNS = ", ".join(COLUMNS.split(", ")[: len(SUBSCRIPTIONS)])
"""The columns that an index version includes, in the order of its schema."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSubscription:
    """A subscriber's query, and what is delivered when."""

    id: str = ""
    """The subscription's name in its workspace; if empty, one is generated."""

    subscriber: str
    kind: QueryKind = "xpath"
    query: str
    """XPath or keywords."""

    namespaces: Mapping[str, str] = field(default_factory=dict, hash=False)
    default_namespace: str | None = None
    returns: Returns = "document"
    starts_at: datetime | None = None
    """Documents processed before this time are not delivered."""

    expires_at: datetime | None = None
    """Documents processed at or after this time are not delivered."""

    where: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Header fields and the values that they must have."""

    fragments_max: int | None = None
    """Maximum number of fragments in a delivery; ``None`` for
    :data:`~penstock.workspace.limits.DELIVERY_FRAGMENTS_MAX`."""

    paused: bool = False
    """Nothing is delivered until it is resumed; documents processed in between are skipped."""

    backfill: Backfill = "none"
    created_at: datetime | None = None
    """Creation time, set by the workspace."""

    @property
    def subscription(self) -> Subscription:
        """The XPath query with its namespaces, as the matching package takes it."""
        assert self.kind == "xpath", "a keyword query is not XPath"
        return Subscription(
            self.id,
            self.query,
            namespaces=self.namespaces,
            default_namespace=self.default_namespace,
        )

    def numbered_query(self, number: int) -> NumberedQuery:
        """The query as an index takes it, under a number."""
        bindings = tuple(sorted(self.namespaces.items()))
        tests = tuple(sorted(self.where.items()))
        return number, self.kind, self.query, bindings, self.default_namespace, tests

    def is_equivalent_to(self, other: StoredSubscription) -> bool:
        """Whether both have the same subscriber and the same request, whatever their state."""
        return self._request() == other._request()

    def _request(self) -> tuple[object, ...]:
        return (
            self.subscriber,
            self.kind,
            self.query,
            dict(self.namespaces),
            self.default_namespace,
            self.returns,
            self.starts_at,
            self.expires_at,
            dict(self.where),
            self.fragments_max,
        )

    def validate(self) -> None:
        """Check everything but the query.

        Raises
        ------
        WorkspaceError
            ``workspace.name``, ``subscription.kind``, ``subscription.returns``,
            ``subscription.fragments-max`` or ``subscription.times``.
        """
        validate_name("subscriber", self.subscriber)
        if self.id:
            validate_name("subscription", self.id)
        if self.kind not in QUERY_KINDS:
            raise error("subscription.kind", f"unknown kind of subscription: `{self.kind}`")
        if self.kind == "keywords" and (self.namespaces or self.default_namespace):
            raise error("subscription.kind", "a keyword subscription cannot have namespaces")
        if self.returns not in get_args(Returns):
            raise error("subscription.returns", f"unknown return type: `{self.returns}`")
        if self.fragments_max is not None and not (
            1 <= self.fragments_max <= SUBSCRIPTION_FRAGMENTS_MAX
        ):
            raise error(
                "subscription.fragments-max",
                f"a delivery can have 1 to {SUBSCRIPTION_FRAGMENTS_MAX:,} fragments, not"
                f" {self.fragments_max:,}",
            )
        if self.starts_at and self.expires_at and self.expires_at <= self.starts_at:
            raise error(
                "subscription.times",
                f"it expires at {self.expires_at.isoformat()}, before it starts at"
                f" {self.starts_at.isoformat()}",
            )


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
        to_microseconds(subscription.starts_at),
        to_microseconds(subscription.expires_at),
        json.dumps(dict(subscription.where), sort_keys=True, ensure_ascii=False),
        subscription.fragments_max,
        int(subscription.paused),
        subscription.backfill,
        to_microseconds(subscription.created_at),
    )


def from_row(row: tuple[Any, ...]) -> StoredSubscription:
    """The subscription with these values of :data:`COLUMNS`."""
    return StoredSubscription(
        id=row[0],
        subscriber=row[1],
        kind=row[2],
        query=row[3],
        namespaces=json.loads(row[4]),
        default_namespace=row[5],
        returns=row[6],
        starts_at=from_microseconds(row[7]),
        expires_at=from_microseconds(row[8]),
        where=json.loads(row[9]),
        fragments_max=row[10],
        paused=bool(row[11]),
        backfill=row[12],
        created_at=from_microseconds(row[13]),
    )


def subscriptions_to_table(subscriptions: Iterable[StoredSubscription]) -> pa.Table:
    """Subscriptions as a table of an index version."""
    return rows_to_table(to_row(each)[: len(SUBSCRIPTIONS)] for each in subscriptions)


def rows_to_table(rows: Iterable[tuple[Any, ...]]) -> pa.Table:
    """SQLite rows of :data:`VERSION_COLUMNS` as a table of an index version."""
    columns: list[list[Any]] = [list(column) for column in zip(*rows, strict=True)]
    if not columns:
        return SUBSCRIPTIONS.empty_table()
    parsed: dict[str, list[tuple[str, str]]] = {}
    for name in ("namespaces", "where"):
        column = SUBSCRIPTIONS.get_field_index(name)
        for text in columns[column]:
            if text not in parsed:
                parsed[text] = list(json.loads(text).items())
        columns[column] = [parsed[text] for text in columns[column]]
        if name == "where":  # null without tests, as in tables that do not have the column
            columns[column] = [tests or None for tests in columns[column]]
    arrays: list[pa.Array[Any]] = []
    for values, described in zip(columns, SUBSCRIPTIONS, strict=True):
        if described.type == TIME:
            arrays.append(pa.array(values, pa.int64()).cast(TIME))
        else:
            arrays.append(pa.array(values, described.type))
    return pa.Table.from_arrays(arrays, schema=SUBSCRIPTIONS)
