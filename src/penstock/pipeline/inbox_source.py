"""A Spark data source of a workspace's inbox: the offset is a sequence number.

An offset names the last document of a micro-batch, wherever it is stored. The checkpoint therefore
contains no paths, and a workspace can be copied or moved; what has been processed costs nothing.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
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
from penstock.pipeline.inbox_tasks import plan_tasks
from penstock.pipeline.journal_tasks import read_entries
from penstock.pipeline.limits import INBOX_BATCH_BYTES, INBOX_BATCH_DOCUMENTS
from penstock.pipeline.worker_heap import freeze_heap
from penstock.workspace.inbox import Inbox
from penstock.workspace.journal_scanner import Found, JournalScanner, Missing

OPTIONS_KEY: Final = "penstock"
"""The data source's only option: an :class:`InboxSourceOptions` as JSON."""

SEQUENCE: Final = "sequence"
"""The only field of an offset."""

RANGE: Final = pa.schema([("after", pa.int64()), ("upto", pa.int64())])
"""A range of documents: the sequence number before the first one, and that of the last one."""

_SPARK_RANGE: Final = from_arrow_schema(RANGE)


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxSourceOptions:
    """What to read, and how much at a time."""

    workspace: str
    """The folder of the workspace."""
    after: int
    """The sequence number before the first document."""
    upto: int | None = None
    """The sequence number of the last document; only for a batch."""
    as_range: bool = False
    """Whether to return the range of a micro-batch instead of its documents, which the tasks of
    another job read: see :mod:`penstock.pipeline.inbox_batches`."""
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
        """The columns of documents, or of a range of them."""
        options = InboxSourceOptions.from_json(self.options[OPTIONS_KEY])
        return _SPARK_RANGE if options.as_range else spark_schemas.DOCUMENTS

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


class RangePartition(InputPartition):
    """The range of a micro-batch."""

    def __init__(self, after: int, upto: int) -> None:
        super().__init__((after, upto))
        self.after = after
        self.upto = upto


class InboxReader(DataSourceReader):
    """Reads a range of documents."""

    def __init__(self, options: InboxSourceOptions) -> None:
        self.options = options

    def partitions(self) -> list[InputPartition]:
        """Divide the documents into tasks."""
        with contextlib.closing(Inbox(Path(self.options.workspace))) as inbox:
            upto = inbox.last_sequence() if self.options.upto is None else self.options.upto
            scanner = JournalScanner(inbox.folder)
            return _partitions(plan_tasks(inbox, scanner, self.options.after, upto))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The documents of a task."""
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
        return {SEQUENCE: self.options.after}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """One of the two limits; :meth:`latestOffset` applies both."""
        return ReadMaxRows(self.options.batch_documents)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Restrict the stream to the documents that are published now."""
        self.available = self._opened().last_sequence()

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802
        """The offset at the end of the next micro-batch."""
        after = start[SEQUENCE]
        last = self._opened().last_sequence() if self.available is None else self.available
        if last <= after:
            return start
        if not isinstance(limit, ReadAllAvailable):
            last = self._bounded_end(after, last)
        return {SEQUENCE: last}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        """Divide the documents between two offsets into tasks."""
        after, upto = start[SEQUENCE], end[SEQUENCE]
        if self.options.as_range:
            return [RangePartition(after, upto)]
        return _partitions(plan_tasks(self._opened(), self._scanner, after, upto))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The documents of a task, or the range of the micro-batch."""
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


def load_inbox(
    reader: DataFrameReader | DataStreamReader, options: InboxSourceOptions, spark: SparkSession
) -> DataFrame:
    """The documents of an inbox, as a batch or a stream."""
    spark.dataSource.register(InboxSource)
    return reader.format(InboxSource.name()).option(OPTIONS_KEY, options.to_json()).load()


def _partitions(tasks: Iterable[Iterable[Found]]) -> list[InputPartition]:
    return [InboxPartition(found) for found in tasks]


def _read(partition: InputPartition) -> Iterator[pa.RecordBatch]:
    if isinstance(partition, RangePartition):
        # The process also matches documents, and exempts what it imports for that.
        columns = [pa.array([partition.after]), pa.array([partition.upto])]
        return iter([pa.RecordBatch.from_arrays(columns, schema=RANGE)])
    assert isinstance(partition, InboxPartition)
    freeze_heap()
    return read_entries(partition.found)
