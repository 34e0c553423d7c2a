"""Compresses recent documents.

A task writes documents uncompressed: compressing them would be a quarter of its time, and a batch
writes files of a few megabytes, which compaction has to merge anyway. So documents are compressed
when they are merged. Files with recent documents are recognised by their names.
"""

from __future__ import annotations

import posixpath
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.workspace.delta import RECENT_PREFIX, TableWriter, WrittenFile, resolve_filesystem
from penstock.workspace.delta_rs import DeltaTable
from penstock.workspace.file_statistics import file_statistics
from penstock.workspace.limits import RECENT_DOCUMENT_BYTES_MAX, RECENT_DOCUMENT_FILES_MAX
from penstock.workspace.recent_files import RecentFile, groups_of, replace_groups


def compact_recent_documents(documents: str) -> int:
    """Compress recent documents past the limits; returns how many files were replaced."""
    opened = DeltaTable(documents)
    files = _recent_files(opened)
    is_large = sum(file.size for file in files) > RECENT_DOCUMENT_BYTES_MAX
    if not is_large and len(files) <= RECENT_DOCUMENT_FILES_MAX:
        return 0
    groups = groups_of(files, RECENT_DOCUMENT_BYTES_MAX)
    return replace_groups(opened, groups, lambda rows: _compress(documents, rows))


def is_recent(path: str) -> bool:
    """Whether a file has recent documents."""
    return posixpath.basename(path).startswith(RECENT_PREFIX)


def in_sequence(rows: pa.Table) -> pa.Table:
    """Sort rows by number, for row groups of neighbouring numbers.

    See :mod:`penstock.workspace.document_contents`.
    """
    numbers: Any = rows.column("sequence").to_numpy()
    return rows if (np.diff(numbers) >= 0).all() else rows.sort_by("sequence")


def _recent_files(table: DeltaTable) -> list[RecentFile]:
    """The files with recent documents, the oldest first: their numbers are then in order."""
    actions: Any = pa.table(table.get_add_actions(flatten=True))
    names = ("modification_time", "path", "size_bytes")
    rows = zip(*(actions.column(name).to_pylist() for name in names), strict=True)
    return [RecentFile(path, size, {}) for _, path, size in sorted(rows) if is_recent(path)]


def _compress(documents: str, rows: pa.Table) -> list[WrittenFile]:
    writer = TableWriter(documents, rows.schema)
    writer.write(in_sequence(rows))
    filesystem, root = resolve_filesystem(documents)
    files = []
    for file in writer.close():
        with filesystem.open_input_file(posixpath.join(root, file.path)) as source:
            statistics = file_statistics(pq.read_metadata(source))
        files.append(replace(file, statistics=statistics))
    return files
