"""Replaces the files of recent rows, which tasks write quickly, by files that are read quickly.

No row changes, and each replacement is one commit: a reader sees a row in its old or its new place.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
from pyarrow.fs import SubTreeFileSystem

from penstock.workspace.delta import WrittenFile, replace_files, resolve_filesystem
from penstock.workspace.delta_rs import CommitFailedError, DeltaTable, RemoveAction


class RecentFile(NamedTuple):
    """A file of a table."""

    path: str
    """Relative to the table."""
    size: int
    partition: dict[str, str]


def replace_groups(
    table: DeltaTable,
    groups: Iterable[Sequence[RecentFile]],
    rewrite: Callable[[pa.Table], list[WrittenFile]],
) -> int:
    """Replace the files of each group by those that ``rewrite`` writes with the same rows.

    Returns
    -------
    How many files were replaced: not all if another process has removed rows in the meantime, as
    retention does. The next call tries again.
    """
    replaced = 0
    for group in groups:
        added = rewrite(_read(table, group))
        try:
            replace_files(table, [_removal(file) for file in group], added)
        except CommitFailedError:
            return replaced
        replaced += len(group)
        table.update_incremental()
    return replaced


def groups_of(files: Iterable[RecentFile], bytes_max: int) -> Iterator[list[RecentFile]]:
    """The files in groups that are small enough to be read into memory."""
    group: list[RecentFile] = []
    size = 0
    for file in files:
        if group and size + file.size > bytes_max:
            yield group
            group, size = [], 0
        group.append(file)
        size += file.size
    if group:
        yield group


def _read(table: DeltaTable, files: Sequence[RecentFile]) -> pa.Table:
    import pyarrow.dataset as ds  # noqa: PLC0415 - imports pandas, which most commands do not need

    filesystem, root = resolve_filesystem(table.table_uri)
    columns: Any = table.schema().to_arrow()
    stored = [field for field in pa.schema(columns) if field.name not in files[0].partition]
    dataset = ds.dataset(
        [file.path for file in files],
        schema=pa.schema(stored),
        filesystem=SubTreeFileSystem(root, filesystem),
        format="parquet",
    )
    return dataset.to_table()


def _removal(file: RecentFile) -> RemoveAction:
    return RemoveAction(
        file.path,
        data_change=False,
        deletion_timestamp=int(time.time() * 1000),
        size=file.size,
        partition_values=dict(file.partition),
    )
