"""Files at paths and URIs, as Spark writes them: listed, and read in ranges."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from typing import IO, Protocol, cast
from urllib.parse import urlsplit

from pyarrow import fs

CHUNK_BYTES = 1 << 20
"""Read at a time."""


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Seekable(Protocol):
    """What is asked of a file."""

    def seek(self, offset: int, /) -> int:
        """Go to a place."""

    def read(self, size: int, /) -> bytes:
        """So many bytes, fewer only at the end."""


@dataclass(frozen=True, slots=True)
class FileInfo:
    """A file as it was when it was listed."""

    path: str
    """Its path or URI."""

    size: int
    modified_ns: int

    @property
    def modified(self) -> datetime:
        """When it was modified."""
        return EPOCH + timedelta(microseconds=self.modified_ns // 1000)

    @property
    def digest(self) -> str:
        """A short name for the file as it is: changed, it has another."""
        told = f"{self.path}\0{self.size}\0{self.modified_ns}"
        return hashlib.sha256(told.encode()).hexdigest()[:16]


def list_files(path: str, *, pattern: str = "*", recursive: bool = False) -> list[FileInfo]:
    """The file at ``path``, or the files of the folder there, in the order of their times.

    Names that begin with ``_`` or ``.`` are not listed, as Spark does not: they are being written.
    """
    system, base = _located(path)
    # What comes back lacks the beginning that names the file system.
    head = path[: len(path) - len(base)] if path.endswith(base) else _scheme_of(path)
    found = system.get_file_info(base)
    if found.type == fs.FileType.File:
        infos = [found]
    else:
        infos = [
            info
            for info in system.get_file_info(fs.FileSelector(base, recursive=recursive))
            if info.type == fs.FileType.File
            and not info.base_name.startswith(("_", "."))
            and fnmatchcase(info.base_name, pattern)
        ]
    files = [FileInfo(head + info.path, info.size, info.mtime_ns or 0) for info in infos]
    return sorted(files, key=lambda file: (file.modified_ns, file.path))


def open_file(path: str) -> IO[bytes]:
    """A file that can be read from any place."""
    system, place = _located(path)
    # Arrow's files have what is needed of a file of Python's.
    return cast(IO[bytes], system.open_input_file(place))


def chunks_of(file: Seekable, prefix: Iterable[tuple[int, int]], start: int) -> Iterator[bytes]:
    """The ranges of ``prefix``, then everything from ``start`` on."""
    for first, end in prefix:
        file.seek(first)
        yield file.read(end - first)
    file.seek(start)
    while chunk := file.read(CHUNK_BYTES):
        yield chunk


def _located(path: str) -> tuple[fs.FileSystem, str]:
    scheme = urlsplit(path).scheme
    if len(scheme) <= 1:  # a drive's letter is no scheme
        return fs.LocalFileSystem(), path
    if scheme == "file":
        # Spark writes such paths without escapes: a percent sign is one.
        return fs.LocalFileSystem(), "/" + path.removeprefix("file:").lstrip("/")
    return fs.FileSystem.from_uri(path)


def _scheme_of(path: str) -> str:
    return f"{urlsplit(path).scheme}://"
