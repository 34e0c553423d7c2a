"""Commit positions: the order in which deliveries became visible.

Commits of deliveries are numbered. The last number is an application transaction of the table, so
two commits that chose the same number conflict, and Delta rejects the second. A commit takes as
many numbers as tasks wrote deliveries by themselves. A delivery's *commit position* is a number of
its commit and its ordinal among the deliveries with this number. After a reader has seen a
position, no smaller one appears later, whatever the clocks do.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from penstock.errors import error
from penstock.workspace.delta import TableWriter, WrittenFile, commit_batch, resolve_filesystem
from penstock.workspace.delta_rs import CommitFailedError, DeltaTable
from penstock.workspace.table_schemas import DELIVERIES, POSITION

COMMITS: Final = "penstock-commits"
"""The application transaction whose version is the last number of the last commit."""

ORDINAL_BITS: Final = 32
"""Bits of a position for the ordinal of a delivery in the commit; the bits above are the commit."""

COMMIT_ATTEMPTS_MAX: Final = 100
"""Attempts to commit a batch while other streams commit to the same table."""


def positions(commit: int, first: int, count: int) -> pa.Array[Any]:
    """The positions of consecutive deliveries of a commit, from an ordinal on."""
    start = (commit << ORDINAL_BITS) + first
    return pa.array(np.arange(start, start + count, dtype=np.int64))


def next_commit(deliveries: str) -> int:
    """The first number that the next commit to a deliveries table should have."""
    return _next_number(DeltaTable(deliveries))


def _next_number(opened: DeltaTable) -> int:
    last = opened.transaction_version(COMMITS)
    return 1 if last is None else last + 1


def commit_deliveries(
    deliveries: str,
    files: Iterable[WrittenFile],
    *,
    stream: str,
    batch: int,
    commit: int,
    numbers: int = 1,
) -> bool:
    """Commit the files of a batch unless it was committed before; whether it was committed now.

    The rows have numbers from ``commit`` on. If another stream has committed since they were
    chosen, the rows get later ones.

    Raises
    ------
    PipelineError
        ``pipeline.failed``: other streams committed at every attempt.
    """
    listed = list(files)
    for _ in range(COMMIT_ATTEMPTS_MAX):
        opened = DeltaTable(deliveries)
        following = _next_number(opened)
        if following != commit:
            listed = [_moved(deliveries, file, following - commit) for file in listed]
            commit = following
        try:
            last = {COMMITS: commit + numbers - 1}
            return commit_batch(
                deliveries, listed, stream=stream, batch=batch, also=last, opened=opened
            )
        except CommitFailedError:
            continue
    raise error("pipeline.failed", f"other streams kept committing to {deliveries}")


def _moved(deliveries: str, file: WrittenFile, by: int) -> WrittenFile:
    """A copy of a file in which the rows have later numbers."""
    filesystem, root = resolve_filesystem(deliveries)
    with filesystem.open_input_file(posixpath.join(root, file.path)) as source:
        rows = pq.ParquetFile(source).read()
    old: NDArray[np.int64] = rows.column(POSITION.name).to_numpy()
    moved = old + (by << ORDINAL_BITS)
    column = rows.schema.get_field_index(POSITION.name)
    writer = TableWriter(deliveries, DELIVERIES, partition=file.partition)
    writer.write(rows.set_column(column, POSITION, pa.array(moved)))
    (written,) = writer.close()
    return written
