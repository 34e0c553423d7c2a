"""Splits of huge files at record boundaries, and the records in each.

A split is read without what precedes it: its start carries the byte ranges of the prolog and of the
start tags that are open there, a few dozen bytes however long the file is. Split points can only be
found by reading the XML, which costs one pass at reader speed over files that are longer than a
split; shorter files are not scanned.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import pyarrow as pa

from penstock.documents import RECORD_BYTES, CutPoint, RecordBatch, RecordCutter, Steps
from penstock.errors import error
from penstock.pipeline.filesystem import FileInfo, Seekable, open_file, read_chunks
from penstock.pipeline.gzip_stream import GzipStream, is_gzip
from penstock.pipeline.limits import ARCHIVE_BYTES, ARCHIVE_RATIO, ROW_BATCH_BYTES

UNBOUNDED: Final = 1 << 62

# As in the tables, whose package would cost every worker half a second to import.
TIME: Final[pa.TimestampType[Any, Any]] = pa.timestamp("us", tz="UTC")

_FIELDS: list[pa.Field[Any]] = [
    pa.field("file", pa.string()),
    pa.field("position", pa.int64()),
    pa.field("place", pa.int64()),
    pa.field("modified_at", TIME),
    pa.field("content", pa.binary()),
    pa.field("fault", pa.string()),
]

RECORD_ROWS: Final = pa.schema(_FIELDS)
"""One row a record: the file, the byte offset, the index in the file, the file's modification time,
the content, and the error if it could not be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordOptions:
    """What the records of a file are, and their limits. Passed to workers as JSON."""

    steps: Steps
    entities: Mapping[str, str] = field(default_factory=dict)
    record_bytes: int = RECORD_BYTES
    archive_bytes: int = ARCHIVE_BYTES
    archive_ratio: int = ARCHIVE_RATIO

    def to_json(self) -> str:
        """The options as JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> RecordOptions:
        """The options from JSON."""
        values = json.loads(text)
        steps = tuple((uri, local) for uri, local in values.pop("steps"))
        return cls(steps=steps, **values)


@dataclass(frozen=True, slots=True)
class Split:
    """A range of a file between two record boundaries."""

    file: FileInfo
    start: CutPoint = field(default_factory=CutPoint)
    end: CutPoint | None = None
    """``None`` for the end of the file."""

    @property
    def size(self) -> int:
        """Its length in bytes; for a compressed file, in compressed bytes."""
        return (self.end.position if self.end else self.file.size) - self.start.position


class SplitScanner:
    """Finds points where a file can be split, starting from one of them."""

    def __init__(self, file: FileInfo, start: CutPoint, options: RecordOptions) -> None:
        self.point = start
        # If the path has one step, the root element is the only record.
        self._is_splittable = len(options.steps) > 1
        self._stream = _RecordStream(file, start, options, contents=False)
        self._batch: RecordBatch | None = None
        self._passed = 0  # records of the batch before `point`
        self._ended = False

    def advance(self, bytes_max: int, rows_max: int, *, at_least_one: bool) -> CutPoint | None:
        """Move to the last split point within ``bytes_max`` and ``rows_max``.

        Returns ``None`` if the file ends before. Without ``at_least_one`` the scanner may stay at
        its current point.
        """
        begin = self.point
        while self._is_splittable and not self._ended:
            batch = self._batch
            if batch is not None:
                rows_left = rows_max - (self.point.records - begin.records)
                within = bisect_right(batch.ends, begin.position + bytes_max)
                if at_least_one and self.point == begin:
                    within = max(within, self._passed + 1)
                last = min(max(within, self._passed), self._passed + rows_left, len(batch))
                is_full = last < len(batch) or last == self._passed + rows_left
                self._pass_records(batch, last)
                if is_full:
                    return self.point
            self._batch, self._passed = self._stream.cutter.next_batch(), 0
            self._ended = self._batch is None
        return None

    @property
    def has_rest(self) -> bool:
        """Whether the file turned out not to be well-formed: its rest is one more row."""
        return self._stream.cutter.rest() is not None

    def close(self) -> None:
        """Close the file."""
        self._stream.close()

    def _pass_records(self, batch: RecordBatch, last: int) -> None:
        """Move to the end of the record before number ``last`` of the batch."""
        if last == self._passed:
            return
        ancestors = next(ranges for first, ranges in reversed(batch.ancestors) if first < last)
        self.point = CutPoint(
            batch.ends[last - 1],
            self.point.records + last - self._passed,
            (*self._stream.cutter.prolog(), *ancestors),
        )
        self._passed = last


def split_file(
    file: FileInfo,
    start: CutPoint,
    end: CutPoint | None,
    options: RecordOptions,
    split_bytes: int,
) -> list[Split]:
    """Divide a range of a file into splits of about ``split_bytes``."""
    whole = Split(file, start, end)
    # A compressed file can only be read from its start.
    if whole.size <= split_bytes or is_gzip(file.path):
        return [whole]
    points = [start]
    with closing(SplitScanner(file, start, options)) as scanner:
        while (point := scanner.advance(split_bytes, UNBOUNDED, at_least_one=True)) is not None:
            if end is not None and point.position >= end.position:
                break
            points.append(point)
    return [Split(file, *ends) for ends in zip(points, [*points[1:], end], strict=True)]


def read_split(split: Split, options: RecordOptions) -> Iterator[pa.RecordBatch]:
    """The records of a split, with the columns of :data:`RECORD_ROWS`."""
    stream = _RecordStream(split.file, split.start, options, contents=True)
    index = split.start.records
    try:
        for batch in stream.cutter.batches(ROW_BATCH_BYTES):
            count = len(batch)
            if split.end is not None:
                count = min(count, split.end.records - index)
            yield _record_rows(split.file, batch, index, count)
            index += count
            if split.end is not None and index == split.end.records:
                return
        if split.end is not None:
            message = f"{split.file.path} has fewer records than when it was split"
            raise error("records.changed", message)
        yield from _rest_row(split.file, stream, index)
    finally:
        stream.close()


class _RecordStream:
    """The records of a file from a point on."""

    def __init__(
        self, file: FileInfo, start: CutPoint, options: RecordOptions, *, contents: bool
    ) -> None:
        self._file = open_file(file.path)
        self.gzip: GzipStream | None = None
        source: Seekable = self._file
        if is_gzip(file.path):
            self.gzip = GzipStream(
                self._file,
                file.size,
                bytes_max=options.archive_bytes,
                ratio_max=options.archive_ratio,
            )
            source = self.gzip
        self.cutter = RecordCutter(
            read_chunks(source, start.prefix, start.position),
            options.steps,
            entities=options.entities,
            record_bytes=options.record_bytes,
            contents=contents,
            at=start,
        )

    def close(self) -> None:
        self._file.close()


def _record_rows(file: FileInfo, batch: RecordBatch, first: int, count: int) -> pa.RecordBatch:
    contents = pa.Array.from_buffers(
        pa.binary(), count, [None, pa.py_buffer(batch.offsets), pa.py_buffer(batch.contents)]
    )
    starts = pa.Array.from_buffers(pa.int64(), count, [None, pa.py_buffer(batch.starts)])
    faults = [str(batch.faults[n]) if n in batch.faults else None for n in range(count)]
    return _rows(
        file,
        starts,
        pa.array(range(first, first + count), pa.int64()),
        contents,
        pa.array(faults if batch.faults else [None] * count, pa.string()),
    )


def _rest_row(file: FileInfo, stream: _RecordStream, index: int) -> Iterator[pa.RecordBatch]:
    """One more row if the rest of the file could not be read."""
    rest = stream.cutter.rest()
    damage = stream.gzip.damage if stream.gzip else None
    if rest is None and damage is None:
        return
    fault = damage or (rest and rest.fault)
    yield _rows(
        file,
        pa.array([rest.start if rest else file.size], pa.int64()),
        pa.array([index], pa.int64()),
        pa.array([rest.content if rest else b""], pa.binary()),
        pa.array([f"{fault}, byte {rest.end}" if rest else str(fault)], pa.string()),
    )


def _rows(
    file: FileInfo,
    position: pa.Array[Any],
    index: pa.Array[Any],
    content: pa.Array[Any],
    fault: pa.Array[Any],
) -> pa.RecordBatch:
    paths = pa.array([file.path] * len(index), pa.string())
    times = pa.array([file.modified] * len(index), TIME)
    return pa.RecordBatch.from_arrays(
        [paths, position, index, times, content, fault], schema=RECORD_ROWS
    )
