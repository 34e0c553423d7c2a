"""Compaction of small files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable

from penstock.workspace.compaction import SMALL_FILES_MAX, compact
from penstock.workspace.delta import TableWriter, commit_batch, last_committed_batch
from penstock.workspace.pipeline_tables import Tables
from penstock.workspace.subscriber_buckets import RECENT
from penstock.workspace.table_schemas import DELIVERIES
from penstock.workspace.timestamps import utc_now


def delivery(number: int) -> pa.Table:
    row = {
        "delivery": str(number),
        "subscriber": f"s{number % 3}",
        "subscription": "q",
        "document": f"d{number}",
        "publisher": "p",
        "sequence": number,
        "published_at": utc_now(),
        "delivered_at": utc_now(),
        "batch": number,
        "fragments": None,
        "bucket": 0,
    }
    return pa.Table.from_pylist([row], schema=DELIVERIES)


def commit(tables: Tables, number: int, *, bucket: int) -> None:
    writer = TableWriter(tables.deliveries, DELIVERIES, partition={"bucket": str(bucket)})
    writer.write(delivery(number))
    commit_batch(tables.deliveries, writer.close(), stream="s", batch=number)


def rows(tables: Tables) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = DeltaTable(tables.deliveries).to_pyarrow_table().to_pylist()
    return sorted(found, key=lambda row: int(row["sequence"]))


def test_a_bucket_with_many_small_files_is_compacted(tmp_path: Path) -> None:
    tables = Tables(str(tmp_path))
    tables.create()
    for number in range(SMALL_FILES_MAX + 1):
        commit(tables, number, bucket=7)
    before = rows(tables)
    assert compact(tables) == SMALL_FILES_MAX + 1
    assert rows(tables) == before
    assert len(DeltaTable(tables.deliveries).file_uris()) == 1
    # The transaction of the last batch survives, and the next batch can be committed.
    assert last_committed_batch(tables.deliveries, "s") == SMALL_FILES_MAX
    commit(tables, SMALL_FILES_MAX + 1, bucket=7)
    assert len(rows(tables)) == SMALL_FILES_MAX + 2


def test_few_files_and_many_buckets_are_left_alone(tmp_path: Path) -> None:
    tables = Tables(str(tmp_path))
    tables.create()
    for number in range(SMALL_FILES_MAX + 1):
        commit(tables, number, bucket=number)
    assert compact(tables) == 0


def test_recent_deliveries_stay_sorted_when_buckets_are_compacted(tmp_path: Path) -> None:
    tables = Tables(str(tmp_path))
    tables.create()
    for number in range(SMALL_FILES_MAX + 1):
        commit(tables, number, bucket=7)
    for number in range(SMALL_FILES_MAX + 1, SMALL_FILES_MAX + 4):
        commit(tables, number, bucket=RECENT)
    assert compact(tables) == SMALL_FILES_MAX + 1
    assert len(DeltaTable(tables.deliveries).file_uris()) == 1 + 3
