"""Moves recent deliveries to the buckets of their subscribers.

A batch writes one file per task, with deliveries of all subscribers. While there are few of them,
many small files are merged into one. When they exceed a limit, they are divided into the buckets.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.workspace.delivery_writer import DeliveryWriter
from penstock.workspace.delta import WrittenFile
from penstock.workspace.delta_rs import DeltaTable
from penstock.workspace.limits import MERGED_BYTES_MAX, RECENT_BYTES_MAX, RECENT_FILES_MAX
from penstock.workspace.recent_files import RecentFile, groups_of, replace_groups
from penstock.workspace.subscriber_buckets import RECENT, buckets_of


def compact_recent(deliveries: str) -> int:
    """Merge or move recent deliveries past the limits; returns how many files were replaced."""
    opened = DeltaTable(deliveries)
    files = _recent_files(opened)
    groups = groups_of(files, MERGED_BYTES_MAX)
    if sum(file.size for file in files) > RECENT_BYTES_MAX:
        return replace_groups(opened, groups, lambda rows: _divide(deliveries, rows))
    if len(files) > RECENT_FILES_MAX:
        several = (group for group in groups if len(group) > 1)
        return replace_groups(opened, several, lambda rows: _merge(deliveries, rows))
    return 0


def _recent_files(table: DeltaTable) -> list[RecentFile]:
    actions: Any = pa.table(table.get_add_actions(flatten=True))
    names = ("path", "size_bytes", "partition.bucket")
    columns = (actions.column(name).to_pylist() for name in names)
    rows = zip(*columns, strict=True)
    partition = {"bucket": str(RECENT)}
    return [RecentFile(path, size, partition) for path, size, bucket in rows if bucket == RECENT]


def _merge(table: str, rows: pa.Table) -> list[WrittenFile]:
    writer = DeliveryWriter(table, rows.schema, bucket=RECENT)
    writer.write(rows)
    return writer.close()


def _divide(table: str, rows: pa.Table) -> list[WrittenFile]:
    buckets: Any = buckets_of(rows.column("subscriber")).to_numpy()
    order = np.argsort(buckets, kind="stable")
    buckets, rows = buckets[order], rows.take(order)
    starts = [0, *(np.flatnonzero(np.diff(buckets)) + 1).tolist(), len(buckets)]
    files: list[WrittenFile] = []
    for start, end in itertools.pairwise(starts):
        writer = DeliveryWriter(table, rows.schema, bucket=int(buckets[start]))
        writer.write(rows.slice(start, end - start))
        files += writer.close()
    return files
