"""Small files of the tables into larger ones.

Every batch adds a few files to each table, and whoever reads a mailbox opens all of its bucket.
Merging changes no row; readers who began before go on with the old files, which `penstock clean`
removes a week later.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import pyarrow as pa
from deltalake import DeltaTable

from penstock.workspace.pipeline_tables import Tables

SMALL_FILE_BYTES: Final = 16 << 20
"""A file below this is small."""

SMALL_FILES_MAX: Final = 32
"""Small files that a table, or a bucket of one, has before they are merged."""


def compact(tables: Tables) -> int:
    """Merge the small files of the tables that have many; how many files went."""
    merged = 0
    for table in (tables.documents, tables.deliveries, tables.dead_letters, tables.counts):
        opened = DeltaTable(table)
        if _most_small_files(opened) > SMALL_FILES_MAX:
            found: dict[str, Any] = opened.optimize.compact(target_size=SMALL_FILE_BYTES)
            merged += found["numFilesRemoved"] - found["numFilesAdded"]
    return merged


def _most_small_files(table: DeltaTable) -> int:
    """The small files of the bucket that has most; of a table without buckets, all of them."""
    actions: Any = pa.table(table.get_add_actions(flatten=True))
    buckets = [name for name in actions.column_names if name.startswith("partition.")]
    sizes = actions.column("size_bytes").to_pylist()
    keys = [actions.column(name).to_pylist() for name in buckets]
    places = zip(*keys, strict=True) if keys else [()] * len(sizes)
    small = Counter(
        place for place, size in zip(places, sizes, strict=True) if size < SMALL_FILE_BYTES
    )
    return max(small.values(), default=0)
