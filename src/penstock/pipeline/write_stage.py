"""The second stage of a delivery: writes the deliveries of each bucket, and sums up outcomes."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from penstock.pipeline.shards import ROW
from penstock.workspace.commit_positions import positions
from penstock.workspace.delta import TableWriter
from penstock.workspace.limits import PUBLISHED_SEQUENCE_MAX
from penstock.workspace.pipeline_tables import Tables
from penstock.workspace.table_schemas import DELIVERIES, POSITION, TIME

REPORT: Final = pa.schema([pa.field("report", pa.string(), nullable=False)])
"""The stage's output: JSON objects that describe a written file or the summed outcomes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteStage:
    """Processes a partition of rows that are sorted by bucket.

    Sent to the workers, so it holds plain values only.
    """

    tables: Tables
    batch: int
    at: datetime
    commit: int
    """The number of the commit, for the positions of the deliveries."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The reports of a partition."""
        totals = _Totals()
        bucket: int | None = None
        ordinal = 0
        writer: TableWriter | None = None
        for batch in batches:
            for file in batch.column("file").drop_null():
                yield _report(str(file))
            totals.add(batch.filter(batch.column("outcome").is_valid()))
            deliveries = batch.filter(batch.column("subscriber").is_valid())
            totals.deliveries += deliveries.num_rows
            for number, rows in _by_bucket(deliveries):
                if number != bucket:
                    yield from _close(writer)
                    bucket, writer, ordinal = number, self._writer(number), 0
                assert writer is not None
                writer.write(self._with_batch(rows, ordinal))
                ordinal += rows.num_rows
        yield from _close(writer)
        yield _report(json.dumps(totals.as_dict()))

    def _writer(self, bucket: int) -> TableWriter:
        return TableWriter(
            self.tables.deliveries,
            DELIVERIES,
            partition={"bucket": str(bucket)},
        )

    def _with_batch(self, rows: pa.RecordBatch, ordinal: int) -> pa.Table:
        table = pa.table(rows)
        batch = pa.repeat(pa.scalar(self.batch, pa.int64()), len(table))
        at = pa.repeat(pa.scalar(self.at, TIME), len(table))
        columns: dict[str, Any] = {
            "batch": batch,
            "delivered_at": at,
            POSITION.name: positions(self.commit, ordinal, len(table)),
        }
        for name, column in columns.items():
            table = table.append_column(name, column)
        return table


class _Totals:
    """Sums over the outcomes of a partition's documents."""

    def __init__(self) -> None:
        self.deliveries = 0
        self._last_sequence: int | None = None
        self._unsharded: Counter[str] = Counter()
        # A document has one row from each shard. It matched if it matched any of them.
        self._sharded: dict[int, _Outcome] = {}
        # Each shard has subscriptions of its own.
        self._set_aside: Counter[str] = Counter()
        self._fragments_omitted = 0

    def add(self, outcomes: pa.RecordBatch) -> None:
        names = (ROW, "sequence", *_Outcome._fields)
        columns = [outcomes.column(name).to_pylist() for name in names]
        for subscriptions in outcomes.column("set_aside").drop_null():
            self._set_aside.update(subscriptions.as_py())
        for omitted in outcomes.column("fragments_omitted").drop_null():
            self._fragments_omitted += omitted.as_py()
        for row, sequence, *rest in zip(*columns, strict=True):
            if sequence <= PUBLISHED_SEQUENCE_MAX:
                self._last_sequence = max(sequence, self._last_sequence or sequence)
            outcome = _Outcome(*rest)
            if row is None:
                _count(self._unsharded, outcome)
            elif outcome.outcome != "unmatched" or row not in self._sharded:
                self._sharded[row] = outcome

    def as_dict(self) -> dict[str, Any]:
        sums = self._unsharded.copy()
        for outcome in self._sharded.values():
            _count(sums, outcome)
        sums["set_aside"] = self._set_aside.total()
        sums["fragments_omitted"] = self._fragments_omitted
        return {
            "sums": {**sums, "deliveries": self.deliveries},
            "set_aside": self._set_aside,
            "last_sequence": self._last_sequence,
        }


class _Outcome(NamedTuple):
    """The outcome of a document. The fields are named after columns."""

    outcome: str
    bytes: int
    unknown_elements: int


def _count(sums: Counter[str], outcome: _Outcome) -> None:
    sums["documents"] += 1
    sums[outcome.outcome] += 1
    sums["bytes"] += outcome.bytes
    sums["unknown_elements"] += outcome.unknown_elements


def _by_bucket(deliveries: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows of each bucket; the input is sorted by bucket."""
    if deliveries.num_rows == 0:
        return
    buckets: Any = deliveries.column("bucket").to_numpy(zero_copy_only=False)
    starts = [0, *(np.flatnonzero(np.diff(buckets)) + 1).tolist(), len(buckets)]
    for start, end in itertools.pairwise(starts):
        yield int(buckets[start]), deliveries.slice(start, end - start)


def _close(writer: TableWriter | None) -> Iterator[pa.RecordBatch]:
    for file in writer.close() if writer is not None else ():
        yield _report(json.dumps({"table": "deliveries", **file.as_dict()}))


def _report(text: str) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([text])], schema=REPORT)
