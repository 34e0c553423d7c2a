"""A Spark data source of records: files are divided into tasks by bytes."""

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
from penstock.pipeline.record_offsets import RecordOffset, next_offset
from penstock.pipeline.record_splits import (
    RECORD_ROWS,
    RecordOptions,
    Split,
    read_split,
    split_file,
)

OPTIONS_KEY: Final = "penstock"
"""The data source's only option: a :class:`RecordSourceOptions` as JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordSourceOptions:
    """What to read, and how much at a time."""

    path: str
    records: RecordOptions
    pattern: str = "*"
    recursive: bool = False
    partition_bytes: int = PARTITION_BYTES
    trigger_bytes: int = TRIGGER_BYTES
    trigger_rows: int | None = None

    def to_json(self) -> str:
        """The options as JSON."""
        return json.dumps({**asdict(self), "records": self.records.to_json()})

    @classmethod
    def from_json(cls, text: str) -> RecordSourceOptions:
        """The options from JSON."""
        values = json.loads(text)
        return cls(records=RecordOptions.from_json(values.pop("records")), **values)

    def files(self) -> list[FileInfo]:
        """The existing files, in reading order."""
        return list_files(self.path, pattern=self.pattern, recursive=self.recursive)


class RecordSource(DataSource):
    """The data source of records."""

    @classmethod
    def name(cls) -> str:
        """The name under which the source is registered."""
        return "penstock_records"

    def schema(self) -> StructType:
        """The columns of :data:`penstock.pipeline.record_splits.RECORD_ROWS`."""
        return from_arrow_schema(RECORD_ROWS)

    def reader(self, schema: StructType) -> DataSourceReader:
        """The batch reader."""
        return RecordReader(RecordSourceOptions.from_json(self.options[OPTIONS_KEY]))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        """The stream reader."""
        return RecordStreamReader(RecordSourceOptions.from_json(self.options[OPTIONS_KEY]))


class RecordPartition(InputPartition):
    """The splits that one task reads."""

    def __init__(self, splits: Sequence[Split]) -> None:
        super().__init__(tuple(splits))
        self.splits = tuple(splits)


class RecordReader(DataSourceReader):
    """Reads all records of the existing files."""

    def __init__(self, options: RecordSourceOptions) -> None:
        self.options = options

    def partitions(self) -> list[RecordPartition]:
        """Divide the files into tasks."""
        options = self.options
        splits = [
            split
            for file in options.files()
            for split in split_file(
                file, CutPoint(), None, options.records, options.partition_bytes
            )
        ]
        return pack_splits(splits, options.partition_bytes)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The records of a task."""
        return read_partition(partition, self.options.records)


class RecordStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads records as a stream.

    An offset lists the completed files, each by a digest of path, size and modification time, and
    the point in the current file where the next batch starts. It is self-contained: a restart needs
    nothing else, and files may appear in any order.
    """

    def __init__(self, options: RecordSourceOptions) -> None:
        self.options = options
        self.available_files: list[FileInfo] | None = None

    def initialOffset(self) -> dict[str, str]:  # noqa: N802
        """The offset before the first record."""
        return RecordOffset().to_dict()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """One of the two limits; :meth:`latestOffset` applies both."""
        if self.options.trigger_rows is not None:
            return ReadMaxRows(self.options.trigger_rows)
        return ReadMaxBytes(self.options.trigger_bytes)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Restrict the stream to the files that exist now."""
        self.available_files = self.options.files()

    def latestOffset(self, start: dict[str, str], limit: ReadLimit) -> dict[str, str]:  # noqa: N802
        """The offset at the end of the next micro-batch."""
        options = self.options
        files = options.files() if self.available_files is None else self.available_files
        is_limited = not isinstance(limit, ReadAllAvailable)
        offset = next_offset(
            RecordOffset.from_dict(start),
            files,
            options.records,
            bytes_max=options.trigger_bytes if is_limited else None,
            rows_max=options.trigger_rows if is_limited else None,
        )
        return start if offset is None else offset.to_dict()

    def partitions(self, start: dict[str, str], end: dict[str, str]) -> list[RecordPartition]:
        """Divide the range between two offsets into tasks."""
        options = self.options
        before, after = RecordOffset.from_dict(start), RecordOffset.from_dict(end)
        files = {file.digest: file for file in options.files()}
        starts = {p.digest: p.point for p in (before.partial,) if p is not None}
        ends: dict[str, CutPoint | None] = dict.fromkeys(after.done - before.done)
        if after.partial is not None:
            ends[after.partial.digest] = after.partial.point
        if ends.keys() - files.keys():
            message = "a file of a replayed batch was changed or removed"
            raise error("records.changed", message)
        splits = [
            split
            for digest, file in files.items()
            if digest in ends
            for split in split_file(
                file,
                starts.get(digest, CutPoint()),
                ends[digest],
                options.records,
                options.partition_bytes,
            )
        ]
        return pack_splits(splits, options.partition_bytes)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The records of a task."""
        return read_partition(partition, self.options.records)


def pack_splits(splits: Sequence[Split], partition_bytes: int) -> list[RecordPartition]:
    """Group consecutive splits into tasks of at most ``partition_bytes``, at least one in each."""
    groups: list[list[Split]] = []
    size = 0
    for split in splits:
        if not groups or size + split.size > partition_bytes:
            groups.append([])
            size = 0
        groups[-1].append(split)
        size += split.size
    return [RecordPartition(group) for group in groups]


def read_partition(partition: InputPartition, options: RecordOptions) -> Iterator[pa.RecordBatch]:
    """The records of a task, split by split."""
    assert isinstance(partition, RecordPartition)
    for split in partition.splits:
        yield from read_split(split, options)
