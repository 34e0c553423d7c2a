"""Writes the deliveries of a batch, and sums up the outcomes of its documents.

In either of two places. If tasks read documents in publishing order, each of them writes the
deliveries of its documents itself. Otherwise, and with shards, the rows are first shuffled by
bucket and sorted, so that commit positions follow publishing order.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyspark import TaskContext

from penstock.pipeline.outcome_totals import OutcomeTotals
from penstock.pipeline.shards import ROW
from penstock.workspace.commit_positions import positions
from penstock.workspace.delivery_ids import delivery_ids
from penstock.workspace.delivery_writer import DeliveryWriter
from penstock.workspace.delta import TableWriter
from penstock.workspace.pipeline_tables import Tables
from penstock.workspace.table_schemas import DELIVERIES, POSITION, TIME

REPORT: Final = pa.schema([pa.field("report", pa.string(), nullable=False)])
"""The stage's output: JSON objects that describe a written file or the summed outcomes."""


SORT_KEYS: Final = ("subscriber", "order_key", "publisher", "sequence", "subscription", ROW)
"""The order of the deliveries of a batch: by subscriber, in publishing order, the same in every
replay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteStage:
    """Writes the deliveries of a partition. Sent to the workers, so it holds plain values only."""

    tables: Tables
    batch: int
    at: datetime
    commit: int
    """The first number of the commit, for the positions of the deliveries."""

    def write_recent(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write the deliveries of a task that matched documents, with a number of its own.

        Tasks with greater numbers have documents that were published later.
        """
        context = TaskContext.get()
        assert context is not None, "runs in a task"
        task = context.partitionId()
        writer = DeliveryWriter(
            self.tables.deliveries, DELIVERIES, sort_keys=SORT_KEYS, commit=self.commit + task
        )
        totals = OutcomeTotals()
        for batch in batches:
            for file in batch.column("file").drop_null():
                yield _report(str(file))
            totals.add(rows_with(batch, "outcome"))
            deliveries = rows_with(batch, "subscriber")
            ids = delivery_ids(deliveries.column("document"), deliveries.column("subscription"))
            rows = pa.table(deliveries).append_column("delivery", ids)
            writer.write(self._with_batch(rows))
            totals.deliveries += rows.num_rows
        yield from _close(writer)
        yield _report(json.dumps({**totals.as_dict(), "task": task}))

    def write_buckets(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write deliveries that are sorted by bucket and :data:`SORT_KEYS`."""
        totals = OutcomeTotals()
        bucket: int | None = None
        ordinal = 0
        writer: TableWriter | None = None
        for batch in batches:
            for file in batch.column("file").drop_null():
                yield _report(str(file))
            totals.add(rows_with(batch, "outcome"))
            deliveries = rows_with(batch, "subscriber")
            totals.deliveries += deliveries.num_rows
            for number, rows in _by_bucket(deliveries):
                if number != bucket:
                    yield from _close(writer)
                    bucket, writer, ordinal = number, self._writer(number), 0
                assert writer is not None
                numbers = positions(self.commit, ordinal, rows.num_rows)
                numbered = pa.table(rows).append_column(POSITION, numbers)
                writer.write(self._with_batch(numbered))
                ordinal += rows.num_rows
        yield from _close(writer)
        yield _report(json.dumps(totals.as_dict()))

    def _writer(self, bucket: int) -> TableWriter:
        return TableWriter(
            self.tables.deliveries,
            DELIVERIES,
            partition={"bucket": str(bucket)},
        )

    def _with_batch(self, rows: pa.Table) -> pa.Table:
        batch = pa.repeat(pa.scalar(self.batch, pa.int64()), rows.num_rows)
        at = pa.repeat(pa.scalar(self.at, TIME), rows.num_rows)
        return rows.append_column("batch", batch).append_column("delivered_at", at)


def rows_with(batch: pa.RecordBatch, column: str) -> pa.RecordBatch:
    """The rows in which a column is not null; without a copy if these are all of them, or none."""
    nulls = batch.column(column).null_count
    if nulls in (0, batch.num_rows):
        return batch.slice(0, batch.num_rows - nulls)
    return batch.filter(batch.column(column).is_valid())


def _by_bucket(deliveries: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows of each bucket; the input is sorted by bucket."""
    if deliveries.num_rows == 0:
        return
    buckets: Any = deliveries.column("bucket").to_numpy(zero_copy_only=False)
    starts = [0, *(np.flatnonzero(np.diff(buckets)) + 1).tolist(), len(buckets)]
    for start, end in itertools.pairwise(starts):
        yield int(buckets[start]), deliveries.slice(start, end - start)


def _close(writer: TableWriter | DeliveryWriter | None) -> Iterator[pa.RecordBatch]:
    for file in writer.close() if writer is not None else ():
        yield _report(json.dumps({"table": "deliveries", **file.as_dict()}))


def _report(text: str) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([text])], schema=REPORT)
