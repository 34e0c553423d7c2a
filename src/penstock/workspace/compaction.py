"""Compaction of the Delta tables: merges small files into larger ones.

Every batch adds a few files to each table, and reading a mailbox opens all files of its bucket.
Compaction changes no row. Readers that started before it keep reading the old files, which
`penstock clean` removes a week later.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import pyarrow as pa
from deltalake import DeltaTable

from penstock.workspace.pipeline_tables import Tables

SMALL_FILE_BYTES: Final = 16 << 20
"""A file below this size is small."""

SMALL_FILES_MAX: Final = 32
"""Small files of an unpartitioned table, or of one bucket, above which the table is compacted."""


def compact(tables: Tables) -> int:
    """Compact the tables that have many small files; returns by how many files they shrank."""
    merged = 0
    for table in (tables.documents, tables.deliveries, tables.dead_letters, tables.counts):
        opened = DeltaTable(table)
        if _max_small_files(opened) > SMALL_FILES_MAX:
            metrics: dict[str, Any] = opened.optimize.compact(target_size=SMALL_FILE_BYTES)
            merged += metrics["numFilesRemoved"] - metrics["numFilesAdded"]
    return merged


def _max_small_files(table: DeltaTable) -> int:
    """The largest number of small files in any partition."""
    actions: Any = pa.table(table.get_add_actions(flatten=True))
    partition_columns = [name for name in actions.column_names if name.startswith("partition.")]
    sizes = actions.column("size_bytes").to_pylist()
    keys = [actions.column(name).to_pylist() for name in partition_columns]
    partitions = zip(*keys, strict=True) if keys else [()] * len(sizes)
    small = Counter(
        partition
        for partition, size in zip(partitions, sizes, strict=True)
        if size < SMALL_FILE_BYTES
    )
    return max(small.values(), default=0)
