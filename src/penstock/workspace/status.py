"""The status of a workspace: totals over subscriptions, documents and deliveries."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import pyarrow.compute as pc

from penstock.workspace import table_schemas
from penstock.workspace.inbox import DamagedDocuments
from penstock.workspace.pipeline_tables import BACKFILL_PREFIX, Tables
from penstock.workspace.table_reader import last_published, read_rows


@dataclass(frozen=True, slots=True)
class Strays:
    """Documents of a publisher with elements that the schema of their mapping does not define."""

    publisher: str
    schema: str
    """The schema that their headers name; empty if they carry a mapping and name none."""
    documents: int
    elements: int


@dataclass(frozen=True, slots=True)
class SetAside:
    """A subscription that was too expensive to match against some documents."""

    subscription: str
    documents: int
    """Number of documents for which it was set aside."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Totals over all stored data: ``documents == matched + unmatched + dead``."""

    subscriptions: int
    paused: int
    domains: dict[str, int]
    """The current version of each domain's global schema."""
    local_schemas: int
    """Number of schemas that have a registered mapping."""
    waiting: int
    """Documents that are published but not processed yet, damaged ones included."""
    damaged: tuple[DamagedDocuments, ...]
    """Documents that cannot be read, because their inbox file is damaged."""
    documents: int
    matched: int
    unmatched: int
    dead: int
    strays: tuple[Strays, ...]
    """Documents with unknown elements, by publisher and schema; most elements first."""
    set_aside: tuple[SetAside, ...]
    """Subscriptions that were set aside, because the work budget of documents was spent; most
    documents first."""
    fragments_omitted: int
    """Fragments that were omitted from deliveries because of a limit."""
    deliveries: int
    mailboxes: dict[str, int]
    """Deliveries by subscriber, largest mailbox first."""


def sum_counts(tables: Tables) -> dict[str, int]:
    """The summed counts of all batches except backfills, whose documents were counted before."""
    names = ("documents", "matched", "unmatched", "dead")
    compute: Any = pc
    rows = read_rows(tables.counts, ~_is_backfill(), [*names, "last_sequence"])
    sums: dict[str, int] = dict.fromkeys((*names, "last_sequence"), 0)
    if rows is None or rows.num_rows == 0:
        return sums
    sums |= {name: compute.sum(rows.column(name)).as_py() for name in names}
    return sums | {"last_sequence": last_published(rows) or 0}


def sum_strays(tables: Tables) -> tuple[Strays, ...]:
    """Documents with elements that their mapping's schema does not define, most elements first."""
    keys, unknown = ["publisher", "schema"], table_schemas.UNKNOWN_ELEMENTS.name
    condition = pc.field(unknown) > 0
    rows = read_rows(
        tables.documents, condition, [*keys, unknown], schema=table_schemas.DOCUMENT_LOG
    )
    if rows is None:
        return ()
    grouped = rows.group_by(keys).aggregate([([], "count_all"), (unknown, "sum")])
    ordered = grouped.sort_by(
        [(f"{unknown}_sum", "descending"), *((key, "ascending") for key in keys)]
    )
    columns = [ordered.column(name) for name in (*keys, "count_all", f"{unknown}_sum")]
    return tuple(Strays(*row) for row in zip(*(each.to_pylist() for each in columns), strict=True))


def sum_set_aside(tables: Tables) -> tuple[SetAside, ...]:
    """The subscriptions that were set aside for documents, most documents first."""
    column = table_schemas.SET_ASIDE_BY_SUBSCRIPTION.name
    condition = pc.field(table_schemas.SET_ASIDE.name) > 0
    rows = read_rows(tables.counts, condition, [column], schema=table_schemas.COUNTS)
    documents: Counter[str] = Counter()
    counts: list[Any] = [] if rows is None else rows.column(column).to_pylist()
    for by_subscription in counts:
        documents.update(dict(by_subscription))
    ordered = sorted(documents.items(), key=lambda item: (-item[1], item[0]))
    return tuple(SetAside(*item) for item in ordered)


def sum_fragments_omitted(tables: Tables) -> int:
    """The number of fragments that were omitted from deliveries because of a limit."""
    column = table_schemas.FRAGMENTS_OMITTED.name
    rows = read_rows(tables.counts, pc.field(column) > 0, [column], schema=table_schemas.COUNTS)
    compute: Any = pc
    return 0 if rows is None else compute.sum(rows.column(column)).as_py() or 0


def past_deliveries(tables: Tables) -> int:
    """The number of deliveries that backfills have made."""
    rows = read_rows(tables.counts, _is_backfill(), ["deliveries"])
    compute: Any = pc
    return 0 if rows is None else compute.sum(rows.column("deliveries")).as_py() or 0


def _is_backfill() -> pc.Expression:
    compute: Any = pc
    condition: pc.Expression = compute.starts_with(pc.field("stream"), BACKFILL_PREFIX)
    return condition


def deliveries_by_subscriber(tables: Tables) -> dict[str, int]:
    """The number of deliveries in each mailbox, largest first."""
    rows = read_rows(tables.deliveries, columns=["subscriber"])
    if rows is None:
        return {}
    grouped = rows.group_by("subscriber").aggregate([([], "count_all")])
    ordered = grouped.sort_by([("count_all", "descending"), ("subscriber", "ascending")])
    return {row["subscriber"]: row["count_all"] for row in ordered.to_pylist()}
