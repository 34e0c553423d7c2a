"""The second stage of a delivery: the deliveries of each bucket into files, outcomes added up."""

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

from penstock.pipeline.document_matching import ROW
from penstock.workspace.delta import TableWriter
from penstock.workspace.pipeline_tables import Tables
from penstock.workspace.table_schemas import DELIVERIES, TIME

REPORT: Final = pa.schema([pa.field("report", pa.string(), nullable=False)])
"""What this stage hands on, as JSON: a file of a table, or sums of outcomes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucketing:
    """Writes rows sorted by bucket; sent to the workers, so it holds plain values only."""

    tables: Tables
    batch: int
    at: datetime

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The reports of a partition."""
        sums = _Sums()
        bucket: int | None = None
        writer: TableWriter | None = None
        for batch in batches:
            for file in batch.column("file").drop_null():
                yield _report(str(file))
            sums.add(batch.filter(batch.column("outcome").is_valid()))
            deliveries = batch.filter(batch.column("subscriber").is_valid())
            sums.deliveries += deliveries.num_rows
            for number, rows in _by_bucket(deliveries):
                if number != bucket:
                    yield from _finish(writer)
                    bucket, writer = number, self._writer(number)
                assert writer is not None
                writer.write(self._dated(rows))
        yield from _finish(writer)
        yield _report(json.dumps(sums.as_dict()))

    def _writer(self, bucket: int) -> TableWriter:
        return TableWriter(
            self.tables.deliveries,
            DELIVERIES,
            partition={"bucket": str(bucket)},
        )

    def _dated(self, rows: pa.RecordBatch) -> pa.Table:
        table = pa.table(rows)
        batch = pa.repeat(pa.scalar(self.batch, pa.int64()), len(table))
        at = pa.repeat(pa.scalar(self.at, TIME), len(table))
        return table.append_column("batch", batch).append_column("delivered_at", at)


class _Sums:
    """What became of the documents of a partition."""

    def __init__(self) -> None:
        self.deliveries = 0
        self._last_sequence: int | None = None
        self._alone: Counter[str] = Counter()
        # A document that meets several shards has a row from each.
        self._sharded: dict[int, _Document] = {}

    def add(self, outcomes: pa.RecordBatch) -> None:
        names = (ROW, "sequence", *_Document._fields)
        columns = [outcomes.column(name).to_pylist() for name in names]
        for row, sequence, *rest in zip(*columns, strict=True):
            self._last_sequence = max(sequence, self._last_sequence or sequence)
            document = _Document(*rest)
            if row is None:
                _count(self._alone, document)
            elif document.outcome != "unmatched" or row not in self._sharded:
                self._sharded[row] = document

    def as_dict(self) -> dict[str, Any]:
        sums = self._alone.copy()
        for document in self._sharded.values():
            _count(sums, document)
        return {
            "sums": {**sums, "deliveries": self.deliveries},
            "last_sequence": self._last_sequence,
        }


class _Document(NamedTuple):
    """What is counted of a document: the names are those of columns."""

    outcome: str
    bytes: int
    unknown_elements: int


def _count(sums: Counter[str], document: _Document) -> None:
    sums["documents"] += 1
    sums[document.outcome] += 1
    sums["bytes"] += document.bytes
    sums["unknown_elements"] += document.unknown_elements


def _by_bucket(deliveries: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Runs of rows of one bucket; rows come sorted."""
    if deliveries.num_rows == 0:
        return
    buckets: Any = deliveries.column("bucket").to_numpy(zero_copy_only=False)
    starts = [0, *(np.flatnonzero(np.diff(buckets)) + 1).tolist(), len(buckets)]
    for start, end in itertools.pairwise(starts):
        yield int(buckets[start]), deliveries.slice(start, end - start)


def _finish(writer: TableWriter | None) -> Iterator[pa.RecordBatch]:
    for file in writer.close() if writer is not None else ():
        yield _report(json.dumps({"table": "deliveries", **file.as_dict()}))


def _report(text: str) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([text])], schema=REPORT)
