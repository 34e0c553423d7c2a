"""A Spark data source of a workspace's inbox: the offset is a sequence number.

An offset names the last document of a micro-batch, wherever it is stored. The checkpoint therefore
contains no paths, and a workspace can be copied or moved; what has been processed costs nothing.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.readwriter import DataFrameReader
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.streaming.readwriter import DataStreamReader
from pyspark.sql.types import StructType

from penstock.pipeline import spark_schemas
from penstock.pipeline.journal_references import REFERENCES, read_entries, reference_rows
from penstock.pipeline.limits import (
    INBOX_BATCH_BYTES,
    INBOX_BATCH_DOCUMENTS,
    INBOX_PARTITION_BYTES,
)
from penstock.pipeline.worker_heap import freeze_heap
from penstock.workspace.inbox import Inbox
from penstock.workspace.journal_scanner import Found, JournalScanner, Missing

OPTIONS_KEY: Final = "penstock"
"""The data source's only option: an :class:`InboxSourceOptions` as JSON."""

_SEQUENCE: Final = "sequence"

_REFERENCES: Final = from_arrow_schema(REFERENCES)


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxSourceOptions:
    """What to read, and how much at a time."""

    workspace: str
    """The folder of the workspace."""
    after: int
    """The sequence number before the first document."""
    upto: int | None = None
    """The sequence number of the last document; only for a batch."""
    as_references: bool = False
    """Whether to return references to documents instead of documents."""
    batch_documents: int = INBOX_BATCH_DOCUMENTS
    batch_bytes: int = INBOX_BATCH_BYTES

    def to_json(self) -> str:
        """The options as JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> InboxSourceOptions:
        """The options from JSON."""
        return cls(**json.loads(text))


class InboxSource(DataSource):
    """The data source of an inbox."""

    @classmethod
    def name(cls) -> str:
        """The name under which the source is registered."""
        return "penstock_inbox"

    def schema(self) -> StructType:
        """The columns of documents, or of references to them."""
        options = InboxSourceOptions.from_json(self.options[OPTIONS_KEY])
        return _REFERENCES if options.as_references else spark_schemas.DOCUMENTS

    def reader(self, schema: StructType) -> DataSourceReader:
        """The batch reader."""
        return InboxReader(InboxSourceOptions.from_json(self.options[OPTIONS_KEY]))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        """The stream reader."""
        return InboxStreamReader(InboxSourceOptions.from_json(self.options[OPTIONS_KEY]))


class InboxPartition(InputPartition):
    """The documents that one task reads."""

    def __init__(self, found: Iterable[Found]) -> None:
        super().__init__(tuple(found))
        self.found: tuple[Found, ...] = self.value


class ReferencesPartition(InputPartition):
    """References to the documents of all tasks."""

    def __init__(self, references: pa.RecordBatch) -> None:
        super().__init__(references)
        self.references: pa.RecordBatch = self.value


class InboxReader(DataSourceReader):
    """Reads a range of documents."""

    def __init__(self, options: InboxSourceOptions) -> None:
        self.options = options

    def partitions(self) -> list[InputPartition]:
        """Divide the documents into tasks."""
        with contextlib.closing(Inbox(Path(self.options.workspace))) as inbox:
            upto = inbox.last_sequence() if self.options.upto is None else self.options.upto
            scanner = JournalScanner(inbox.folder)
            return _partitions(self.options, plan_tasks(inbox, scanner, self.options.after, upto))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The documents of a task, or references to those of all tasks."""
        return _read(partition)


class InboxStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads an inbox as a stream.

    The reader is created on the driver, and a copy of it by every task.
    """

    def __init__(self, options: InboxSourceOptions) -> None:
        self.options = options
        self.available: int | None = None
        """The last document, if the stream ends there."""
        self._inbox: Inbox | None = None
        self._scanner = JournalScanner(Path(options.workspace) / "inbox")

    def __reduce__(self) -> tuple[type[InboxStreamReader], tuple[InboxSourceOptions]]:
        """Tasks need the options only."""
        return type(self), (self.options,)

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        """The offset before the first document."""
        return {_SEQUENCE: self.options.after}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """One of the two limits; :meth:`latestOffset` applies both."""
        return ReadMaxRows(self.options.batch_documents)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Restrict the stream to the documents that are published now."""
        self.available = self._opened().last_sequence()

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802
        """The offset at the end of the next micro-batch."""
        after = start[_SEQUENCE]
        last = self._opened().last_sequence() if self.available is None else self.available
        if last <= after:
            return start
        if not isinstance(limit, ReadAllAvailable):
            last = self._bounded_end(after, last)
        return {_SEQUENCE: last}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        """Divide the documents between two offsets into tasks."""
        tasks = plan_tasks(self._opened(), self._scanner, start[_SEQUENCE], end[_SEQUENCE])
        return _partitions(self.options, tasks)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The documents of a task, or references to those of all tasks."""
        return _read(partition)

    def stop(self) -> None:
        """Close the inbox."""
        if self._inbox is not None:
            self._inbox.close()

    def _opened(self) -> Inbox:
        if self._inbox is None:
            self._inbox = Inbox(Path(self.options.workspace))
        return self._inbox

    def _bounded_end(self, after: int, last: int) -> int:
        """The end of a micro-batch within the limits, with at least one document."""
        documents = size = 0
        for found in self._scanner.scan(after, last):
            if isinstance(found, Missing):
                continue
            size += found.entry.content_bytes
            if documents and size > self.options.batch_bytes:
                return found.first - 1
            if documents + found.documents >= self.options.batch_documents:
                return found.first + self.options.batch_documents - documents - 1
            documents += found.documents
        return last


def plan_tasks(inbox: Inbox, scanner: JournalScanner, after: int, upto: int) -> list[list[Found]]:
    """Divide a range of documents into tasks.

    Entries are verified first: a task that finds a damaged one would end the stream. Damaged
    documents are set aside, and the others are processed. Those that were set aside before remain
    so, even if their file has been repaired: a replay of a batch has the same documents, and they
    may have been published again.
    """
    set_aside = inbox.set_aside(after, upto)
    readable: list[Found] = []
    for found in scanner.scan(after, upto, verify=True):
        if isinstance(found, Missing):
            inbox.record_damage(found)
        else:
            readable += _without(found, set_aside)
    return list(_grouped(readable))


def _without(found: Found, ranges: Iterable[tuple[int, int]]) -> Iterator[Found]:
    """The parts of an entry that are outside the ranges, which are in order."""
    first = found.first
    for start, end in ranges:
        if first < start <= found.last:
            yield replace(found, first=first, last=start - 1)
        if start <= found.last:
            first = max(first, end + 1)
    if first <= found.last:
        yield replace(found, first=first)


def load_inbox(
    reader: DataFrameReader | DataStreamReader, options: InboxSourceOptions, spark: SparkSession
) -> DataFrame:
    """The documents of an inbox, as a batch or a stream."""
    spark.dataSource.register(InboxSource)
    return reader.format(InboxSource.name()).option(OPTIONS_KEY, options.to_json()).load()


def _partitions(options: InboxSourceOptions, tasks: list[list[Found]]) -> list[InputPartition]:
    if options.as_references:
        return [ReferencesPartition(reference_rows(tasks))]
    return [InboxPartition(found) for found in tasks]


def _read(partition: InputPartition) -> Iterator[pa.RecordBatch]:
    if isinstance(partition, ReferencesPartition):
        # The process also matches documents, and exempts what it imports for that.
        return iter([partition.references])
    assert isinstance(partition, InboxPartition)
    freeze_heap()
    return read_entries(partition.found)


def _grouped(found: Iterable[Found]) -> Iterator[list[Found]]:
    """Consecutive entries in groups of bounded size."""
    group: list[Found] = []
    size = 0
    for each in found:
        if group and size + each.entry.content_bytes > INBOX_PARTITION_BYTES:
            yield group
            group, size = [], 0
        group.append(each)
        size += each.entry.content_bytes
    if group:
        yield group
