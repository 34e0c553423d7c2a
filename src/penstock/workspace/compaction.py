"""Compaction of the Delta tables: merges small files into larger ones.

Every batch adds a few files to each table, and reading a mailbox opens all files of its bucket.
Compaction changes no row. Readers that started before it keep reading the old files, which are
removed an hour later.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.workspace.delta import CONTENT, ROW_GROUP_BYTES, resolve_filesystem
from penstock.workspace.delta_rs import ColumnProperties, DeltaTable, WriterProperties
from penstock.workspace.pipeline_tables import Tables
from penstock.workspace.recent_deliveries import compact_recent
from penstock.workspace.recent_documents import compact_recent_documents, is_recent
from penstock.workspace.subscriber_buckets import RECENT

MERGED_FILE_BYTES: Final = 16 << 20
"""The largest size of a merged file."""

SMALL_FILE_BYTES: Final = MERGED_FILE_BYTES // 2
"""A file below this size is small. Most merged files are larger, so they are not counted again."""

SAMPLED_FILES: Final = 8
"""Files whose average row decides the number of rows in a row group."""

SMALL_FILES_MAX: Final = 32
"""Small files of an unpartitioned table, or of one bucket, above which the table is compacted."""


def compact(tables: Tables) -> int:
    """Compact the tables that have many small files; returns how many files were replaced."""
    merged = compact_recent(tables.deliveries) + compact_recent_documents(tables.documents)
    for table in (tables.documents, tables.deliveries, tables.dead_letters, tables.counts):
        opened = DeltaTable(table)
        if _max_small_files(opened) > SMALL_FILES_MAX:
            # delta-rs would merge the files of recent deliveries without sorting them again.
            buckets = [("bucket", "!=", str(RECENT))] if table == tables.deliveries else None
            metrics: dict[str, Any] = opened.optimize.compact(
                partition_filters=buckets,
                target_size=MERGED_FILE_BYTES,
                writer_properties=_writer_properties(opened),
            )
            merged += metrics["numFilesRemoved"]
    return merged


def _writer_properties(table: DeltaTable) -> WriterProperties:
    """Row groups of about the size that :class:`~penstock.workspace.delta.TableWriter` writes."""
    size = rows = 0
    for uri in table.file_uris()[:SAMPLED_FILES]:
        filesystem, path = resolve_filesystem(uri)
        with filesystem.open_input_file(path) as source:
            metadata = pq.read_metadata(source)
        rows += metadata.num_rows
        groups = range(metadata.num_row_groups)
        size += sum(metadata.row_group(number).total_byte_size for number in groups)
    rows_per_group = ROW_GROUP_BYTES * rows // max(1, size)
    content = ColumnProperties(dictionary_enabled=False, statistics_enabled="NONE")
    has_content = any(field.name == CONTENT for field in table.schema().fields)
    return WriterProperties(
        compression="ZSTD",
        max_row_group_size=max(1, rows_per_group),
        column_properties={CONTENT: content} if has_content else None,
    )


def _max_small_files(table: DeltaTable) -> int:
    """The largest number of small files in any partition, without those of recent documents."""
    actions: Any = pa.table(table.get_add_actions(flatten=True))
    partition_columns = [name for name in actions.column_names if name.startswith("partition.")]
    sizes, paths = (actions.column(name).to_pylist() for name in ("size_bytes", "path"))
    keys = [actions.column(name).to_pylist() for name in partition_columns]
    partitions = zip(*keys, strict=True) if keys else [()] * len(sizes)
    small = Counter(
        partition
        for partition, size, path in zip(partitions, sizes, paths, strict=True)
        if size < SMALL_FILE_BYTES and not is_recent(path)
    )
    return max(small.values(), default=0)
