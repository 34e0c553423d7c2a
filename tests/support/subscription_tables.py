"""Tables of subscriptions as index versions hold them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
from query_kinds import kind_of

from penstock.workspace.schemas import SUBSCRIPTIONS


def subscription(name: str, query: str, **more: object) -> dict[str, Any]:
    """A row; its subscriber is called like the subscription's first part."""
    return {
        "subscription": name,
        "subscriber": name.partition("-")[0],
        "kind": kind_of(query),
        "query": query,
        "namespaces": {},
        "default_namespace": None,
        "returns": "document",
        "starts_at": None,
        "expires_at": None,
        **more,
    }


def table_of(rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """The rows as a table."""
    listed = [{**row, "namespaces": list(row["namespaces"].items())} for row in rows]
    return pa.Table.from_pylist(listed, schema=SUBSCRIPTIONS)
