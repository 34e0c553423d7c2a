"""The status of a workspace, also with tables of older versions."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock.workspace import table_schemas
from penstock.workspace.delta import TableWriter, commit_batch, create_table
from penstock.workspace.pipeline_tables import Tables
from penstock.workspace.status import SetAside, Strays, sum_set_aside, sum_strays
from penstock.workspace.table_reader import read_rows
from support.fixtures.workspace_counts import commit_counts

MONDAY = datetime(2026, 5, 4, tzinfo=UTC)
NEW_LOG = table_schemas.DOCUMENT_LOG
OLD_LOG = NEW_LOG.remove(NEW_LOG.get_field_index(table_schemas.UNKNOWN_ELEMENTS.name))
"""The documents table without the column ``unknown_elements``."""


@pytest.fixture
def tables(tmp_path: Path) -> Tables:
    return Tables(str(tmp_path))


def commit(tables: Tables, schema: pa.Schema, batch: int, *rows: tuple[str, str, int]) -> None:
    """Commit documents, given by publisher, schema and number of unknown elements."""
    writer = TableWriter(tables.documents, schema)
    for publisher, name, unknown in rows:
        row: dict[str, Any] = {
            "document": "d",
            "publisher": publisher,
            "schema": name,
            "fields": [],
            "sequence": 1,
            "published_at": MONDAY,
            "content": b"<d/>",
            "batch": batch,
            "unknown_elements": unknown,
        }
        writer.write(pa.Table.from_pylist([row], schema=schema))
    commit_batch(tables.documents, writer.close(), stream="s", batch=batch)


def test_strays_are_counted_by_publisher_and_schema(tables: Tables) -> None:
    assert sum_strays(tables) == ()
    tables.create()
    assert sum_strays(tables) == ()
    opera, club = ("opera", "season"), ("club", "season")
    commit(tables, NEW_LOG, 0, (*opera, 2), (*club, 7), (*opera, 3), (*opera, 0))
    assert sum_strays(tables) == (Strays(*club, 1, 7), Strays(*opera, 2, 5))


def test_an_older_table_is_read_and_gets_the_column(tables: Tables) -> None:
    create_table(tables.documents, OLD_LOG)
    commit(tables, OLD_LOG, 0, ("opera", "season", 2))
    assert sum_strays(tables) == ()
    for _ in range(2):
        tables.create()
    commit(tables, NEW_LOG, 1, ("opera", "season", 3))
    rows = read_rows(tables.documents, columns=["batch", "unknown_elements"])
    assert rows is not None
    assert sorted(rows.to_pylist(), key=lambda row: row["batch"]) == [
        {"batch": 0, "unknown_elements": None},
        {"batch": 1, "unknown_elements": 3},
    ]
    assert sum_strays(tables) == (Strays("opera", "season", 1, 3),)


def test_subscriptions_that_were_set_aside_are_counted_over_all_batches(tables: Tables) -> None:
    assert sum_set_aside(tables) == ()
    tables.create()
    assert sum_set_aside(tables) == ()
    commit_counts(tables, 0, {"anna-1": 2, "ben-1": 1})
    commit_counts(tables, 1, {})
    commit_counts(tables, 2, {"ben-1": 3, "carl-1": 2})
    assert sum_set_aside(tables) == (
        SetAside("ben-1", 4),
        SetAside("anna-1", 2),
        SetAside("carl-1", 2),
    )


def test_older_counts_are_read_and_get_the_columns_of_set_aside(tables: Tables) -> None:
    old = pa.schema(
        [field for field in table_schemas.COUNTS if not field.name.startswith("set_aside")]
    )
    create_table(tables.counts, old)
    commit_counts(tables, 0, {}, schema=old)
    assert sum_set_aside(tables) == ()
    tables.create()
    commit_counts(tables, 1, {"anna-1": 1})
    assert sum_set_aside(tables) == (SetAside("anna-1", 1),)
