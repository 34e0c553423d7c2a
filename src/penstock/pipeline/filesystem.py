"""Lists and opens files at the paths and URIs that Spark uses, with Arrow's file systems."""

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
"""Bytes read at a time."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Seekable(Protocol):
    """A file that can be read at an offset."""

    def seek(self, offset: int, /) -> int:
        """Move to an offset."""

    def read(self, size: int, /) -> bytes:
        """Read ``size`` bytes, fewer only at the end."""


@dataclass(frozen=True, slots=True)
class FileInfo:
    """A file as listed."""

    path: str
    """Its path or URI."""

    size: int
    modified_ns: int

    @property
    def modified(self) -> datetime:
        """The modification time."""
        return EPOCH + timedelta(microseconds=self.modified_ns // 1000)

    @property
    def digest(self) -> str:
        """A short hash of path, size and modification time, which identifies this state of it."""
        state = f"{self.path}\0{self.size}\0{self.modified_ns}"
        return hashlib.sha256(state.encode()).hexdigest()[:16]


def list_files(path: str, *, pattern: str = "*", recursive: bool = False) -> list[FileInfo]:
    """The file at ``path``, or the files of the folder there, ordered by modification time.

    Like Spark, ignores names that start with ``_`` or ``.``: such files are still being written.
    """
    system, base = _resolve(path)
    # Arrow returns paths without the prefix that identifies the file system.
    prefix = path[: len(path) - len(base)] if path.endswith(base) else f"{urlsplit(path).scheme}://"
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
    files = [FileInfo(prefix + info.path, info.size, info.mtime_ns or 0) for info in infos]
    return sorted(files, key=lambda file: (file.modified_ns, file.path))


def open_file(path: str) -> IO[bytes]:
    """Open a file for random access."""
    system, path_in_system = _resolve(path)
    # Arrow's files implement the methods of Python's that are used here.
    return cast(IO[bytes], system.open_input_file(path_in_system))


def read_chunks(file: Seekable, prefix: Iterable[tuple[int, int]], start: int) -> Iterator[bytes]:
    """The byte ranges of ``prefix``, then everything from ``start`` to the end."""
    for first, end in prefix:
        file.seek(first)
        yield file.read(end - first)
    file.seek(start)
    while chunk := file.read(CHUNK_BYTES):
        yield chunk


def _resolve(path: str) -> tuple[fs.FileSystem, str]:
    scheme = urlsplit(path).scheme
    if len(scheme) <= 1:  # a Windows drive letter is not a scheme
        return fs.LocalFileSystem(), path
    if scheme == "file":
        # Spark does not percent-encode file URIs.
        return fs.LocalFileSystem(), "/" + path.removeprefix("file:").lstrip("/")
    return fs.FileSystem.from_uri(path)
