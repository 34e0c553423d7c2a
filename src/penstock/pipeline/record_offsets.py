"""How far a stream of records has come."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

from penstock.documents import CutPoint
from penstock.errors import error
from penstock.pipeline.filesystem import FileInfo
from penstock.pipeline.gzip_stream import is_gzip
from penstock.pipeline.limits import STREAM_FILES_MAX
from penstock.pipeline.record_splits import UNBOUNDED, Cutting, Scan

DIGEST_LETTERS = 16


@dataclass(frozen=True, slots=True)
class Partial:
    """A file that is read up to a point."""

    digest: str
    point: CutPoint


@dataclass(frozen=True, slots=True)
class Progress:
    """Which files are read, and how far the one that is being read."""

    done: frozenset[str] = frozenset()
    partial: Partial | None = None

    def to_offset(self) -> dict[str, str]:
        """As Spark keeps it: texts by name, the same for the same progress."""
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
    def of_offset(cls, offset: dict[str, str]) -> Progress:
        """From what Spark kept."""
        letters = offset["done"]
        done = frozenset(
            letters[at : at + DIGEST_LETTERS] for at in range(0, len(letters), DIGEST_LETTERS)
        )
        if "file" not in offset:
            return cls(done)
        ranges = (piece.split("-") for piece in offset["prefix"].split())
        prefix = tuple((int(start), int(end)) for start, end in ranges)
        point = CutPoint(int(offset["position"]), int(offset["records"]), prefix)
        return cls(done, Partial(offset["file"], point))


def taken(
    progress: Progress,
    files: Sequence[FileInfo],
    cutting: Cutting,
    *,
    bytes_max: int | None,
    rows_max: int | None,
) -> Progress | None:
    """The progress after the next batch; ``None`` where there is nothing to read.

    At least a record is taken, however long it is. Files are taken in the order in which they are
    given, but one that is being read comes first. A file that fits is not looked into, unless
    records are to be counted or it is compressed.
    """
    if len(files) > STREAM_FILES_MAX:
        message = f"there are {len(files)} files, and a stream remembers {STREAM_FILES_MAX}"
        raise error("records.too-many-files", message)
    there = {file.digest for file in files}
    partial = progress.partial
    if partial is not None and partial.digest not in there:
        raise error("records.changed", "the file that is being read is changed or gone")
    waiting = [file for file in files if file.digest not in progress.done]
    if partial is not None:
        waiting.sort(key=lambda file: file.digest != partial.digest)
    if not waiting:
        return None
    # What is gone from the folder need not be remembered.
    done = set(progress.done & there)
    bytes_left = UNBOUNDED if bytes_max is None else bytes_max
    rows_left = UNBOUNDED if rows_max is None else rows_max
    is_first = True
    for file in waiting:
        if not is_first and (bytes_left <= 0 or rows_left <= 0):
            break
        point = partial.point if partial and partial.digest == file.digest else CutPoint()
        size = file.size - point.position
        may_take_all = rows_max is None and (bytes_max is None or not is_gzip(file.path))
        if may_take_all and size <= bytes_left:
            bytes_left -= size
        else:
            with closing(Scan(file, point, cutting)) as scan:
                at = scan.advance(bytes_left, rows_left, at_least_one=is_first)
                bytes_left -= scan.at.position - point.position
                rows_left -= scan.at.records - point.records + scan.has_rest
            if at is not None:
                return Progress(frozenset(done), None if at == point else Partial(file.digest, at))
        done.add(file.digest)
        is_first = False
    return Progress(frozenset(done))
