"""How a workspace stands: what waits, what became of what came, who got how much."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow.compute as pc

from penstock.workspace import table_schemas
from penstock.workspace.pipeline_tables import BACKFILL, Tables
from penstock.workspace.table_reader import rows_of


@dataclass(frozen=True, slots=True)
class Strays:
    """Documents of a publisher that have elements which their mapping's schema does not have."""

    publisher: str
    schema: str
    """As their headers name it; empty where they carry a mapping and name none."""
    documents: int
    elements: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Sums over everything that is kept: ``documents == matched + unmatched + dead``."""

    subscriptions: int
    paused: int
    domains: dict[str, int]
    """The last version of each domain's global schema."""
    local_schemas: int
    """Schemas for which a mapping is registered."""
    waiting: int
    """Documents that are published and not processed yet."""
    documents: int
    matched: int
    unmatched: int
    dead: int
    strays: tuple[Strays, ...]
    """Whose documents have left their schemas, among those that are kept; most elements first."""
    deliveries: int
    mailboxes: dict[str, int]
    """Deliveries by subscriber, those with most first."""


def counts_of(tables: Tables) -> dict[str, int]:
    """The sums of the batches of published documents; filling in past ones counts none again."""
    names = ("documents", "matched", "unmatched", "dead")
    compute: Any = pc
    rows = rows_of(tables.counts, ~_of_the_past(), [*names, "last_sequence"])
    found: dict[str, int] = dict.fromkeys((*names, "last_sequence"), 0)
    if rows is None or rows.num_rows == 0:
        return found
    found |= {name: compute.sum(rows.column(name)).as_py() for name in names}
    return found | {"last_sequence": compute.max(rows.column("last_sequence")).as_py() or 0}


def strays_of(tables: Tables) -> tuple[Strays, ...]:
    """Whose documents have elements that their mappings' schemas do not have."""
    keys, unknown = ["publisher", "schema"], table_schemas.UNKNOWN.name
    where = pc.field(unknown) > 0
    rows = rows_of(tables.documents, where, [*keys, unknown], schema=table_schemas.LOG)
    if rows is None:
        return ()
    grouped = rows.group_by(keys).aggregate([([], "count_all"), (unknown, "sum")])
    ordered = grouped.sort_by(
        [(f"{unknown}_sum", "descending"), *((key, "ascending") for key in keys)]
    )
    columns = [ordered.column(name) for name in (*keys, "count_all", f"{unknown}_sum")]
    return tuple(Strays(*row) for row in zip(*(each.to_pylist() for each in columns), strict=True))


def past_deliveries(tables: Tables) -> int:
    """How many deliveries of past documents were made to subscriptions that asked for them."""
    rows = rows_of(tables.counts, _of_the_past(), ["deliveries"])
    compute: Any = pc
    return 0 if rows is None else compute.sum(rows.column("deliveries")).as_py() or 0


def _of_the_past() -> pc.Expression:
    compute: Any = pc
    condition: pc.Expression = compute.starts_with(pc.field("stream"), BACKFILL)
    return condition


def deliveries_by_subscriber(tables: Tables) -> dict[str, int]:
    """How many deliveries each mailbox holds, those with most first."""
    rows = rows_of(tables.deliveries, columns=["subscriber"])
    if rows is None:
        return {}
    grouped = rows.group_by("subscriber").aggregate([([], "count_all")])
    ordered = grouped.sort_by([("count_all", "descending"), ("subscriber", "ascending")])
    return {row["subscriber"]: row["count_all"] for row in ordered.to_pylist()}
