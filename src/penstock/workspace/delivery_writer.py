"""Writes deliveries to files that are sorted by subscriber.

A file consists of sorted runs. The row groups of a run have disjoint ranges of subscribers, so a
reader of one mailbox skips all but one or two of them by their statistics.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import pyarrow as pa

from penstock.workspace.commit_positions import positions
from penstock.workspace.delta import Codec, TableWriter, WrittenFile
from penstock.workspace.limits import DELIVERY_RUN_BYTES
from penstock.workspace.subscriber_buckets import RECENT
from penstock.workspace.table_schemas import POSITION


class DeliveryWriter:
    """Writes deliveries of one partition of the table; holds one run in memory.

    Parameters
    ----------
    table
        The table's URI or path.
    schema
        Its columns.
    bucket
        The partition.
    sort_keys
        The order of the rows of a run; ``subscriber`` is the first.
    commit
        The number of the commit: rows get positions, in the order in which they are written. By
        default they have positions already.
    """

    def __init__(
        self,
        table: str,
        schema: pa.Schema,
        *,
        bucket: int = RECENT,
        sort_keys: Sequence[str] = ("subscriber", POSITION.name),
        commit: int | None = None,
    ) -> None:
        # Compaction writes recent deliveries again.
        codec: Codec = "snappy" if bucket == RECENT else "zstd"
        self._writer = TableWriter(table, schema, partition={"bucket": str(bucket)}, codec=codec)
        self._sort_keys: list[tuple[str, Literal["ascending", "descending"]]] = [
            (name, "ascending") for name in sort_keys
        ]
        self._commit = commit
        self._run: list[pa.Table] = []
        self._run_bytes = 0
        self.rows = 0
        """Number of rows added so far."""

    def write(self, deliveries: pa.Table) -> None:
        """Add deliveries: those of one run in any order, and runs in publishing order."""
        if not deliveries.num_rows:
            return
        self._run.append(deliveries)
        self._run_bytes += deliveries.nbytes
        if self._run_bytes >= DELIVERY_RUN_BYTES:
            self._write_run()

    def close(self) -> list[WrittenFile]:
        """Write the last run; returns all files written."""
        self._write_run()
        return self._writer.close()

    def _write_run(self) -> None:
        if not self._run:
            return
        run = pa.concat_tables(self._run).sort_by(self._sort_keys)
        self._run, self._run_bytes = [], 0
        if self._commit is not None:
            numbers = positions(self._commit, self.rows, run.num_rows)
            run = run.append_column(POSITION, numbers)
        self._writer.write(run)
        self.rows += run.num_rows
