"""Records as a source of Spark's: what can be read is divided by bytes among the tasks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Final

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from penstock.documents import CutPoint
from penstock.errors import error
from penstock.pipeline.filesystem import FileInfo, list_files
from penstock.pipeline.limits import PARTITION_BYTES, TRIGGER_BYTES
from penstock.pipeline.record_offsets import Progress, taken
from penstock.pipeline.record_splits import ROWS, Cutting, Piece, divided, rows_of

OPTIONS: Final = "penstock"
"""The one option: everything else, as text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What to read, and how much at a time."""

    path: str
    cutting: Cutting
    pattern: str = "*"
    recursive: bool = False
    partition_bytes: int = PARTITION_BYTES
    trigger_bytes: int = TRIGGER_BYTES
    trigger_rows: int | None = None

    def to_json(self) -> str:
        """As text."""
        return json.dumps({**asdict(self), "cutting": self.cutting.to_json()})

    @classmethod
    def of_json(cls, text: str) -> Asked:
        """From text."""
        told = json.loads(text)
        return cls(cutting=Cutting.of_json(told.pop("cutting")), **told)

    def files(self) -> list[FileInfo]:
        """The files that are there now, in the order in which they are read."""
        return list_files(self.path, pattern=self.pattern, recursive=self.recursive)


class RecordsSource(DataSource):
    """Records of files."""

    @classmethod
    def name(cls) -> str:
        """Its name for Spark."""
        return "penstock_records"

    def schema(self) -> StructType:
        """The columns of :data:`penstock.pipeline.record_splits.ROWS`."""
        return from_arrow_schema(ROWS)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Read what is there."""
        return RecordsReader(Asked.of_json(self.options[OPTIONS]))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        """Read what is there and what will come."""
        return RecordsStreamReader(Asked.of_json(self.options[OPTIONS]))


class Task(InputPartition):
    """Parts of files that one task reads."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        super().__init__(tuple(pieces))
        self.pieces = tuple(pieces)


class RecordsReader(DataSourceReader):
    """A batch of records."""

    def __init__(self, asked: Asked) -> None:
        self.asked = asked

    def partitions(self) -> list[Task]:
        """Divide the files into tasks."""
        asked = self.asked
        pieces = [
            piece
            for file in asked.files()
            for piece in divided(file, CutPoint(), None, asked.cutting, asked.partition_bytes)
        ]
        return tasks(pieces, asked.partition_bytes)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The records of a task."""
        return records_of(partition, self.asked.cutting)


class RecordsStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A stream of records.

    An offset says which files are done, each by the digest of path, size and time, and where in
    the one that is being read the next batch begins. So it is whole in itself: nothing else has to
    survive for a restart, and files may appear in any order.
    """

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.files_then: list[FileInfo] | None = None

    def initialOffset(self) -> dict[str, str]:  # noqa: N802
        """Nothing is read."""
        return Progress().to_offset()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """That there is a limit; both of them are applied, whichever Spark knows of."""
        if self.asked.trigger_rows is not None:
            return ReadMaxRows(self.asked.trigger_rows)
        return ReadMaxBytes(self.asked.trigger_bytes)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Read only what is there now, in batches that keep the limits."""
        self.files_then = self.asked.files()

    def latestOffset(self, start: dict[str, str], limit: ReadLimit) -> dict[str, str]:  # noqa: N802
        """Up to where the next batch goes."""
        asked = self.asked
        files = self.asked.files() if self.files_then is None else self.files_then
        is_bounded = not isinstance(limit, ReadAllAvailable)
        progress = taken(
            Progress.of_offset(start),
            files,
            asked.cutting,
            bytes_max=asked.trigger_bytes if is_bounded else None,
            rows_max=asked.trigger_rows if is_bounded else None,
        )
        return start if progress is None else progress.to_offset()

    def partitions(self, start: dict[str, str], end: dict[str, str]) -> list[Task]:
        """Divide what is between two offsets into tasks."""
        asked = self.asked
        before, after = Progress.of_offset(start), Progress.of_offset(end)
        files = {file.digest: file for file in asked.files()}
        half_read = {p.digest: p.point for p in (before.partial,) if p is not None}
        ends: dict[str, CutPoint | None] = dict.fromkeys(after.done - before.done)
        if after.partial is not None:
            ends[after.partial.digest] = after.partial.point
        gone = ends.keys() - files.keys()
        if gone:
            message = "a file that the stream has to read again is changed or gone"
            raise error("records.changed", message)
        pieces = [
            piece
            for digest, file in files.items()
            if digest in ends
            for piece in divided(
                file,
                half_read.get(digest, CutPoint()),
                ends[digest],
                asked.cutting,
                asked.partition_bytes,
            )
        ]
        return tasks(pieces, asked.partition_bytes)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The records of a task."""
        return records_of(partition, self.asked.cutting)


def tasks(pieces: Sequence[Piece], bytes_wanted: int) -> list[Task]:
    """Parts in their order, small ones together."""
    gathered: list[list[Piece]] = []
    size = 0
    for piece in pieces:
        if not gathered or size + piece.size > bytes_wanted:
            gathered.append([])
            size = 0
        gathered[-1].append(piece)
        size += piece.size
    return [Task(together) for together in gathered]


def records_of(partition: InputPartition, cutting: Cutting) -> Iterator[pa.RecordBatch]:
    """The records of a task, part after part."""
    assert isinstance(partition, Task)
    for piece in partition.pieces:
        yield from rows_of(piece, cutting)
