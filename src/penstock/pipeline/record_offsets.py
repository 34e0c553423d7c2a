"""Offsets of a stream of records: which files are read, and how far the current one."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

from penstock.documents import CutPoint
from penstock.errors import error
from penstock.pipeline.filesystem import FileInfo
from penstock.pipeline.gzip_stream import is_gzip
from penstock.pipeline.limits import STREAM_FILES_MAX
from penstock.pipeline.record_splits import UNBOUNDED, RecordOptions, SplitScanner

DIGEST_CHARACTERS = 16


@dataclass(frozen=True, slots=True)
class PartialFile:
    """A file that is read up to a point."""

    digest: str
    point: CutPoint


@dataclass(frozen=True, slots=True)
class RecordOffset:
    """The position of a stream."""

    done: frozenset[str] = frozenset()
    """The digests of files that are read completely."""
    partial: PartialFile | None = None
    """The file that is read in part."""

    def to_dict(self) -> dict[str, str]:
        """The offset as Spark stores it in the checkpoint; equal offsets give equal values."""
        offset = {"done": "".join(sorted(self.done))}
        if self.partial is not None:
            point = self.partial.point
            offset |= {
                "file": self.partial.digest,
                "position": str(point.position),
                "records": str(point.records),
                "prefix": " ".join(f"{start}-{end}" for start, end in point.prefix),
            }
        return offset

    @classmethod
    def from_dict(cls, offset: dict[str, str]) -> RecordOffset:
        """The offset from the form that Spark stores."""
        digests = offset["done"]
        done = frozenset(
            digests[start : start + DIGEST_CHARACTERS]
            for start in range(0, len(digests), DIGEST_CHARACTERS)
        )
        if "file" not in offset:
            return cls(done)
        ranges = (text.split("-") for text in offset["prefix"].split())
        prefix = tuple((int(start), int(end)) for start, end in ranges)
        point = CutPoint(int(offset["position"]), int(offset["records"]), prefix)
        return cls(done, PartialFile(offset["file"], point))


def next_offset(
    offset: RecordOffset,
    files: Sequence[FileInfo],
    options: RecordOptions,
    *,
    bytes_max: int | None,
    rows_max: int | None,
) -> RecordOffset | None:
    """The offset after the next micro-batch; ``None`` if there is nothing to read.

    A micro-batch contains at least one record, however long it is. A partially read file comes
    first, the others in the given order. A file that fits completely is not scanned, unless rows
    are limited or the file is compressed.
    """
    if len(files) > STREAM_FILES_MAX:
        message = f"the folder has {len(files)} files, more than {STREAM_FILES_MAX}"
        raise error("records.too-many-files", message)
    existing = {file.digest for file in files}
    partial = offset.partial
    if partial is not None and partial.digest not in existing:
        raise error("records.changed", "the file being read was changed or removed")
    remaining = [file for file in files if file.digest not in offset.done]
    if partial is not None:
        remaining.sort(key=lambda file: file.digest != partial.digest)
    if not remaining:
        return None
    # Files that were removed from the folder need not be listed any more.
    done = set(offset.done & existing)
    bytes_left = UNBOUNDED if bytes_max is None else bytes_max
    rows_left = UNBOUNDED if rows_max is None else rows_max
    is_first = True
    for file in remaining:
        if not is_first and (bytes_left <= 0 or rows_left <= 0):
            break
        start = partial.point if partial and partial.digest == file.digest else CutPoint()
        size = file.size - start.position
        needs_no_scan = rows_max is None and (bytes_max is None or not is_gzip(file.path))
        if needs_no_scan and size <= bytes_left:
            bytes_left -= size
        else:
            with closing(SplitScanner(file, start, options)) as scanner:
                end = scanner.advance(bytes_left, rows_left, at_least_one=is_first)
                bytes_left -= scanner.point.position - start.position
                rows_left -= scanner.point.records - start.records + scanner.has_rest
            if end is not None:
                partial_file = None if end == start else PartialFile(file.digest, end)
                return RecordOffset(frozenset(done), partial_file)
        done.add(file.digest)
        is_first = False
    return RecordOffset(frozenset(done))
