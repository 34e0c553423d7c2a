"""Parts of huge files: where they can be divided, and the records in each.

A part is read without what comes before it: its beginning carries the ranges of the declarations
and of the start tags open there, a few dozen bytes however long the file is. Where the next part
begins is found by reading: XML cannot be divided otherwise. That costs a pass at reading speed over
files that are longer than a part; others are not looked at before they are read.
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
from penstock.pipeline.filesystem import FileInfo, Seekable, chunks_of, open_file
from penstock.pipeline.gzip_stream import Unpacked, is_gzip
from penstock.pipeline.limits import ARCHIVE_BYTES, ARCHIVE_RATIO, ROW_BATCH_BYTES

UNBOUNDED: Final = 1 << 62

# As in the tables; to import their room here would cost every worker half a second.
TIME: Final[pa.TimestampType[Any, Any]] = pa.timestamp("us", tz="UTC")

_ROWS: list[pa.Field[Any]] = [
    pa.field("file", pa.string()),
    pa.field("position", pa.int64()),
    pa.field("place", pa.int64()),
    pa.field("modified_at", TIME),
    pa.field("content", pa.binary()),
    pa.field("fault", pa.string()),
]

ROWS: Final = pa.schema(_ROWS)
"""What is known of a record: the file, the byte where it begins, how many come before it, the
file's time, the document, and why it is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cutting:
    """How files are cut; it travels as text."""

    steps: Steps
    entities: Mapping[str, str] = field(default_factory=dict)
    record_bytes: int = RECORD_BYTES
    archive_bytes: int = ARCHIVE_BYTES
    archive_ratio: int = ARCHIVE_RATIO

    def to_json(self) -> str:
        """As text."""
        return json.dumps(asdict(self))

    @classmethod
    def of_json(cls, text: str) -> Cutting:
        """From text."""
        told = json.loads(text)
        steps = tuple((uri, local) for uri, local in told.pop("steps"))
        return cls(steps=steps, **told)


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a file."""

    file: FileInfo
    start: CutPoint = field(default_factory=CutPoint)
    end: CutPoint | None = None
    """``None`` for the end of the file."""

    @property
    def size(self) -> int:
        """Its bytes; of a compressed file, as it is stored."""
        return (self.end.position if self.end else self.file.size) - self.start.position


class Scan:
    """Looks for places where a file can be divided, from one of them on."""

    def __init__(self, file: FileInfo, at: CutPoint, cutting: Cutting) -> None:
        self.at = at
        # The root itself is the only record of its path.
        self._is_divisible = len(cutting.steps) > 1
        self._stream = _Stream(file, at, cutting, contents=False)
        self._batch: RecordBatch | None = None
        self._passed = 0  # how many records of the batch are before `at`
        self._ended = False

    def advance(self, bytes_max: int, rows_max: int, *, at_least_one: bool) -> CutPoint | None:
        """The last place within so many bytes and records; ``None`` where the file ends before.

        Without ``at_least_one``, it may be the place where it is.
        """
        begin = self.at
        while self._is_divisible and not self._ended:
            batch = self._batch
            if batch is not None:
                rows_left = rows_max - (self.at.records - begin.records)
                within = bisect_right(batch.ends, begin.position + bytes_max)
                if at_least_one and self.at == begin:
                    within = max(within, self._passed + 1)
                last = min(max(within, self._passed), self._passed + rows_left, len(batch))
                is_full = last < len(batch) or last == self._passed + rows_left
                self._pass(batch, last)
                if is_full:
                    return self.at
            self._batch, self._passed = self._stream.cutter.next_batch(), 0
            self._ended = self._batch is None
        return None

    @property
    def has_rest(self) -> bool:
        """Whether the file turned out not to be well-formed: its rest is one row more."""
        return self._stream.cutter.rest() is not None

    def close(self) -> None:
        """Look no further."""
        self._stream.close()

    def _pass(self, batch: RecordBatch, last: int) -> None:
        """Move to the end of the record before number ``last``."""
        if last == self._passed:
            return
        around = next(ranges for first, ranges in reversed(batch.ancestors) if first < last)
        self.at = CutPoint(
            batch.ends[last - 1],
            self.at.records + last - self._passed,
            (*self._stream.cutter.prolog(), *around),
        )
        self._passed = last


def divided(
    file: FileInfo, start: CutPoint, end: CutPoint | None, cutting: Cutting, piece_bytes: int
) -> list[Piece]:
    """A part of a file as parts of about ``piece_bytes``."""
    whole = Piece(file, start, end)
    # What is compressed can only be read from its beginning.
    if whole.size <= piece_bytes or is_gzip(file.path):
        return [whole]
    points = [start]
    with closing(Scan(file, start, cutting)) as scan:
        while (at := scan.advance(piece_bytes, UNBOUNDED, at_least_one=True)) is not None:
            if end is not None and at.position >= end.position:
                break
            points.append(at)
    return [Piece(file, *ends) for ends in zip(points, [*points[1:], end], strict=True)]


def rows_of(piece: Piece, cutting: Cutting) -> Iterator[pa.RecordBatch]:
    """The records of a part, with the columns of :data:`ROWS`."""
    stream = _Stream(piece.file, piece.start, cutting, contents=True)
    place = piece.start.records
    try:
        for batch in stream.cutter.batches(ROW_BATCH_BYTES):
            count = len(batch)
            if piece.end is not None:
                count = min(count, piece.end.records - place)
            yield _rows(piece.file, batch, place, count)
            place += count
            if piece.end is not None and place == piece.end.records:
                return
        if piece.end is not None:
            message = f"{piece.file.path} has fewer records than when it was divided"
            raise error("records.changed", message)
        yield from _rest(piece.file, stream, place)
    finally:
        stream.close()


class _Stream:
    """A cutter over a part of a file."""

    def __init__(self, file: FileInfo, at: CutPoint, cutting: Cutting, *, contents: bool) -> None:
        self._opened = open_file(file.path)
        self.unpacked: Unpacked | None = None
        source: Seekable = self._opened
        if is_gzip(file.path):
            self.unpacked = Unpacked(
                self._opened,
                file.size,
                bytes_max=cutting.archive_bytes,
                ratio_max=cutting.archive_ratio,
            )
            source = self.unpacked
        self.cutter = RecordCutter(
            chunks_of(source, at.prefix, at.position),
            cutting.steps,
            entities=cutting.entities,
            record_bytes=cutting.record_bytes,
            contents=contents,
            at=at,
        )

    def close(self) -> None:
        self._opened.close()


def _rows(file: FileInfo, batch: RecordBatch, place: int, count: int) -> pa.RecordBatch:
    contents = pa.Array.from_buffers(
        pa.binary(), count, [None, pa.py_buffer(batch.offsets), pa.py_buffer(batch.contents)]
    )
    starts = pa.Array.from_buffers(pa.int64(), count, [None, pa.py_buffer(batch.starts)])
    faults = [str(batch.faults[n]) if n in batch.faults else None for n in range(count)]
    return _batch(
        file,
        starts,
        pa.array(range(place, place + count), pa.int64()),
        contents,
        pa.array(faults if batch.faults else [None] * count, pa.string()),
    )


def _rest(file: FileInfo, stream: _Stream, place: int) -> Iterator[pa.RecordBatch]:
    """What could not be read, as one row more."""
    rest = stream.cutter.rest()
    damage = stream.unpacked.damage if stream.unpacked else None
    if rest is None and damage is None:
        return
    fault = damage or (rest and rest.fault)
    yield _batch(
        file,
        pa.array([rest.start if rest else file.size], pa.int64()),
        pa.array([place], pa.int64()),
        pa.array([rest.content if rest else b""], pa.binary()),
        pa.array([f"{fault}, byte {rest.end}" if rest else str(fault)], pa.string()),
    )


def _batch(
    file: FileInfo,
    position: pa.Array[Any],
    place: pa.Array[Any],
    content: pa.Array[Any],
    fault: pa.Array[Any],
) -> pa.RecordBatch:
    paths = pa.array([file.path] * len(place), pa.string())
    times = pa.array([file.modified] * len(place), TIME)
    return pa.RecordBatch.from_arrays([paths, position, place, times, content, fault], schema=ROWS)
