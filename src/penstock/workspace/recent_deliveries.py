"""Moves recent deliveries to the buckets of their subscribers.

A batch writes one file per task, with deliveries of all subscribers. While there are few of them,
many small files are merged into one. When they exceed a limit, they are divided into the buckets.
No row changes, and each move is one commit: a reader sees a delivery in its old or its new place.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError
from deltalake.transaction import RemoveAction
from pyarrow.fs import SubTreeFileSystem

from penstock.workspace.delivery_writer import DeliveryWriter
from penstock.workspace.delta import WrittenFile, replace_files, resolve_filesystem
from penstock.workspace.limits import MERGED_BYTES_MAX, RECENT_BYTES_MAX, RECENT_FILES_MAX
from penstock.workspace.subscriber_buckets import RECENT, buckets_of


class _File(NamedTuple):
    """A file of recent deliveries."""

    path: str
    size: int


def compact_recent(deliveries: str) -> int:
    """Merge or move recent deliveries past the limits; returns how many files were replaced."""
    opened = DeltaTable(deliveries)
    files = _recent_files(opened)
    if sum(file.size for file in files) > RECENT_BYTES_MAX:
        return _replace(opened, files, is_divided=True)
    if len(files) > RECENT_FILES_MAX:
        return _replace(opened, files, is_divided=False)
    return 0


def _recent_files(table: DeltaTable) -> list[_File]:
    actions: Any = pa.table(table.get_add_actions(flatten=True))
    names = ("path", "size_bytes", "partition.bucket")
    columns = (actions.column(name).to_pylist() for name in names)
    rows = zip(*columns, strict=True)
    return [_File(path, size) for path, size, bucket in rows if bucket == RECENT]


def _replace(table: DeltaTable, files: Sequence[_File], *, is_divided: bool) -> int:
    replaced = 0
    for group in _groups(files):
        if not is_divided and len(group) == 1:
            continue
        rows = _read(table, group)
        added = _divide(table.table_uri, rows) if is_divided else _merge(table.table_uri, rows)
        try:
            replace_files(table, [_removal(file) for file in group], added)
        except CommitFailedError:
            return replaced  # retention has removed rows in the meantime; the next call tries again
        replaced += len(group)
        table.update_incremental()
    return replaced


def _groups(files: Sequence[_File]) -> Iterator[list[_File]]:
    """The files in groups that are small enough to be read into memory."""
    group: list[_File] = []
    size = 0
    for file in files:
        if group and size + file.size > MERGED_BYTES_MAX:
            yield group
            group, size = [], 0
        group.append(file)
        size += file.size
    if group:
        yield group


def _read(table: DeltaTable, files: Sequence[_File]) -> pa.Table:
    import pyarrow.dataset as ds  # noqa: PLC0415 - imports pandas, which most commands do not need

    filesystem, root = resolve_filesystem(table.table_uri)
    columns: Any = table.schema().to_arrow()
    schema = pa.schema(columns)
    dataset = ds.dataset(
        [file.path for file in files],
        schema=schema.remove(schema.get_field_index("bucket")),
        filesystem=SubTreeFileSystem(root, filesystem),
        format="parquet",
    )
    return dataset.to_table()


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


def _removal(file: _File) -> RemoveAction:
    return RemoveAction(
        file.path,
        data_change=False,
        deletion_timestamp=int(time.time() * 1000),
        size=file.size,
        partition_values={"bucket": str(RECENT)},
    )
