"""Atomic, durable file writes: temporary file, fsync, rename, fsync of the directory."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from io import BufferedWriter
from pathlib import Path

TEMPORARY_SUFFIX = ".part"
"""Suffix of files that are still being written."""

_FLUSHES_AT_ONCE = 32

_sync_content = getattr(os, "fdatasync", os.fsync)  # macOS has no fdatasync


@contextlib.contextmanager
def atomic_write(path: Path) -> Iterator[BufferedWriter]:
    """Open a file that replaces ``path`` when the block ends, after an fsync.

    If the block raises, ``path`` is unchanged and nothing is left behind. Concurrent writers of the
    same path each use their own temporary file; the last rename wins.
    """
    temporary = temporary_path(path)
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


class AtomicFiles:
    """Many new files, each of which appears complete or not at all, even after a power failure.

    They are flushed to disk by many threads at once, which the file system does in few writes of
    its journal; one after the other takes milliseconds each.
    """

    def __init__(self) -> None:
        self._written: list[tuple[Path, Path]] = []

    def __len__(self) -> int:
        return len(self._written)

    def write(self, path: Path, content: bytes) -> None:
        """Write a file, which appears with :meth:`commit`."""
        temporary = temporary_path(path)
        self._written.append((temporary, path))
        temporary.write_bytes(content)

    def commit(self) -> None:
        """Let the files appear."""
        if not self._written:
            return
        with ThreadPoolExecutor(_FLUSHES_AT_ONCE) as flushes:
            for _ in flushes.map(_flush, [temporary for temporary, _ in self._written]):
                pass
        for temporary, path in self._written:
            temporary.replace(path)
        for folder in {path.parent for _, path in self._written}:
            sync_directory(folder)
        self._written.clear()

    def discard(self) -> None:
        """Remove the files that have not appeared."""
        for temporary, _ in self._written:
            temporary.unlink(missing_ok=True)
        self._written.clear()


def temporary_path(path: Path) -> Path:
    """A unique name in the directory of ``path``, for a file that will be renamed to it."""
    return path.with_name(f"{path.name}.{secrets.token_hex(8)}{TEMPORARY_SUFFIX}")


def sync_directory(directory: Path) -> None:
    """Flush a directory's entries to disk, so that renames survive a power failure."""
    _flush(directory)


def sync_file(path: Path) -> None:
    """Flush the content of a file to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        _sync_content(descriptor)
    finally:
        os.close(descriptor)


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
