"""The tasks of a job that read the inbox's journal.

Documents of a Python data source would pass through Spark's JVM, which converts them twice, on the
way to the task that matches them. The driver therefore starts a job whose tasks read the journal
themselves: the function that is sent to the workers states what each task reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from penstock.errors import error
from penstock.pipeline.limits import ROW_BATCH_BYTES
from penstock.workspace.journal import JournalFile
from penstock.workspace.journal_scanner import Found


@dataclass(frozen=True, slots=True)
class JournalRange:
    """Documents of consecutive entries in one file of the journal."""

    path: str
    offset: int
    """The offset of the first entry."""
    first: int
    last: int
    """The sequence numbers of the documents, which may begin or end within an entry."""

    def entries(self) -> Iterator[Found]:
        """The entries.

        Raises
        ------
        WorkspaceError
            ``journal.damaged``: they are no longer what they were when the range was planned.
        """
        path = Path(self.path)
        expected = self.first
        with JournalFile(path) as file:
            for entry in file.entries(self.offset):
                if not entry.first <= expected <= entry.last:
                    break
                last = min(entry.last, self.last)
                yield Found(path, entry, expected, last)
                expected = last + 1
                if expected > self.last:
                    return
        raise error("journal.damaged", f"{path}: document {expected} has been removed")


def _range_of(run: Sequence[Found]) -> JournalRange:
    return JournalRange(str(run[0].path), run[0].entry.offset, run[0].first, run[-1].last)


def _runs(found: Iterable[Found]) -> Iterator[list[Found]]:
    """Consecutive entries of a file in groups."""
    run: list[Found] = []
    for each in found:
        if run:
            before = run[-1]
            follows = each.path == before.path and each.entry.offset == before.entry.end
            if not follows or each.first != before.last + 1:
                yield run
                run = []
        run.append(each)
    if run:
        yield run


@dataclass(frozen=True, slots=True)
class JournalTasks:
    """The documents that each task of a job reads. Sent to the workers."""

    ranges: Sequence[Sequence[JournalRange]]
    """By number of the task."""

    @classmethod
    def of(cls, tasks: Iterable[Iterable[Found]]) -> JournalTasks:
        """The tasks that read these entries."""
        return cls([[_range_of(run) for run in _runs(found)] for found in tasks])

    def numbers(self, spark: SparkSession) -> DataFrame:
        """The numbers of the tasks, each in a partition of its own."""
        count = len(self.ranges)
        return spark.range(0, count, 1, max(count, 1))

    def read(self, numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The documents of tasks, by number, in publishing order."""
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                assert number is not None
                yield from read_entries(
                    found for each in self.ranges[number] for found in each.entries()
                )


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
