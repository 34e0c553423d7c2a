"""Rows that refer to entries of the inbox's journal, in place of the documents in them.

Documents of a Python data source would pass through Spark's JVM, which converts them twice, on the
way to the task that matches them. A task reads the entries that it gets references to itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.types import StructType

from penstock.pipeline.limits import ROW_BATCH_BYTES
from penstock.workspace.journal import Entry, JournalFile
from penstock.workspace.journal_scanner import Found

_NUMBERS: Final = (
    *("offset", "entry_first", "entry_documents", "payload_bytes", "content_bytes", "checksum"),
    *("first", "last"),
)

_COLUMNS: Final[dict[str, pa.DataType]] = {
    "path": pa.string(),
    **dict.fromkeys(_NUMBERS, pa.int64()),
}

REFERENCES: Final = pa.schema(_COLUMNS)
"""The fields of :class:`~penstock.workspace.journal_scanner.Found` and its entry."""


def are_references(schema: StructType) -> bool:
    """Whether the rows of a DataFrame are references."""
    return schema.names == REFERENCES.names


def reference_rows(found: Iterable[Found]) -> pa.RecordBatch:
    """The rows that refer to entries."""
    rows = [
        {
            "path": str(each.path),
            "offset": each.entry.offset,
            "entry_first": each.entry.first,
            "entry_documents": each.entry.documents,
            "payload_bytes": each.entry.payload_bytes,
            "content_bytes": each.entry.content_bytes,
            "checksum": each.entry.checksum,
            "first": each.first,
            "last": each.last,
        }
        for each in found
    ]
    return pa.RecordBatch.from_pylist(rows, schema=REFERENCES)


def read_references(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The documents that rows refer to, in the same order."""
    return read_entries(_found(row) for batch in batches for row in batch.to_pylist())


def _found(row: dict[str, Any]) -> Found:
    entry = Entry(
        row["offset"],
        row["entry_first"],
        row["entry_documents"],
        row["payload_bytes"],
        row["content_bytes"],
        row["checksum"],
    )
    return Found(Path(row["path"]), entry, row["first"], row["last"])


def read_entries(found: Iterable[Found]) -> Iterator[pa.RecordBatch]:
    """The documents of entries; small entries of a file are read together."""
    file: JournalFile | None = None
    rows: list[pa.RecordBatch] = []
    size = 0
    try:
        for each in found:
            if file is None or file.path != each.path:
                if file is not None:
                    file.close()
                file = JournalFile(each.path)
            entry = each.entry
            rows.append(file.rows(entry).slice(each.first - entry.first, each.documents))
            size += entry.content_bytes
            if size > ROW_BATCH_BYTES:
                yield _concatenated(rows)
                rows, size = [], 0
        if rows:
            yield _concatenated(rows)
    finally:
        if file is not None:
            file.close()


def _concatenated(rows: list[pa.RecordBatch]) -> pa.RecordBatch:
    (batch,) = pa.Table.from_batches(rows).combine_chunks().to_batches()
    return batch
