"""Atomic, durable file writes: temporary file, fsync, rename, fsync of the directory."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from io import BufferedWriter
from pathlib import Path

TEMPORARY_SUFFIX = ".part"
"""Suffix of files that are still being written."""


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


def temporary_path(path: Path) -> Path:
    """A unique name in the directory of ``path``, for a file that will be renamed to it."""
    return path.with_name(f"{path.name}.{secrets.token_hex(8)}{TEMPORARY_SUFFIX}")


def sync_directory(directory: Path) -> None:
    """Flush a directory's entries to disk, so that renames survive a power failure."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
